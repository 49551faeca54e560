"""Draws of glTF files: triangles, surfaces and pictures as in the file; damage is one clear line."""

import json
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.draw import DrawRequest, load_drawn
from rayplay.tracer.draw import draw as draw_request
from rayplay.tracer.scenes.gltf.coordinates import moved, transform_of
from rayplay.tracer.scenes.gltf.model import read_model
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.textured import read_textured
from tests.tracer.scenes.test_gltf import with_parts
from tests.tracer.scenes.test_limits import document

Document = dict[str, Any]
NONE = (-1,) * 5
CORNERS = np.array([[0, 0], [1, 0], [0, 1]], np.float32)
TEXELS = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


def png() -> bytes:
    out = BytesIO()
    Image.fromarray(TEXELS).save(out, "PNG")
    return out.getvalue()


def textured() -> Document:
    """Two materials, the first of which blends, with one picture; a mesh of two primitives, placed twice."""
    made = document()
    made["images"] = [{"bufferView": 3, "mimeType": "image/png", "name": "texels"}]
    made["samplers"] = [{"wrapS": 33071, "wrapT": 33648, "magFilter": 9728}]
    made["textures"] = [{"source": 0, "sampler": 0}]
    glass = {"name": "glass", "alphaMode": "BLEND", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
    wall = {"name": "wall", "doubleSided": True, "pbrMetallicRoughness": {"metallicFactor": 0, "roughnessFactor": 0.25}}
    made["materials"] = [glass, wall | {"normalTexture": {"index": 0}, "alphaMode": "MASK", "alphaCutoff": 0.75}]
    primitive = {key: value for key, value in made["meshes"][0]["primitives"][0].items() if key != "material"}
    made["meshes"] = [
        {"name": "m", "primitives": [primitive | {"material": 0}, primitive | {"material": 1}, primitive]}
    ]
    made["nodes"] = [{"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}]
    made["scenes"] = [{"nodes": [0, 1]}]
    return made


def write(folder: Path, made: Document) -> Path:
    path = folder / "drawn.glb"
    path.write_bytes(with_parts(made, [np.frombuffer(png(), np.uint8)]))
    return path


def test_draws_stand_in_order_and_what_blends_comes_last(tmp_path: Path) -> None:
    scene = read_textured(write(tmp_path, textured()))
    assert [scene.surfaces[draw.surface].name for draw in scene.draws] == ["wall", "default", "glass"]
    for draw in scene.draws:
        assert draw.places[:, 0, 3].tolist() == [0, 5]
        assert len(draw.indices) % 3 == 0
        assert draw.indices.max() < len(draw.positions) == len(draw.normals) == len(draw.uv)


def test_the_camera_is_the_files_where_it_has_one(tmp_path: Path) -> None:
    made = textured()
    assert read_textured(write(tmp_path, made)).camera is None
    made["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}]
    made["nodes"][1] |= {"camera": 0, "translation": [1, 2, 3]}
    camera = load_drawn(str(write(tmp_path, made)))[1]
    assert (camera.eye, camera.look_at) == ((1, 2, 3), (1, 2, 2))
    assert camera.vfov_deg == pytest.approx(np.degrees(1.0))


def test_surfaces_are_as_the_file_says(tmp_path: Path) -> None:
    glass, wall, default = read_textured(write(tmp_path, textured())).surfaces
    assert glass == Surface("glass", alpha="BLEND", pictures=(0, *NONE))
    assert wall == Surface(
        "wall",
        metallic=0,
        roughness=0.25,
        alpha="MASK",
        cutoff=0.75,
        is_double_sided=True,
        pictures=(-1, -1, 0, -1, -1, -1),
    )
    assert default == Surface()


@pytest.mark.parametrize("kind", ["view", "data", "file"])
def test_pictures_come_from_the_file_or_from_beside_it(tmp_path: Path, kind: str) -> None:
    import base64

    made = textured()
    (tmp_path / "a b.png").write_bytes(png())
    if kind != "view":
        uri = "a%20b.png" if kind == "file" else "data:image/png;base64," + base64.b64encode(png()).decode()
        made["images"] = [{"uri": uri}]
    (picture,) = read_textured(write(tmp_path, made)).pictures
    assert (picture.texels == TEXELS).all()
    assert picture.wrap == ("clamp", "mirror")
    assert picture.is_nearest


@pytest.mark.parametrize(("change", "message"), [
    (lambda d: d["materials"][0].update(alphaMode="ADD"), "glass: alphaMode must be one of .*, found ADD"),
    (lambda d: d["materials"][0].update(emissiveFactor=[1]), "glass: factors must be finite numbers"),
    (lambda d: d["textures"][0].update(source=1), r"textures\[0\].source must be below 1, found 1"),
    (lambda d: d["images"][0].update(bufferView=0), "image texels: must be a picture"),
    (lambda d: d.update(images=[{"uri": "../x.png"}]), "must be the name of a file beside it, found '../x.png'"),
    (lambda d: d["meshes"][0]["primitives"][0].update(material=9), "m: material must be below 2, found 9"),
    (lambda d: d.update(scenes=[{"nodes": []}]), "must have a mesh with triangles that a node"),
    (lambda d: d.update(extensionsRequired=["X"]), "extensionsRequired must be .*, found X"),
])  # fmt: skip
def test_damage_is_one_line(tmp_path: Path, change: Callable[[Document], Any], message: str) -> None:
    made = json.loads(json.dumps(textured()))
    change(made)
    with pytest.raises(UserError, match=message):
        read_textured(write(tmp_path, made))


def moved_by(*transforms: dict[str, Any] | None) -> Document:
    """The second material has maps of colour and normals, each moved."""
    made = textured()
    maps = [
        {"index": 0} | ({} if one is None else {"extensions": {"KHR_texture_transform": one}}) for one in transforms
    ]
    made["materials"][1] |= {"pbrMetallicRoughness": {"baseColorTexture": maps[0]}, "normalTexture": maps[1]}
    made["extensionsRequired"] = ["KHR_texture_transform"]
    return made


@pytest.mark.parametrize(("transform", "expected"), [
    ({}, [[0, 0], [1, 0], [0, 1]]),
    ({"offset": [0.5, -2]}, [[0.5, -2], [1.5, -2], [0.5, -1]]),
    ({"scale": [2, -3]}, [[0, 0], [2, 0], [0, -3]]),
    ({"rotation": np.pi / 2}, [[0, 0], [0, -1], [1, 0]]),  # counter-clockwise, v downwards
    ({"rotation": np.pi, "scale": [2, 3], "offset": [1, 1]}, [[1, 1], [-1, 1], [1, -2]]),  # scale, turn, move
])  # fmt: skip
def test_texture_transforms_move_the_coordinates(
    tmp_path: Path, transform: dict[str, Any], expected: list[list[float]]
) -> None:
    scene = read_textured(write(tmp_path, moved_by(transform, transform)))
    matrix = transform_of(moved_by(transform, transform)["materials"][1], Counter())
    np.testing.assert_allclose(moved(CORNERS, matrix), expected, atol=1e-6)
    for before, after in zip(read_textured(write(tmp_path, textured())).draws, scene.draws, strict=True):
        assert (after.uv == (moved(before.uv, matrix) if after.surface == 1 else before.uv)).all()
    assert scene.unused == ()


def test_what_no_draw_uses_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(json.dumps(moved_by({"offset": [1, 0]}, None)))
    for primitive in made["meshes"][0]["primitives"][:2]:
        primitive["attributes"]["COLOR_1"] = primitive["attributes"]["POSITION"]
    made["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["extensions"] = {"KHR_texture_transform": {}}
    path = write(tmp_path, made)
    assert read_textured(path).unused == ("KHR_texture_transform of further maps", "colours of vertices (2)")
    draw_request(DrawRequest(str(path), tmp_path / "a.trace", 8, 8))
    said = "draws do not use KHR_texture_transform of further maps, colours of vertices (2)"
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"warning: {path}: {said}"


def colored(kind: str, component: int, values: np.ndarray, **more: Any) -> Callable[[Path], Path]:
    """Writer of the textured document whose first primitive has colours."""

    def written(folder: Path) -> Path:
        made = textured()
        made["accessors"].append(
            {"bufferView": 4, "componentType": component, "count": len(values), "type": kind} | more
        )
        primitive = made["meshes"][0]["primitives"][0]
        primitive["attributes"] = primitive["attributes"] | {"COLOR_0": len(made["accessors"]) - 1}
        path = folder / "colored.glb"
        path.write_bytes(with_parts(made, [np.frombuffer(png(), np.uint8), values]))
        return path

    return written


@pytest.mark.parametrize(("kind", "component", "values", "more"), [
    ("VEC3", 5126, np.array([[0, 0.5, 1], [0.25, 2, 0], [1, 1, 1], [0.1, 0, 0]], np.float32), {}),
    ("VEC4", 5121, np.array([[0, 51, 255, 102], [255] * 4, [1, 2, 3, 4], [9] * 4], np.uint8), {"normalized": True}),
    ("VEC4", 5123, np.array([[0, 13107, 65535, 0], [1, 2, 3, 4], [9] * 4, [7] * 4], np.uint16), {"normalized": True}),
])  # fmt: skip
def test_colours_of_vertices_are_the_files(
    tmp_path: Path, kind: str, component: int, values: np.ndarray, more: dict[str, Any]
) -> None:
    """Of the last draw, since it blends; alpha is 1 where the file leaves it out; the others have no colours."""
    scene = read_textured(colored(kind, component, values, **more)(tmp_path))
    *others, last = scene.draws
    assert [draw.colors for draw in others] == [None] * len(others)
    most = np.iinfo(values.dtype).max if more else 1
    expected = np.column_stack([values / np.float32(most), np.ones(len(values))])[:, :4]
    np.testing.assert_allclose(last.colors, expected, rtol=1e-7)
    assert scene.unused == ()
    assert "colours of vertices" in read_model(tmp_path / "colored.glb").scene.unused, "rays do not read them"


@pytest.mark.parametrize(("kind", "component", "values", "message"), [
    ("VEC2", 5126, np.zeros((4, 2), np.float32), "COLOR_0 must be of type VEC3 or VEC4, found VEC2"),
    ("VEC4", 5121, np.zeros((4, 4), np.uint8), "COLOR_0 must be floats, or normalized"),
    ("VEC3", 5126, np.zeros((2, 3), np.float32), "m: COLOR_0 must have 4 elements, found 2"),
])  # fmt: skip
def test_wrong_colours_of_vertices_are_one_line(
    tmp_path: Path, kind: str, component: int, values: np.ndarray, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read_textured(colored(kind, component, values)(tmp_path))


@pytest.mark.parametrize(("transform", "message"), [
    ({"texCoord": 1}, "wall: baseColorTexture: texCoord must be 0, found 1"),
    ({"offset": [1]}, "wall: baseColorTexture: KHR_texture_transform must have two numbers"),
    ({"scale": 2}, "KHR_texture_transform must have two numbers"), ({"rotation": "a"}, "damaged glTF document"),
])  # fmt: skip
def test_a_wrong_transform_is_one_line(tmp_path: Path, transform: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_textured(write(tmp_path, moved_by(transform, None)))


@pytest.mark.parametrize(("name", "triangles", "pictures"), [
    ("flight_helmet", [8136, 21896, 20096, 43858, 736], 10), ("planets", [1984, 180], 6),
    ("sponza_tex", [3640, 468, 2211, 1362, 694, 8606, 5876, 2816, 21, 7088, 880], 15),
])  # fmt: skip
def test_scenes_of_the_raster_suite(data: Path, name: str, triangles: list[int], pictures: int) -> None:
    scene = read_textured(data / "scenes" / "textured" / f"{name}.glb")
    assert [len(draw.indices) // 3 for draw in scene.draws] == triangles
    assert len(scene.pictures) == pictures
    assert all(np.isfinite(draw.uv).all() and draw.uv.any() for draw in scene.draws if name != "planets")
