"""Materials, pictures, cameras and lights of glTF and OBJ files: as rays see them, and the rest by name."""

import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.scenes.drawn import drawn
from rayplay.tracer.scenes.resolve import scene_files
from tests.tracer.scenes.test_gltf import with_parts
from tests.tracer.scenes.test_limits import document

Document = dict[str, Any]
LIGHTS = "KHR_lights_punctual"
LEAF = np.array([[[10, 20, 30, 255], [40, 50, 60, 0]]], np.uint8)
QUAD = "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nvt 0 0\nvt 1 0.25\nvt 1 1\n"


def png(texels: np.ndarray) -> bytes:
    out = BytesIO()
    Image.fromarray(texels).save(out, "PNG")
    return out.getvalue()


def gltf(folder: Path, material: Document, texels: np.ndarray = LEAF, **changes: Any) -> Scene:
    """A file whose only mesh has one material, with a picture as texture 0."""
    made = document()
    made["images"], made["textures"] = [{"bufferView": 3, "name": "leaf"}], [{"source": 0}]
    made["materials"] = [{"name": "m"} | material]
    for mesh in made["meshes"]:
        for primitive in mesh["primitives"]:
            primitive["material"] = 0
    (folder / "model.glb").write_bytes(with_parts(made | changes, [np.frombuffer(png(texels), np.uint8)]))
    return load(folder / "model.glb")


def base(**values: Any) -> Document:
    return {"pbrMetallicRoughness": values}


MAP = {"index": 0}
GLTF = [
    (base(baseColorFactor=[0.1, 0.2, 0.3, 1], metallicFactor=0), {"model": "lambertian", "albedo": (0.1, 0.2, 0.3)}),
    (base(metallicFactor=0.75, roughnessFactor=0.25), {"model": "metallic", "fuzz": 0.25}),
    (base(baseColorTexture=MAP, metallicFactor=0), {"model": "lambertian", "base_color": 0, "alpha_texture": -1}),
    (base(baseColorTexture=MAP, metallicFactor=0) | {"alphaMode": "MASK"}, {"alpha_texture": 0, "alpha_cutoff": 0.5}),
    (
        base(baseColorTexture=MAP, baseColorFactor=[1, 1, 1, 0.5]) | {"alphaMode": "MASK", "alphaCutoff": 0.25},
        {"alpha_texture": 0, "alpha_cutoff": 0.5},
    ),
    (base(baseColorFactor=[1, 1, 1, 0.25]) | {"alphaMode": "MASK"}, {"alpha_texture": 0, "base_color": -1}),
    (base(baseColorFactor=[1, 1, 1, 0.25]) | {"alphaMode": "BLEND"}, {"model": "dielectric", "ior": 1.5}),
    ({"emissiveFactor": [1, 0, 0.5]}, {"model": "diffuse_light", "emission": (1, 0, 0.5), "emissive": -1}),
    (
        base(metallicFactor=0) | {"emissiveFactor": [1, 0, 0.5], "emissiveTexture": MAP},
        {"model": "lambertian", "emission": (1, 0, 0.5), "emissive": 0},
    ),
    (
        {"emissiveFactor": [1, 0, 0.5], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 4}}},
        {"emission": (4, 0, 2)},
    ),
    (
        {"extensions": {"KHR_materials_transmission": {"transmissionFactor": 1}, "KHR_materials_ior": {"ior": 1.25}}},
        {"model": "dielectric", "ior": 1.25},
    ),
]


@pytest.mark.parametrize(("material", "wanted"), GLTF)
def test_a_gltf_material_is_the_nearest_model(tmp_path: Path, material: Document, wanted: Document) -> None:
    made = gltf(tmp_path, material).materials[0]
    assert {name: getattr(made, name) for name in wanted} == wanted


def test_maps_of_metal_count_by_their_mean(tmp_path: Path) -> None:
    texels = np.array([[[0, 51, 204, 255], [0, 51, 255, 255]]], np.uint8)
    scene = gltf(tmp_path, base(metallicRoughnessTexture=MAP), texels)
    assert (scene.materials[0].model, round(scene.materials[0].fuzz, 9)) == ("metallic", 0.2)
    assert scene.unused == ("metallic-roughness maps, but their mean",)
    assert not scene.pictures


UNUSED: list[tuple[Document, str]] = [
    ({"normalTexture": MAP}, "normal maps"),
    ({"occlusionTexture": MAP | {"texCoord": 1}}, "occlusion maps"),
    (base(baseColorTexture=MAP | {"texCoord": 1}), "maps of further texture coordinates"),
    (base(baseColorTexture=MAP | {"extensions": {"KHR_texture_transform": {}}}), "KHR_texture_transform"),
    ({"extensions": {"KHR_materials_clearcoat": {}}}, "KHR_materials_clearcoat"),
    (base(baseColorTexture=MAP) | {"alphaMode": "BLEND"}, "blending, cut at half its alpha"),
]


@pytest.mark.parametrize(("material", "name"), UNUSED)
def test_what_programs_do_not_read_is_named(tmp_path: Path, material: Document, name: str) -> None:
    assert name in gltf(tmp_path, material).unused


def test_a_texture_is_read_once_however_many_materials_have_it(tmp_path: Path) -> None:
    material = {"name": "m"} | base(baseColorTexture=MAP)
    scene = gltf(tmp_path, {}, materials=[material, material | {"alphaMode": "MASK"}, material | {"alphaMode": "MASK"}])
    assert len(scene.pictures) == len(scene.textures) == 1
    assert [each.base_color for each in scene.materials] == [0, 0, 0, -1]


def test_camera_and_lights_stand_where_nodes_place_them(tmp_path: Path) -> None:
    nodes: list[Document] = [
        {"mesh": 0},
        {"camera": 0, "translation": [1, 2, 3]},
        {"extensions": {LIGHTS: {"light": 0}}, "translation": [0, 5, 0]},
        {"extensions": {LIGHTS: {"light": 1}}, "rotation": [-(0.5**0.5), 0, 0, 0.5**0.5]},
    ]
    cameras = [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}]
    lights = {LIGHTS: {"lights": [{"type": "point"}, {"type": "directional"}]}}
    scene = gltf(tmp_path, {}, nodes=nodes, cameras=cameras, extensions=lights, scenes=[{"nodes": [0, 1, 2, 3]}])
    assert (scene.camera.eye, scene.camera.look_at) == ((1, 2, 3), (1, 2, 2))
    assert scene.camera.vfov_deg == pytest.approx(np.degrees(1.0))
    point, sun = scene.lights
    assert point.position == (0, 5, 0)
    low, high = scene.bounds()
    above = np.array(sun.position) - (low + high) / 2
    assert above[1] > 900 * np.linalg.norm(high - low)
    assert np.abs(above[[0, 2]]).max() < 1e-3 * above[1]
    assert "intensities of lights (2)" in scene.unused


def obj(folder: Path, library: str, faces: str = "usemtl m\nf 1/1 2/2 3/3\n") -> Path:
    (folder / "leaf.png").write_bytes(png(LEAF))
    (folder / "mask.png").write_bytes(png(np.array([[0, 255], [255, 255]], np.uint8)))
    (folder / "look.mtl").write_text(f"# a library\nnewmtl m\n{library}\nnewmtl other\nKd 0 0 1\n")
    (folder / "model.obj").write_text(f"mtllib look.mtl\n{QUAD}{faces}")
    return folder / "model.obj"


MTL = [
    ("Kd 0.1 0.2 0.3", {"model": "lambertian", "albedo": (0.1, 0.2, 0.3), "base_color": -1}),
    ("Kd 0.5", {"albedo": (0.5, 0.5, 0.5)}),
    ("Ke 1 2 3", {"model": "diffuse_light", "emission": (1, 2, 3)}),
    ("Kd 1 1 1\nillum 3", {"model": "metallic"}),
    ("Ni 1.25\nd 0.25", {"model": "dielectric", "ior": 1.25}),
    ("Tr 0.75", {"model": "dielectric"}),
    ("map_Kd -s 1 1 1 -clamp on leaf.png", {"albedo": (1, 1, 1), "base_color": 0, "alpha_texture": 0}),
    ("map_Kd .\\\\leaf.png\nmap_d mask.png", {"base_color": 0, "alpha_texture": 0}),
    ("Ke 1 2 3\nmap_Ke leaf.png", {"model": "lambertian", "emissive": 0}),
]


@pytest.mark.parametrize(("library", "wanted"), MTL)
def test_an_mtl_material_is_the_nearest_model(tmp_path: Path, library: str, wanted: Document) -> None:
    made = load(obj(tmp_path, library.replace("\\\\", "\\"))).materials[0]
    assert {name: getattr(made, name) for name in wanted} == wanted


def test_an_alpha_map_joins_the_colours(tmp_path: Path) -> None:
    texels = load(obj(tmp_path, "map_Kd leaf.png\nmap_d mask.png")).pictures[0].texels
    assert texels[:, :, 3].tolist() == [[0, 255], [255, 255]]
    assert texels[:, :, :3].tolist() == [LEAF[0, :, :3].tolist()] * 2, "the smaller is magnified"


def test_faces_have_their_materials_and_coordinates_run_from_the_top(tmp_path: Path) -> None:
    faces = "f 1/1 2/2 3/3\nusemtl other\nf 1/1 2/2 3/3\nusemtl m\nf 1/1 2/2 3/3 4/1\nusemtl none\nf 1/1 2/2 3/3\n"
    scene = load(obj(tmp_path, "map_Kd leaf.png", faces))
    mesh = scene.meshes[0]
    names = [scene.materials[number].name for number in mesh.material]
    assert sorted(names) == ["grey", "grey", "m", "m", "other"]
    assert mesh.uv is not None
    corner = {tuple(v): tuple(uv) for v, uv in zip(mesh.vertices.tolist(), mesh.uv.tolist(), strict=True)}
    assert corner == {(0, 0, 0): (0, 1), (2, 0, 0): (1, 0.75), (2, 1, 0): (1, 0), (0, 1, 0): (0, 1)}


def test_coordinates_are_left_out_where_no_material_has_a_map(tmp_path: Path) -> None:
    assert load(obj(tmp_path, "Kd 1 0 0")).meshes[0].uv is None


@pytest.mark.parametrize(
    ("library", "unused"),
    [
        ("map_Bump leaf.png", "normal maps"),
        ("map_Kd gone.png", "pictures that are not there"),
        ("map_Kd ../gone.png", "pictures that are not there"),
        ("d 0.75", "transparency of less than a half"),
    ],
)
def test_what_a_library_has_and_programs_do_not_read_is_named(tmp_path: Path, library: str, unused: str) -> None:
    assert load(obj(tmp_path, library)).unused == (unused,)


def test_a_library_that_is_not_there_is_named_and_faces_are_grey(tmp_path: Path) -> None:
    path = obj(tmp_path, "Kd 1 0 0")
    (tmp_path / "look.mtl").unlink()
    scene = load(path)
    assert [each.name for each in scene.materials] == ["grey"]
    assert scene.unused == ("the library look.mtl, which is not there",)


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("Kd red", r"look\.mtl:3: could not convert string to float: 'red'"),
        ("Ni", r"look\.mtl:3: could not convert"),
        ("map_Kd look.mtl", r"look\.mtl: .*"),
        ("Kd nan 0 0", r"materials\.m\.albedo must be finite"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, library: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        load(obj(tmp_path, library))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made["materials"][0].update(alphaMode="CUT"),
        lambda made: made["materials"][0].update(emissiveFactor=[1]),
        lambda made: made["materials"][0].update(extensions=3),
        lambda made: made["materials"][0].update(base(baseColorTexture={"index": 7})),
        lambda made: made["textures"][0].update(source=7),
        lambda made: made.update(extensions={LIGHTS: []}, nodes=[{"mesh": 0, "extensions": {LIGHTS: {}}}]),
        lambda made: made.update(cameras=[{"perspective": {"yfov": "wide"}}], nodes=[{"mesh": 0, "camera": 0}]),
    ],
)
def test_a_damaged_look_is_one_line(tmp_path: Path, change: Callable[[Document], None]) -> None:
    made = document()
    made["images"], made["textures"] = [{"bufferView": 3}], [{"source": 0}]
    made["materials"] = [base(baseColorTexture=MAP)]
    made["scenes"], made["nodes"] = [{"nodes": [0]}], [{"mesh": 0}]
    for mesh in made["meshes"]:
        for primitive in mesh["primitives"]:
            primitive["material"] = 0
    change(made)
    (tmp_path / "model.glb").write_bytes(with_parts(made, [np.frombuffer(png(LEAF), np.uint8)]))
    with pytest.raises(UserError, match=r"model\.glb: damaged glTF document: "):
        load(tmp_path / "model.glb")


def test_pictures_and_libraries_are_inputs(tmp_path: Path) -> None:
    path = obj(tmp_path, "map_Kd leaf.png\nmap_d mask.png")
    assert [file.name for file in scene_files(str(path))] == ["model.obj", "look.mtl", "leaf.png", "mask.png"]


def test_what_rays_see_is_drawn_as_well(tmp_path: Path) -> None:
    made = drawn(load(obj(tmp_path, "map_Kd leaf.png\nKe 1 1 1\nmap_Ke mask.png")))
    assert [made.pictures[number].name for number in made.surfaces[0].pictures if number >= 0] == [
        "leaf.png",
        "mask.png",
    ]


def test_a_picture_of_another_format_is_one_line(tmp_path: Path) -> None:
    path = obj(tmp_path, "map_Kd leaf.png")
    (tmp_path / "leaf.png").write_bytes(struct.pack("<I", 7) * 9)
    with pytest.raises(UserError, match=r"leaf\.png"):
        load(path)
