"""Fractions of rays: what warps trace, and in what order of candidates."""

from itertools import pairwise

import numpy as np
import pytest

from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.scenes import load
from rayplay.tuner.hardware import HardwareRenderer
from rayplay.tuner.kernel import SoftwareRenderer
from rayplay.tuner.knobs import candidates, knob
from rayplay.tuner.settings import RANKS, Settings, rays_of


@pytest.mark.parametrize("wanted", [0.0, 3.0, 2.25, 0.5, 7.875, 255 / 256])
def test_the_mean_is_what_is_wanted_in_any_part_of_the_picture(wanted: float) -> None:
    column, row = np.meshgrid(np.arange(40), np.arange(60))
    rays = rays_of(wanted, column, row)
    assert set(np.unique(rays)) <= {int(wanted), int(np.ceil(wanted))}
    for part in (rays, rays[:8, :8], rays[30:46, 10:26]):
        assert part.mean() == pytest.approx(wanted, abs=1.5 / np.sqrt(part.size))


def test_more_are_wanted_more_are_traced_by_every_warp() -> None:
    column, row = np.meshgrid(np.arange(16), np.arange(16))
    steps = [rays_of(wanted / RANKS, column, row) for wanted in range(0, 3 * RANKS, 5)]
    assert all((one <= two).all() for one, two in pairwise(steps))


def test_the_program_in_software_traces_as_many() -> None:
    renderer, size = SoftwareRenderer(load("cornell")), (40, 32)
    visits = renderer.look(renderer.scene.camera, *size, Settings(2.25, 0.1, 0.5))
    hit, traced = visits[0]["hit"] > 0, (visits["nodes"] > 0).sum(axis=0)
    column, row = np.meshgrid(np.arange(40) // 8, np.arange(32) // 4)
    expected = 1 + rays_of(2.25, column, row) + rays_of(0.5, column, row)
    np.testing.assert_array_equal(traced[hit], expected[hit])
    assert hit.any()


def test_the_ray_tracing_unit_traces_as_many() -> None:
    renderer, size, sink = HardwareRenderer(load("cornell")), (64, 24), MemorySink()
    renderer.render(renderer.scene.camera, size, Settings(2.25, 0.1, 0.5), sink)
    rays = sink.table("rays")
    most = np.zeros(2 * 24, int)
    lane = rays["warp_id"].astype(int) * 32 + rays["lane"]
    np.maximum.at(most, np.arange(48).repeat(32), np.bincount(lane, minlength=48 * 32))
    warp = np.arange(48)
    each = 1 + rays_of(2.25, warp % 2, warp // 2) + rays_of(0.5, warp % 2, warp // 2)
    hits = most > 1
    np.testing.assert_array_equal(most[hits], each[hits])
    assert hits.sum() > 20


def test_candidates_stand_in_ascending_quality() -> None:
    found = candidates(
        [knob("occlusion_rays", 2, 0.5), knob("shadow_rays", 1, 0.5), knob("scale")], Settings(9, 0.2, 9)
    )
    assert found.settings[0] == Settings(0, 0.2, 0, scale=0.25)
    assert found.settings[-1] == Settings(2, 0.2, 1)
    assert [found.place(number) for number in (0, 49, 52)] == [
        ("scale", 0.25),
        ("shadow_rays", 0),
        ("occlusion_rays", 0),
    ]
    assert (np.diff(found.work) >= 0).all()


def test_values_of_knobs() -> None:
    assert knob("samples", 3, 0.5).values.tolist() == [1, 1.5, 2, 2.5, 3]
    assert knob("occlusion_rays", 256, 1).knots == (0, 1, 3, 7, 15, 31, 63, 127, 255, 256)
    for name in ("radius", "scale"):
        made = knob(name)
        assert set(made.looked) <= set(made.values.tolist())
        assert (made.looked[0], made.looked[-1]) == (made.values[0], made.values[-1])


def test_samples_are_traced_one_after_another() -> None:
    """Two samples of a warp are the primary rays of two warps; half a sample is another one in every second warp."""
    renderer, counts = HardwareRenderer(load("cornell")), []
    for samples in (1.0, 1.5, 2.0):
        sink = MemorySink()
        renderer.render(renderer.scene.camera, (64, 24), Settings(0, samples=samples), sink)
        counts.append(np.bincount(sink.table("rays")["warp_id"], minlength=48))
    warp = np.arange(48)
    np.testing.assert_array_equal(counts[2], 2 * counts[0])
    np.testing.assert_array_equal(counts[1], counts[0] * rays_of(1.5, warp % 2, warp // 2))
