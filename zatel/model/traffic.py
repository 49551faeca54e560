"""Functional memory traffic of all warps: the control variate of the sampled replay.

The trace of the whole image is cheap to walk. Its BVH records and memory accesses, in the order of a schedule on the
GPU, pass functional caches of the GPU's size (``caches``). Their misses and write-backs come within some per cent of
the replay's. The sample, on a part of the GPU, passes them too: ``sample.extrapolate`` corrects its
replay by the difference. This replaces the paper's rule that the L2 shrinks with the memory partitions: every warp
reads the BVH's upper levels, which do not shrink with the image.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard import exact
from rayplay.formats.laws.expect import REPLAYED_COLUMNS, Guard
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.accesses import LOCAL_LINES, Room, lines_of, read_static
from rayplay.zatel.model.caches import BEFORE, COUNTERS, L1_ACCESSES, L1_MISSES, WRITES, make_sets, run, slices_of
from rayplay.zatel.model.follow import MOST_SHIFT, followed
from rayplay.zatel.model.in_order import Entered, Followed, Slots, follow
from rayplay.zatel.model.instructions import SharedLines, traces_rays
from rayplay.zatel.model.reading import Pieces, add_at, joined, pieces_of_warps
from rayplay.zatel.model.schedule import Machine, Phases, moments, phases_of, schedule
from rayplay.zatel.model.walk import HIT_LINES, NODE_BITS, ROW_LINES, TABLE_LINES, Nodes, Rays, Requested, looks, walk
from rayplay.zatel.model.windows import WINDOWS, window_bounds

LINE_BYTES = 128
SECTOR_BYTES = 32
WARPS_PER_BATCH = 256
RAYS = ("warp_id", "visit", "lane")
FOLLOWED = 1 << 22  # requests that pass the caches, at most; set sampling leaves the others out
PROMISE = 1 / 8  # share of all warps that must be read to foretell how many requests, or bytes, there will be


class Stream(NamedTuple):
    """Requests of all warps, warp after warp.

    steps     int64[warps], steps of each warp: its accesses, and the records on the longest paths of its rays.
    phases    the same steps, phase by phase.
    requests  int64[warps], number of requests of each warp.
    step      int32[requests], step of its warp.
    line      int64[requests], line number; of local memory as in ``accesses``.
    sectors   uint16[requests], a bit for each sector asked; for stores also ``WRITE``, and a bit for each sector
              written in full, or for an intersection table in place of these the number of stores.
    shift     log2 of the lines that one line in the stream stands for (set sampling).
    first     int64[nodes], first warp that fetches each node, -1 for none.
    records   int64[warps], BVH records that the rays of each warp fetch.
    issued    int64[warps], instructions of each warp; ``executed``, of its threads.
    shared    int64[lines], lines of global memory in ascending order; empty for a launch that traces rays.

    Without rays a step is an instruction, ``first`` belongs to ``shared``, and ``records`` counts accesses.
    """

    steps: np.ndarray
    phases: Phases
    requests: np.ndarray
    step: np.ndarray
    line: np.ndarray
    sectors: np.ndarray
    shift: int
    first: np.ndarray
    records: np.ndarray
    issued: np.ndarray
    executed: np.ndarray
    shared: np.ndarray

    @property
    def is_traced(self) -> bool:
        """Whether the launch traces rays."""
        return bool(self.phases.length[1::2].any())


def unseen(tables: Pieces, share: float) -> None:
    """Leave the rows of a batch alone."""


def read_stream(trace: Trace, seen: Callable[[Pieces, float], None] = unseen) -> Stream:
    """Read and check the requests of a trace in one pass, after ``expect_program``.

    seen  called with the pieces of the tables of each batch of warps, once checked: the columns that a replay reads;
          and with the share of all warps that were read.

    Raises ``FormatError`` for the first problem of what a replay reads.
    """
    guard, length = Guard(trace), trace.read("blocks", ["instruction_count"])["instruction_count"].astype(np.int64)
    nodes, is_traced, room, shared = _nodes(trace), traces_rays(trace), Room(), SharedLines(trace)
    steps, count, records, issued, executed = np.zeros((5, trace.rows("warps")), np.int64)
    pieces, unbound = list[list[np.ndarray]](), list[int]()
    phases, lengths = [np.zeros(1, np.int64)], list[np.ndarray]()
    base, shift, static = 0, 0, read_static(trace)
    present = {name: REPLAYED_COLUMNS[name] for name in REPLAYED_COLUMNS if name in trace.tables}
    for first, last, pieces_of in pieces_of_warps(trace, WARPS_PER_BATCH, present):
        tables = {
            name: joined(trace.layout.table(name), present[name], pieces, name != "accesses")
            for name, pieces in pieces_of.items()
        }
        guard.expect(first, last, tables)
        seen(pieces_of, last / len(steps))
        add_instructions(tables["visits"], length, issued, executed)
        rays = _rays(tables.get("rays"))
        accesses = lines_of(pieces_of.get("accesses", ()), static, shift * is_traced, room)
        add_at(rays.warp, np.diff(rays.offset), records)
        counted, lasting = phases_of(rays, accesses, first, last)
        entered = nodes.procedural[rays.node & NODE_BITS].sum() if len(nodes.procedural) else 0
        most = 2 * len(rays.node) + ROW_LINES * entered + len(accesses.line)
        out = Requested(np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.uint16), count)
        rows = walk(rays, accesses, nodes, base, shift, steps, out)
        if not is_traced:
            records[first:last], steps[first:last] = steps[first:last], issued[first:last]
            lasting[::2] = issued[first:last]
            out.step[:rows] = shared.moments(first, last, tables, accesses, out.step[:rows], count)
        phases.append(counted)
        lengths.append(lasting)
        base += len(rays.node)
        pieces.append([column[:rows].copy() for column in out[:3]])
        if (fewer := bounded(pieces, unbound, count, shift, last / len(steps))) != shift:
            shift, nodes = fewer, nodes._replace(look=looks(nodes.line, nodes.first, fewer))
    columns = [list(column) for column in zip(*pieces, strict=True)]
    del pieces
    step, lines, asked = (taken(column) for column in columns)
    owned = Phases(np.cumsum(np.concatenate(phases)), np.concatenate(lengths), first_warps(trace))
    line, warp = shared.merged()
    known = nodes.first if is_traced else warp
    return Stream(steps, owned, count, step, lines, asked, shift, known, records, issued, executed, line)


def first_warps(trace: Trace) -> np.ndarray:
    """Each CTA's first warp in a trace of one launch, and the number of warps: int64[CTAs + 1]."""
    cta = trace.read("warps", ["cta_id"])["cta_id"].astype(np.int64)
    return np.append(np.flatnonzero(np.diff(cta, prepend=-1)), len(cta))


def _nodes(trace: Trace) -> Nodes:
    """The BVH's records, of which no warp fetched one yet; none without a BVH."""
    line, sectors = node_lines(trace)
    first = np.full(len(line), -1, np.int64)
    kinds = trace.read("nodes", ["kind"])["kind"] if "nodes" in trace.tables else np.zeros(0, np.uint8)
    procedural = kinds == NODE_KINDS.index("procedural")
    return Nodes(line, sectors, first, procedural if procedural.any() else procedural[:0], looks(line, first, 0))


def add_instructions(visits: Columns, length: np.ndarray, issued: np.ndarray, executed: np.ndarray) -> None:
    """Add the instructions of some visits to their warps'; ``length``, int64[blocks], instructions of each block."""
    warp, many = visits["warp_id"], length[visits["block_id"]]
    add_at(warp, many, issued)
    add_at(warp, many * np.bitwise_count(visits["active_mask"]), executed)


def _rays(columns: dict[str, np.ndarray] | None) -> Rays:
    if columns is None:
        none = np.zeros(0, np.int64)
        return Rays(none, none, none, np.zeros(1, np.int64), np.zeros(0, np.uint32))
    warp, visit, lane, offset = (columns[name].astype(np.int64) for name in (*RAYS, "node_offset"))
    return Rays(warp, visit, lane, offset, columns["node"])


def node_lines(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """First line of each BVH record, int64[nodes], and the sectors it covers there, uint8[nodes]."""
    if "nodes" not in trace.tables:
        return np.zeros(0, np.int64), np.zeros(0, np.uint8)
    nodes = trace.read("nodes", ["address", "bytes"])
    address, length = nodes["address"].astype(np.int64), nodes["bytes"].astype(np.int64)
    first = address % LINE_BYTES // SECTOR_BYTES
    last = np.minimum((address % LINE_BYTES + np.maximum(length, 1) - 1) // SECTOR_BYTES, 3)
    return address // LINE_BYTES, ((2 << last) - (1 << first)).astype(np.uint8)


def bounded(pieces: list[list[np.ndarray]], unbound: list[int], requests: np.ndarray, shift: int, share: float) -> int:
    """Follow the lines of so few sets that at most ``FOLLOWED`` requests are left in the pieces; return the new shift.

    At least one in 2^``MOST_SHIFT`` sets stays, so that an L1 keeps some lines. Lines that depend on the warp's slot
    all stay until ``in_order`` gives their final numbers, and do not count.

    unbound  requests of each piece that count; the last piece's is added.
    share    of all warps, in the pieces. Where they promise more requests in the end, fewer are followed at once.
    """
    unbound.append(int((~depend_on_slot(pieces[-1][1])).sum()))
    most = FOLLOWED * max(share, PROMISE)
    while shift < MOST_SHIFT and sum(unbound) > most:
        shift = min(MOST_SHIFT, shift + max(1, exact.ceil_log2(sum(unbound) / most)))
        pieces[:] = [follow_fewer(pieces, requests, shift)]
        unbound[:] = [int((~depend_on_slot(pieces[0][1])).sum())]
    return shift


def follow_fewer(pieces: list[list[np.ndarray]], requests: np.ndarray, shift: int) -> list[np.ndarray]:
    """The pieces (step, line, sectors) in one, with the lines of one in 2^``shift`` sets; updates ``requests``."""
    step, line, sectors = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    stay = depend_on_slot(line) | followed(line, shift)
    owner = np.repeat(np.arange(len(requests)), requests)[stay]
    requests[:] = np.bincount(owner, minlength=len(requests))
    return [step[stay], line[stay], sectors[stay]]


def depend_on_slot(line: np.ndarray) -> np.ndarray:
    """Lines of local memory and intersection tables, bool[lines]."""
    return (line >= LOCAL_LINES) & (line < HIT_LINES) | (line >= TABLE_LINES)


class Requests(NamedTuple):
    """Requests of resident warps in the order of a schedule.

    sm       int16[requests], SM of each.
    window   int16[requests], which of ``WINDOWS`` equal parts of all requests it is in.
    entered  all stores into intersection tables.
    """

    line: np.ndarray
    sectors: np.ndarray
    shift: int
    sm: np.ndarray
    window: np.ndarray
    entered: Entered


class Traffic(NamedTuple):
    """Traffic of a GPU's L2 in sectors: reads and writes of the SMs, their misses, and write-backs.

    l1_accesses, l1_misses  of all L1s, in sectors.
    asked, entered          float64[WINDOWS, slices], sectors asked of each slice in each window, by the L1s and by
                            entries of intersection tables.
    """

    reads: float
    read_misses: float
    writes: float
    write_misses: float
    write_backs: float
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


def in_order(
    stream: Stream, warps: np.ndarray, machine: Machine, interleaved: bool = True, tables: bool = True
) -> Requests:
    """Order the requests of the ``warps``, bool[warps], by their time on the SMs of a ``machine``.

    interleaved  whether local memory belongs to the warp slot, so that the slot's next warp finds the same lines
                 (``lsu.local_interleaved``); otherwise each warp has lines of its own.
    tables       whether procedural primitives are entered into intersection tables.
    """
    planned = schedule(stream.phases, warps, machine)
    time = moments(stream.phases, planned.begins, 1.0, warps, stream.requests, stream.step)
    slots = Slots(planned.place, machine.sms, machine.places, interleaved, tables)
    given = stream.requests, stream.line, stream.sectors, time, warps, slots, (1 << stream.shift) - 1
    bounds = window_bounds(time)
    counts = follow(*given, bounds, *_room(0, 0), False)
    found, entered = _room(*counts)
    follow(*given, bounds, found, entered, True)
    del planned, time, given
    order = np.argsort(found.time, kind="stable")
    window = np.searchsorted(bounds, found.time[order], side="right").astype(np.int16)
    return Requests(found.line[order], found.sectors[order], stream.shift, found.sm[order], window, entered)


def _room(followed: int, entries: int) -> tuple[Followed, Entered]:
    """Memory for the results of ``follow``, of one type whatever their numbers: its code is made once."""
    kinds = float, np.int64, np.uint16, np.int16
    found = Followed(*(np.empty(followed, kind) for kind in kinds))
    return found, Entered(*(np.empty(entries, np.int64) for _ in Entered._fields))


def taken(parts: list[np.ndarray]) -> np.ndarray:
    """The parts as one array; the list is emptied."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def after(requests: Requests, line: np.ndarray, sectors: np.ndarray) -> Requests:
    """Prepend the L2's initial contents, ``line`` with ``sectors``, the most recently used last."""
    before = followed(line, requests.shift)
    return requests._replace(
        line=np.concatenate([line[before], requests.line]),
        sectors=np.concatenate([sectors[before].astype(np.uint16), requests.sectors]),
        sm=np.concatenate([np.full(before.sum(), BEFORE, np.int16), requests.sm]),
        window=np.concatenate([np.zeros(before.sum(), np.int16), requests.window]),
    )


def traffic(requests: Requests, gpu: Gpu) -> Traffic:
    """Run the requests through functional caches with the SMs, L1 and L2 capacities of ``gpu``."""
    lines = max(1, round(gpu.l1.bytes / (LINE_BYTES << requests.shift)))
    ways = min(gpu.l1.ways, lines)
    slices = gpu.memory.count * gpu.l2.slices_per_controller
    held = gpu.l2.bytes / slices / (LINE_BYTES << requests.shift)
    sets = max(1, round(held / gpu.l2.ways))
    caches = (
        make_sets(gpu.sm.count * max(1, lines // ways), ways),
        make_sets(slices * sets, max(1, round(held / sets))),  # few sets followed: not whole ones
        gpu.addresses,
    )
    (count, ignored), asked, nothing = np.zeros((2, COUNTERS), np.int64), *np.zeros((2, WINDOWS, slices), np.int64)
    columns = requests.line, requests.sectors, requests.sm, requests.window
    run(*columns, *caches, gpu.sm.count, count, asked, ignored, nothing[0])
    count, asked = count << requests.shift, asked << requests.shift
    line, window, stores = requests.entered
    count[[WRITES, L1_ACCESSES, L1_MISSES]] += stores.sum()
    places = window * slices + slices_of(gpu.addresses, line, slices)
    entered = np.bincount(places, stores, minlength=asked.size).reshape(asked.shape)
    found = Traffic(*count.astype(float).tolist())
    return found._replace(asked=asked.astype(float), entered=entered)
