"""Scene packs: a JSON file with camera, sky, lights, materials and spheres, and a GLB file with the meshes beside it.

The JSON is authoritative for materials; the GLB names them. Format: ``docs/sources/scenes.md#scene-packs``.
"""

from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.tracer.scenes.description import (
    MODELS,
    Camera,
    Curves,
    Instance,
    Light,
    Material,
    Mesh,
    Scene,
    Sky,
    Spheres,
    Texture,
    triple,
)
from rayplay.tracer.scenes.gltf.meshes import read_glb
from rayplay.tracer.scenes.pictures import read_texels

FORMAT = "scene-pack/1"


def read_scene_pack(path: Path) -> Scene:
    """The scene of ``path``. Raises ``UserError`` naming the file and the key that is missing or wrong."""
    document = parse_json(read_text(path, "scene"), path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise UserError(f"{path}: format must be {FORMAT}, found {found}")
    try:
        return _scene(path, document)
    except KeyError as error:
        raise UserError(f"{path}: key {error} is missing") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UserError(f"{path}: a value has the wrong type: {str(error)[:300]}") from error


def _scene(path: Path, document: dict[str, Any]) -> Scene:
    materials, textures = _materials(path, document["materials"])
    spheres = _spheres(path, document["spheres"], materials)
    meshes: list[Mesh] = []
    instances: list[Instance] = []
    if document["mesh"] is not None:
        meshes, instances = read_glb(_beside(path, document["mesh"]), list(document["materials"]))
    return Scene(
        name=str(document["name"]),
        meshes=meshes,
        instances=instances,
        materials=materials,
        camera=_camera(document["camera"]),
        spheres=spheres,
        textures=textures,
        sky=_sky(path, document["sky"]),
        lights=[Light(triple(light["position"]), float(light["radius"])) for light in document["lights"]],
        curves=_curves(document["curves"], list(document["materials"])) if "curves" in document else Curves.none(),
    )


def _curves(entry: dict[str, Any], materials: list[str]) -> Curves:
    """Curves of one basis: control points of four numbers, the first of each segment, one material."""
    if not isinstance(entry, dict):
        raise TypeError("curves must be one object: basis, points, segments, material")
    if entry["material"] not in materials:
        raise ValueError(f"curves.material must be a name of materials, found {entry['material']!r}")
    points, first = np.array(entry["points"]), np.array(entry["segments"])
    if points.ndim != 2 or points.shape[1] != 4 or points.dtype.kind not in "iuf":
        raise ValueError("curves.points must be a list of [x, y, z, radius]")
    if first.ndim != 1 or first.dtype.kind not in "iu":
        raise ValueError("curves.segments must be a list of numbers of points")
    with np.errstate(over="ignore"):
        points, first = points.astype(np.float32), np.array(entry["segments"], np.uint32)
    return Curves(
        str(entry["basis"]), points, first, np.full(len(first), materials.index(entry["material"]), np.uint16)
    )


def _materials(path: Path, entries: dict[str, Any]) -> tuple[list[Material], list[Texture]]:
    texture_names = sorted({entry["alpha_texture"] for entry in entries.values() if "alpha_texture" in entry})
    textures = [_texture(path, name) for name in texture_names]
    materials = []
    for name, entry in entries.items():
        texture = texture_names.index(entry["alpha_texture"]) if "alpha_texture" in entry else -1
        materials.append(_material(path, name, entry, texture))
    return materials, textures


def _material(path: Path, name: str, entry: dict[str, Any], texture: int) -> Material:
    if entry["model"] not in MODELS:
        raise UserError(f"{path}: materials.{name}.model must be one of {', '.join(MODELS)}, found {entry['model']}")
    return Material(
        name,
        entry["model"],
        albedo=triple(entry.get("albedo", (1.0, 1.0, 1.0))),
        fuzz=float(entry.get("fuzz", 0.0)),
        ior=float(entry.get("ior", 1.5)),
        emission=triple(entry.get("emission", (0.0, 0.0, 0.0))),
        alpha_texture=texture,
        alpha_cutoff=float(entry.get("alpha_cutoff", 0.5)),
    )


def _texture(path: Path, name: str) -> Texture:
    file = _beside(path, name)
    alpha = np.ascontiguousarray(read_texels(file, str(file))[:, :, 3])
    return Texture(name, alpha)


def _spheres(path: Path, entries: list[dict[str, Any]], materials: list[Material]) -> Spheres:
    """The spheres; their inline materials are appended to ``materials``."""
    if not entries:
        return Spheres.none()
    first = len(materials)
    materials.extend(_material(path, f"sphere-{i}", entry["material"], -1) for i, entry in enumerate(entries))
    with np.errstate(over="ignore"):  # values that are not finite are refused when the scene is checked
        center = np.array([triple(entry["center"]) for entry in entries], np.float32)
        radius = np.array([float(entry["radius"]) for entry in entries], np.float32)
    return Spheres(center, radius, np.arange(first, first + len(entries), dtype=np.uint16))


def _camera(entry: dict[str, Any]) -> Camera:
    return Camera(
        eye=triple(entry["eye"]),
        look_at=triple(entry["look_at"]),
        up=triple(entry["up"]),
        vfov_deg=float(entry["vfov_deg"]),
        aperture=float(entry["aperture"]),
        focus_distance=float(entry["focus_distance"]),
    )


def _sky(path: Path, entry: dict[str, Any]) -> Sky:
    if entry["type"] == "none":
        return Sky(gradient=False)
    if entry["type"] != "gradient":
        raise UserError(f"{path}: sky.type must be gradient or none, found {entry['type']}")
    return Sky(True, triple(entry["bottom"]), triple(entry["top"]))


def _beside(path: Path, name: str) -> Path:
    """A file named in a scene, which must lie in the scene's folder."""
    if not isinstance(name, str) or "\0" in name or len(name) > 1000:
        raise UserError(f"{path}: a scene's files must be named by text, found {str(name)[:100]!r}")
    file = (path.parent / name).resolve()
    if not file.is_relative_to(path.parent.resolve()):
        raise UserError(f"{path}: a scene's files must lie in its own folder, found {name}")
    if not file.is_file():
        raise UserError(f"{file}: missing, but {path.name} names it")
    return file
