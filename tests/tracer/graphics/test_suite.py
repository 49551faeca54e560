"""The suite of raster scenes from cameras of its own: how many threads help their quads."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.tracer.draw import load_drawn
from rayplay.tracer.graphics.shaders import BUILT_IN, read_shaders
from rayplay.tracer.graphics.stages import Rules, draw_scene
from rayplay.tracer.scenes.camera_text import change_camera

SUITE = {
    "sponza_tex": "eye=-1000,200,0,at=1000,400,0,vfov=65", "flight_helmet": "eye=0.24,0.4,0.7",
    "bricks": "eye=0.9,0.7,2.2", "planets": "eye=1.2,0.35,2.6,at=0.9,0,0,vfov=30",
}  # fmt: skip
WIDTH, HEIGHT, WHOLE = 320, 240, 1440


@pytest.mark.parametrize("name", SUITE)
def test_helpers_are_as_many_as_on_hardware(data: Path, name: str) -> None:
    """Threads over live ones, where triangles are as large as in a picture of 1,440 rows: the middle sixth of one.

    An RTX 3070 has 1.05 to 1.31 for whole workloads (docs/sources/crisp.md#fragments-and-warps).
    """
    scene, camera, _ = load_drawn(name)
    camera = change_camera(camera, SUITE[name])
    half = np.tan(np.radians(camera.vfov_deg) / 2) * HEIGHT / WHOLE
    middle = replace(camera, vfov_deg=float(2 * np.degrees(np.arctan(half))))
    shaders = read_shaders(BUILT_IN, "lit")
    made = draw_scene(scene, shaders, middle, (WIDTH, HEIGHT), Rules(), None, progress=False)
    fragments = [each for each in made.stages if each.stage == "fragment"]
    live = sum(each.live for each in fragments)
    assert live > WIDTH * HEIGHT / 2
    assert 1.02 < sum(each.shaded for each in fragments) / live < 1.4
    assert all(each.live <= each.shaded <= 4 * each.live for each in fragments)
