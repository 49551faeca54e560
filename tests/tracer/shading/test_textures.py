"""Textured triangles: colours, holes and light come from texels that programs fetch."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rayplay import ptx
from rayplay.formats.dataset.reader import open_trace
from rayplay.tracer.render import Request, render_scene
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes.description import (
    Camera,
    Instance,
    Material,
    Mesh,
    Picture,
    Scene,
    Sky,
    Spheres,
    Texture,
    sort_by_kind,
)
from rayplay.tracer.shading.config import BUILT_IN, PROGRAM_FOLDER, read_config
from rayplay.tracer.shading.picture import read_image
from rayplay.tracer.shading.prepare import Sampling, prepare_image

SIZE = 32
TEXELS = np.array([[[255, 0, 0, 255], [0, 128, 0, 0]], [[0, 0, 64, 255], [200, 100, 50, 255]]], np.uint8)
DATA = Path(__file__).parents[1] / "data"


def linear(texels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """sRGB to linear, IEC 61966-2-1."""
    value = texels / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def floor(material: Material, turns: float = 1.0, **picture: Any) -> Scene:
    """A square of side 2 on the ground, seen from above; u goes right, v towards the viewer's feet."""
    corners = np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], np.float32)
    uv = turns * np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    faces = np.array([[0, 2, 1], [0, 3, 2]], np.uint32)
    mesh = Mesh("floor", corners, faces, np.zeros(2, np.uint16), uv)
    camera = Camera((0, 10, 0), (0, 0, 0), (0, 0, -1), float(np.degrees(2 * np.arctan(0.1))))
    made = Picture("texels", TEXELS, is_nearest=True)
    scene = Scene(
        "floor", [mesh], [Instance(0)], [material], camera, textures=[Texture("holes", TEXELS[:, :, 3])],
        sky=Sky(True, (1, 1, 1), (1, 1, 1)), pictures=[replace(made, **picture)],
    )  # fmt: skip
    return sort_by_kind(scene)


def shot(
    scene: Scene, workload: str = "shadows", samples: int = 1, backend: str = "machine", variant: str = ""
) -> NDArray[np.float32]:
    """float32[SIZE, SIZE, 3]: the picture of a scene."""
    config = read_config(PROGRAM_FOLDER / f"{workload}.toml")
    module = ptx.parse_file(PROGRAM_FOLDER / variant / f"{workload}.ptx")
    prepared = prepare_image(scene, module, config, Sampling(SIZE, SIZE, samples, 4, 1))
    run_image_launch(prepared.launch, None, backend=backend)
    return read_image(prepared.launch.memory, prepared.image_address, SIZE, SIZE, prepared.image_format)


def quarters(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32[2, 2, 3]: the middle of each quarter of a picture."""
    return picture[SIZE // 4 :: SIZE // 2, SIZE // 4 :: SIZE // 2]


@pytest.mark.parametrize("variant", ["", "vulkan-sim"])
def test_a_pixel_is_its_texel_times_the_albedo(variant: str) -> None:
    material = Material("m", albedo=(0.5, 1.0, 0.25), base_color=0)
    found = quarters(shot(floor(material), variant=variant))
    np.testing.assert_allclose(found, linear(TEXELS[:, :, :3]) * (0.5, 1.0, 0.25), rtol=0.01, atol=1e-6)


@pytest.mark.parametrize(
    ("wrap", "corner"), [("wrap", TEXELS[1, 1]), ("clamp", TEXELS[1, 1]), ("mirror", TEXELS[0, 0])]
)
def test_coordinates_beyond_the_picture_are_read_as_its_sampler_says(wrap: str, corner: NDArray[np.uint8]) -> None:
    picture = shot(floor(Material("m", albedo=(1.0, 1.0, 1.0), base_color=0), turns=2.0, wrap=(wrap, wrap)))
    last = picture[SIZE - 3, SIZE - 3]  # u and v of nearly 2
    np.testing.assert_allclose(last, linear(corner[:3]), rtol=0.01, atol=1e-6)


def test_a_linear_filter_blends_texels() -> None:
    picture = shot(floor(Material("m", albedo=(1.0, 1.0, 1.0), base_color=0), is_nearest=False))
    middle = picture[SIZE // 2 - 1 : SIZE // 2 + 1, SIZE // 2 - 1 : SIZE // 2 + 1].mean(axis=(0, 1))
    np.testing.assert_allclose(middle, linear(TEXELS[:, :, :3]).mean(axis=(0, 1)), rtol=0.1)


@pytest.mark.parametrize(("workload", "solid"), [("shadows", 0), ("path-tracing", 0), ("ambient-occlusion", 1)])
def test_texels_without_alpha_are_holes_for_every_kind_of_ray(workload: str, solid: int) -> None:
    """Under a green sky: what has no red is the hole, or a blue texel; ambient occlusion has no colours."""
    scene = floor(Material("m", albedo=(1.0, 1.0, 1.0), base_color=0, alpha_texture=0))
    found = quarters(shot(replace(scene, sky=Sky(True, (0, 1, 0.5), (0, 1, 0.5))), workload))
    assert found[0, 1].tolist() == [0, 1, 0.5]
    assert found[1, 0, 0] == solid
    assert found[1, 0, 2] > 0


def test_light_of_a_map_and_colour_of_another_add_up() -> None:
    white = np.full((1, 1, 4), 255, np.uint8)
    material = Material("m", albedo=(0.5, 0.5, 0.5), emission=(2.0, 0.0, 4.0), base_color=0, emissive=0)
    picture = shot(floor(material, texels=white), "path-tracing", samples=1024).mean(axis=(0, 1))
    np.testing.assert_allclose(picture, (2.5, 0.5, 4.5), rtol=0.01)


def test_a_textured_surface_has_two_sides() -> None:
    scene = floor(Material("m", albedo=(1.0, 1.0, 1.0), base_color=0))
    flipped = replace(scene.meshes[0], triangles=scene.meshes[0].triangles[:, ::-1].copy())
    np.testing.assert_array_equal(shot(scene), shot(replace(scene, meshes=[flipped])))


@pytest.mark.parametrize("workload", BUILT_IN)
def test_machine_code_equals_the_interpreter(workload: str) -> None:
    scene = mixed()
    np.testing.assert_array_equal(shot(scene, workload), shot(scene, workload, backend="interpreter"))


def mixed() -> Scene:
    """Every kind of triangle in one mesh, over a sphere."""
    one = floor(Material("plain"))
    materials = [
        Material("plain"), Material("cut", alpha_texture=0), Material("both", base_color=0, alpha_texture=0),
        Material("mapped", base_color=0),
    ]  # fmt: skip
    quads = [replace(one.meshes[0], vertices=one.meshes[0].vertices * 0.4 + _place(n)) for n in range(4)]
    mesh = Mesh(
        "four",
        np.concatenate([quad.vertices for quad in quads]).astype(np.float32),
        np.concatenate([quad.triangles + np.uint32(4 * n) for n, quad in enumerate(quads)]),
        np.repeat(np.arange(4, dtype=np.uint16), 2),
        np.concatenate([quad.uv for quad in quads if quad.uv is not None]),
    )
    ball = Spheres(np.array([[0, -3, 0]], np.float32), np.array([1], np.float32), np.zeros(1, np.uint16))
    return sort_by_kind(replace(one, meshes=[mesh], materials=materials, spheres=ball))


def _place(number: int) -> NDArray[np.float32]:
    return np.array([number % 2 - 0.5, 0, number // 2 - 0.5], np.float32)


def test_kinds_are_geometries_in_order() -> None:
    found = [(g.opaque, g.textured, g.first_primitive, g.primitive_count) for g in mixed().geometries()]
    plain, textured, cut, both = (True, False), (True, True), (False, False), (False, True)
    assert found == [(*plain, 0, 2), (*textured, 2, 2), (*cut, 4, 2), (*both, 6, 2), (True, False, 0, 1)]


def test_a_program_that_knows_no_textures_takes_the_plain_groups() -> None:
    module, config = ptx.parse_file(DATA / "normals.ptx"), read_config(DATA / "normals.toml")
    prepared = prepare_image(replace(mixed(), spheres=Spheres.none()), module, config, Sampling(SIZE, SIZE))
    assert len(prepared.launch.hit_programs) == 4 * config.ray_types
    run_image_launch(prepared.launch, None)


def accesses(out: Path) -> Mapping[str, int]:
    """Recorded accesses of a trace by class of their instruction."""
    trace = open_trace(out)
    instructions, rows = trace.read("instructions"), trace.read("accesses")
    classes = dict(zip(instructions["instruction_id"].tolist(), instructions["operation_class"].tolist(), strict=True))
    return Counter(classes[number] for number in rows["instruction_id"].tolist())


def test_the_trace_has_an_access_for_each_fetch_and_no_block_of_others(tmp_path: Path) -> None:
    def made(scene: Scene, name: str) -> Path:
        program = PROGRAM_FOLDER / "shadows.ptx"
        request = Request("floor", program, program.with_suffix(".toml"), tmp_path / name, SIZE, SIZE, samples=1)
        render_scene(scene, request)
        return request.out

    assert accesses(made(floor(Material("m", base_color=0)), "a.trace"))["texture"] == SIZE
    assert "texture" not in accesses(made(floor(Material("m")), "b.trace"))
