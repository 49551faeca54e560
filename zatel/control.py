"""What all pixels do to the L2, known without replaying them: the control of the sampled replay.

The functional trace of the whole image is cheap. Its BVH records, walked in the order in which a GPU with so many
resident warps would reach them, pass an LRU cache of the size of the L2: so many sectors miss. The sampled warps, fewer
of them resident, need a smaller L2 to miss as often; ``match`` finds it. That replaces the paper's rule that an L2
shrinks with the memory partitions: the upper levels of the BVH, which every warp reads, do not shrink with the image.
"""

from typing import NamedTuple

import numpy as np

from formats.errors import UserError
from formats.reader import Trace
from zatel.control_kernels import (
    HIT_LINES,
    NODE_BITS,
    WAYS,
    Accesses,
    Nodes,
    Rays,
    Requested,
    begin_steps,
    cache_misses,
    walk,
)

LINE_BYTES = 128
SECTOR_BYTES = 32
WARPS_PER_BATCH = 256
COLUMNS = {"accesses": ("warp_id", "visit", "address"), "rays": ("warp_id", "visit", "node")}
SAMPLED_RECORDS = 40_000_000  # of all records, about so many are walked with their lines, the others only counted


class Stream(NamedTuple):
    """The lines that warps ask for.

    steps    int64[warps], records on the longest way of each warp's rays: how long it takes, in steps.
    requests  int64[warps], requests of each warp among the following, which stand warp after warp.
    step     int32[requests], step of its warp. line  int64[requests]. sectors  uint8[requests], a bit each.
    shift    log2 of the lines that one line in the stream stands for (set sampling).
    first    int32[nodes], the first warp that fetches each node, -1 for none.
    """

    steps: np.ndarray
    requests: np.ndarray
    step: np.ndarray
    line: np.ndarray
    sectors: np.ndarray
    shift: int
    first: np.ndarray


def read_stream(trace: Trace) -> Stream:
    """One pass over the rays of a trace; ``UserError`` when it has none."""
    if "rays" not in trace.tables or not trace.rows("rays"):
        raise UserError(f"{trace.path}: must trace rays, to be estimated")
    line, sectors = node_lines(trace)
    nodes = Nodes(line, sectors, np.full(len(line), -1, np.int64))
    shift = _shift(trace)
    warps = trace.rows("warps")
    steps, count = np.zeros(warps, np.int64), np.zeros(warps, np.int64)
    pieces = []
    base = 0
    present = {name: columns for name, columns in COLUMNS.items() if name in trace.tables}
    for _, _, tables in trace.warp_batches(WARPS_PER_BATCH, present):
        rays, accesses = _rays(tables["rays"]), _accesses(tables.get("accesses"))
        room = 2 * len(rays.node) + len(accesses.sector)
        out = Requested(np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.uint8), count)
        rows = walk(rays, accesses, nodes, shift, steps, out)
        own = out.line[:rows] >= HIT_LINES
        out.line[:rows][own] += base
        base += len(rays.node)
        pieces.append([column[:rows].copy() for column in out[:3]])
    step, lines, asked = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    return Stream(steps, count, step, lines, asked, shift, nodes.first)


def _rays(columns: dict[str, np.ndarray]) -> Rays:
    warp, visit, offset = (columns[name].astype(np.int64) for name in ("warp_id", "visit", "node_offset"))
    return Rays(warp, visit, offset, columns["node"])


def _accesses(columns: dict[str, np.ndarray] | None) -> Accesses:
    if columns is None:
        none = np.zeros(0, np.int64)
        return Accesses(none, none, np.zeros(1, np.int64), none)
    warp, visit, offset = (columns[name].astype(np.int64) for name in ("warp_id", "visit", "address_offset"))
    return Accesses(warp, visit, offset, columns["address"].astype(np.int64) // SECTOR_BYTES)


def node_lines(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """int64[nodes], the line in which each BVH record begins, and uint8[nodes], the sectors it takes of it."""
    nodes = trace.read("nodes", ["address", "bytes"])
    address, length = nodes["address"].astype(np.int64), nodes["bytes"].astype(np.int64)
    first = address % LINE_BYTES // SECTOR_BYTES
    last = np.minimum((address % LINE_BYTES + np.maximum(length, 1) - 1) // SECTOR_BYTES, 3)
    return address // LINE_BYTES, ((2 << last) - (1 << first)).astype(np.uint8)


def _shift(trace: Trace) -> int:
    """So many bits of set sampling that the stream fits into memory."""
    records = 64 * trace.rows("rays")
    return max(0, int(np.ceil(np.log2(max(records, 1) / SAMPLED_RECORDS))))


class Requests(NamedTuple):
    """A stream in the order in which so many resident warps make it."""

    line: np.ndarray
    sectors: np.ndarray
    shift: int
    warp: np.ndarray


def in_order(stream: Stream, warps: np.ndarray, slots: int) -> Requests:
    """The requests of the ``warps``, bool[warps], when ``slots`` of them are resident at a time."""
    begins = np.zeros(len(warps), np.int64)
    begins[warps] = begin_steps(stream.steps[warps], slots)
    owner = np.repeat(np.arange(len(warps)), stream.requests)
    chosen = np.flatnonzero(warps[owner])
    time = begins[owner[chosen]] + stream.step[chosen]
    chosen = chosen[np.argsort(time, kind="stable")]
    return Requests(stream.line[chosen], stream.sectors[chosen], stream.shift, owner[chosen])


def misses(requests: Requests, l2_bytes: float, counted: np.ndarray | None = None) -> int:
    """Sectors that miss an L2 of ``l2_bytes``, of the sampled sets."""
    sets = max(1, round(l2_bytes / (LINE_BYTES * WAYS) / (1 << requests.shift)))
    every = requests.line < HIT_LINES if counted is None else counted
    return int(cache_misses(requests.line, requests.sectors, sets, requests.shift, every))


def held_before(trace: Trace, stream: Stream, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What other warps brought into the L2 for the ``chosen``, bool[warps]: int64[n] lines, uint8[n] their sectors.

    The BVH records that chosen warps fetch and that a warp that is not chosen fetches first, the last used first, so
    that what the sample needs soon is the youngest.
    """
    used: list[np.ndarray] = []
    seen = np.zeros(len(stream.first), bool)
    for batch in trace.batches("rays", ["warp_id", "node"]):
        owner = np.repeat(batch["warp_id"], np.diff(batch["node_offset"]).astype(np.int64))
        nodes, place = np.unique(batch["node"][chosen[owner]] & NODE_BITS, return_index=True)
        nodes = nodes[np.argsort(place)]
        used.append(nodes[~seen[nodes]])
        seen[nodes] = True
    nodes = np.concatenate(used)
    nodes = nodes[~chosen[stream.first[nodes]]]
    line, sectors = node_lines(trace)
    order, place, row = np.unique(line[nodes], return_index=True, return_inverse=True)
    held = np.zeros(len(order), np.uint8)
    np.bitwise_or.at(held, row, sectors[nodes])
    by_use = np.argsort(-place)
    return order[by_use], held[by_use]
