"""Shaders of Vulkan-Sim's dialect, and an OptiX-style program that does the same: equal rays, hits and pictures."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.tracer.render import Request, Summary, render_scene
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Instance, Scene
from rayplay.tracer.shading.upload import camera_values
from rayplay.tracer.vulkansim.scene_data import camera_matrices

TWIN = Path(__file__).parents[1] / "data" / "twin.ptx"
SHADERS = Path(__file__).parents[3] / "examples" / "shaders" / "vulkan-sim"
RECORD = [("positions", "triangles"), ("indices", "triangles"), ("spheres", "spheres"), ("material_numbers", ""),
          ("materials", "")]  # fmt: skip


def turned(scene: Scene) -> Scene:
    """The scene, each mesh turned about y, squeezed and moved by an instance."""
    cos, sin = np.cos(0.3), np.sin(0.3)
    matrix = np.array([[cos, 0, 0.7 * sin, 40], [0, 0.8, 0, 10], [-sin, 0, 0.7 * cos, -30]], np.float32)
    return replace(scene, instances=[Instance(i.mesh, matrix) for i in scene.instances])


def bindings_of_twin(scene: Scene, width: int, height: int) -> str:
    """The twin's configuration, with the matrices that the shaders find in their uniform block."""
    matrices = np.frombuffer(camera_matrices(scene, camera_values(scene.camera, width, height)), np.float32)
    fields = [
        ("image", "pointer"),
        ("scene", "u64"),
        ("world_to_object", "pointer"),
        ("width", "u32"),
        ("height", "u32"),
    ]
    params = [f'{{ name = "{name}", type = "{kind}" }}' for name, kind in fields]
    for number, column in enumerate(matrices.reshape(8, 4).tolist()):
        params.append(f'{{ name = "m{number}", type = "f32x4", offset = {32 + 16 * number}, value = {column} }}')
    text = f'params = [{", ".join(params)}]\nraygen = {{ program = "__raygen__twin" }}\n'
    text += 'miss = [{ program = "__miss__sky" }, { program = "__miss__lit" }]\n'
    for geometry, programs in (
        ("triangles", 'closest_hit = "__closesthit__triangle"\nany_hit = "__anyhit__corner"'),
        ("spheres", 'closest_hit = "__closesthit__sphere"\nintersection = "__intersection__sphere"'),
    ):
        record = ", ".join(f'{{ name = "{n}", type = "pointer" }}' for n, only in RECORD if only in ("", geometry))
        text += f'[[hit_group]]\ngeometry = "{geometry}"\n{programs}\nrecord = [{record}]\n'
    return text


def rendered(scene: Scene, program: Path, config: Path | None, out: Path, **options: str) -> Trace:
    width, height = (24, 16) if options.get("backend") != "interpreter" else (9, 5)
    request = Request("cornell", program, config, out, width, height, spheres="apart", **options)  # type: ignore[arg-type]
    render_scene(scene, request, Summary())
    return open_trace(out)


@pytest.mark.parametrize(("name", "options"), [
    ("cornell", {}), ("turned", {}), ("wknd", {}), ("cornell", {"traversal": "vulkan-sim"}),
    ("wknd", {"traversal": "vulkan-sim", "hit_programs": "after"}),
])  # fmt: skip
def test_the_same_rays_hits_and_picture(tmp_path: Path, name: str, options: dict[str, str]) -> None:
    scene = turned(load("cornell")) if name == "turned" else load(name)
    config = tmp_path / "twin.toml"
    config.write_text(bindings_of_twin(scene, 24, 16))
    ours = rendered(scene, TWIN, config, tmp_path / "ours.trace", **options)
    theirs = rendered(scene, SHADERS, None, tmp_path / "theirs.trace", **options)
    rays, others = ours.read("rays"), theirs.read("rays")
    same = [name for name in rays if not re.search("instruction|visit|node", name)]
    assert {"origin_x", "direction_z", "t_max", "hit_t", "instance", "primitive"} <= set(same)
    met = np.isfinite(rays["hit_t"])
    assert 100 < met.sum() < len(met) - 100
    for column in same:
        np.testing.assert_array_equal(others[column], rays[column], err_msg=column)
    for channel in ("red", "green", "blue"):
        picture = ours.read("image")[channel]
        assert len(np.unique(picture)) > 3
        np.testing.assert_array_equal(theirs.read("image")[channel], picture, err_msg=channel)


@pytest.mark.parametrize("name", ["cornell", "wknd"])
def test_interpreter_equals_machine_code(tmp_path: Path, name: str) -> None:
    found = []
    for backend in ("machine", "interpreter"):
        out = tmp_path / f"{backend}.trace"
        request = Request(name, SHADERS, None, out, 9, 5, spheres="apart", backend=backend)
        render_scene(load(name), request, Summary())
        found.append({path.name: path.read_bytes() for path in out.iterdir() if path.name != "manifest.json"})
    assert found[0] == found[1]
    assert len(found[0]) >= 11
