"""Binned SAH: a binary tree over bounding boxes, split until every leaf holds one primitive.

Boxes are kept as eight words, ``[low x y z, primitive number, -high x y z, unused]``: with the high corner negated a
union is one minimum per word, which the compiler turns into one instruction. Source: Wald, "On fast construction of
SAH-based bounding volume hierarchies", 2007.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

BINS = 16
SMALL = 16
"""Up to so many primitives are sorted and swept exactly: cheaper than filling bins."""
DEEPEST = 64
"""Below this level ranges are halved, so that no input makes the tree degenerate to a list."""
ID = 3


def boxes(low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """Boxes float32[n, 8] in the order of their primitives. low, high: float32[n, 3]."""
    rows = np.zeros((len(low), 8), np.float32)
    rows[:, :3] = low
    rows[:, 4:7] = -high
    rows.view(np.uint32)[:, ID] = np.arange(len(low), dtype=np.uint32)
    return rows


@njit(cache=True)
def split_boxes(rows: np.ndarray, node_box: np.ndarray, node_child: np.ndarray) -> int:
    """Build the tree; returns how many nodes it has, 2 n - 1.

    rows: float32[n, 8], reordered in place. node_box: float32[2 n - 1, 8] and node_child: int32[2 n - 1] are filled:
    the left child's number (the right one follows it), or ``~primitive`` for a leaf. Node 0 is the root.
    """
    count = rows.shape[0]
    words = rows.view(np.uint32)
    bins = np.empty((3, BINS, 8), np.float32)
    bin_count = np.empty((3, BINS), np.int32)
    suffix = np.empty((BINS if BINS > SMALL else SMALL, 8), np.float32)
    centre = np.empty((2, 8), np.float32)
    side_centre = np.empty((2, 8), np.float32)
    stack = np.empty((DEEPEST + 80, 4), np.int64)
    stack_centre = np.empty((DEEPEST + 80, 8), np.float32)
    _union_all(rows, 0, count, node_box[0])
    _centre_bounds(rows, 0, count, centre[0])
    nodes, top = 1, 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, count, 0
    stack_centre[0] = centre[0]
    while top > 0:
        top -= 1
        node, begin, end, level = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        size = end - begin
        if size == 1:
            node_child[node] = ~np.int32(words[begin, ID])
            continue
        left = nodes
        nodes += 2
        node_child[node] = left
        low_box, high_box = node_box[left], node_box[left + 1]
        extent = stack_centre[top]
        if size == 2:
            _copy(rows[begin], low_box)
            _copy(rows[begin + 1], high_box)
            middle = begin + 1
        elif level >= DEEPEST or not _spread(extent):
            middle = (begin + end) // 2
            _union_all(rows, begin, middle, low_box)
            _union_all(rows, middle, end, high_box)
            _centre_bounds(rows, begin, middle, side_centre[0])
            _centre_bounds(rows, middle, end, side_centre[1])
        elif size <= SMALL:
            middle = _split_small(rows, begin, end, extent, suffix, low_box, high_box)
            _centre_bounds(rows, begin, middle, side_centre[0])
            _centre_bounds(rows, middle, end, side_centre[1])
        else:
            axis, cut = _choose_bin(rows, begin, end, extent, bins, bin_count, suffix, low_box, high_box)
            middle = _partition(rows, begin, end, extent, axis, cut, side_centre)
        for side in range(2):
            stack[top, 0] = left + 1 - side
            stack[top, 1], stack[top, 2] = (middle, end) if side == 0 else (begin, middle)
            stack[top, 3] = level + 1
            _copy(side_centre[1 - side], stack_centre[top])
            top += 1
    return nodes


@njit(cache=True)
def _grow(total: np.ndarray, row: np.ndarray) -> None:
    for word in range(8):
        value, other = total[word], row[word]
        total[word] = other if other < value else value


@njit(cache=True)
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for word in range(8):
        target[word] = source[word]


@njit(cache=True)
def _union_all(rows: np.ndarray, begin: int, end: int, total: np.ndarray) -> None:
    total[:] = np.float32(np.inf)
    for row in range(begin, end):
        _grow(total, rows[row])


@njit(cache=True)
def _centre_bounds(rows: np.ndarray, begin: int, end: int, total: np.ndarray) -> None:
    """Bounds of twice the centres, as ``[low x y z, -, -high x y z, -]``."""
    total[:] = np.float32(np.inf)
    for row in range(begin, end):
        for axis in range(3):
            twice = rows[row, axis] - rows[row, 4 + axis]
            total[axis] = min(total[axis], twice)
            total[4 + axis] = min(total[4 + axis], -twice)


@njit(cache=True)
def _spread(extent: np.ndarray) -> bool:
    """Whether the centres differ at all (and by a number that can be divided by)."""
    widest = max(-extent[4] - extent[0], -extent[5] - extent[1], -extent[6] - extent[2])
    return widest > np.float32(1e-30) and widest < np.float32(np.inf)


@njit(cache=True)
def half_area(box: np.ndarray) -> np.float32:
    """Half the surface area of a box of eight words."""
    x, y, z = -box[4] - box[0], -box[5] - box[1], -box[6] - box[2]
    return x * y + y * z + z * x


@njit(cache=True)
def _split_small(
    rows: np.ndarray,
    begin: int,
    end: int,
    extent: np.ndarray,
    suffix: np.ndarray,
    low_box: np.ndarray,
    high_box: np.ndarray,
) -> int:
    """Sort along the widest axis and take the cheapest of all cuts; fills the boxes of both sides."""
    axis = 0
    for other in range(1, 3):
        if extent[4 + other] + extent[other] < extent[4 + axis] + extent[axis]:
            axis = other
    held = np.empty(8, np.float32)
    for row in range(begin + 1, end):
        _copy(rows[row], held)
        key = held[axis] - held[4 + axis]
        slot = row
        while slot > begin and rows[slot - 1, axis] - rows[slot - 1, 4 + axis] > key:
            _copy(rows[slot - 1], rows[slot])
            slot -= 1
        _copy(held, rows[slot])
    size = end - begin
    _copy(rows[end - 1], suffix[size - 1])
    for index in range(size - 2, 0, -1):
        _copy(suffix[index + 1], suffix[index])
        _grow(suffix[index], rows[begin + index])
    best, cut = np.float32(np.inf), 1
    _copy(rows[begin], held)
    for index in range(1, size):
        cost = half_area(held) * np.float32(index) + half_area(suffix[index]) * np.float32(size - index)
        if cost < best:
            best, cut = cost, index
            _copy(held, low_box)
        _grow(held, rows[begin + index])
    if not best < np.float32(np.inf):
        _copy(rows[begin], low_box)
    _copy(suffix[cut], high_box)
    return begin + cut


@njit(cache=True)
def _choose_bin(
    rows: np.ndarray,
    begin: int,
    end: int,
    extent: np.ndarray,
    bins: np.ndarray,
    bin_count: np.ndarray,
    suffix: np.ndarray,
    low_box: np.ndarray,
    high_box: np.ndarray,
) -> tuple[int, int]:
    """The axis and the last bin of the left side of the cheapest cut; fills the boxes of both sides."""
    bins[:] = np.float32(np.inf)
    bin_count[:] = 0
    first_x, first_y, first_z = extent[0], extent[1], extent[2]
    scale_x, scale_y, scale_z = _bin_scale(extent, 0), _bin_scale(extent, 1), _bin_scale(extent, 2)
    for row in range(begin, end):
        box = rows[row]
        bin_x = np.int32((box[0] - box[4] - first_x) * scale_x)
        bin_y = np.int32((box[1] - box[5] - first_y) * scale_y)
        bin_z = np.int32((box[2] - box[6] - first_z) * scale_z)
        _grow(bins[0, bin_x], box)
        _grow(bins[1, bin_y], box)
        _grow(bins[2, bin_z], box)
        bin_count[0, bin_x] += 1
        bin_count[1, bin_y] += 1
        bin_count[2, bin_z] += 1
    best, best_axis, best_cut = np.float32(np.inf), -1, 0
    held = np.empty(8, np.float32)
    for axis in range(3):
        if not -extent[4 + axis] > extent[axis]:
            continue
        _copy(bins[axis, BINS - 1], suffix[BINS - 1])
        for index in range(BINS - 2, 0, -1):
            _copy(suffix[index + 1], suffix[index])
            _grow(suffix[index], bins[axis, index])
        held[:] = np.float32(np.inf)
        before = 0
        for cut in range(BINS - 1):
            _grow(held, bins[axis, cut])
            before += bin_count[axis, cut]
            after = end - begin - before
            if before == 0 or after == 0:
                continue
            cost = half_area(held) * np.float32(before) + half_area(suffix[cut + 1]) * np.float32(after)
            if cost < best or best_axis < 0:
                best, best_axis, best_cut = cost, axis, cut
                _copy(held, low_box)
                _copy(suffix[cut + 1], high_box)
    return best_axis, best_cut


@njit(cache=True)
def _bin_scale(extent: np.ndarray, axis: int) -> np.float32:
    """Bins per unit of the doubled centre, a little less than exact so that the last centre stays in the last bin."""
    width = -extent[4 + axis] - extent[axis]
    if width <= np.float32(1e-30):
        return np.float32(0.0)
    return np.float32(BINS * 0.99999) / width


@njit(cache=True)
def _partition(
    rows: np.ndarray, begin: int, end: int, extent: np.ndarray, axis: int, cut: int, side_centre: np.ndarray
) -> int:
    """Move the primitives of the bins up to ``cut`` to the front; fills the centre bounds of both sides."""
    side_centre[:] = np.float32(np.inf)
    first, scale = extent[axis], _bin_scale(extent, axis)
    held = np.empty(8, np.float32)
    low, high = begin, end - 1
    while low <= high:
        box = rows[low]
        goes_right = np.int32((box[axis] - box[4 + axis] - first) * scale) > cut
        side = side_centre[1] if goes_right else side_centre[0]
        for word in range(3):
            twice = box[word] - box[4 + word]
            side[word] = min(side[word], twice)
            side[4 + word] = min(side[4 + word], -twice)
        if goes_right:
            _copy(box, held)
            _copy(rows[high], box)
            _copy(held, rows[high])
            high -= 1
        else:
            low += 1
    return low
