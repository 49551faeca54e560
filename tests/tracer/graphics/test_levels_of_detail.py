"""Levels of detail in draws: distant surfaces are smooth and touch fewer sectors, whichever rules and filter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.accuracy.levels_by_draw import LookUps, said, traced
from bench.accuracy.levels_of_detail import FILTERS, SCENE, VIEWS, saved
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.__main__ import FILTERS as COMMAND_FILTERS
from rayplay.tracer.graphics.maps import FILTERS as KNOWN
from rayplay.tracer.graphics.maps import Filtering
from rayplay.tracer.graphics.stages import Picture, Rules
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.gltf.surfaces import MAPS, Surface
from tests.tracer.graphics.scenes import drawn, scene, square

FAR, NEAR = Camera(eye=(0, 0, 60), look_at=(0, 0, 0), vfov_deg=4), Camera(eye=(0, 0, 1), look_at=(0, 0, 0), vfov_deg=4)
BLACK_OR_WHITE = np.random.default_rng(1).integers(0, 2, (256, 256, 1), np.uint8).repeat(4, axis=2) * 255
BLACK_OR_WHITE[..., 3] = 255


def seen(textures: Filtering, camera: Camera = FAR, rules: str = "hardware", backend: str = "machine") -> np.ndarray:
    """Red in a picture of random black and white texels, 1/256 of a square each."""
    surface = Surface("noise", (1.0, 1.0, 1.0, 1.0), pictures=(0, *(-1,) * (len(MAPS) - 1)))
    made = scene([square(0)], [surface], (BLACK_OR_WHITE,))
    picture: Picture = drawn(made, backend=backend, camera=camera, rules=Rules(rules, textures=textures))
    colours: np.ndarray = picture.framebuffer.colour[4:12, 8:16, 0]
    return colours


@pytest.mark.parametrize("chosen", ["trilinear", "bilinear", "nearest"])
def test_a_distant_surface_is_the_mean_of_its_texels(chosen: str) -> None:
    """16 texels a pixel: white is half of them in the chain, and any of them without one."""
    with_levels, without = seen(Filtering(True, chosen)), seen(Filtering(False, chosen))
    white = float(seen(Filtering(False, "nearest")).max())
    assert abs(with_levels.mean() / white - 0.5) < 0.05
    assert with_levels.std() < 0.4 * without.std()


def test_a_near_surface_is_the_same_with_and_without_levels() -> None:
    assert np.array_equal(seen(Filtering(True, "trilinear"), NEAR), seen(Filtering(False, "trilinear"), NEAR))


@pytest.mark.parametrize("camera", [FAR, NEAR])
def test_a_texture_without_a_chain_has_its_first_level_alone(tmp_path: Path, camera: Camera) -> None:
    """A file whose filter knows no levels: the picture and the trace's addresses are as without levels of detail."""
    surface = Surface("noise", (1.0, 1.0, 1.0, 1.0), pictures=(0, *(-1,) * (len(MAPS) - 1)))
    made = scene([square(0)], [surface], (BLACK_OR_WHITE,))
    assert made.pictures[0].level_filter
    found = {}
    for name, level_filter, lod in (("none", "", True), ("off", "linear", False), ("chain", "linear", True)):
        made.pictures[0] = replace(made.pictures[0], level_filter=level_filter)
        path = tmp_path / f"{name}.trace"
        with TraceWriter(path, {}) as writer:
            picture = drawn(made, sink=writer, camera=camera, rules=Rules(textures=Filtering(lod)))
        found[name] = picture.framebuffer.colour.tobytes(), open_trace(path).read("accesses")["address"].tolist()
    assert found["none"] == found["off"]
    assert (found["chain"][0] == found["none"][0]) == (camera is NEAR), "a chain is seen from afar alone"


def test_crisps_rules_take_the_nearest_texel_of_the_floor() -> None:
    """Whatever the filter says; partner pixels decide the level."""
    smooth = seen(Filtering(True, "trilinear", 16), rules="crisp")
    assert np.array_equal(smooth, seen(Filtering(True, "nearest"), rules="crisp"))
    assert smooth.std() < 0.4 * seen(Filtering(False), rules="crisp").std()


def test_both_backends_draw_the_same_levels() -> None:
    for textures, rules in ((Filtering(True, "trilinear", 4), "hardware"), (Filtering(), "crisp")):
        first, second = (seen(textures, FAR, rules, backend) for backend in ("machine", "interpreter"))
        assert np.array_equal(first, second)


def test_the_command_knows_every_filter() -> None:
    assert ("file", *KNOWN) == COMMAND_FILTERS
    with pytest.raises(UserError, match="max_anisotropy must be 1 to 16, found 17"):
        Filtering(max_anisotropy=17)


@pytest.mark.parametrize("kind", FILTERS)
def test_levels_of_detail_save_sectors_at_grazing_views(data: Path, tmp_path: Path, kind: str) -> None:
    """CRISP's paper: up to 6 times as many accesses without levels; asked: 2 to 6.6 times."""
    on, off, _ = saved(data / SCENE, VIEWS["floor"], (160, 90), kind, out=tmp_path)
    assert 2 <= off / on <= 6.6


def test_what_levels_save_follows_from_texels_for_a_pixel(data: Path, tmp_path: Path) -> None:
    """Half of the picture's size and half of the textures' save alike; half of the textures' alone saves less."""
    given = {(320, 180): 2, (160, 90): 4, (80, 45): 8}
    ratios = []
    for size, times in (*given.items(), ((160, 90), 8)):
        on, off, _ = saved(data / SCENE, VIEWS["floor"], size, "bilinear", out=tmp_path, times=times)
        ratios.append(off / on)
    assert ratios[1:3] == pytest.approx([ratios[0]] * 2, rel=0.12)
    assert ratios[3] < 0.9 * ratios[1]


@pytest.mark.parametrize(
    ("step", "level", "without", "with_levels"),
    [(0.5, 0, 2, 2), (1, 0, 4, 4), (1.5, 0, 6, 6), (2, 1, 8, 4), (4, 2, 16, 4), (8, 3, 32, 4), (16, 4, 32, 4)],
)
def test_what_a_level_saves_is_what_the_step_of_a_pixel_says(
    step: float, level: int, without: int, with_levels: int
) -> None:
    """A warp down a column of a texture: a sector holds 8 of its texels. A step below 2 texels saves nothing."""
    coordinates = np.stack([np.full(32, 0.1), step * np.arange(32) / 1024], axis=1).astype(np.float32)
    column = LookUps("column", coordinates, np.full(32, float(step)), (1024, 1024))
    assert column.levels.tolist() == [level] * 32
    assert column.sectors(0 * column.levels).tolist() == [without]
    assert column.sectors(column.levels).tolist() == [with_levels]
    assert without <= 4**level * with_levels


@pytest.mark.parametrize("view", VIEWS)
def test_each_draw_saves_what_its_geometry_says(data: Path, tmp_path: Path, view: str) -> None:
    """Sectors without levels and with them, from triangles and coordinates alone and from the trace, within 3 %."""
    counted, compared = traced(view, (160, 90), 4, tmp_path, data / SCENE), 0
    for one, own in zip(said(view, (160, 90), 4, data / SCENE), counted, strict=True):
        if len(one.steps) >= 1000:
            found = [one.sectors(levels).mean() for levels in (0 * one.levels, one.levels)]
            assert found == pytest.approx(own, rel=0.03), one.name
            compared += 1
    assert compared >= 3
