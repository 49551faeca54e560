"""Binned SAH: a binary tree over bounding boxes, split until every leaf holds one primitive.

Either by rules of our own, or by the rules of Embree's builder (``as_embree``: ``docs/sources/vulkan-sim.md#tree``).

Boxes are kept as eight words, ``[low x y z, primitive number, -high x y z, unused]``: with the high corner negated a
union is one minimum per word, which the compiler turns into one instruction. Source: Wald, "On fast construction of
SAH-based bounding volume hierarchies", 2007.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.native import memory as raw
from rayplay.tracer.native.jit import compiled, entry_point

BINS = 16
EMBREE_BINS = 32
SMALL = 16
"""Up to so many primitives are sorted and swept exactly: cheaper than filling bins."""
DEEPEST = 64
"""Below this level ranges are halved, so that no input makes the tree degenerate to a list."""
MOST_LEVELS = DEEPEST + 80
STEP = 1 << 23  # primitives, a tenth of a second
BOX_WORDS, BOX_BYTES = 8, 32
ID = 3
INFINITY = np.float32(np.inf)
NARROWEST = np.float32(1e-30)
"""Ranges narrower than this cannot be divided into bins."""


class _Scratch(NamedTuple):
    """Addresses of working memory."""

    rows: int  # boxes of all primitives
    bins: int  # boxes of EMBREE_BINS bins for each axis
    bin_count: int  # int32, likewise
    suffix: int  # boxes of what lies right of each cut
    held: int  # one box
    centre: int  # bounds of the doubled centres of the range
    side_centre: int  # the same of its two sides
    low_box: int  # boxes of the two sides, which are the children
    high_box: int
    as_embree: bool


def boxes(low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """Boxes float32[n, 8] in the order of their primitives. low, high: float32[n, 3]."""
    rows = np.zeros((len(low), BOX_WORDS), np.float32)
    rows[:, :3] = low
    rows[:, 4:7] = -high
    rows.view(np.uint32)[:, ID] = np.arange(len(low), dtype=np.uint32)
    return rows


@entry_point
def triangle_boxes(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Boxes float32[m, 8] of triangles. vertices: float32[n, 3]; triangles: uint32[m, 3]."""
    rows = np.zeros((triangles.shape[0], BOX_WORDS), np.float32)
    numbers = rows.view(np.uint32)
    for triangle in range(triangles.shape[0]):
        a, b, c = triangles[triangle, 0], triangles[triangle, 1], triangles[triangle, 2]
        for axis in range(3):
            x, y, z = vertices[a, axis], vertices[b, axis], vertices[c, axis]
            rows[triangle, axis] = min(x, min(y, z))
            rows[triangle, 4 + axis] = -max(x, max(y, z))
        numbers[triangle, ID] = triangle
    return rows


def split_boxes(rows: np.ndarray, node_box: np.ndarray, node_child: np.ndarray, as_embree: bool) -> int:
    """Build the tree; returns how many nodes it has, 2 n - 1.

    rows: float32[n, 8], reordered in place. node_box: float32[2 n - 1, 8] and node_child: int32[2 n - 1] are filled:
    the left child's number (the right one follows it), or ``~primitive`` for a leaf. Node 0 is the root.
    """
    ranges, centres = np.zeros((MOST_LEVELS, 4), np.int64), np.zeros((MOST_LEVELS, BOX_WORDS), np.float32)
    standing = np.zeros(2, np.int64)
    while split_some(rows, node_box, node_child, ranges, centres, standing, as_embree):
        pass  # between two steps Python notices Ctrl-C
    return int(standing[0])


@entry_point
def split_some(
    rows: np.ndarray,
    node_box: np.ndarray,
    node_child: np.ndarray,
    ranges: np.ndarray,
    range_centre: np.ndarray,
    standing: np.ndarray,
    as_embree: bool,
) -> bool:
    """Split ranges of ``STEP`` primitives together, or all that are left; whether some are left.

    ranges: int64[levels, 4] (node, begin, end, level) and range_centre: float32[levels, 8] are the stack of ranges to
    split. standing: int64[2]: nodes so far, and ranges on the stack.
    """
    working = np.empty((4 * EMBREE_BINS + 1 + 3, BOX_WORDS), np.float32)
    bin_count = np.empty((3, EMBREE_BINS), np.int32)
    first, free, boxes_at = rows.ctypes.data, working.ctypes.data, node_box.ctypes.data
    bins, suffix, held = free, free + 3 * EMBREE_BINS * BOX_BYTES, free + 4 * EMBREE_BINS * BOX_BYTES
    centre = held + BOX_BYTES
    sides, centres = centre + BOX_BYTES, range_centre.ctypes.data
    nodes, top, done = standing[0], standing[1], 0
    if nodes == 0:
        _bounds(first, 0, rows.shape[0], boxes_at, centres)
        nodes, top = 1, 1
        ranges[0, 0], ranges[0, 1], ranges[0, 2], ranges[0, 3] = 0, 0, rows.shape[0], 0
    while top > 0 and done < STEP:
        top -= 1
        node, begin, end, level = ranges[top, 0], ranges[top, 1], ranges[top, 2], ranges[top, 3]
        done += end - begin
        if end - begin == 1:
            node_child[node] = ~np.int32(raw.load_u32(first + BOX_BYTES * begin + 4 * ID))
            continue
        left = nodes
        nodes += 2
        node_child[node] = left
        raw.copy_box(centre, centres + BOX_BYTES * top)
        child = boxes_at + BOX_BYTES * left
        scratch = _Scratch(
            first, bins, bin_count.ctypes.data, suffix, held, centre, sides, child, child + BOX_BYTES, as_embree
        )
        middle = _split(scratch, begin, end, level)
        for side in range(2):  # the left side is on top, so it is built first
            ranges[top, 0], ranges[top, 3] = left + 1 - side, level + 1
            ranges[top, 1], ranges[top, 2] = (middle, end) if side == 0 else (begin, middle)
            raw.copy_box(centres + BOX_BYTES * top, sides + BOX_BYTES * (1 - side))
            top += 1
    standing[0], standing[1] = nodes, top
    return top > 0


@compiled
def _split(scratch: _Scratch, begin: int, end: int, level: int) -> int:
    """Reorder a range so that its left side comes first; returns where the right side begins. Fills the boxes and the
    centre bounds of both sides."""
    widest = max(_extent(scratch.centre, 0), _extent(scratch.centre, 1), _extent(scratch.centre, 2))
    splits = level < DEEPEST and widest > NARROWEST
    if splits and (scratch.as_embree or end - begin > SMALL):
        bins = min(EMBREE_BINS, int(4.0 + 0.05 * (end - begin))) if scratch.as_embree else BINS
        reach = np.float32(0.99) * np.float32(bins) if scratch.as_embree else np.float32(BINS * 0.99999)
        axis, cut = _choose_bin(scratch, begin, end, bins, reach)
        return _partition(scratch, begin, end, axis, cut, reach)
    middle = (begin + end) // 2
    if scratch.as_embree:
        _sort_by_number(scratch, begin, end)
    elif splits:
        middle = _sort_and_sweep(scratch, begin, end)
    _bounds(scratch.rows, begin, middle, scratch.low_box, scratch.side_centre)
    _bounds(scratch.rows, middle, end, scratch.high_box, scratch.side_centre + BOX_BYTES)
    return middle


@compiled
def _extent(box: int, axis: int) -> np.float32:
    """Width of a box of eight words along an axis."""
    return -raw.load_f32(box + 16 + 4 * axis) - raw.load_f32(box + 4 * axis)


@compiled
def half_area(box: int, as_embree: bool) -> np.float32:
    """Half the surface area of a box of eight words; the order of operations decides ties."""
    x, y, z = _extent(box, 0), _extent(box, 1), _extent(box, 2)
    return x * (y + z) + y * z if as_embree else x * y + y * z + z * x


@compiled
def _doubled_centre(box: int, axis: int) -> np.float32:
    return raw.load_f32(box + 4 * axis) - raw.load_f32(box + 16 + 4 * axis)


@compiled
def _grow_centre(total: int, box: int) -> None:
    """Widen bounds of doubled centres, themselves a box of eight words, by the centre of a box."""
    for axis in range(3):
        twice = _doubled_centre(box, axis)
        low, high = total + 4 * axis, total + 16 + 4 * axis
        raw.store_f32(low, min(raw.load_f32(low), twice))
        raw.store_f32(high, min(raw.load_f32(high), -twice))


@compiled
def _bounds(rows: int, begin: int, end: int, box: int, centre: int) -> None:
    """Box and centre bounds of a range."""
    raw.fill_box(box, INFINITY)
    raw.fill_box(centre, INFINITY)
    for row in range(begin, end):
        raw.grow_box(box, rows + BOX_BYTES * row)
        _grow_centre(centre, rows + BOX_BYTES * row)


@compiled
def _sort_and_sweep(scratch: _Scratch, begin: int, end: int) -> int:
    """Sort along the widest axis and take the cheapest of all cuts."""
    axis = 0
    for other in range(1, 3):
        if _extent(scratch.centre, other) > _extent(scratch.centre, axis):
            axis = other
    for row in range(begin + 1, end):
        raw.copy_box(scratch.held, scratch.rows + BOX_BYTES * row)
        key, slot = _doubled_centre(scratch.held, axis), row
        while slot > begin and _doubled_centre(scratch.rows + BOX_BYTES * (slot - 1), axis) > key:
            raw.copy_box(scratch.rows + BOX_BYTES * slot, scratch.rows + BOX_BYTES * (slot - 1))
            slot -= 1
        raw.copy_box(scratch.rows + BOX_BYTES * slot, scratch.held)
    size, rows = end - begin, scratch.rows + BOX_BYTES * begin
    raw.copy_box(scratch.suffix + BOX_BYTES * (size - 1), rows + BOX_BYTES * (size - 1))
    for index in range(size - 2, 0, -1):
        raw.copy_box(scratch.suffix + BOX_BYTES * index, scratch.suffix + BOX_BYTES * (index + 1))
        raw.grow_box(scratch.suffix + BOX_BYTES * index, rows + BOX_BYTES * index)
    best, cut = INFINITY, 1
    raw.copy_box(scratch.held, rows)
    for index in range(1, size):
        right = half_area(scratch.suffix + BOX_BYTES * index, False)
        cost = half_area(scratch.held, False) * np.float32(index) + right * np.float32(size - index)
        if cost < best:
            best, cut = cost, index
        raw.grow_box(scratch.held, rows + BOX_BYTES * index)
    return begin + cut


@compiled
def _sort_by_number(scratch: _Scratch, begin: int, end: int) -> None:
    """Sort a range by primitive number, as Embree does before it halves one (Shell's sort)."""
    gap = (end - begin) // 2
    while gap > 0:
        for row in range(begin + gap, end):
            raw.copy_box(scratch.held, scratch.rows + BOX_BYTES * row)
            key, slot = raw.load_u32(scratch.held + 4 * ID), row
            while slot - gap >= begin and raw.load_u32(scratch.rows + BOX_BYTES * (slot - gap) + 4 * ID) > key:
                raw.copy_box(scratch.rows + BOX_BYTES * slot, scratch.rows + BOX_BYTES * (slot - gap))
                slot -= gap
            raw.copy_box(scratch.rows + BOX_BYTES * slot, scratch.held)
        gap //= 2


@compiled
def _choose_bin(scratch: _Scratch, begin: int, end: int, count: int, reach: np.float32) -> tuple[int, int]:
    """The axis and the last bin of the left side of the cheapest cut; fills the boxes of both sides."""
    _fill_bins(scratch, begin, end, count, reach)
    best, best_axis, best_cut = INFINITY, -1, 0
    for axis in range(3):
        if not _extent(scratch.centre, axis) > NARROWEST:
            continue
        bins, counts = scratch.bins + BOX_BYTES * count * axis, scratch.bin_count + 4 * count * axis
        raw.copy_box(scratch.suffix + BOX_BYTES * (count - 1), bins + BOX_BYTES * (count - 1))
        for index in range(count - 2, 0, -1):
            raw.copy_box(scratch.suffix + BOX_BYTES * index, scratch.suffix + BOX_BYTES * (index + 1))
            raw.grow_box(scratch.suffix + BOX_BYTES * index, bins + BOX_BYTES * index)
        raw.fill_box(scratch.held, INFINITY)
        before = 0
        for cut in range(count - 1):
            raw.grow_box(scratch.held, bins + BOX_BYTES * cut)
            before += raw.load_i32(counts + 4 * cut)
            after = end - begin - before
            if before == 0 or after == 0:
                continue
            right = scratch.suffix + BOX_BYTES * (cut + 1)
            left_area, right_area = half_area(scratch.held, scratch.as_embree), half_area(right, scratch.as_embree)
            cost = left_area * np.float32(before) + right_area * np.float32(after)
            if cost < best or best_axis < 0:
                best, best_axis, best_cut = cost, axis, cut
                raw.copy_box(scratch.low_box, scratch.held)
                raw.copy_box(scratch.high_box, right)
    return best_axis, best_cut


@compiled
def _fill_bins(scratch: _Scratch, begin: int, end: int, count: int, reach: np.float32) -> None:
    for index in range(3 * count):
        raw.fill_box(scratch.bins + BOX_BYTES * index, INFINITY)
        raw.store_u32(scratch.bin_count + 4 * index, 0)
    scale_x, scale_y, scale_z = (
        _bin_scale(scratch.centre, 0, reach),
        _bin_scale(scratch.centre, 1, reach),
        _bin_scale(scratch.centre, 2, reach),
    )
    for row in range(begin, end):
        box = scratch.rows + BOX_BYTES * row
        _add_to_bin(scratch, box, _bin_of(scratch.centre, box, 0, scale_x))
        _add_to_bin(scratch, box, _bin_of(scratch.centre, box, 1, scale_y) + count)
        _add_to_bin(scratch, box, _bin_of(scratch.centre, box, 2, scale_z) + 2 * count)


@compiled
def _add_to_bin(scratch: _Scratch, box: int, index: int) -> None:
    raw.grow_box(scratch.bins + BOX_BYTES * index, box)
    count = scratch.bin_count + 4 * index
    raw.store_u32(count, raw.load_u32(count) + 1)


@compiled
def _bin_scale(centre: int, axis: int, reach: np.float32) -> np.float32:
    """Bins per unit of the doubled centre; ``reach``: a little less than all, so that the last centre stays inside."""
    width = _extent(centre, axis)
    if not width > NARROWEST:
        return np.float32(0.0)
    return reach / width


@compiled
def _bin_of(centre: int, box: int, axis: int, scale: np.float32) -> int:
    return int((_doubled_centre(box, axis) - raw.load_f32(centre + 4 * axis)) * scale)


@compiled
def _partition(scratch: _Scratch, begin: int, end: int, axis: int, cut: int, reach: np.float32) -> int:
    """Move the primitives of the bins up to ``cut`` to the front; fills the centre bounds of both sides."""
    raw.fill_box(scratch.side_centre, INFINITY)
    raw.fill_box(scratch.side_centre + BOX_BYTES, INFINITY)
    scale = _bin_scale(scratch.centre, axis, reach)
    low, high = begin, end - 1
    while low <= high:
        box = scratch.rows + BOX_BYTES * low
        if _bin_of(scratch.centre, box, axis, scale) > cut:
            _grow_centre(scratch.side_centre + BOX_BYTES, box)
            raw.copy_box(scratch.held, box)
            raw.copy_box(box, scratch.rows + BOX_BYTES * high)
            raw.copy_box(scratch.rows + BOX_BYTES * high, scratch.held)
            high -= 1
        else:
            _grow_centre(scratch.side_centre, box)
            low += 1
    return low
