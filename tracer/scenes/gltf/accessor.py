"""Elements of a glTF accessor: interleaved, sparse or normalised; colours of vertices.

Source: glTF 2.0 specification, 3.6.2 (accessors), 3.6.2.3 (sparse accessors), 3.6.2.2 (normalised integers), 3.7.2.1
(COLOR_0).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.gltf.check import WIDTHS, check_accessor, item, whole

_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_INDICES = (5121, 5123, 5125)
COLORS = "COLOR_0"
_FLOAT, _UNSIGNED = 5126, (5121, 5123)


def read_accessor(document: dict[str, Any], buffers: list[memoryview], index: int, kind: str) -> NDArray[Any]:
    """[count, width] elements of an accessor of the type ``kind``, such as VEC3; ``ValueError`` for another."""
    accessor = item(document["accessors"], index, "accessor")
    if accessor["type"] != kind:
        raise ValueError(f"accessor {index} must be of type {kind}, found {accessor['type']}")
    found = _read(document, buffers, accessor, f"accessor {index}")
    sparse = accessor.get("sparse")
    if sparse is not None:
        count = whole(sparse.get("count"), f"accessor {index}: sparse.count")
        if count > len(found):
            raise ValueError(f"accessor {index}: sparse.count must be at most {len(found)}, found {count}")
        shared = {"count": count, "componentType": accessor["componentType"], "type": kind}
        places = read_indices(document, buffers, sparse["indices"] | {"count": count}, f"accessor {index}: indices")
        if (np.diff(places.astype(np.int64)) <= 0).any() or (count and places[-1] >= len(found)):
            raise ValueError(f"accessor {index}: sparse indices must rise and be below {len(found)}")
        found[places] = _read(document, buffers, sparse["values"] | shared, f"accessor {index}: values")
    if accessor.get("normalized"):
        return np.maximum(found.astype(np.float32) / np.float32(np.iinfo(found.dtype).max), np.float32(-1))
    return found


def read_colors(document: dict[str, Any], buffers: list[memoryview], index: int) -> NDArray[np.float32]:
    """float32[count, 4] linear colours of an accessor; alpha is 1 where it has none.

    Raises ``ValueError`` for another type than floats and normalised unsigned integers of three or four components.
    """
    accessor = item(document["accessors"], index, "accessor")
    kind, component = accessor["type"], accessor["componentType"]
    if kind not in ("VEC3", "VEC4"):
        raise ValueError(f"{COLORS} must be of type VEC3 or VEC4, found {kind}")
    if component != _FLOAT and not (component in _UNSIGNED and accessor.get("normalized")):
        raise ValueError(f"{COLORS} must be floats, or normalized bytes or shorts without sign")
    values = read_accessor(document, buffers, index, kind)
    colors = np.ones((len(values), 4), np.float32)
    colors[:, : values.shape[1]] = values
    return colors


def read_indices(
    document: dict[str, Any], buffers: list[memoryview], entry: dict[str, Any], place: str
) -> NDArray[Any]:
    """[count] whole numbers of an accessor, or of a part of a sparse one."""
    if entry["componentType"] not in _INDICES or entry.get("type", "SCALAR") != "SCALAR":
        raise ValueError(f"{place} must be unsigned whole numbers")
    return _read(document, buffers, entry | {"type": "SCALAR"}, place)[:, 0]


def _read(document: dict[str, Any], buffers: list[memoryview], entry: dict[str, Any], place: str) -> NDArray[Any]:
    """Elements that lie in the entry's buffer view; zeros where it has none."""
    dtype, width = np.dtype(_COMPONENTS[entry["componentType"]]), WIDTHS[entry["type"]]
    views = document.get("bufferViews", [])
    check_accessor(entry, views, place)
    count = entry["count"]
    if "bufferView" not in entry:
        return np.zeros((count, width), dtype)
    view = views[entry["bufferView"]]
    data = item(buffers, view.get("buffer"), f"{place}: buffer")
    start = whole(view.get("byteOffset", 0), f"{place}: byteOffset") + entry.get("byteOffset", 0)
    stride = view.get("byteStride", width * dtype.itemsize)
    if count and start + stride * (count - 1) + width * dtype.itemsize > len(data):
        raise ValueError(f"{place} must lie in the {len(data)} bytes of its buffer")
    return np.ndarray((count, width), dtype, data, start if count else 0, (stride, dtype.itemsize)).copy()
