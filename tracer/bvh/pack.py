"""From a binary tree to wide nodes, and those to bytes: quantised, children contiguous, packed depth first.

Rules: ``docs/sources/vulkan-sim.md#tree``. A decoded bound, computed in float32 as the traversal computes it, never
lies inside the box it stands for, so no hit is lost to quantisation. ``as_embree`` gives the nodes of Vulkan-Sim: a
node's children by size, the largest first, and bounds rounded as they come.
"""

import math

import numpy as np

from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.layout import NodeFields
from rayplay.tracer.bvh.split import BOX_BYTES, MOST_LEVELS, half_area
from rayplay.tracer.native.jit import compiled, entry_point

SMALLEST_EXPONENT = -100
EVERY_RAY = np.uint32(0xFFFFFFFF)


@entry_point
def collapse(node_box: np.ndarray, node_child: np.ndarray, wide: np.ndarray, as_embree: bool) -> tuple[int, int, int]:
    """Open the child with the largest surface until a node has all its children or only leaves.

    wide: int32[at least nodes, width], filled with one row per wide node in packing order: the binary nodes that are
    its children, -1 in empty places. Returns how many rows, the depth in nodes, and the stack entries that a traversal
    of it can need at most.
    """
    size = _sizes(node_child)
    stack = np.empty((wide.shape[1] * MOST_LEVELS, 3), np.int64)
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
    while children < row.shape[0]:
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
    node: NodeFields,
) -> np.ndarray:
    """Write header and internal nodes of a structure whose header is block ``first``.

    wide: int32[rows, node.width]; node_box, node_child as ``split_boxes`` gives them; words: uint32[blocks, 16], the
    whole image, zeroed. Returns the block of each primitive's leaf, int64[primitives], for the leaves to be written.
    """
    floats, quantised = words.view(np.float32), words.view(np.uint8)
    leaf_block = np.empty((node_child.shape[0] + 1) // 2, np.int64)
    leaf_blocks = 2 if leaf_kind == layout.INSTANCE else 1
    _write_header(words, floats, first, node_box[0])
    stack = np.empty(node.width * MOST_LEVELS, np.int64)
    stack[0] = first + 1
    top, end = 1, first + 1 + node.blocks
    for index in range(wide.shape[0]):
        top -= 1
        block = stack[top]
        row = wide[index]
        words[block, node.child_offset] = end - block
        octets = quantised[block : block + node.blocks].reshape(-1)
        octets[node.kind_byte] = layout.INTERNAL
        if node.mask_byte >= 0:
            octets[node.mask_byte] = 0xFF
        _quantise(row, node_box, floats[block], octets, as_embree, node)
        reach = end
        for slot in range(node.width):
            if row[slot] < 0:
                break
            child = node_child[row[slot]]
            if child >= 0:
                octets[node.child_bytes + slot] = layout.INTERNAL << 4 | node.blocks
                end += node.blocks
            else:
                octets[node.child_bytes + slot] = leaf_kind << 4 | leaf_blocks
                leaf_block[~child] = end
                end += leaf_blocks
        for slot in range(node.width - 1, -1, -1):  # so that the first internal child is packed next
            if row[slot] >= 0 and node_child[row[slot]] >= 0:
                stack[top] = reach + _blocks_before(octets, node.child_bytes, slot)
                top += 1
    return leaf_block


@compiled
def _blocks_before(octets: np.ndarray, child_bytes: int, slot: int) -> int:
    total = 0
    for before in range(slot):
        total += octets[child_bytes + before] & 15
    return total


@compiled
def _write_header(words: np.ndarray, floats: np.ndarray, block: int, box: np.ndarray) -> None:
    words[block, layout.HEADER_ROOT] = 4 * layout.BLOCK_WORDS
    for axis in range(3):
        floats[block, layout.HEADER_LOW + axis] = box[axis]
        floats[block, layout.HEADER_HIGH + axis] = -box[4 + axis]


@compiled
def _quantise(
    row: np.ndarray, node_box: np.ndarray, floats: np.ndarray, octets: np.ndarray, as_embree: bool, node: NodeFields
) -> None:
    """Origin, exponents and child bounds of one node: per axis the smallest exponent whose bounds hold the children."""
    for axis in range(3):
        low, high = node_box[row[0], axis], -node_box[row[0], 4 + axis]
        for slot in range(1, node.width):
            if row[slot] >= 0:
                low = min(low, node_box[row[slot], axis])
                high = max(high, -node_box[row[slot], 4 + axis])
        floats[layout.NODE_ORIGIN + axis] = low
        exponent = _first_exponent(high - low)
        while not _quantise_axis(row, node_box, octets, axis, low, exponent, as_embree, node):
            exponent += 1
        octets[node.exponent_bytes + axis] = np.uint8(exponent & 0xFF)


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
    octets: np.ndarray,
    axis: int,
    origin: np.float32,
    exponent: int,
    as_embree: bool,
    node: NodeFields,
) -> bool:
    """Write both bounds of every child along one axis; False where 255 steps do not reach."""
    step, per_step = np.float32(math.ldexp(1.0, exponent - 8)), np.float32(math.ldexp(1.0, 8 - exponent))
    for slot in range(node.width):
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
        octets[node.low_bytes + node.axis_bytes * axis + slot] = lower
        octets[node.high_bytes + node.axis_bytes * axis + slot] = upper
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
def block_kinds(words: np.ndarray, first: int, kinds: np.ndarray, node: NodeFields) -> None:
    """Fill ``kinds`` (uint8[blocks], 255 where no record begins) for the structure whose header is block ``first``."""
    quantised = words.view(np.uint8)
    kinds[first], kinds[first + 1] = layout.HEADER, layout.INTERNAL
    for block in range(first + 1, kinds.shape[0]):
        if kinds[block] != layout.INTERNAL:
            continue
        child = block + words[block, node.child_offset]
        for slot in range(node.width):
            code = quantised[block, node.child_bytes + slot]
            if code == 0:
                break
            kinds[child] = code >> 4
            child += code & 15
