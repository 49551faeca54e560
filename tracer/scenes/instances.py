"""Instances of a template: records beside a glTF file, ``NAME_instances.bin``, for the mesh of a node ``*_template``.

A record is 32 bytes (``INSTANCE``). Layer k takes the base colour of the k-th material from the template's own on.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import BUFFER_BYTES
from rayplay.tracer.scenes.description import Picture
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.textured import INSTANCE, Draw, TexturedScene

RECORDS, TEMPLATE = "_instances.bin", "_template"


def records_of(path: Path) -> Path:
    """File of the records of a glTF file, if it has instances."""
    return path.with_name(path.stem + RECORDS)


def with_instances(scene: TexturedScene, path: Path) -> TexturedScene:
    """The scene with the records in ``path``; ``UserError`` for records that are damaged or fit no template."""
    templates = [draw for draw in scene.draws if draw.is_template]
    if len(templates) != 1 or len(templates[0].places) != 1:
        raise UserError(
            f"{path}: instances must be of one mesh with one primitive whose node is called NAME{TEMPLATE}, "
            f"found {len(templates)} such draws"
        )
    records, layers = _read(path), _layers(templates[0], scene.surfaces)
    most = int(records["layer"].max())
    if most >= len(layers):
        raise UserError(
            f"{path}: a layer must be below the {len(layers)} materials from the template's on, found {most}"
        )
    _check_sizes(path, [scene.pictures[number] for number in layers[: most + 1]])
    made = replace(templates[0], instances=records, layers=layers[: most + 1])
    return replace(scene, draws=[made if draw is templates[0] else draw for draw in scene.draws])


def _read(path: Path) -> NDArray[np.void]:
    size = path.stat().st_size
    BUFFER_BYTES.check(size, "its length", file=path)
    if size == 0 or size % INSTANCE.itemsize:
        raise UserError(f"{path}: must be one or more records of {INSTANCE.itemsize} bytes, found {size} bytes")
    records = np.fromfile(path, INSTANCE)
    for name in ("position", "rotation", "scale"):
        wrong = ~np.isfinite(records[name].reshape(len(records), -1)).all(axis=1)
        if wrong.any():
            raise UserError(f"{path}: record {int(np.argmax(wrong))}: {name} must be finite")
    return records


def _layers(template: Draw, surfaces: list[Surface]) -> tuple[int, ...]:
    """Pictures of the materials from the template's own on, as far as they have one."""
    found: list[int] = []
    for surface in surfaces[template.surface :]:
        if surface.pictures[0] < 0:
            break
        found.append(surface.pictures[0])
    return tuple(found)


def _check_sizes(path: Path, pictures: list[Picture]) -> None:
    shapes: list[Any] = [picture.texels.shape[1::-1] for picture in pictures]
    if len(set(shapes)) != 1:
        raise UserError(f"{path}: the pictures of all layers must have one size, found {sorted(set(shapes))}")
