"""Nodes of a glTF document: what stands where.

Source: glTF 2.0 specification, 3.5.2 (node hierarchy), 3.5.3 (transformations).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.gltf.check import item


def placed_meshes(document: dict[str, Any]) -> list[tuple[int, NDArray[np.float32]]]:
    """Mesh and float32[3, 4] matrix of every node with a mesh, parents before children, in the document's order."""
    return [
        (node["mesh"], np.ascontiguousarray(matrix[:3], dtype=np.float32))
        for node, matrix in placed_nodes(document)
        if "mesh" in node
    ]


def placed_nodes(document: dict[str, Any]) -> list[tuple[dict[str, Any], NDArray[np.float64]]]:
    """Every node and its float64[4, 4] matrix, parents before children, in the document's order."""
    nodes = document.get("nodes", [])
    scenes = document.get("scenes")
    roots = item(scenes, document.get("scene", 0), "scene").get("nodes", []) if scenes else _roots(nodes)
    found: list[tuple[dict[str, Any], NDArray[np.float64]]] = []
    left = [(number, np.eye(4)) for number in reversed(roots)]
    while left:
        number, parent = left.pop()
        node = item(nodes, number, "node")
        matrix = parent @ _local_matrix(node, f"node {number}")
        found.append((node, matrix))
        left += [(child, matrix) for child in reversed(node.get("children", []))]
    return found


def _roots(nodes: list[dict[str, Any]]) -> list[int]:
    children = {child for node in nodes for child in node.get("children", [])}
    return [number for number in range(len(nodes)) if number not in children]


def _local_matrix(node: dict[str, Any], place: str) -> NDArray[np.float64]:
    def numbers(key: str, default: tuple[float, ...]) -> NDArray[np.float64]:
        made = np.array(node.get(key, default), dtype=np.float64)
        if made.shape != (len(default),) or not np.isfinite(made).all():
            raise ValueError(f"{place}: {key} must be {len(default)} finite numbers, found {str(node[key])[:100]}")
        return made

    if "matrix" in node:
        return numbers("matrix", tuple(np.eye(4).ravel())).reshape(4, 4).T
    x, y, z, w = numbers("rotation", (0.0, 0.0, 0.0, 1.0))
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = np.eye(4)
    matrix[:3, :3] = rotation * numbers("scale", (1.0, 1.0, 1.0))
    matrix[:3, 3] = numbers("translation", (0.0, 0.0, 0.0))
    return matrix
