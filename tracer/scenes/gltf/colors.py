"""Colours of the vertices of a glTF primitive, which multiply the base colour.

Source: glTF 2.0 specification, 3.7.2.1 (COLOR_0), 3.9.2 (the base colour is multiplied by it).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.gltf.accessor import read_accessor
from rayplay.tracer.scenes.gltf.check import item

COLORS = "COLOR_0"
_KINDS = ("VEC3", "VEC4")
_FLOAT, _NORMALISED = 5126, (5121, 5123)


def vertex_colors(document: dict[str, Any], buffers: list[memoryview], index: int, name: str) -> NDArray[np.float32]:
    """float32[n, 4] linear colours of an accessor; alpha is 1 where it has none.

    Raises ``ValueError`` for another type than floats and normalised unsigned integers of three or four components.
    """
    accessor = item(document["accessors"], index, f"{name}: {COLORS}")
    kind, component = accessor["type"], accessor["componentType"]
    if kind not in _KINDS:
        raise ValueError(f"{name}: {COLORS} must be of type VEC3 or VEC4, found {kind}")
    if component != _FLOAT and not (component in _NORMALISED and accessor.get("normalized")):
        raise ValueError(f"{name}: {COLORS} must be floats, or normalized bytes or shorts without sign")
    values = read_accessor(document, buffers, index, kind).astype(np.float32)
    colors = np.ones((len(values), 4), np.float32)
    colors[:, : values.shape[1]] = values
    return colors
