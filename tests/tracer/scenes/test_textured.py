"""Draws of glTF files: triangles, surfaces and pictures as in the file; damage is one clear line."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.draw import load_drawn
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.textured import read_textured
from tests.tracer.scenes.test_gltf import with_parts
from tests.tracer.scenes.test_limits import document

Document = dict[str, Any]
NONE = (-1,) * 5
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


@pytest.mark.parametrize(("name", "triangles", "pictures"), [
    ("flight_helmet", [8136, 21896, 20096, 43858, 736], 10), ("planets", [1984, 180], 6),
    ("sponza_tex", [3640, 468, 2211, 1362, 694, 8606, 5876, 2816, 21, 7088, 880], 15),
])  # fmt: skip
def test_scenes_of_the_raster_suite(data: Path, name: str, triangles: list[int], pictures: int) -> None:
    scene = read_textured(data / "scenes" / "textured" / f"{name}.glb")
    assert [len(draw.indices) // 3 for draw in scene.draws] == triangles
    assert len(scene.pictures) == pictures
    assert all(np.isfinite(draw.uv).all() and draw.uv.any() for draw in scene.draws if name != "planets")
