"""A glTF file as a scene that rays see: meshes with their materials, the file's camera, and its lights.

Sources: glTF 2.0 specification, 3.10 (cameras); KHR_lights_punctual.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rayplay.tracer.scenes.description import Camera, Light, Mesh, Scene, Vector, triple
from rayplay.tracer.scenes.gltf.check import item
from rayplay.tracer.scenes.gltf.coordinates import note_meshes
from rayplay.tracer.scenes.gltf.file import damage_of, open_gltf
from rayplay.tracer.scenes.gltf.look import read_look
from rayplay.tracer.scenes.gltf.meshes import place
from rayplay.tracer.scenes.gltf.nodes import placed_nodes
from rayplay.tracer.scenes.look import Look

APPEARANCE = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_")
"""Beginnings of extensions that may be required: they say how surfaces look."""
LIGHTS = "KHR_lights_punctual"
UNSEEN = Camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


class Model(NamedTuple):
    """A scene whose camera and distant lights are still to be placed, which needs its bounds.

    camera   the file's; None: it has none.
    suns     direction towards each distant light, unit length.
    """

    scene: Scene
    camera: Camera | None = None
    suns: tuple[Vector, ...] = ()


def read_model(path: Path) -> Model:
    """The scene of a .glb or .gltf file. Raises ``UserError`` for a damaged file or picture."""
    with damage_of(path):
        document, buffers = open_gltf(path, APPEARANCE)
        look = read_look(path, document, buffers)
        default = len(look.materials) - 1

        def number(primitive: dict[str, Any], mesh_name: str) -> int:
            chosen = primitive.get("material", default)
            item(look.materials, chosen, f"mesh {mesh_name}: material")
            return int(chosen)

        note_meshes(document, look.unused)
        is_mapped = [material.is_textured or material.alpha_texture >= 0 for material in look.materials]
        meshes, instances = place(document, buffers, number, is_mapped)
        camera = read_camera(document)
        lights, suns = _lights(document, look)
    scene = Scene(
        path.stem, [_with_uv(mesh, is_mapped) for mesh in meshes], instances, look.materials, UNSEEN,
        textures=look.textures, lights=lights, pictures=look.pictures, unused=look.left_out(),
    )  # fmt: skip
    return Model(scene, camera, suns)


def _with_uv(mesh: Mesh, is_mapped: Sequence[bool]) -> Mesh:
    """The mesh; where a material asks for texture coordinates and the file has none, all are 0."""
    if mesh.uv is not None or not np.array(is_mapped)[mesh.material].any():
        return mesh
    return replace(mesh, uv=np.zeros((len(mesh.vertices), 2), np.float32))


def read_camera(document: dict[str, Any]) -> Camera | None:
    """The first perspective camera that a node places."""
    for node, matrix in placed_nodes(document):
        entry = item(document.get("cameras", []), node["camera"], "camera") if "camera" in node else {}
        if "perspective" in entry:
            eye, forward, up = matrix[:3, 3], -matrix[:3, 2], matrix[:3, 1]
            vfov = float(np.degrees(float(entry["perspective"]["yfov"])))
            return Camera(triple(eye), triple(eye + forward), triple(up), vfov)
    return None


def _lights(document: dict[str, Any], look: Look) -> tuple[list[Light], tuple[Vector, ...]]:
    """Point and spot lights as spheres without a radius, and the directions towards directional ones."""
    kinds = document.get("extensions", {}).get(LIGHTS, {}).get("lights", [])
    lights, suns = [], []
    for node, matrix in placed_nodes(document):
        if LIGHTS not in node.get("extensions", {}):
            continue
        light = item(kinds, node["extensions"][LIGHTS]["light"], f"{LIGHTS}: light")
        look.unused["intensities of lights"] += 1
        if light["type"] == "directional":
            suns.append(triple(matrix[:3, 2] / np.linalg.norm(matrix[:3, 2])))
        else:
            lights.append(Light(triple(matrix[:3, 3]), 0.0))
    return lights, tuple(suns)
