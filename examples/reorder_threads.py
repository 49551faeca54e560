"""Carry out the reorders of a trace: threads that meet at ``optixReorder`` are dealt out anew to the warps of a window.

    rayplay trace wknd --program examples/gallery/hit_objects.ptx --size 64x64 --out traces/hits.trace
    python examples/reorder_threads.py traces/hits.trace --window 8 --state-bytes 64 --out traces/reordered.trace
    rayplay replay traces/reordered.trace

The tracer runs a program as if reorders were not there: warps keep their lanes. Here a reorder is what the hardware may
make of it. The window is a CTA of some warps; its warps meet at the reorder as at a barrier, their threads are sorted by
what they do next, and 32 of them at a time continue as one warp. Threads of a warp run together where they are in the
same block of the same depth of calls, the deepest call and the lowest block first (Collange, Stack-less SIMT
reconvergence at low cost, 2011). The reorder takes effect at the end of the basic block of the call.

Its cost: the barrier, and the state of each thread, which its old warp stores and its new warp loads, in global memory
behind all else. The sorting itself takes no time, and no hint is read: the key is the path that a thread is about to
take, which is the most that a hint can tell.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.expect import valid_trace
from rayplay.formats.schema.trace import UNITS

Columns = dict[str, np.ndarray]
REORDER = "_optix_hitobject_reorder"
KEYS = {
    "program": "the program that it runs next, such as a closest-hit or a miss program",
    "path": "the blocks that it visits next, 16 of them",
    "none": "none: threads stay in order, and only close up where others have ended",
}
LANES, VECTOR_BYTES, PATH_BLOCKS, MOST_WARPS = 32, 16, 16, 32


class Code(NamedTuple):
    """What a block is: the first of its program; ends it; holds a reorder. bool[blocks]."""

    first: np.ndarray
    ends: np.ndarray
    reorders: np.ndarray


class Paths(NamedTuple):
    """Visits by thread and time: thread 32 x warp + lane, row of ``visits``, depth of calls, reorders before it."""

    thread: np.ndarray
    visit: np.ndarray
    block: np.ndarray
    depth: np.ndarray
    generation: np.ndarray


class Stretches(NamedTuple):
    """Threads between two reorders: rows of the paths from ``begin`` to ``end``, and where each runs and ran."""

    begin: np.ndarray
    end: np.ndarray
    generation: np.ndarray
    place: np.ndarray  # 32 x warp + lane
    before: np.ndarray  # place in the generation before, -1 in the first


def code_of(trace: Trace) -> Code:
    """The blocks of the only launch. Raises ``UserError`` where the trace has no reorder, or others than one launch."""
    blocks, rows = trace.read("blocks"), trace.read("instructions", ["opcode", "operation_class", "block_id", "text"])
    unknown = [name for name in ("predicates", "copies") if name in trace.tables and trace.rows(name)]
    if trace.rows("kernels") != 1 or "rays" not in trace.tables or unknown:
        raise UserError(f"{trace.path}: must be a trace of one launch with rays, as rayplay trace writes it")
    names = np.array(blocks["program"])
    last = blocks["first_instruction"] + blocks["instruction_count"] - 1
    reorders = np.zeros(len(names), bool)
    reorders[rows["block_id"][np.char.find(np.array(rows["text"], str), REORDER) >= 0]] = True
    if not reorders.any():
        raise UserError(f"{trace.path}: must have a call of {REORDER} to carry out")
    classes = np.array(rows["operation_class"])
    if (classes == "texture").any():
        raise UserError(f"{trace.path}: accesses of textures are not moved")
    return Code(np.r_[True, names[1:] != names[:-1]], classes[last] == "exit", reorders)


@njit
def walk(start: np.ndarray, block: np.ndarray, mask: np.ndarray, code: Code, out: np.ndarray) -> int:
    """Fill ``out`` int64[visited lanes, 5] with the columns of ``Paths``; returns the reorders of the busiest thread.

    start  int64[warps + 1], first visit of each warp.
    """
    row, most = 0, 0
    after = np.empty(1 << 10, np.int64)
    for warp in range(len(start) - 1):
        for lane in range(32):
            depth, generation, last = 0, 0, -1
            for visit in range(start[warp], start[warp + 1]):
                if not mask[visit] >> lane & 1:
                    continue
                here = block[visit]
                if last >= 0 and code.first[here] and not code.ends[last]:
                    after[depth & 1023] = last + 1
                    depth += 1
                elif last >= 0 and code.ends[last] and not code.first[here]:
                    for below in range(depth - 1, -1, -1):
                        if after[below & 1023] == here:
                            depth = below
                            break
                out[row, 0], out[row, 1], out[row, 2], out[row, 3], out[row, 4] = (
                    32 * warp + lane, visit, here, depth, generation,
                )  # fmt: skip
                row += 1
                last = here
                if code.reorders[here]:
                    generation += 1
            most = max(most, generation)
    return most


def paths_of(trace: Trace, code: Code) -> Paths:
    """The paths of all threads."""
    visits = trace.read("visits")
    start = np.searchsorted(visits["warp_id"], np.arange(trace.rows("warps") + 1))
    mask = visits["active_mask"].astype(np.int64)
    out = np.empty((int(np.bitwise_count(visits["active_mask"]).sum()), 5), np.int64)
    walk(start, visits["block_id"].astype(np.int64), mask, code, out)
    return Paths(*(np.ascontiguousarray(column) for column in out.T))


def dealt(paths: Paths, window: int, key: str) -> Stretches:
    """Where each thread runs after each of its reorders. window: warps."""
    begins = np.r_[True, (np.diff(paths.thread) != 0) | (np.diff(paths.generation) != 0)]
    begin = np.flatnonzero(begins)
    end = np.r_[begin[1:], len(begins)]
    thread, generation = paths.thread[begin], paths.generation[begin]
    group = thread // (LANES * window)
    place, before = thread.copy(), np.full(len(thread), -1)
    for now in range(1, int(generation.max(initial=0)) + 1):
        rows = np.flatnonzero(generation == now)
        earlier = place[rows - 1]  # the row before is the same thread's generation before
        order = np.lexsort((earlier, *keys_of(paths, begin[rows], end[rows], key), group[rows]))
        in_group = group[rows][order]
        rank = np.arange(len(rows)) - np.searchsorted(in_group, in_group)
        place[rows[order]] = in_group * LANES * window + rank
        before[rows] = earlier
    return Stretches(begin, end, generation, place, before)


def keys_of(paths: Paths, begin: np.ndarray, end: np.ndarray, key: str) -> list[np.ndarray]:
    """Columns to sort by, the least important first."""
    blocks = {"program": 1, "path": PATH_BLOCKS, "none": 0}[key]
    found = [np.where(begin + k < end, paths.block[np.minimum(begin + k, end - 1)], -1) for k in range(blocks)]
    return found[::-1]


@njit
def merge(
    first: np.ndarray, order: np.ndarray, s: Stretches, p: Paths, extra: np.ndarray, visits: np.ndarray, at: np.ndarray
) -> int:
    """The visits of the new warps, int64[rows, 3]: warp, block, mask; ``at`` int64[paths]: their row by path.

    first   int64[warps + 1], rows of ``order`` of each new warp: stretches by warp, generation and lane.
    extra   blocks in which state is stored, warps meet, and state is loaded; -1 for none.
    """
    count = 0
    cursor = np.zeros(32, np.int64)
    end = np.zeros(32, np.int64)
    for warp in range(len(first) - 1):
        row = first[warp]
        while row < first[warp + 1]:
            generation = s.generation[order[row]]
            lanes = 0
            cursor[:], end[:] = 0, 0
            while row < first[warp + 1] and s.generation[order[row]] == generation:
                which = order[row]
                lane = s.place[which] & 31
                cursor[lane], end[lane] = s.begin[which], s.end[which]
                lanes |= 1 << lane
                row += 1
            if generation > 0:
                for each in range(1, 3):
                    if extra[each] >= 0:
                        visits[count, 0], visits[count, 1], visits[count, 2] = warp, extra[each], lanes
                        count += 1
            leaving = 0
            while True:
                block, depth = -1, -1
                for lane in range(32):
                    if cursor[lane] < end[lane]:
                        here = cursor[lane]
                        if p.depth[here] > depth or (p.depth[here] == depth and p.block[here] < block):
                            block, depth = p.block[here], p.depth[here]
                if block < 0:
                    break
                mask = 0
                for lane in range(32):
                    here = cursor[lane]
                    if here < end[lane] and p.depth[here] == depth and p.block[here] == block:
                        at[here] = count
                        mask |= 1 << lane
                        cursor[lane] += 1
                        if cursor[lane] == end[lane] and here + 1 < len(p.thread) and p.thread[here + 1] == p.thread[here]:
                            leaving |= 1 << lane
                visits[count, 0], visits[count, 1], visits[count, 2] = warp, block, mask
                count += 1
            if leaving and extra[0] >= 0:
                visits[count, 0], visits[count, 1], visits[count, 2] = warp, extra[0], leaving
                count += 1
    return count


class Moved(NamedTuple):
    """The new visits, and for each row of the paths its new visit, warp and lane."""

    visits: np.ndarray
    at: np.ndarray
    lane: np.ndarray


def run_together(paths: Paths, s: Stretches, warps: int, extra: np.ndarray) -> Moved:
    """Threads in the warps to which they were dealt."""
    order = np.lexsort((s.place, s.generation, s.place // LANES))
    first = np.searchsorted((s.place // LANES)[order], np.arange(warps + 1))
    visits, at = np.empty((len(paths.thread) + 3 * len(order), 3), np.int64), np.empty(len(paths.thread), np.int64)
    count = merge(first, order, s, paths, extra, visits, at)
    return Moved(visits[:count], at, np.repeat(s.place & 31, s.end - s.begin))


def rows_of(paths: Paths, visit: np.ndarray, lane: np.ndarray) -> np.ndarray:
    """Rows of the paths in which a lane makes a visit."""
    key = paths.visit * LANES + (paths.thread & 31)
    order = np.argsort(key)
    return order[np.searchsorted(key[order], visit * LANES + lane)]


def moved_accesses(trace: Trace, paths: Paths, moved: Moved, start: np.ndarray) -> Columns:
    """Accesses of the new visits: rows of one instruction in one new visit are one row."""
    old = trace.read("accesses")
    lanes = (old["lane_mask"][:, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
    row, lane = np.nonzero(lanes)
    path = rows_of(paths, start[old["warp_id"][row]] + old["visit"][row].astype(np.int64), lane)
    return accesses_of(moved.at[path], old["instruction_id"][row].astype(np.int64), moved.lane[path], old["address"])


def accesses_of(visit: np.ndarray, instruction: np.ndarray, lane: np.ndarray, address: np.ndarray) -> Columns:
    """Rows of accesses from those of lanes. ``warp_id`` is left out, ``visit`` is a row of all visits."""
    order = np.lexsort((lane, instruction, visit))
    visit, instruction, lane = visit[order], instruction[order], lane[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(visit) != 0) | (np.diff(instruction) != 0)][: len(visit)])
    mask = np.bitwise_or.reduceat(np.uint32(1) << lane.astype(np.uint32), begins) if len(begins) else np.empty(0, "u4")
    return {
        "visit": visit[begins], "instruction_id": instruction[begins], "lane_mask": mask, "address": address[order].astype(np.uint64),
        "address_offset": np.r_[begins, len(visit)],
    }  # fmt: skip


def state_accesses(s: Stretches, moved: Moved, new: "Added", window: int, base: int) -> Columns:
    """Loads and stores of the threads' state, each word of a thread at the place that stored it."""
    rows = np.flatnonzero(s.before >= 0)
    visits, vectors = moved.visits, len(new.stores)
    slot = s.before[rows]
    group = slot // (LANES * window)
    address = base + group * LANES * window * VECTOR_BYTES * vectors + slot % (LANES * window) * VECTOR_BYTES
    stored = moved.at[s.end[rows - 1] - 1]
    stored = next_of(visits, stored, new.blocks[0])
    loaded = moved.at[s.begin[rows]]
    loaded = last_of(visits, loaded, new.blocks[2])
    parts = []
    for k in range(vectors):
        there = address + k * LANES * window * VECTOR_BYTES
        parts += [(stored, np.full(len(rows), new.stores[k]), slot & 31, there)]
        parts += [(loaded, np.full(len(rows), new.loads[k]), s.place[rows] & 31, there)]
    return accesses_of(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def next_of(visits: np.ndarray, row: np.ndarray, block: int) -> np.ndarray:
    """The first visit of a block after some visits, which are of the same warp."""
    rows = np.flatnonzero(visits[:, 1] == block)
    return rows[np.searchsorted(rows, row)]


def last_of(visits: np.ndarray, row: np.ndarray, block: int) -> np.ndarray:
    """The last visit of a block before some visits, which are of the same warp."""
    rows = np.flatnonzero(visits[:, 1] == block)
    return rows[np.searchsorted(rows, row) - 1]


class Added(NamedTuple):
    """What a reorder adds to the program: blocks that store state, meet and load state, -1 for none; instructions."""

    blocks: np.ndarray
    stores: np.ndarray
    loads: np.ndarray


ROWS = {
    "store": ("st.global.v4.b32", "store", "global", VECTOR_BYTES),
    "meet": ("reorder", "barrier", "none", 0),
    "load": ("ld.global.v4.b32", "load", "global", VECTOR_BYTES),
    "use": ("mov.b32", "move", "none", 0),
}
"""Opcode, class, memory and bytes of what a reorder adds."""


def program_with(trace: Trace, vectors: int) -> tuple[Columns, Columns, Added]:
    """Tables ``instructions`` and ``blocks`` with what a reorder adds, whose state is some vectors of 16 B a thread."""
    instructions, blocks = trace.read("instructions"), trace.read("blocks")
    kinds = [["store"] * vectors, ["meet"], ["load"] * vectors + ["use"] * (vectors > 0)]
    first = len(instructions["line"])
    registers = [instructions[f"{name}_registers"] for name in ("source", "destination")]
    fresh = 1 + max(int(each.max(initial=0)) for each in registers)
    loaded = np.arange(fresh, fresh + 4)
    numbers = np.arange(len(blocks["program"]), len(blocks["program"]) + 3)
    for number, inside in zip(numbers, kinds, strict=True):
        for kind in inside:
            opcode, group, space, size = ROWS[kind]
            row = {
                "kernel_id": 0, "instruction_id": len(instructions["line"]), "block_id": number, "opcode": opcode,
                "operation_class": group, "memory_space": space, "access_bytes": size, "line": 0, "text": opcode,
            }  # fmt: skip
            written, read = (loaded if kind == "load" else [], loaded if kind == "use" else [])
            instructions = extended(instructions, row, destination_registers=written, source_registers=read)
        row = {"kernel_id": 0, "block_id": number, "first_instruction": first, "instruction_count": len(inside),
               "reconvergence_block": -1, "program": "reorder"}  # fmt: skip
        blocks = extended(blocks, row) if inside else blocks
        first += len(inside)
    if not vectors:
        blocks["block_id"][-1] = instructions["block_id"][-1] = numbers[0]
        return instructions, blocks, Added(np.array([-1, numbers[0], -1]), np.empty(0, int), np.empty(0, int))
    ids = np.flatnonzero(instructions["block_id"] >= numbers[0])
    return instructions, blocks, Added(numbers, ids[:vectors], ids[vectors + 1 : 2 * vectors + 1])


def timed(table: Columns, instructions: Columns) -> Columns:
    """Table ``characterisation`` with the instructions that it lacks: as others of their class; a use waits for loads."""
    for row in range(len(table["unit"]), len(instructions["line"])):
        group = instructions["operation_class"][row]
        unit = {"store": "lsu", "load": "lsu", "barrier": "branch", "move": "int"}[group]
        loads, uses = group == "load", group == "move"
        values = {"instruction_id": row, "unit": UNITS.index(unit), "stall_cycles": 1, "initiation_cycles": 1 + uses,
                  "scoreboard_slot": 0 if loads else -1, "wait_mask": 1 if uses else 0}  # fmt: skip
        table = extended(table, values)
    return table


def extended(table: Columns, row: dict[str, Any], **ragged: Any) -> Columns:
    """A table with one more row."""
    found = {}
    for name, column in table.items():
        if name in ragged:
            found[name] = np.r_[column, np.asarray(ragged[name], column.dtype)]
        elif name.endswith("_offset"):
            found[name] = np.r_[column, column[-1] + len(ragged[name.removesuffix("_offset")])].astype(column.dtype)
        else:
            found[name] = np.r_[column, np.array([row[name]], column.dtype)]
    return found


def taken(table: Columns, order: np.ndarray) -> Columns:
    """A table with the rows of ``order``."""
    found: Columns = {}
    for name, column in table.items():
        offset = table.get(f"{name}_offset")
        if offset is not None:
            first, lengths = offset[:-1].astype(np.int64)[order], np.diff(offset.astype(np.int64))[order]
            end = np.cumsum(lengths)
            found[name] = column[np.arange(end[-1] if len(end) else 0) + np.repeat(first - end + lengths, lengths)]
            found[f"{name}_offset"] = np.r_[0, end].astype(offset.dtype)
        elif not name.endswith("_offset"):
            found[name] = column[order]
    return found


def after_all(trace: Trace) -> int:
    """An address behind all memory of the launch, 2 MiB aligned."""
    ends = [int(trace.read("accesses", ["address"])["address"].max(initial=0))]
    nodes = trace.read("nodes", ["address", "bytes"])
    ends.append(int((nodes["address"] + nodes["bytes"]).max(initial=0)))
    return (max(ends) // (1 << 21) + 2) << 21


def windows(trace: Trace, window: int, used: np.ndarray) -> tuple[Columns, Columns]:
    """Tables ``kernels`` and ``warps`` with CTAs of ``window`` warps; ``used`` uint32[warps], lanes in any visit."""
    kernels, warps = trace.read("kernels"), trace.read("warps")
    count = len(warps["warp_id"])
    if not 1 <= window <= MOST_WARPS or count % window or warps["warp_in_cta"].any():
        fitting = [w for w in range(1, MOST_WARPS + 1) if count % w == 0]
        raise UserError(f"--window must divide {count} warps, one in each CTA: one of {fitting}, found {window}")
    for name, value in {"grid_x": count // window, "block_x": LANES * window}.items():
        kernels[name][:] = value
    for axis in "yz":
        kernels[f"grid_{axis}"][:], kernels[f"block_{axis}"][:] = 1, 1
    warps["cta_id"], warps["warp_in_cta"] = np.arange(count) // window, np.arange(count) % window
    warps["launched_mask"] = warps["launched_mask"] | used
    return kernels, warps


def reorder(trace: Trace, window: int, state_bytes: int, key: str, out: Path) -> int:
    """Write the trace with its reorders carried out; returns how often a thread was reordered."""
    if state_bytes % VECTOR_BYTES or not 0 <= state_bytes <= 1024:
        raise UserError(f"--state-bytes must be a multiple of {VECTOR_BYTES}, at most 1024, found {state_bytes}")
    code = code_of(trace)
    tables = dict(zip(("kernels", "warps"), windows(trace, window, np.zeros(1, np.uint32)), strict=True))
    tables["instructions"], tables["blocks"], new = program_with(trace, state_bytes // VECTOR_BYTES)
    if "characterisation" in trace.tables:
        tables["characterisation"] = timed(trace.read("characterisation"), tables["instructions"])
    paths = paths_of(trace, code)
    stretches = dealt(paths, window, key)
    count = trace.rows("warps")
    moved = run_together(paths, stretches, count, new.blocks)
    warp, block, mask = moved.visits.T
    used = np.zeros(count, np.uint32)
    np.bitwise_or.at(used, warp, mask.astype(np.uint32))
    tables["kernels"], tables["warps"] = windows(trace, window, used)
    tables["visits"] = {"warp_id": warp, "block_id": block, "active_mask": mask}
    first = np.searchsorted(warp, np.arange(count))
    old = trace.read("visits", ["warp_id"])["warp_id"]
    start = np.searchsorted(old, np.arange(count + 1))
    tables["accesses"] = in_warps(joined(trace, paths, moved, start, stretches, new, window), warp, first)
    rays = trace.read("rays")
    path = rows_of(paths, start[rays["warp_id"]] + rays["visit"].astype(np.int64), rays["lane"].astype(np.int64))
    rays["visit"], rays["lane"] = moved.at[path], moved.lane[path]
    order = np.lexsort((rays["segment"], rays["lane"], rays["visit"]))
    rays["warp_id"] = warp[rays["visit"]]
    rays["visit"] = rays["visit"] - first[rays["warp_id"]]
    tables["rays"] = taken(rays, order)
    for name in ("distances", "culled"):
        if name in trace.tables:
            tables[name] = taken(trace.read(name) | {"warp_id": rays["warp_id"]}, order)
    provenance = {
        "command": "reorder_threads", "key": key, "window": window, "state_bytes": state_bytes,
        "trace": trace.manifest.provenance,
    }  # fmt: skip
    with valid_trace(out) as unchecked, TraceWriter(unchecked, provenance, trace.image_size) as writer:
        for name in trace.tables:
            if name in tables:
                writer.put(name, tables[name])
            elif name != "threads":  # a lane has no pixel of its own any more
                writer.declare(name)
                for batch in trace.batches(name):
                    writer.put(name, batch)
    return int((stretches.before >= 0).sum())


def joined(
    trace: Trace, paths: Paths, moved: Moved, start: np.ndarray, s: Stretches, new: Added, window: int
) -> Columns:
    """Accesses of the program and of the reorders, in the order of the visits."""
    ours = moved_accesses(trace, paths, moved, start)
    if not len(new.stores):
        return ours
    more = state_accesses(s, moved, new, window, after_all(trace))
    both = {name: np.concatenate([ours[name], more[name]]) for name in ours if name != "address_offset"}
    both["address_offset"] = np.r_[ours["address_offset"], more["address_offset"][1:] + len(ours["address"])]
    return taken(both, np.lexsort((both["instruction_id"], both["visit"])))


def in_warps(rows: Columns, warp: np.ndarray, first: np.ndarray) -> Columns:
    """Rows whose ``visit`` counts all visits, with their warp and the visit of it."""
    warps = warp[rows["visit"]]
    return rows | {"warp_id": warps, "visit": rows["visit"] - first[warps]}


def main() -> None:
    """Reorder the threads of a trace."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("trace", type=Path)
    made.add_argument("--window", type=int, default=8, metavar="WARPS", help="warps that meet: a CTA (default: 8)")
    made.add_argument("--state-bytes", type=int, default=0, metavar="N",
        help="state of a thread that a reorder stores and loads, a multiple of 16 (default: 0, free)")  # fmt: skip
    made.add_argument("--key", choices=KEYS, default="path", help="; ".join(f"{k}: {v}" for k, v in KEYS.items()))
    made.add_argument("--out", type=Path, required=True, metavar="NAME.trace", help="trace to write")
    given = made.parse_args()
    count = reorder(open_trace(given.trace), given.window, given.state_bytes, given.key, given.out)
    print(f"reordered threads {count:,} times by {given.key}")


if __name__ == "__main__":
    run("reorder_threads", main)
