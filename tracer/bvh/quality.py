"""How good an acceleration structure is: surface-area cost, overlap, depth, and what a trace's rays fetched of it.

Cost: Goldsmith and Salmon, "Automatic creation of object hierarchies for ray tracing", 1987, as MacDonald
and Booth, "Heuristics for ray tracing using space subdivision", 1990, state it: a random line that meets a convex body
meets a convex part of it with the ratio of their surfaces.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.trace import NODE_HIT_BIT
from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.bvh.decode import Decoded, Level

LEVELS = ("top", "bottom")


class Depth(NamedTuple):
    """Records of one depth of the top level, or of all bottom levels.

    cost     records of it that a random line through the scene's box fetches, were nothing to stop it.
    overlap  surface of the pairs' intersections among children, per surface of the nodes; NaN without an internal node.
    reads    fetches by the rays of a trace; None without one.
    """

    level: str
    depth: int
    internal: int
    leaves: int
    cost: float
    overlap: float
    reads: int | None


class Quality(NamedTuple):
    """Depths of the top level, then of the bottom levels.

    headers  headers of bottom levels that a random line fetches.
    reads    int64[records]: fetches of each row of the nodes table; None without a trace.
    rays     of the trace.
    """

    depths: list[Depth]
    headers: float
    reads: NDArray[np.int64] | None
    rays: int

    @property
    def cost(self) -> float:
        """Records that a random line fetches: headers, internal nodes, instances and leaves."""
        return 1.0 + self.headers + sum(depth.cost for depth in self.depths)

    def overlap(self, level: str) -> float:
        """Overlap of a whole level, its depths weighted by the nodes that a line fetches."""
        mine = [depth for depth in self.depths if depth.level == level and depth.internal]
        weight = sum(depth.cost for depth in mine)
        return sum(depth.cost * depth.overlap for depth in mine) / weight if weight else 0.0


def quality(acceleration: Acceleration, decoded: Decoded, trace: Trace | None = None) -> Quality:
    """Rate a structure, and count the reads of a trace of it.

    Raises ``UserError`` for a trace whose nodes are not this structure's.
    """
    reads = None if trace is None else count_reads(acceleration, trace)
    of_block = None if reads is None else _by_block(acceleration, reads)
    area = half_areas(decoded.top.low, decoded.top.high)
    met = area[decoded.top.is_leaf] / area[0] if area[0] else np.ones(len(decoded.bottom))
    weight = np.bincount(decoded.bottom, met, len(decoded.bottoms)).astype(np.float64)
    depths = _depths("top", [decoded.top], np.ones(1), of_block)
    depths += _depths("bottom", decoded.bottoms, weight, of_block)
    rays = 0 if trace is None or "rays" not in trace.tables else trace.rows("rays")
    return Quality(depths, float(met.sum()), reads, rays)


def half_areas(low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float64]:
    """Half the surface of boxes, float64[...]; of low and high corners float32[..., 3]."""
    x, y, z = np.moveaxis(np.maximum(high.astype(np.float64) - low, 0.0), -1, 0)
    return np.asarray(x * y + y * z + z * x)


def _depths(
    name: str, levels: list[Level], weight: NDArray[np.float64], of_block: NDArray[np.int64] | None
) -> list[Depth]:
    """Rows of the depths of some levels, each of which a line meets ``weight`` times."""
    most = max(int(level.depth[-1]) for level in levels) + 1
    internal, leaves, cost, shared = (np.zeros(most) for _ in range(4))
    inner_cost, reads = np.zeros(most), np.zeros(most, np.int64)
    for level, times in zip(levels, weight, strict=True):
        area = half_areas(level.low, level.high)
        met = times * (area / area[0] if area[0] else np.ones(len(area)))
        inner = ~level.is_leaf
        internal += np.bincount(level.depth[inner], minlength=most)
        leaves += np.bincount(level.depth[~inner], minlength=most)
        cost += np.bincount(level.depth, met, most)
        inner_cost += np.bincount(level.depth[inner], met[inner], most)
        unit = times / area[0] if area[0] else 0.0
        shared += np.bincount(level.depth[inner], unit * _shared(level), most)
        if of_block is not None:
            found = of_block[level.block]
            np.add.at(reads, level.depth, found)
    overlap = np.divide(shared, inner_cost, out=np.full(most, np.nan), where=(internal > 0) & (inner_cost > 0))
    return [
        Depth(name, at, int(internal[at]), int(leaves[at]), float(cost[at]), float(overlap[at]),
              None if of_block is None else int(reads[at]))
        for at in range(most)
    ]  # fmt: skip


def _shared(level: Level) -> NDArray[np.float64]:
    """float64[internal nodes]: half surface of the intersections of all pairs of a node's children."""
    first, count = level.first[~level.is_leaf], level.children[~level.is_leaf]
    shared = np.zeros(len(first))
    for left in range(layout.MOST_CHILDREN):
        for right in range(left + 1, layout.MOST_CHILDREN):
            both = np.flatnonzero(right < count)
            one, other = first[both] + left, first[both] + right
            low, high = np.maximum(level.low[one], level.low[other]), np.minimum(level.high[one], level.high[other])
            shared[both] += np.where((low <= high).all(axis=1), half_areas(low, high), 0.0)
    return shared


def count_reads(acceleration: Acceleration, trace: Trace) -> NDArray[np.int64]:
    """int64[records]: how often the rays of ``trace`` fetched each row of its nodes table.

    Raises ``UserError`` where that table is not the structure's, wherever in memory it lies.
    """
    if "nodes" not in trace.tables or "rays" not in trace.tables:
        raise UserError(f"{trace.path}: must be a trace of an image, with tables rays and nodes")
    nodes = trace.read("nodes", ["address", "kind"])
    same = len(nodes["kind"]) == len(acceleration.node_kind) and bool((nodes["kind"] == acceleration.node_kind).all())
    if not same or np.ptp(nodes["address"] - acceleration.node_address):
        raise UserError(
            f"{trace.path}: must trace this scene with this tree; its {len(nodes['kind']):,} BVH records are not the "
            f"scene's {len(acceleration.node_kind):,} (see --traversal, --spheres, --bvh and the trace's provenance)"
        )
    reads = np.zeros(len(acceleration.node_kind), np.int64)
    for part in trace.batches("rays", ["node"]):
        reads += np.bincount(part["node"] & np.uint32(NODE_HIT_BIT - 1), minlength=len(reads))
    return reads


def _by_block(acceleration: Acceleration, reads: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[blocks]: fetches of the record at each block; a leaf's descriptor, which it begins with, not among them."""
    records = acceleration.node_kind != layout.DESCRIPTOR
    found = np.zeros(len(acceleration.words), np.int64)
    found[acceleration.node_block[records]] = reads[records]
    return found
