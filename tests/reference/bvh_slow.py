"""The acceleration structure decoded from its bytes with struct, and walked by the rules of Vulkan-Sim with lists."""

import struct
from dataclasses import dataclass

import numpy as np

from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.rays.geometry import FAR_SLACK, SMALLEST_DIRECTION

INTERNAL, INSTANCE, TRIANGLE, PROCEDURAL = 1, 2, 4, 5


@dataclass
class Child:
    kind: int
    address: int
    low: tuple[float, float, float]
    high: tuple[float, float, float]


class Image:
    """Records by address, by ``docs/sources/vulkan-sim.md#records, #tree``."""

    def __init__(self, acceleration: Acceleration) -> None:
        self.base = acceleration.base_address
        self.data = acceleration.image.tobytes()
        kinds = acceleration.node_kind
        self.is_wide, self.has_descriptors = acceleration.layout.node.width == 8, bool((kinds == 3).any())
        places = self.base + 64 * acceleration.node_block.astype(np.int64)
        self.row = {(int(a), int(k) == 3): r for r, (a, k) in enumerate(zip(places, kinds, strict=True))}

    def read(self, layout: str, address: int) -> tuple:
        return struct.unpack_from("<" + layout, self.data, address - self.base)

    def root(self, header: int) -> int:
        return header + self.read("Q", header)[0]

    def bounds(self, header: int) -> tuple[tuple, tuple]:
        values = self.read("6f", header + 8)
        return values[:3], values[3:]

    def children(self, node: int) -> list[Child]:
        if self.is_wide:
            *origin, x, y, z, kind, offset = self.read("3f3bBi", node)
            exponents, codes, bounds = (x, y, z), self.read("8B", node + 24), self.read("48B", node + 32)
            step, behind = 8, 24
        else:
            *origin, offset, kind, x, y, z = self.read("3fiBx3b", node)
            exponents, codes, bounds = (x, y, z), self.read("6B", node + 22), self.read("36B", node + 28)
            step, behind = 12, 6
        assert kind == INTERNAL
        found, address = [], node + 64 * offset
        for slot, code in enumerate(codes):
            if code == 0:
                assert not any(codes[slot:]), "empty slots come last"
                break
            low = tuple(_bound(origin, exponents, bounds[step * axis + slot], axis) for axis in range(3))
            high = tuple(_bound(origin, exponents, bounds[step * axis + behind + slot], axis) for axis in range(3))
            found.append(Child(code >> 4, address, low, high))
            address += 64 * (code & 15)
        return found

    def child_header(self, instance: int) -> int:
        return self.read("Q", instance + 96)[0]

    def world_to_object(self, instance: int) -> np.ndarray:
        return np.array(self.read("12f", instance + 48), np.float32).reshape(3, 4)

    def vertices(self, leaf: int) -> np.ndarray:
        return np.array(self.read("9f", leaf + 16), np.float32).reshape(3, 3)


def _bound(origin: list, exponents: tuple, bound: int, axis: int) -> float:
    step = np.float32(2.0) ** np.float32(exponents[axis] - 8)
    return float(np.float32(origin[axis]) + np.float32(bound) * step)


def records_of_ray(image: Image, header: int, origin: np.ndarray, direction: np.ndarray, t_max: float) -> list[int]:
    """Rows of the nodes table that an opaque closest-hit ray fetches, in order; float32 arithmetic throughout."""
    rows = [image.row[header, False]]
    nearest = np.float32(t_max)
    if not hits_box(*image.bounds(header), origin, direction, nearest):
        return rows
    stack = [(INTERNAL, image.root(header))]
    while stack:
        kind, address = stack.pop()
        if kind == INTERNAL:
            _descend(image, address, origin, direction, nearest, rows, stack)
        else:
            nearest = _instance(image, address, origin, direction, nearest, rows, t_max)
    return rows


def _instance(
    image: Image,
    leaf: int,
    origin: np.ndarray,
    direction: np.ndarray,
    nearest: np.float32,
    rows: list[int],
    t_max: float,
) -> np.float32:
    """The instance leaf, its header, then the whole bottom level."""
    header = image.child_header(leaf)
    rows += [image.row[leaf, False], image.row[header, False]]
    m = image.world_to_object(leaf)
    moved = np.array([r[0] * origin[0] + r[1] * origin[1] + r[2] * origin[2] + r[3] for r in m], np.float32)
    turned = np.array([r[0] * direction[0] + r[1] * direction[1] + r[2] * direction[2] for r in m], np.float32)
    stack = [(INTERNAL, image.root(header))]
    while stack:
        kind, address = stack.pop()
        if kind == INTERNAL:
            _descend(image, address, moved, turned, nearest, rows, stack)
            continue
        rows += [image.row[address, True]] if image.has_descriptors else []
        rows += [image.row[address, False]]
        t = triangle_distance(image.vertices(address), moved, turned)
        if t is not None and 0 <= t <= t_max:
            rows[-1] |= 1 << 31
            nearest = min(nearest, t)
    return nearest


def _descend(
    image: Image, node: int, origin: np.ndarray, direction: np.ndarray, nearest: np.float32, rows: list, stack: list
) -> None:
    """Fetch nodes down the first hit internal child; push every other hit child in slot order."""
    following: int | None = node
    while following is not None:
        rows.append(image.row[following, False])
        children, following = image.children(following), None
        for child in children:
            if not hits_box(child.low, child.high, origin, direction, nearest):
                continue
            if following is None and child.kind == INTERNAL:
                following = child.address
            else:
                stack.append((child.kind, child.address))


def hits_box(low: tuple, high: tuple, origin: np.ndarray, direction: np.ndarray, t_max: np.float32) -> bool:
    near, far = np.float32(0), np.float32(np.inf)
    for axis in range(3):
        d = direction[axis]
        if abs(d) < SMALLEST_DIRECTION:
            d = np.copysign(SMALLEST_DIRECTION, d)
        inverse = np.float32(1) / d
        first = (np.float32(low[axis]) - origin[axis]) * inverse
        last = (np.float32(high[axis]) - origin[axis]) * inverse
        near, far = max(near, min(first, last)), min(far, max(first, last))
    return bool(near <= far * FAR_SLACK and near < t_max)


def triangle_distance(corners: np.ndarray, origin: np.ndarray, direction: np.ndarray) -> np.float32 | None:
    """By the edge functions of a watertight test; None for a miss."""
    a, b, c = corners - origin
    sides = [_dot(_cross(p + q, p - q), direction) for p, q in ((c, a), (a, b), (b, c))]
    normal = _cross(b - a, c - a)
    facing = _dot(normal, direction)
    inside = all(side >= 0 for side in sides) or all(side <= 0 for side in sides)
    if not inside or sides[0] + sides[1] + sides[2] == 0 or facing == 0:
        return None
    return _dot(normal, a) / facing


def _cross(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    x, y, z = p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]
    return np.array([x, y, z], np.float32)


def _dot(p: np.ndarray, q: np.ndarray) -> np.float32:
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]
