"""From a binary tree to 6-wide nodes, and those to bytes: quantised, children contiguous, packed depth first.

Rules: ``docs/sources/vulkan-sim.md#tree``. A decoded bound, computed in float32 as the traversal computes it, never
lies inside the box it stands for, so no hit is lost to quantisation. ``as_embree`` gives the nodes of Vulkan-Sim: a
node's children by size, the largest first, and bounds rounded as they come.
"""

import math

import numpy as np

from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.split import BOX_BYTES, MOST_LEVELS, half_area
from rayplay.tracer.native.jit import compiled, entry_point

LOW_BYTE, HIGH_BYTE, CHILD_BYTE, EXPONENT_BYTE = (
    layout.NODE_LOW_BYTES[0],
    layout.NODE_HIGH_BYTES[0],
    layout.NODE_CHILD_BYTES,
    layout.NODE_EXPONENT_BYTES,
)
AXIS_BYTES = layout.NODE_LOW_BYTES[1] - layout.NODE_LOW_BYTES[0]
SMALLEST_EXPONENT = -100
EVERY_RAY = np.uint32(0xFFFFFFFF)


@entry_point
def collapse(node_box: np.ndarray, node_child: np.ndarray, wide: np.ndarray, as_embree: bool) -> tuple[int, int, int]:
    """Open the child with the largest surface until a node has six children or only leaves.

    wide: int32[at least nodes, 6], filled with one row per 6-wide node in packing order: the binary nodes that are its
    children, -1 in empty places. Returns how many rows, the depth in nodes, and the stack entries that a traversal
    of it can need at most.
    """
    size = _sizes(node_child)
    stack = np.empty((6 * MOST_LEVELS, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 1, 0
    top, count, depth, entries = 1, 0, 0, 0
    while top > 0:
        top -= 1
        root, level, below = stack[top, 0], stack[top, 1], stack[top, 2]
        row = wide[count]
        count += 1
        children = _open(root, node_box, node_child, row, as_embree)
        if as_embree:
            _largest_first(row, children, size)
        depth = max(depth, level)
        entries = max(entries, below + children)
        for slot in range(children - 1, -1, -1):
            if node_child[row[slot]] >= 0:
                stack[top, 0], stack[top, 1], stack[top, 2] = row[slot], level + 1, below + children - 1
                top += 1
    return count, depth, entries


@compiled
def _sizes(node_child: np.ndarray) -> np.ndarray:
    """int32[nodes]: primitives below each binary node; children have higher numbers than their parent."""
    size = np.ones(node_child.shape[0], np.int32)
    for node in range(node_child.shape[0] - 1, -1, -1):
        if node_child[node] >= 0:
            size[node] = size[node_child[node]] + size[node_child[node] + 1]
    return size


@compiled
def _largest_first(row: np.ndarray, children: int, size: np.ndarray) -> None:
    """Sort the children of a wide node by primitives, stable."""
    for index in range(1, children):
        child, slot = row[index], index
        while slot > 0 and size[row[slot - 1]] < size[child]:
            row[slot] = row[slot - 1]
            slot -= 1
        row[slot] = child


@compiled
def _open(root: int, node_box: np.ndarray, node_child: np.ndarray, row: np.ndarray, as_embree: bool) -> int:
    """Fill ``row`` with the children of a wide node; returns how many they are."""
    row[:] = -1
    row[0] = root
    if node_child[root] < 0:
        return 1
    row[0], row[1] = node_child[root], node_child[root] + 1
    children = 2
    while children < layout.WIDTH:
        best, widest = -1, np.float32(-1.0)
        for slot in range(children):
            if node_child[row[slot]] >= 0:
                area = half_area(node_box.ctypes.data + BOX_BYTES * row[slot], as_embree)
                if area > widest:
                    best, widest = slot, area
        if best < 0:
            break
        left = node_child[row[best]]
        row[best], row[children] = left, left + 1
        children += 1
    return children


@entry_point
def pack(
    wide: np.ndarray,
    node_box: np.ndarray,
    node_child: np.ndarray,
    leaf_kind: int,
    words: np.ndarray,
    first: int,
    as_embree: bool,
) -> np.ndarray:
    """Write header and internal nodes of a structure whose header is block ``first``.

    wide: int32[rows, 6]; node_box, node_child as ``split_boxes`` gives them; words: uint32[blocks, 16], the whole
    image, zeroed. Returns the block of each primitive's leaf, int64[primitives], for the leaves to be written.
    """
    floats, quantised = words.view(np.float32), words.view(np.uint8)
    leaf_block = np.empty((node_child.shape[0] + 1) // 2, np.int64)
    leaf_blocks = 2 if leaf_kind == layout.INSTANCE else 1
    _write_header(words, floats, first, node_box[0])
    stack = np.empty(6 * MOST_LEVELS, np.int64)
    stack[0] = first + 1
    top, end = 1, first + 2
    for index in range(wide.shape[0]):
        top -= 1
        block = stack[top]
        row = wide[index]
        words[block, layout.NODE_CHILD_OFFSET] = end - block
        quantised[block, layout.NODE_KIND_BYTE] = layout.INTERNAL
        quantised[block, layout.NODE_MASK_BYTE] = 0xFF
        _quantise(row, node_box, floats, quantised, block, as_embree)
        reach = end
        for slot in range(layout.WIDTH):
            if row[slot] < 0:
                break
            child = node_child[row[slot]]
            if child >= 0:
                quantised[block, CHILD_BYTE + slot] = layout.INTERNAL << 4 | 1
                end += 1
            else:
                quantised[block, CHILD_BYTE + slot] = leaf_kind << 4 | leaf_blocks
                leaf_block[~child] = end
                end += leaf_blocks
        for slot in range(layout.WIDTH - 1, -1, -1):  # so that the first internal child is packed next
            if row[slot] >= 0 and node_child[row[slot]] >= 0:
                stack[top] = reach + _blocks_before(quantised, block, slot)
                top += 1
    return leaf_block


@compiled
def _blocks_before(quantised: np.ndarray, block: int, slot: int) -> int:
    total = 0
    for before in range(slot):
        total += quantised[block, CHILD_BYTE + before] & 15
    return total


@compiled
def _write_header(words: np.ndarray, floats: np.ndarray, block: int, box: np.ndarray) -> None:
    words[block, layout.HEADER_ROOT] = 4 * layout.BLOCK_WORDS
    for axis in range(3):
        floats[block, layout.HEADER_LOW + axis] = box[axis]
        floats[block, layout.HEADER_HIGH + axis] = -box[4 + axis]


@compiled
def _quantise(
    row: np.ndarray, node_box: np.ndarray, floats: np.ndarray, quantised: np.ndarray, block: int, as_embree: bool
) -> None:
    """Origin, exponents and child bounds of one node: per axis the smallest exponent whose bounds hold the children."""
    for axis in range(3):
        low, high = node_box[row[0], axis], -node_box[row[0], 4 + axis]
        for slot in range(1, layout.WIDTH):
            if row[slot] >= 0:
                low = min(low, node_box[row[slot], axis])
                high = max(high, -node_box[row[slot], 4 + axis])
        floats[block, layout.NODE_ORIGIN + axis] = low
        exponent = _first_exponent(high - low)
        while not _quantise_axis(row, node_box, quantised, block, axis, low, exponent, as_embree):
            exponent += 1
        quantised[block, EXPONENT_BYTE + axis] = np.uint8(exponent & 0xFF)


@compiled
def _first_exponent(extent: np.float32) -> int:
    """The smallest exponent e with extent <= 255 * 2^(e - 8) that keeps 2^(e - 8) a normal number."""
    fraction, exponent = math.frexp(extent)
    if fraction > 255.0 / 256.0:
        exponent += 1
    return max(exponent, SMALLEST_EXPONENT) if extent > np.float32(0.0) else SMALLEST_EXPONENT


@compiled
def _quantise_axis(
    row: np.ndarray,
    node_box: np.ndarray,
    quantised: np.ndarray,
    block: int,
    axis: int,
    origin: np.float32,
    exponent: int,
    as_embree: bool,
) -> bool:
    """Write both bounds of every child along one axis; False where 255 steps do not reach."""
    step, per_step = np.float32(math.ldexp(1.0, exponent - 8)), np.float32(math.ldexp(1.0, 8 - exponent))
    for slot in range(layout.WIDTH):
        if row[slot] < 0:
            break
        low, high = node_box[row[slot], axis], -node_box[row[slot], 4 + axis]
        lower = min(int((low - origin) * per_step), 255)
        while not as_embree and lower > 0 and origin + np.float32(lower) * step > low:
            lower -= 1
        upper = math.ceil((high - origin) * per_step) if as_embree else int((high - origin) * per_step)
        while not as_embree and upper <= 255 and origin + np.float32(upper) * step < high:
            upper += 1
        if upper > 255:
            return False
        quantised[block, LOW_BYTE + AXIS_BYTES * axis + slot] = lower
        quantised[block, HIGH_BYTE + AXIS_BYTES * axis + slot] = upper
    return True


@entry_point
def write_triangles(
    words: np.ndarray, leaf_block: np.ndarray, vertices: np.ndarray, triangles: np.ndarray, first: np.ndarray,
    opaque: np.ndarray, row: int,
) -> None:  # fmt: skip
    """Leaves of a mesh. ``row`` is the nodes-table row of the first descriptor.

    first, opaque   of each geometry, int64 and bool: the mesh's triangle where it begins, and whether it is opaque.
    """
    floats = words.view(np.float32)
    geometry = -1
    for primitive in range(triangles.shape[0]):
        block = leaf_block[primitive]
        if geometry + 1 < len(first) and primitive == first[geometry + 1]:
            geometry += 1
        words[block, layout.LEAF_MASK] = EVERY_RAY
        words[block, layout.LEAF_GEOMETRY] = geometry | (layout.LEAF_OPAQUE_BIT if opaque[geometry] else 0)
        words[block, layout.LEAF_PRIMITIVE] = primitive - first[geometry]
        for corner in range(3):
            vertex = vertices[triangles[primitive, corner]]
            for axis in range(3):
                floats[block, layout.LEAF_VERTICES + 3 * corner + axis] = vertex[axis]
        words[block, layout.LEAF_DESCRIPTOR_ROW] = row + primitive


@entry_point
def write_procedural(
    words: np.ndarray, leaf_block: np.ndarray, first: int, low: np.ndarray, high: np.ndarray, row: int
) -> None:
    """Leaves of procedural primitives from number ``first`` on, one geometry. low, high: float32[n, 3]."""
    floats = words.view(np.float32)
    for primitive in range(leaf_block.shape[0]):
        block = leaf_block[primitive]
        words[block, layout.LEAF_MASK] = EVERY_RAY
        words[block, layout.LEAF_GEOMETRY] = layout.LEAF_OPAQUE_BIT
        words[block, layout.LEAF_PRIMITIVE] = first + primitive
        for axis in range(3):
            floats[block, layout.LEAF_VERTICES + axis] = low[primitive, axis]
            floats[block, layout.LEAF_VERTICES + 3 + axis] = high[primitive, axis]
        words[block, layout.LEAF_DESCRIPTOR_ROW] = row + primitive


@entry_point
def block_kinds(words: np.ndarray, first: int, kinds: np.ndarray) -> None:
    """Fill ``kinds`` (uint8[blocks], 255 where no record begins) for the structure whose header is block ``first``."""
    quantised = words.view(np.uint8)
    kinds[first], kinds[first + 1] = layout.HEADER, layout.INTERNAL
    for block in range(first + 1, kinds.shape[0]):
        if kinds[block] != layout.INTERNAL:
            continue
        child = block + words[block, layout.NODE_CHILD_OFFSET]
        for slot in range(layout.WIDTH):
            code = quantised[block, CHILD_BYTE + slot]
            if code == 0:
                break
            kinds[child] = code >> 4
            child += code & 15
