"""Draws that are hard to survive: each has a defined picture beside a plain square, or is one clear line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.launch.classes import join, parse
from rayplay.replay.run.driver import simulate
from rayplay.tracer.draw import stage_table
from rayplay.tracer.graphics.shaders import BUILT_IN, read_shaders
from rayplay.tracer.graphics.stages import BACKGROUND, Picture, Rules, draw_scene
from rayplay.tracer.scenes.camera import fit_camera
from rayplay.tracer.scenes.camera_text import change_camera
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.textured import INSTANCE, Draw, TexturedScene
from tests.tracer.graphics.scenes import CAMERA, IDENTITY, SIZE, drawn, joined, middle, scene, square

RED = Surface("red", (0.8, 0.1, 0.05, 1.0), is_double_sided=True)
PLAIN = square(0)
EXPECTED = drawn(scene([PLAIN], [RED])).framebuffer


def triangles(*corners: tuple[float, float, float]) -> Draw:
    """Triangles of these corners, without normals."""
    points = np.array(corners, np.float32).reshape(-1, 3)
    return Draw("hard", points, np.zeros_like(points), np.zeros((len(points), 2), np.float32),
                np.arange(len(points), dtype=np.uint32), IDENTITY, 0)  # fmt: skip


UNSEEN = {
    "behind the camera": triangles((-1, -1, 20), (1, -1, 20), (0, 1, 20)),
    "in the plane of the eye": triangles((-1, -1, 10), (1, -1, 10), (0, 1, 10)),
    "without area": triangles((0, 0, 1), (0, 0, 1), (0, 0, 1), (-1, -1, 1), (0, 0, 1), (1, 1, 1)),
    "between pixel centres": triangles((0.01, 0.01, 1), (0.02, 0.01, 1), (0.01, 0.02, 1)),
    "a NaN": triangles((np.nan, 0, 1), (1, -1, 1), (0, 1, 1)),
    "infinite": triangles((np.inf, 0, 1), (1, -np.inf, 1), (0, 1, 1)),
    "beyond single precision once projected": triangles((3e38, 3e38, 3e38), (-3e38, 3e38, 3e38), (0, -3e38, 3e38)),
    "no triangle": triangles(),
    "an incomplete triangle": triangles((-1, -1, 1), (1, -1, 1)),
}


@pytest.mark.parametrize("rules", ["hardware", "crisp"])
@pytest.mark.parametrize("name", UNSEEN)
def test_what_cannot_be_seen_changes_nothing(name: str, rules: str) -> None:
    """Neither in a draw of its own nor among the triangles of another."""
    alone = picture(scene([UNSEEN[name], PLAIN], [RED]), rules)
    together = picture(scene([joined(PLAIN, UNSEEN[name])], [RED]), rules)
    expected = picture(scene([PLAIN], [RED]), rules)
    for found in (alone, together):
        np.testing.assert_array_equal(found.framebuffer.colour, expected.framebuffer.colour)
        np.testing.assert_array_equal(found.framebuffer.depth < 1, expected.framebuffer.depth < 1)
    assert [each.draw for each in alone.stages if each.stage == "fragment"] == [1], "no launch without fragments"


def picture(made: TexturedScene, rules: str) -> Picture:
    return draw_scene(made, read_shaders(BUILT_IN, "lit"), CAMERA, SIZE, Rules(rules), None, progress=False)


@pytest.mark.parametrize("reach", [1e3, 1e6, 1e15])
def test_a_huge_triangle_covers_the_picture(reach: float) -> None:
    found = drawn(scene([triangles((-reach, -reach, 0), (reach, -reach, 0), (0, reach, 0))], [RED]))
    assert (found.framebuffer.colour != np.float32(BACKGROUND)).any(axis=2).all()
    assert found.stages[-1].live == SIZE[0] * SIZE[1]


def test_the_eye_moves_in_a_scene_whose_own_camera_is_out_of_reach() -> None:
    """The distance that the fitted camera focuses on is no error of another eye."""
    fitted = fit_camera(*(np.full(3, side * 3e15, np.float32) for side in (-1, 1)))
    assert change_camera(fitted, "eye=0,0,10,at=0,0,0").eye == (0, 0, 10)


def test_a_picture_without_fragments_or_launches_replays_and_is_no_class(tmp_path: Path) -> None:
    """Vertices alone take cycles; without a draw there is nothing to count, and no class of work."""
    paths = []
    for name, draws in (("behind", [UNSEEN["behind the camera"]]), ("nothing", [UNSEEN["no triangle"]])):
        with TraceWriter(tmp_path / f"{name}.trace", {}) as writer:
            drawn(scene(draws, [RED]), sink=writer)
            writer.put("stages", stage_table([]))
        paths.append(str(tmp_path / f"{name}.trace"))
    cycles = [simulate(path, load("mobile", ["sm.count=2"])).value("gpu_cycles") for path in paths]
    assert cycles[0] > cycles[1] == 0
    with pytest.raises(UserError, match=r"nothing.trace: must have a launch to be a class of work$"):
        join([parse(path) for path in paths])


def test_records_of_hard_instances() -> None:
    """Scale 0, and positions and scales that overflow, beside a plain one."""
    records = np.zeros(4, INSTANCE)
    records["scale"] = [0, 1, 3e38, 1]
    records["position"][1] = 3e38
    texels = np.full((1, 1, 4), 255, np.uint8)
    found = drawn(scene([replace(PLAIN, instances=records, layers=(0,))], [RED], (texels,)))
    np.testing.assert_allclose(middle(found), EXPECTED.colour[SIZE[1] // 2, SIZE[0] // 2, :3], rtol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (1, 16384), (16384, 1)])
def test_textures_of_extreme_shapes(shape: tuple[int, int]) -> None:
    """One colour whatever the level, with and without records."""
    texels = np.full((*shape, 4), (255, 255, 255, 255), np.uint8)
    held = Surface("picture", RED.base_color, pictures=(0, *(-1,) * 5))
    records = np.zeros(1, INSTANCE)
    records["scale"] = 1
    for draw in (PLAIN, replace(PLAIN, instances=records, layers=(0,))):
        found = drawn(scene([draw], [held], (texels,)))
        np.testing.assert_allclose(found.framebuffer.colour, EXPECTED.colour, rtol=1e-5)


def test_an_index_beyond_the_vertex_buffer_is_one_line() -> None:
    wrong = replace(PLAIN, indices=np.array([0, 1, 4], np.uint32))
    with pytest.raises(UserError, match="draw square: index buffer: index 2 must be below the 4 vertices, found 4"):
        drawn(scene([PLAIN, wrong], [RED]))
