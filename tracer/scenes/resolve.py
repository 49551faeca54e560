"""From what a user types to a scene: a procedural name, a file, or a scene of the data folder."""

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.formats.guard.trust import data_root
from rayplay.tracer.scenes.cornell import cornell
from rayplay.tracer.scenes.description import Camera, Scene, sort_by_kind
from rayplay.tracer.scenes.forest import forest
from rayplay.tracer.scenes.gltf.file import files_of
from rayplay.tracer.scenes.mesh_file import GLTF_SUFFIXES, SUFFIXES, read_mesh_file
from rayplay.tracer.scenes.mtl import library_files
from rayplay.tracer.scenes.pack import read_scene_pack
from rayplay.tracer.scenes.rabbit import rabbit
from rayplay.tracer.scenes.sound import validate
from rayplay.tracer.scenes.terrain import terrain
from rayplay.tracer.scenes.wknd import wknd

PROCEDURAL: dict[str, Callable[..., Scene]] = {
    "cornell": cornell, "wknd": wknd, "forest": forest, "terrain": terrain, "rabbit": rabbit,
}  # fmt: skip


def load(name_or_path: str | Path, camera: Camera | None = None, **options: int) -> Scene:
    """The scene of that name, ready to be traced.

    Looked up in this order: a procedural scene (``cornell``, ``wknd``, ``forest``, ``terrain``, ``rabbit``; the last
    two also as ``NAME:TRIANGLES``), a file (.json scene pack, .glb, .gltf, .obj, .ply, .stl), ``NAME.json`` in the data
    folder's ``scenes/``. ``camera`` replaces the scene's own. ``options`` go to a procedural generator (``seed``,
    ``triangles``, ``trees``). Raises ``UserError`` for an unknown name, an unreadable file, or nothing to trace.
    """
    name = str(name_or_path)
    scene = _find(name, options)
    if camera is not None:
        scene = replace(scene, camera=camera)
    validate(scene, name)
    return sort_by_kind(scene)


def data_folder() -> Path:
    """``RAYPLAY_DATA``; else ``../shared`` of a checkout, or ``rayplay`` in the user's data folder when installed."""
    chosen = os.environ.get("RAYPLAY_DATA")
    if chosen:
        return Path(chosen)
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout.parent / "shared"
    return data_root()


def known_names() -> list[str]:
    """Procedural names and the scene packs of the data folder."""
    packs = {path.stem for path in (data_folder() / "scenes").glob("*.json")}
    return sorted(packs | set(PROCEDURAL))


def is_unknown(name: str) -> bool:
    """Whether a name is neither a known one nor written as a file."""
    is_file = "/" in name or Path(name).suffix.lower() in (*SUFFIXES, ".json") or Path(name).is_file()
    return not is_file and name.partition(":")[0] not in known_names()


def _find(name: str, options: dict[str, int]) -> Scene:
    generator, _, argument = name.partition(":")
    if generator in PROCEDURAL:
        return _generate(generator, argument, options)
    if options:
        raise UserError(f"{name}: options belong to procedural scenes, found {', '.join(sorted(options))}")
    path = Path(name)
    if path.is_file():
        return _read(path)
    pack = data_folder() / "scenes" / f"{name}.json"
    if "/" not in name and pack.is_file():
        return read_scene_pack(pack)
    if path.suffix.lower() in (*SUFFIXES, ".json") or "/" in name:
        raise UserError(f"{name}: no such scene file")
    raise UserError(f"no scene is called {name}; {hint(name, known_names())}")


def _generate(generator: str, argument: str, options: dict[str, int]) -> Scene:
    make = PROCEDURAL[generator]
    accepted = list(inspect.signature(make).parameters)
    if argument:
        if "triangles" not in accepted:
            raise UserError(f"{generator}:{argument}: {generator} takes no number of triangles")
        if not argument.isdecimal():
            raise UserError(f"{generator}:{argument}: the number of triangles must be a whole number, found {argument}")
        options = {**options, "triangles": int(argument)}
    for option in options:
        if option not in accepted:
            raise UserError(f"{generator}: no option {option}; it takes {', '.join(accepted) or 'none'}")
    return make(**options)


def _read(path: Path) -> Scene:
    suffix = path.suffix.lower()
    if suffix == ".json":
        return read_scene_pack(path)
    if suffix in SUFFIXES:
        return read_mesh_file(path)
    raise UserError(f"{path}: a scene file ends in .json, {', '.join(SUFFIXES)}; found {suffix or 'no suffix'}")


def scene_files(scene: str) -> list[Path]:
    """The files a scene is read from: none for a procedural one; a pack brings its mesh and its alpha textures.

    A glTF file brings the buffers and pictures beside it, an OBJ file its libraries and their pictures.
    """
    pack = data_folder() / "scenes" / f"{scene}.json"
    if scene.partition(":")[0] in PROCEDURAL or not (Path(scene).is_file() or pack.is_file()):
        return []
    path = Path(scene) if Path(scene).is_file() else pack
    if path.suffix != ".json":
        if path.suffix.lower() in GLTF_SUFFIXES:
            return files_of(path, ("buffers", "images"))
        return [path, *(library_files(path) if path.suffix.lower() == ".obj" else [])]
    raw = parse_json(read_text(path), path)
    textures = {material.get("alpha_texture") for material in raw.get("materials", {}).values()}
    mesh = files_of(path.parent / raw["mesh"]) if raw.get("mesh") else []
    return [path, *mesh, *(path.parent / name for name in sorted(textures - {None}) if name)]
