"""Carry out the reorders of a trace: threads that meet at ``optixReorder`` are dealt out to warps of a window.

    rayplay trace wknd --program examples/gallery/hit_objects.ptx --size 64x64 --out traces/hits.trace
    python -m tools.reorder traces/hits.trace --window 8 --state-bytes 64 --out traces/reordered.trace
    rayplay replay traces/reordered.trace

The tracer runs a program as if reorders were not there: warps keep their lanes. Here a reorder is what the hardware
may make of it. The window is a CTA of some warps, which meet at the reorder as at a barrier; their threads are sorted
by what they do next, and 32 of them at a time continue as one warp. Threads of a warp run together where they are in
the same block of the same depth of calls, the deepest call and the lowest block first (Collange, Stack-less SIMT
reconvergence at low cost, 2011). The reorder takes effect at the end of the basic block of the call.

Its cost: the barrier, and the state of each thread, which its old warp stores and its new warp loads, in global memory
behind all else; and the sort, some integer instructions that each thread executes one after the other behind the
barrier (``--sort-instructions``; by default the unit that sorts takes no time). No hint is read: the key is the path
that a thread is about to take, which is the most that a hint can tell.
"""

import argparse
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.rows import take_lists
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.expect import valid_trace
from tools.reorder.paths import KEYS, LANES, Moved, Paths, Stretches, code_of, dealt, paths_of, run_together
from tools.reorder.program import VECTOR_BYTES, Added, Columns, program_with, timed

MOST_WARPS, MOST_SORT = 32, 4096


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
    """Rows of accesses from a row per lane; ``visit`` counts all visits, ``warp_id`` is left out."""
    order = np.lexsort((lane, instruction, visit))
    visit, instruction, lane = visit[order], instruction[order], lane[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(visit) != 0) | (np.diff(instruction) != 0)][: len(visit)])
    bits = np.uint32(1) << lane.astype(np.uint32)
    return {
        "visit": visit[begins],
        "instruction_id": instruction[begins],
        "lane_mask": np.bitwise_or.reduceat(bits, begins) if len(begins) else bits,
        "address": address[order].astype(np.uint64),
        "address_offset": np.r_[begins, len(visit)],
    }


def state_accesses(s: Stretches, moved: Moved, new: Added, window: int, base: int) -> Columns:
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


def taken(table: Columns, order: np.ndarray) -> Columns:
    """A table with the rows of ``order``."""
    found: Columns = {}
    for name, column in table.items():
        offset = table.get(f"{name}_offset")
        if offset is not None:
            end = np.r_[0, np.cumsum(np.diff(offset)[order])].astype(offset.dtype)
            found[name] = take_lists(column, offset, order, int(end[-1]))
            found[f"{name}_offset"] = end
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


def reorder(trace: Trace, window: int, state_bytes: int, key: str, out: Path, sort: int = 0) -> int:
    """Write the trace with its reorders carried out; returns how often a thread was reordered."""
    if state_bytes % VECTOR_BYTES or not 0 <= state_bytes <= 1024:
        raise UserError(f"--state-bytes must be a multiple of {VECTOR_BYTES}, at most 1024, found {state_bytes}")
    if not 0 <= sort <= MOST_SORT:
        raise UserError(f"--sort-instructions must be 0 to {MOST_SORT}, found {sort}")
    code = code_of(trace)
    tables = dict(zip(("kernels", "warps"), windows(trace, window, np.zeros(1, np.uint32)), strict=True))
    tables["instructions"], tables["blocks"], new = program_with(trace, state_bytes // VECTOR_BYTES, sort)
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
        "command": "reorder", "key": key, "window": window, "state_bytes": state_bytes,
        **({"sort_instructions": sort} if sort else {}), "trace": trace.manifest.provenance,
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
    made.add_argument("--sort-instructions", type=int, default=0, metavar="N",
        help="integer instructions of a thread's part of the sort, one after the other (default: 0, free)")  # fmt: skip
    made.add_argument("--key", choices=KEYS, default="path", help="; ".join(f"{k}: {v}" for k, v in KEYS.items()))
    made.add_argument("--out", type=Path, required=True, metavar="NAME.trace", help="trace to write")
    given = made.parse_args()
    cost = given.sort_instructions
    count = reorder(open_trace(given.trace), given.window, given.state_bytes, given.key, given.out, cost)
    print(f"reordered threads {count:,} times by {given.key}")


if __name__ == "__main__":
    run("reorder", main)
