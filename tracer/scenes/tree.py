"""Trees and grass, grown from random numbers: tapered branches as tubes, foliage as textured quads."""

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Mesh

GROUND, BARK, LEAVES, BLADES = range(4)

TUBE_SIDES = 6
CHILDREN_PER_LEVEL = (7, 5, 3)
LEAVES_PER_TWIG = 9
TRUNK_LENGTH, TRUNK_RADIUS = 3.2, 0.22
LEAF_SIZE = 0.42
BLADE_QUADS = 9

_Array = NDArray[np.float64]


class _Soup:
    """Vertices, UV and triangles in the making."""

    def __init__(self) -> None:
        self.vertices: list[_Array] = []
        self.uv: list[_Array] = []
        self.triangles: list[NDArray[np.int64]] = []
        self.materials: list[int] = []
        self.count = 0

    def add(self, vertices: _Array, uv: _Array, triangles: NDArray[np.int64], material: int) -> None:
        self.triangles.append(triangles + self.count)
        self.vertices.append(vertices)
        self.uv.append(uv)
        self.materials.extend([material] * len(triangles))
        self.count += len(vertices)

    def mesh(self, name: str) -> Mesh:
        return Mesh(
            name,
            np.concatenate(self.vertices).astype(np.float32),
            np.concatenate(self.triangles).astype(np.uint32),
            np.array(self.materials, np.uint16),
            np.concatenate(self.uv).astype(np.float32),
        )


def grow_tree(name: str, random: np.random.Generator) -> Mesh:
    """A trunk and three levels of branches; the last level carries the leaves. About 3,000 triangles."""
    soup = _Soup()
    _branch(soup, np.zeros(3), np.array([0.0, 1.0, 0.0]), TRUNK_LENGTH, TRUNK_RADIUS, 0, random)
    return soup.mesh(name)


def grass_clump(random: np.random.Generator) -> Mesh:
    """Quads standing on the ground around a point, each with the blade texture."""
    soup = _Soup()
    for _ in range(BLADE_QUADS):
        angle = random.uniform(0, 2 * np.pi)
        side = np.array([np.cos(angle), 0.0, np.sin(angle)])
        lean = np.array([random.uniform(-0.15, 0.15), 1.0, random.uniform(-0.15, 0.15)])
        _quad(soup, random.uniform(-0.3, 0.3, 3) * [1, 0, 1], 0.3 * side, random.uniform(0.4, 0.8) * lean, BLADES)
    return soup.mesh("grass")


def _branch(
    soup: _Soup, root: _Array, direction: _Array, length: float, radius: float, level: int, random: np.random.Generator
) -> None:
    tip = root + length * direction
    _tube(soup, root, tip, direction, radius, 0.55 * radius)
    if level == len(CHILDREN_PER_LEVEL):
        for _ in range(LEAVES_PER_TWIG):
            at = root + random.uniform(0.2, 1.0) * length * direction
            up = _unit(random.normal(loc=(0.0, 0.4, 0.0), size=3))
            side = _unit(np.cross(up, random.normal(size=3)))
            _quad(soup, at, 0.5 * LEAF_SIZE * side, LEAF_SIZE * up, LEAVES)
        return
    for _ in range(CHILDREN_PER_LEVEL[level]):
        start = root + random.uniform(0.45, 1.0) * length * direction
        turned = _unit(direction + 0.95 * random.normal(size=3) / np.sqrt(1 + 0.3 * level) + [0, 0.15, 0])
        _branch(soup, start, turned, length * random.uniform(0.5, 0.7), 0.5 * radius, level + 1, random)


def _tube(soup: _Soup, root: _Array, tip: _Array, direction: _Array, bottom_radius: float, top_radius: float) -> None:
    helper = np.array([1.0, 0.0, 0.0]) if abs(direction[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = _unit(np.cross(direction, helper))
    second = np.cross(direction, first)
    angles = 2 * np.pi * np.arange(TUBE_SIDES) / TUBE_SIDES
    ring = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * second
    vertices = np.concatenate([root + bottom_radius * ring, tip + top_radius * ring])
    here = np.arange(TUBE_SIDES)
    after = (here + 1) % TUBE_SIDES
    lower = np.stack([here, after, here + TUBE_SIDES], axis=1)
    upper = np.stack([after, after + TUBE_SIDES, here + TUBE_SIDES], axis=1)
    soup.add(vertices, np.zeros((2 * TUBE_SIDES, 2)), np.concatenate([lower, upper]), BARK)


def _quad(soup: _Soup, bottom: _Array, half_side: _Array, up: _Array, material: int) -> None:
    vertices = np.stack([bottom - half_side, bottom + half_side, bottom + half_side + up, bottom - half_side + up])
    uv = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    soup.add(vertices, uv, np.array([[0, 1, 2], [0, 2, 3]]), material)


def _unit(vector: _Array) -> _Array:
    return vector / np.linalg.norm(vector)
