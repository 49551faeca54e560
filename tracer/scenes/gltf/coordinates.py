"""Texture coordinates of a surface as KHR_texture_transform moves them, and what else of a file no draw uses.

Source: KHR_texture_transform: scale first, then a rotation counter-clockwise (v points down), then the offset.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.gltf.surfaces import MAPS

TRANSFORM = "KHR_texture_transform"
KEPT = np.eye(2, 3)


def transform_of(entry: dict[str, Any], unused: Counter[str]) -> NDArray[np.float64]:
    """float64[2, 3]: from a material's coordinates, as columns u, v and 1, to its maps'.

    All maps share the coordinates that vertices give: where maps are moved apart the first one's transform holds, and
    the others are counted in ``unused``. ``ValueError`` for a wrong one.
    """
    base, found = entry.get("pbrMetallicRoughness", {}), []
    for key in MAPS[:-1]:
        chosen = (base if key in MAPS[:2] else entry).get(f"{key}Texture")
        if chosen is not None:
            found.append(
                _matrix(chosen.get("extensions", {}).get(TRANSFORM, {}), f"{entry.get('name', 'material')}: {key}")
            )
    first = found[0] if found else KEPT
    unused[f"{TRANSFORM} of further maps"] += sum(not np.array_equal(first, other) for other in found)
    return first


def _matrix(given: dict[str, Any], place: str) -> NDArray[np.float64]:
    if given.get("texCoord", 0) != 0:
        raise ValueError(f"{place}Texture: texCoord must be 0, found {given['texCoord']}")
    offset, scale, turn = given.get("offset", (0, 0)), given.get("scale", (1, 1)), given.get("rotation", 0)
    if (
        np.shape(offset) != (2,)
        or np.shape(scale) != (2,)
        or not np.isfinite(np.array([*offset, *scale, turn], np.float64)).all()
    ):
        raise ValueError(f"{place}Texture: {TRANSFORM} must have two numbers of offset and scale, and one of rotation")
    cos, sin = np.cos(turn), np.sin(turn)
    return np.array([[cos * scale[0], sin * scale[1], offset[0]], [-sin * scale[0], cos * scale[1], offset[1]]])


def moved(uv: NDArray[np.float32], transform: NDArray[np.float64]) -> NDArray[np.float32]:
    """Coordinates, float32[n, 2], as a transform moves them; the same bits where it keeps them."""
    if np.array_equal(transform, KEPT):
        return uv
    with np.errstate(over="ignore", invalid="ignore"):
        return (uv.astype(np.float64) @ transform[:, :2].T + transform[:, 2]).astype(np.float32)


def note_meshes(document: dict[str, Any], unused: Counter[str], used: tuple[str, ...] = ()) -> None:
    """Count what no program reads of meshes and nodes, beside the attributes ``used``."""
    for mesh in document.get("meshes", []):
        for primitive in mesh["primitives"]:
            if any(name.startswith("COLOR_") and name not in used for name in primitive["attributes"]):
                unused["colours of vertices"] += 1
            if "targets" in primitive:
                unused["morph targets"] += 1
    for key in ("skins", "animations"):
        if document.get(key):
            unused[key] += len(document[key])
