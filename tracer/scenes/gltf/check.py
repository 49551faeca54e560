"""Limits of a glTF document, checked before anything is made of it.

A few hundred bytes of JSON can ask for any amount of memory (an accessor whose stride is 0, many primitives of one
accessor) or time (nodes that share children double at each level). Source: glTF 2.0 specification, 3.5.2 (nodes form
a forest), 3.6.1 (buffers and views), 3.6.2 (accessors).
"""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rayplay.formats.guard.limits import INSTANCES, MESH_ELEMENTS

COMPONENT_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


def check_document(path: Path, document: dict[str, Any]) -> None:
    """Raise ``FormatError`` beyond the limit of elements, ``ValueError`` or what a damaged document gives otherwise."""
    for number, buffer in enumerate(document.get("buffers", [])):
        if buffer.get("uri") is not None:
            check_uri(path, buffer["uri"], f"buffers[{number}].uri")
    views = document.get("bufferViews", [])
    for number, accessor in enumerate(document.get("accessors", [])):
        check_accessor(accessor, views, f"accessor {number}")
    _check_nodes(path, document)
    _check_elements(path, document)


def check_uri(path: Path, uri: Any, place: str) -> None:
    """A buffer or picture is in the document itself, or in a file of the document's folder."""
    if isinstance(uri, str) and uri.startswith("data:"):
        return
    if not isinstance(uri, str) or "\0" in uri or "\\" in uri or ":" in uri or len(uri) > 1000:
        raise ValueError(f"{place} must be the name of a file beside it, found {str(uri)[:100]!r}")
    file = (path.parent / unquote(uri)).resolve()
    if not file.is_relative_to(path.parent.resolve()) or not file.is_file():
        raise ValueError(f"{place} must be the name of a file beside it, found {uri[:100]!r}")


def check_accessor(accessor: dict[str, Any], views: list[dict[str, Any]], place: str) -> None:
    """Its numbers are counts, its elements lie in its buffer view, and do not overlap."""
    width, size = WIDTHS[accessor["type"]], COMPONENT_BYTES[accessor["componentType"]]
    count, start = whole(accessor.get("count"), f"{place}: count"), whole(accessor.get("byteOffset", 0), place)
    if "bufferView" not in accessor:
        return
    view = item(views, accessor["bufferView"], f"{place}: bufferView")
    stride = whole(view.get("byteStride", width * size), f"{place}: byteStride")
    if stride < width * size:
        raise ValueError(f"{place}: byteStride must be at least {width * size}, found {stride}")
    length = whole(view["byteLength"], f"{place}: byteLength")
    if count and start + stride * (count - 1) + width * size > length:
        raise ValueError(f"{place} must lie in the {length} bytes of its buffer view")


def whole(value: Any, place: str) -> int:
    """A number that counts; ``ValueError`` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 40:
        raise ValueError(f"{place} must be a whole number, found {str(value)[:50]!r}")
    return value


def item(values: list[Any], index: Any, place: str) -> Any:
    """``values[index]``; ``ValueError`` unless ``index`` is a whole number below their count."""
    if whole(index, place) >= len(values):
        raise ValueError(f"{place} must be below {len(values)}, found {index}")
    return values[index]


def _check_nodes(path: Path, document: dict[str, Any]) -> None:
    nodes, meshes = document.get("nodes", []), document.get("meshes", [])
    INSTANCES.check(len(nodes), "its nodes", file=path)
    parents: dict[int, int] = {}
    for number, node in enumerate(nodes):
        if "mesh" in node:
            item(meshes, node["mesh"], f"node {number}: mesh")
        for child in node.get("children", []):
            item(nodes, child, f"node {number}: children")
            if child in parents:
                raise ValueError(f"node {child} must have one parent, found two")
            parents[child] = number
    for number, scene in enumerate(document.get("scenes", [])):
        roots = scene.get("nodes", [])
        if len(set(roots)) < len(roots) or not parents.keys().isdisjoint(roots):
            raise ValueError(f"scene {number} must name each root once, and no node below another")
    below = [number for number in range(len(nodes)) if number not in parents]
    for number in below:  # grows: the nodes below each node follow
        below.extend(nodes[number].get("children", []))
    if len(below) != len(nodes):
        raise ValueError(f"nodes must form trees, but {len(nodes) - len(below)} are below themselves")


def _check_elements(path: Path, document: dict[str, Any]) -> None:
    """Accessors count as often as primitives use them, meshes as often as nodes do not: instances are one each."""
    accessors = document.get("accessors", [])
    total = len(document.get("nodes", []))
    for number, mesh in enumerate(document.get("meshes", [])):
        for primitive in mesh["primitives"]:
            used = [*primitive["attributes"].values(), *([primitive["indices"]] if "indices" in primitive else [])]
            for index in used:
                accessor = item(accessors, index, f"mesh {number}: accessor")
                total += accessor["count"] * WIDTHS[accessor["type"]]
                MESH_ELEMENTS.check(total, "what its meshes use", file=path)
