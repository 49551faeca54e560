"""Which pixels primitives cover, quad by quad, and the early depth test.

A pixel is covered where its centre is (Direct3D's top-left rule, exact on the grid). Tiles run in Z order, primitives
of a tile in the order of submission, quads of a tile in Z order. A quad with a live thread runs with all four.

Weights are perspective-correct: linear in the picture are 1 / w and each vertex's weight times 1 / w. Depth is z / w,
linear in the picture, and kept within 0 to 1 (Vulkan specification, "Basic Polygon Rasterization").
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.native.jit import compiled, entry_point, inlined
from rayplay.tracer.raster.assemble import SUBPIXELS, Primitives
from rayplay.tracer.raster.fragments import QUAD, Fragments, empty_columns, first_rows
from rayplay.tracer.raster.state import COMPARES, DrawState, Framebuffer
from rayplay.tracer.raster.tiles import HALF, TILE, TILE_QUADS, bin_primitives, edge

ONE, ZERO = np.float32(1.0), np.float32(0.0)


def cover(primitives: Primitives, framebuffer: Framebuffer, state: DrawState, outcomes: dict[str, int]) -> Fragments:
    """Fragments of the primitives; writes depth unless the state's shader may discard."""
    width, height = framebuffer.width, framebuffer.height
    bins = bin_primitives(primitives, width, height)
    columns = empty_columns(bins.most_quads * QUAD)
    compare, writes = COMPARES.index(state.depth_compare), state.depth_write and not state.discards
    rows, covered = _cover(
        bins.order,
        bins.starts,
        bins.entries,
        -(-width // TILE),
        primitives,
        framebuffer.depth,
        compare,
        writes,
        columns,
    )
    counts = {"primitives": len(primitives.triangle), "covered": covered, "quads": rows // QUAD}
    return first_rows(columns, rows, outcomes | counts)


@compiled
def passes(compare: int, depth: Any, old: Any) -> bool:
    """Whether a depth test passes; compare: a position in ``COMPARES``."""
    return compare & (1 if depth < old else 2 if depth == old else 4) != 0


@entry_point
def _cover(
    order: np.ndarray, starts: np.ndarray, entries: np.ndarray, columns: int,
    primitives: Primitives, depth: np.ndarray, compare: int, writes: bool, made: tuple[NDArray[Any], ...],
) -> tuple[int, int]:  # fmt: skip
    """Fill ``made``; returns its rows and the pixels that were covered before the depth test."""
    edges, quad = np.empty((3, 3), np.int64), np.empty((QUAD, 2))
    rows, covered = 0, 0
    for tile in order:
        x, y = tile % columns * TILE, tile // columns * TILE
        for entry in range(starts[tile], starts[tile + 1]):
            primitive = entries[entry]
            corners = primitives.corners[primitive]
            for number in range(3):
                at = edge(corners, number, x * SUBPIXELS + HALF, y * SUBPIXELS + HALF)
                edges[number, 0], edges[number, 1], edges[number, 2] = at[0], at[1] * SUBPIXELS, at[2] * SUBPIXELS
            for number in range(TILE_QUADS):
                dx, dy = (number & 1 | number >> 1 & 2) * 2, (number >> 1 & 1 | number >> 2 & 2) * 2
                mask = _mask(edges, dx, dy, depth.shape[1] - x, depth.shape[0] - y)
                if mask == 0:
                    continue
                covered += (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3)
                _place(primitives, primitive, x + dx, y + dy, quad)
                if _shade_quad(primitives, primitive, x + dx, y + dy, mask, quad, depth, compare, writes, made, rows):
                    rows += QUAD
    return rows, covered


@inlined
def _mask(edges: np.ndarray, dx: int, dy: int, right: int, below: int) -> int:
    """Covered pixels of a quad, one bit each; right, below: pixels of the picture from the tile's corner on."""
    mask = 0
    for lane in range(4):
        x, y = dx + (lane & 1), dy + (lane >> 1)
        inside = x < right and y < below
        for number in range(3):
            inside = inside and edges[number, 0] + x * edges[number, 1] + y * edges[number, 2] >= 0
        mask |= int(inside) << lane
    return mask


@compiled
def _place(primitives: Primitives, primitive: int, x: int, y: int, quad: np.ndarray) -> None:
    """Weights of a primitive's second and third corner, linear in the picture, at the four centres of a quad."""
    c = primitives.corners[primitive]
    ox, oy = np.int64(c[0, 0]), np.int64(c[0, 1])
    ax, ay, bx, by = c[1, 0] - ox, c[1, 1] - oy, c[2, 0] - ox, c[2, 1] - oy
    scale = 1.0 / (ax * by - ay * bx)
    for lane in range(QUAD):
        px = (x + (lane & 1)) * SUBPIXELS + HALF - ox
        py = (y + (lane >> 1)) * SUBPIXELS + HALF - oy
        quad[lane, 0] = (px * by - py * bx) * scale
        quad[lane, 1] = (ax * py - ay * px) * scale


@compiled
def _shade_quad(
    primitives: Primitives, primitive: int, x: int, y: int, mask: int, quad: np.ndarray,
    depth: np.ndarray, compare: int, writes: bool, made: tuple[NDArray[Any], ...], row: int,
) -> bool:  # fmt: skip
    """Test a quad's depths and fill its four rows of ``made``; whether a thread of it lives."""
    z, any_live = primitives.depth[primitive], False
    for lane in range(QUAD):
        value = z[0] + quad[lane, 0] * (z[1] - z[0]) + quad[lane, 1] * (z[2] - z[0])
        near = np.float32(min(max(value, 0.0), 1.0))
        px, py = x + (lane & 1), y + (lane >> 1)
        live = mask >> lane & 1 != 0 and passes(compare, near, depth[py, px])
        any_live = any_live or live
        made[3][row + lane], made[5][row + lane] = live, near
        if live and writes:
            depth[py, px] = near
    if not any_live:
        return False
    for lane in range(QUAD):
        made[0][row + lane], made[1][row + lane] = x + (lane & 1), y + (lane >> 1)
        made[2][row + lane] = primitives.triangle[primitive]
        _weigh(primitives, primitive, quad[lane, 0], quad[lane, 1], made[4][row + lane])
    return True


@compiled
def _weigh(primitives: Primitives, primitive: int, second: float, third: float, made: np.ndarray) -> None:
    """Weights of the triangle's vertices from weights of a primitive's corners that are linear in the picture.

    A helper may lie where the triangle's plane is behind the eye; its weights stay linear in the picture.
    """
    inverse_w, weights = primitives.inverse_w[primitive], primitives.weights[primitive]
    total = inverse_w[0] + second * (inverse_w[1] - inverse_w[0]) + third * (inverse_w[2] - inverse_w[0])
    if total > 0.0:
        second, third = second * inverse_w[1] / total, third * inverse_w[2] / total
    first = 1.0 - second - third
    for vertex in range(2):
        made[vertex] = first * weights[0, vertex] + second * weights[1, vertex] + third * weights[2, vertex]
