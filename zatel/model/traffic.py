"""Functional memory traffic of all warps: the control variate of the sampled replay.

The trace of the whole image is cheap to walk. Its BVH records and memory accesses, in the order of a schedule on the
GPU, pass functional caches of the GPU's size (``caches``). Their misses and write-backs come within some per cent of
the replay's. The sample has fewer resident warps and needs a smaller L2 to miss as often; ``sample.machine.match``
finds it. This replaces the paper's rule that the L2 shrinks with the memory partitions: every warp reads the BVH's
upper levels, which do not shrink with the image. ``sample.extrapolate`` corrects the differences that no size of the L2
removes, for example local memory's.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard import exact
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.replay.geometry import TABLE_BYTES, WARPS_PER_SM
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.accesses import COLUMNS, LOCAL_LINES, lines_of, read_static
from rayplay.zatel.model.caches import BEFORE, L1_ACCESSES, L1_MISSES, WRITES, make_dram, make_sets, run, slices_of
from rayplay.zatel.model.schedule import Machine, Phases, moments, phases_of, schedule
from rayplay.zatel.model.walk import (
    HIT_LINES,
    MOST_SHIFT,
    NODE_BITS,
    TABLE_LINES,
    Nodes,
    Rays,
    Requested,
    walk,
    which_are_followed,
)

LINE_BYTES = 128
SECTOR_BYTES = 32
WARPS_PER_BATCH = 256
WINDOWS = 128  # so short that a slice which is busy for a while shows, so long that thousands of requests are in each
RAYS = ("warp_id", "visit", "lane", "node")
SAMPLED_RECORDS = 40_000_000  # records whose lines are followed; beyond, set sampling follows some lines only


class Stream(NamedTuple):
    """Requests of all warps, warp after warp.

    steps     int64[warps], steps of each warp: its accesses, and the records on the longest paths of its rays.
    phases    the same steps, phase by phase.
    requests  int64[warps], number of requests of each warp.
    step      int32[requests], step of its warp.
    line      int64[requests], line number; of local memory as in ``accesses``.
    sectors   uint16[requests], a bit for each sector asked; for stores also ``WRITE``, and a bit for each sector
              written in full.
    shift     log2 of the lines that one line in the stream stands for (set sampling).
    first     int32[nodes], first warp that fetches each node, -1 for none.
    """

    steps: np.ndarray
    phases: Phases
    requests: np.ndarray
    step: np.ndarray
    line: np.ndarray
    sectors: np.ndarray
    shift: int
    first: np.ndarray


def read_stream(trace: Trace) -> Stream:
    """Read the requests of a trace in one pass; ``UserError`` when it traces no rays."""
    if "rays" not in trace.tables or not trace.rows("rays"):
        raise UserError(f"{trace.path}: must trace rays, to be estimated")
    line, sectors = node_lines(trace)
    procedural = trace.read("nodes", ["kind"])["kind"] == NODE_KINDS.index("procedural")
    nodes = Nodes(line, sectors, np.full(len(line), -1, np.int64), procedural)
    shift = _shift(trace)
    warps = trace.rows("warps")
    steps, count = np.zeros(warps, np.int64), np.zeros(warps, np.int64)
    pieces, phases = [], [np.zeros(1, np.int64)]
    lengths: list[np.ndarray] = []
    base = 0
    wanted = {"accesses": COLUMNS, "rays": RAYS}
    present, static = {name: wanted[name] for name in wanted if name in trace.tables}, read_static(trace)
    for first, last, tables in trace.warp_batches(WARPS_PER_BATCH, present):
        rays, accesses = _rays(tables["rays"]), lines_of(tables.get("accesses"), static)
        for kept, found in zip((phases, lengths), phases_of(rays, accesses, first, last), strict=True):
            kept.append(found)
        room = 2 * (len(rays.node) + procedural[rays.node & NODE_BITS].sum()) + len(accesses.line)
        out = Requested(np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.uint16), count)
        rows = walk(rays, accesses, nodes, base, shift, steps, out)
        base += len(rays.node)
        pieces.append([column[:rows].copy() for column in out[:3]])
    step, lines, asked = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    owned = Phases(np.cumsum(np.concatenate(phases)), np.concatenate(lengths))
    return Stream(steps, owned, count, step, lines, asked, shift, nodes.first)


def _rays(columns: dict[str, np.ndarray]) -> Rays:
    warp, visit, lane, offset = (columns[name].astype(np.int64) for name in (*RAYS[:3], "node_offset"))
    return Rays(warp, visit, lane, offset, columns["node"])


def node_lines(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """First line of each BVH record, int64[nodes], and the sectors it covers there, uint8[nodes]."""
    nodes = trace.read("nodes", ["address", "bytes"])
    address, length = nodes["address"].astype(np.int64), nodes["bytes"].astype(np.int64)
    first = address % LINE_BYTES // SECTOR_BYTES
    last = np.minimum((address % LINE_BYTES + np.maximum(length, 1) - 1) // SECTOR_BYTES, 3)
    return address // LINE_BYTES, ((2 << last) - (1 << first)).astype(np.uint8)


def _shift(trace: Trace) -> int:
    """Bits of set sampling with which the stream fits into memory."""
    records = 64 * trace.rows("rays")
    return min(MOST_SHIFT, max(0, exact.ceil_log2(max(records, 1) / SAMPLED_RECORDS)))


class Requests(NamedTuple):
    """Requests of resident warps in the order of a schedule.

    sm       int16[requests], SM of each.
    window   int16[requests], which of ``WINDOWS`` equal parts of all requests it is in.
    entered  int64[n] lines and int16[n] windows of all stores into intersection tables. Set sampling skips them: few
             lines get most of the stores, so a sample of lines would not represent them.
    """

    line: np.ndarray
    sectors: np.ndarray
    shift: int
    sm: np.ndarray
    window: np.ndarray
    entered: tuple[np.ndarray, np.ndarray]


class Traffic(NamedTuple):
    """Traffic of a GPU's L2 in sectors: reads and writes of the SMs, their misses, and write-backs.

    rows_opened             DRAM rows activated for it.
    l1_accesses, l1_misses  of all L1s, in sectors.
    asked, entered          float64[WINDOWS, slices], sectors asked of each slice in each window, by the L1s and by
                            entries of intersection tables.
    """

    reads: float
    read_misses: float
    writes: float
    write_misses: float
    write_backs: float
    rows_opened: float
    l1_accesses: float = 0.0
    l1_misses: float = 0.0
    asked: np.ndarray = np.zeros((WINDOWS, 1))
    entered: np.ndarray = np.zeros((WINDOWS, 1))

    @property
    def miss_rate(self) -> float:
        """Misses / accesses of the L2; 0 without accesses."""
        return (self.read_misses + self.write_misses) / max(self.reads + self.writes, 1.0)

    @property
    def l1_miss_rate(self) -> float:
        """Misses / accesses of the L1s; 0 without accesses."""
        return self.l1_misses / max(self.l1_accesses, 1.0)

    @property
    def dram_sectors(self) -> float:
        """Sectors that the DRAM reads and writes."""
        return self.read_misses + self.write_backs

    @property
    def rows_per_sector(self) -> float:
        """Rows activated per sector that the DRAM reads or writes; 0 without sectors."""
        return self.rows_opened / max(self.dram_sectors, 1.0)


def in_order(
    stream: Stream, warps: np.ndarray, machine: Machine, interleaved: bool = True, tables: bool = True
) -> Requests:
    """Order the requests of the ``warps``, bool[warps], by their time on the SMs of a ``machine``.

    interleaved  whether local memory belongs to the warp slot, so that the slot's next warp finds the same lines
                 (``lsu.local_interleaved``); otherwise each warp has lines of its own.
    tables       whether procedural primitives are entered into intersection tables.
    """
    planned = schedule(stream.phases, warps, machine)
    owner = np.repeat(np.arange(len(warps), dtype=np.int32), stream.requests)
    chosen = np.flatnonzero(warps[owner])
    time = moments(stream.phases, planned.begins, 1.0, warps, stream.requests, stream.step)
    chosen = chosen[np.argsort(time, kind="stable")]
    window = (np.arange(len(chosen)) * WINDOWS // max(len(chosen), 1)).astype(np.int16)
    line, sectors, owner = stream.line[chosen], stream.sectors[chosen], owner[chosen]
    place, places = planned.place[owner], machine.sms * machine.places
    sm = (place % machine.sms).astype(np.int16)
    local, entry = (line >= LOCAL_LINES) & (line < HIT_LINES), line >= TABLE_LINES
    holders, holder = (places, place) if interleaved else (len(warps), owner)
    line[local] = LOCAL_LINES + (line[local] - LOCAL_LINES) * holders + holder[local]
    line[entry] += table_line(place[entry], machine.sms)
    entered = line[entry & tables], window[entry & tables]
    keep = ~entry | tables
    if stream.shift:
        keep &= ~(local | entry) | followed(line, stream.shift)
    return Requests(line[keep], sectors[keep], stream.shift, sm[keep], window[keep], entered)


def table_line(place: np.ndarray, sms: int) -> np.ndarray:
    """First line of the intersection table of each warp slot, int64, relative to the first slot's."""
    return (place % sms * WARPS_PER_SM + place // sms) * (TABLE_BYTES // LINE_BYTES)


def followed(line: np.ndarray, shift: int) -> np.ndarray:
    """Lines followed by set sampling of one in 2^``shift``, bool[lines]; caches shrink by the same factor."""
    return np.asarray(which_are_followed(line, (1 << shift) - 1))


def after(requests: Requests, line: np.ndarray, sectors: np.ndarray) -> Requests:
    """Prepend the L2's initial contents, ``line`` with ``sectors``, the most recently used last."""
    before = followed(line, requests.shift)
    return requests._replace(
        line=np.concatenate([line[before], requests.line]),
        sectors=np.concatenate([sectors[before].astype(np.uint16), requests.sectors]),
        sm=np.concatenate([np.full(before.sum(), BEFORE, np.int16), requests.sm]),
        window=np.concatenate([np.zeros(before.sum(), np.int16), requests.window]),
    )


def thinned(requests: Requests, most: int) -> Requests:
    """Keep the requests of one in 2, 4, ... sets, so that about ``most`` remain.

    At least one in 2^``MOST_SHIFT`` sets stays, so that an L1 keeps some lines.
    """
    more = max(0, exact.ceil_log2(max(len(requests.line), 1) / most))
    more = min(more, max(0, MOST_SHIFT - requests.shift))
    if not more:
        return requests
    rows = followed(requests.line, requests.shift + more)
    kept = (column[rows] for column in (requests.line, requests.sectors, requests.sm, requests.window))
    line, sectors, sm, window = kept
    return Requests(line, sectors, requests.shift + more, sm, window, requests.entered)


def traffic(requests: Requests, gpu: Gpu) -> Traffic:
    """Run the requests through functional caches with the SMs, L1 and L2 capacities of ``gpu``."""
    lines = max(1, round(gpu.l1.bytes / (LINE_BYTES << requests.shift)))
    ways = min(gpu.l1.ways, lines)
    slices = gpu.memory.count * gpu.l2.slices_per_controller
    sets = max(1, round(gpu.l2.bytes / slices / gpu.l2.ways / (LINE_BYTES << requests.shift)))
    caches = (
        make_sets(gpu.sm.count * max(1, lines // ways), ways),
        make_sets(slices * sets, gpu.l2.ways),
        make_dram(gpu.addresses),
    )
    asked = np.zeros((WINDOWS, slices), np.int64)
    count = run(requests.line, requests.sectors, requests.sm, requests.window, *caches, gpu.sm.count, asked)
    count, asked = count << requests.shift, asked << requests.shift
    line, window = requests.entered
    count[[WRITES, L1_ACCESSES, L1_MISSES]] += len(line)
    places = window * np.int64(slices) + slices_of(gpu.addresses, line, slices)
    entered = np.bincount(places, minlength=asked.size).reshape(asked.shape)
    found = Traffic(*count.astype(float).tolist())
    return found._replace(asked=asked.astype(float), entered=entered.astype(float))


def held_before(trace: Trace, stream: Stream, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L2 contents that other warps left for the ``chosen``, bool[warps]: int64[n] lines, uint8[n] sectors.

    They are BVH records that chosen warps fetch and another warp fetched first, in reverse order of their first use by
    the sample: a record needed soon is the most recently used.
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
