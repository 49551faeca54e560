"""Trace calls: any-hit, intersection, closest-hit and miss programs in their order, nested calls, verdicts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.inject import inject_filter
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene, Spheres
from rayplay.tracer.shading.config import read_config
from rayplay.tracer.shading.prepare import Sampling, prepare_image

CONFIG = """
params_symbol = "params"
image_format = "rgba32f"
params = [{ name = "image", type = "pointer" }, { name = "scene", type = "u64" }, { name = "width", type = "u32" }]
[raygen]
program = "__raygen__rays"
[[miss]]
program = "__miss__far"
[[hit_group]]
geometry = "triangles"
closest_hit = "__closesthit__plane"
any_hit = "__anyhit__plane"
[[hit_group]]
geometry = "spheres"
closest_hit = "__closesthit__ball"
any_hit = "__anyhit__ball"
intersection = "__intersection__ball"
"""

PROGRAM = (Path(__file__).parents[1] / "data" / "rays.ptx").read_text()


def planes() -> Scene:
    """Four triangles across the rays at z = 1, 2, 3, 4, and a sphere behind them."""
    corners = np.array([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], np.float32)
    vertices = np.concatenate([corners + np.float32([0, 0, z]) for z in (1, 2, 3, 4)]).astype(np.float32)
    mesh = Mesh("planes", vertices, np.arange(12, dtype=np.uint32).reshape(4, 3), np.zeros(4, np.uint16))
    ball = Spheres(np.array([[0, 0, 30]], np.float32), np.ones(1, np.float32), np.zeros(1, np.uint16))
    camera = Camera((0.0, 0.0, -5.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    return Scene("planes", [mesh], [Instance(0)], [Material("grey")], camera, ball)


@pytest.fixture
def launch(tmp_path: Path) -> tuple[ImageLaunch, int]:
    """The launch over 40 x 2 pixels (the second row has the flag of early-out rays), and where its results lie."""
    config = tmp_path / "rays.toml"
    config.write_text(CONFIG)
    module = ptx.parse(PROGRAM, "rays.ptx")
    prepared = prepare_image(planes(), module, read_config(config), Sampling(40, 2))
    return prepared.launch, prepared.image_address


def run(launch: ImageLaunch, image: int, backend: str) -> tuple[MemorySink, np.ndarray]:
    """Trace and results (lane, any-hit count, sum of t, log of programs); local memory is not used, so runs repeat."""
    launch.memory.view(image, np.uint32, (2, 40, 4))[:] = 0
    sink = MemorySink()
    run_image_launch(launch, sink, backend, progress=False)
    return sink, launch.memory.view(image, np.uint32, (2, 40, 4)).copy()


def expected(lane: int) -> tuple[float, int]:
    """Sum of t and log of programs of a lane whose any-hit programs terminate nothing."""
    threshold, z, total, log = 0.5 + lane % 5, 0.0, 0.0, 0
    while True:
        found = [k - z for k in (1, 2, 3, 4) if k - z >= threshold]
        if found:
            total, log = total + found[0], log * 8 + 1
            if log > 511:
                return total, log
            z += found[0] + 0.25
        elif lane % 4 == 1:
            return total + 100, log * 8 + 2
        else:
            return total + 40, log * 8 + 3 | (lane + 100) << 16


def test_programs_run_in_order_and_nest(launch: tuple[ImageLaunch, int]) -> None:
    sink, results = run(*launch, "machine")
    plain, same = run(*launch, "interpreter")
    assert np.array_equal(results, same)
    for table in ("visits", "accesses", "rays"):
        ours, theirs = sink.table(table), plain.table(table)
        assert all(np.array_equal(ours[column], theirs[column]) for column in ours), table
    lanes = [lane for lane in range(40) if lane % 8 != 7 and lane % 4 != 2]
    totals = results[0, :, 2].copy().view(np.float32)
    assert [(float(totals[lane]), int(results[0, lane, 3])) for lane in lanes] == [expected(lane) for lane in lanes]
    assert results[0, :, 0].tolist() == list(range(40)), "payload word 0 comes back"


def test_a_terminated_intersection_program_does_not_go_on(launch: tuple[ImageLaunch, int]) -> None:
    results = run(*launch, "machine")[1]
    for lane in range(40):
        if lane % 5 == 4 and lane % 8 != 7:  # all planes are ignored: the sphere decides
            told = results[0, lane, 1] // 1000
            assert told == {0: 11, 1: 0, 2: 0, 3: 11}[lane % 4], lane
    assert results[0, 14, 2:3].view(np.float32)[0] == 50, "the first report was the last"


def test_rays_have_a_row_per_stretch(launch: tuple[ImageLaunch, int]) -> None:
    sink, _ = run(*launch, "machine")
    rays, visits = sink.table("rays"), sink.table("visits")
    assert rays["segment"].max() >= 4
    assert np.array_equal(np.unique(rays["kind"]), [0, 1])
    starts = np.searchsorted(visits["warp_id"], np.arange(5))
    blocks, instructions = sink.table("blocks"), sink.table("instructions")
    last = blocks["first_instruction"] + blocks["instruction_count"] - 1
    block = visits["block_id"][starts[rays["warp_id"]] + rays["visit"]]
    first = rays["segment"] == 0
    assert np.array_equal(last[block[first]], rays["instruction_id"][first])
    assert set(instructions["opcode"][rays["instruction_id"]]) == {"call"}
    assert np.all(np.isinf(rays["hit_t"]) == (rays["instance"] == -1))


def test_selected_pixels_trace_what_they_trace_in_the_whole(launch: tuple[ImageLaunch, int]) -> None:
    whole, image = launch
    selected = np.zeros((2, 40), bool)
    selected[0, 3:30:2] = selected[1, 38] = True
    all_rays, everything = run(whole, image, "machine")
    some_rays, part = run(replace(whole, selected=selected), image, "machine")
    assert np.array_equal(part, np.where(selected[..., None], everything, 0))
    rows, ours = all_rays.table("rays"), some_rays.table("rays")
    x = rows["warp_id"] % 2 * 32 + rows["lane"]
    kept = selected[rows["warp_id"] // 2, x]
    for column in ("warp_id", "lane", "segment", "instruction_id", "origin_z", "hit_t", "primitive"):
        assert np.array_equal(ours[column], rows[column][kept]), column
    lengths = np.diff(rows["node_offset"])[kept]
    assert np.array_equal(np.diff(ours["node_offset"]), lengths)
    assert np.array_equal(ours["node"], rows["node"][np.repeat(kept, np.diff(rows["node_offset"]).astype(int))])


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_trace_calls_nested_too_deep(launch: tuple[ImageLaunch, int], backend: str) -> None:
    with pytest.raises(
        UserError, match=r"rays\.ptx:\d+: call _optix_trace\w+: trace calls are nested deeper than trace_depth allows"
    ):
        run(replace(launch[0], trace_depth=2), launch[1], backend)


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_a_miss_record_that_is_not_there(launch: tuple[ImageLaunch, int], backend: str) -> None:
    module = ptx.parse(PROGRAM.replace("%r5, 0, 1, 0, %r1", "%r5, 0, 1, 5, %r1"), "rays.ptx")
    entries = [inject_filter(f) if "raygen" in f.name else f for f in module.functions.values()]
    by_name = {f.name: f for f in entries}
    programs = tuple((module, by_name[function.name]) for _, function in launch[0].programs)
    with pytest.raises(
        UserError,
        match=r"rays\.ptx:\d+: call _optix_trace\w+: lane \d+: a ray selected a miss record beyond the shader",
    ):
        run(replace(launch[0], programs=programs), launch[1], backend)


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_ray_generation_cannot_answer_a_ray(launch: tuple[ImageLaunch, int], backend: str) -> None:
    text = PROGRAM.replace("    mov.u32 %r4, 0;\n", "    mov.u32 %r4, 0; call (), _optix_set_payload_0, (%r4);\n", 1)
    module = ptx.parse(text, "rays.ptx")
    programs = tuple((module, module.functions[function.name]) for _, function in launch[0].programs)
    with pytest.raises(
        UserError,
        match=r"rays\.ptx:\d+:\d+: '_optix_set_payload_0' can be called in intersection, .* not in '__raygen__rays'",
    ):
        run(replace(launch[0], programs=programs), launch[1], backend)


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_a_rays_time_reaches_its_programs(tmp_path: Path, backend: str) -> None:
    """The time of the rays of ray generation, 0.75, in place of their end; it changes no hit."""
    config = tmp_path / "rays.toml"
    config.write_text(CONFIG)
    given = PROGRAM.replace("0f42c80000, 0f00000000, 255", "0f42c80000, 0f3f400000, 255")
    miss = given.index("__miss__far")
    asked = given[:miss] + given[miss:].replace("_optix_get_ray_tmax", "_optix_get_ray_time", 1)
    totals = []
    for text in (PROGRAM, asked):
        prepared = prepare_image(planes(), ptx.parse(text, "rays.ptx"), read_config(config), Sampling(40, 2))
        totals.append(run(prepared.launch, prepared.image_address, backend)[1][0])
    missed = np.flatnonzero(totals[0][:, 3] == 2)  # the first ray missed, and nothing else ran
    assert len(missed)
    assert (totals[0][missed, 2].view(np.float32) == 100).all()
    assert (totals[1][missed, 2].view(np.float32) == 0.75).all()
