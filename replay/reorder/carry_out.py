"""A trace with its reorders carried out, as a replay reads it.

Threads of a warp run together where they are in the same block of the same depth of calls, the deepest call and the
lowest block first (Collange, Stack-less SIMT reconvergence at low cost, 2011). A reorder takes effect at the end of the
basic block of its call, and when the other threads of the warp have called it or ended. Every thread runs the
instructions and accesses of the trace.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rayplay.formats.dataset.memory import MemorySource
from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.laws.expect import Guard
from rayplay.formats.parquet.arrow import Columns, concatenate, offset_name
from rayplay.formats.schema.column import STRING, Column, Table
from rayplay.replay.reorder.paths import LANES, Code, code_of, dealt, paths_of, run_together
from rayplay.replay.reorder.program import Added, program_with, timed
from rayplay.replay.reorder.rows import hints_of, in_warps, joined, moved_accesses, rows_of, state_accesses, taken
from rayplay.replay.reorder.spec import Spec

MOVED = ("visits", "accesses", "rays", "distances", "culled")
LEFT_OUT = ("threads", "image", "hints")
"""A lane has no pixel of its own any more, and no call is made again."""
LAST_STATE = 1 << 46  # tables of the RT unit begin there
LANES_AT_ONCE = 2_000_000  # lane visits of some windows, about


class ReorderedSource:
    """The container of a trace with some tables in memory in place of its own."""

    def __init__(self, trace: Trace, tables: dict[str, Columns]) -> None:
        self.trace, self.path = trace, trace.path
        self.memory = MemorySource(trace.path, trace.layout, trace.manifest, tables)
        own = {name: files for name, files in trace.manifest.tables.items() if name not in (*tables, *LEFT_OUT)}
        held = self.memory.manifest.tables
        order = [table.name for table in trace.layout.tables]
        files = {name: held.get(name) or own[name] for name in order if name in held or name in own}
        self.manifest = replace(trace.manifest, image_size=None, launches=(), tables=files)

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """The row groups of a table."""
        if table.name in self.memory.columns:
            yield from self.memory.groups(table, columns)
        elif table.name in self.manifest.tables:
            yield from self.trace.source.groups(table, columns)


def carried_out(
    trace: Trace, spec: Spec, latencies: dict[str, Any] | None, sorts: int = 1
) -> tuple[Trace, dict[str, Any] | None]:  # fmt: skip
    """The trace and its characterisation with every reorder carried out; as they are where none is called.

    latencies  columns of the characterisation, or None.
    sorts      instructions of the sort, each waiting for the one before; together they take ``spec.sort_cycles``.

    Raises ``UserError`` for a trace whose threads cannot be moved, or whose rows break a law of traces.
    """
    code = code_of(trace)
    if code is None or not spec.is_on:
        return trace, latencies
    expect_movable(trace)
    expect_rows(trace, latencies)
    expect_hints(trace, spec)
    sorts = sorts if spec.sort_cycles else 0
    instructions, blocks, new = program_with(trace, spec.vectors, sorts)
    parts: dict[str, list[Columns]] = {name: [] for name in MOVED if name in trace.tables or name == "accesses"}
    used = np.zeros(trace.rows("warps"), np.uint32)
    base, guard = after_all(trace, spec), Guard(trace)
    for first, last, rows in trace.warp_batches(bounds_of(trace, spec.window_warps), parts_of(trace, spec)):
        guard.expect(first, last, rows)
        moved = _moved(rows, first, last, code, new, spec, base)
        mask = moved["visits"]
        np.bitwise_or.at(used, mask["warp_id"].astype(np.int64), mask["active_mask"])
        for name, table in moved.items():
            parts[name].append(typed(trace.layout.table(name), table))
    tables = {name: concatenate(trace.layout.table(name).columns, found) for name, found in parts.items()}
    tables["kernels"], tables["warps"] = windows(trace, spec.window_warps, used)
    tables |= {"instructions": instructions, "blocks": blocks}
    cycles = -(-spec.sort_cycles // max(sorts, 1))
    timings = None if latencies is None else timed(latencies, instructions, cycles)
    if timings is not None:
        tables["characterisation"] = timings
    return Trace(ReorderedSource(trace, tables), trace.layout), timings


def expect_no_reorder(trace: Trace, gpu: Any) -> None:
    """``UserError`` where a GPU reorders threads of a trace: a part of the warps cannot tell what they gain."""
    if gpu.reorder.is_on and code_of(trace) is not None:
        raise UserError(
            f"GPU {gpu.name}: reorder.window_warps must be 0 where a part of the warps stands for all; replay the whole"
            " trace (rayplay replay --set reorder.window_warps=N)"
        )


def expect_movable(trace: Trace) -> None:
    """``UserError`` for a trace whose threads cannot be moved."""
    warps, classes = trace.read("warps", ["warp_in_cta"]), trace.read("instructions", ["operation_class"])
    unmoved = "predicates" in trace.tables and trace.rows("predicates")
    if trace.rows("kernels") != 1 or "rays" not in trace.tables or warps["warp_in_cta"].any() or unmoved:
        raise UserError(
            f"{trace.path}: must be one launch of rays, as rayplay trace writes it, where reorder.window_warps is set"
        )
    if (np.array(classes["operation_class"]) == "texture").any():
        raise UserError(f"{trace.path}: must read no textures where reorder.window_warps is set")


def expect_rows(trace: Trace, latencies: dict[str, Any] | None) -> None:
    """``FormatError`` for a characterisation that is not of the trace's instructions."""
    count = trace.rows("instructions")
    if latencies is not None and len(latencies["unit"]) != count:
        raise FormatError(
            f"{trace.path}: table characterisation must have a row per instruction ({count}),"
            f" not {len(latencies['unit'])}"
        )


def expect_hints(trace: Trace, spec: Spec) -> None:
    """``UserError`` where threads are sorted by hints of which the trace says nothing."""
    if spec.key == "hint" and "hints" not in trace.tables:
        raise UserError(f"{trace.path}: must have a table hints where reorder.key is hint: trace it again")


def parts_of(trace: Trace, spec: Spec) -> list[str]:
    """Tables whose rows are read."""
    read = (*MOVED, "hints") if spec.key == "hint" else MOVED
    return [name for name in read if name in trace.tables]


def bounds_of(trace: Trace, window: int) -> list[int]:
    """Bounds of batches of whole windows: 0, ..., the number of warps."""
    count = trace.rows("warps")
    lanes = np.zeros(count, np.int64)
    for batch in trace.batches("visits", ["warp_id", "active_mask"]):
        known = batch["warp_id"] < count  # the error of others comes with their rows
        found = np.bitwise_count(batch["active_mask"][known])
        lanes += np.bincount(batch["warp_id"][known], found, count).astype(np.int64)
    full = np.flatnonzero(np.diff(np.cumsum(lanes) // LANES_AT_ONCE)) + 1
    whole = -(-full // window) * window
    return np.unique(np.r_[0, whole[whole < count], count]).tolist()


def after_all(trace: Trace, spec: Spec) -> int:
    """An address behind all memory of the launch, 2 MiB aligned; ``UserError`` where no state fits behind it."""
    end = 0
    for batch in trace.batches("accesses", ["address"]) if "accesses" in trace.tables else ():
        end = max(end, int(batch["address"].max(initial=0)))
    nodes = trace.read("nodes", ["address", "bytes"])
    end = max(end, int((nodes["address"] + nodes["bytes"]).max(initial=0)))
    base = (end // (1 << 21) + 2) << 21
    if spec.vectors and base + LANES * trace.rows("warps") * spec.state_bytes > LAST_STATE:
        raise UserError(f"{trace.path}: addresses must be below 2^46 where reorder.state_bytes is set, found {end:#x}")
    return base


def windows(trace: Trace, window: int, used: np.ndarray) -> tuple[Columns, Columns]:
    """Tables ``kernels`` and ``warps`` with CTAs of ``window`` warps; ``used`` uint32[warps], lanes in any visit."""
    kernels, warps = trace.read("kernels"), trace.read("warps")
    count = np.arange(len(warps["warp_id"]))
    for name, value in {"grid_x": -(-len(count) // window), "block_x": LANES * window}.items():
        kernels[name] = np.full_like(kernels[name], value)
    for name in ("grid_y", "grid_z", "block_y", "block_z"):
        kernels[name] = np.ones_like(kernels[name])
    warps["cta_id"] = (count // window).astype(warps["cta_id"].dtype)
    warps["warp_in_cta"] = (count % window).astype(warps["warp_in_cta"].dtype)
    warps["launched_mask"] = warps["launched_mask"] | used
    return kernels, warps


def _moved(
    rows: dict[str, Columns], first: int, last: int, code: Code, new: Added, spec: Spec, base: int
) -> dict[str, Columns]:  # fmt: skip
    """The rows of some windows, warps ``first`` to ``last`` (exclusive), after their reorders.

    base  address of the state of the launch's first window.
    """
    own = {name: table | {"warp_id": table["warp_id"].astype(np.int64) - first} for name, table in rows.items()}
    count, visits = last - first, own["visits"]
    paths, start = paths_of(visits, count, code), np.searchsorted(visits["warp_id"], np.arange(count))
    hints = hints_of(own["hints"], paths, start) if spec.key == "hint" else None
    stretches = dealt(paths, spec.window_warps, spec.key, hints)
    moved = run_together(paths, stretches, count, new.blocks)
    warp, block, mask = moved.visits.T
    begun = np.searchsorted(warp, np.arange(count))
    found: dict[str, Columns] = {"visits": {"warp_id": warp, "block_id": block, "active_mask": mask}}
    accesses = moved_accesses(own["accesses"], paths, moved, start) if "accesses" in own else None
    if spec.vectors:
        window_bytes = LANES * spec.window_warps * spec.state_bytes
        state = state_accesses(
            stretches, moved, new, spec.window_warps, base + first // spec.window_warps * window_bytes
        )
        accesses = state if accesses is None else joined(accesses, state)
    if accesses is not None:
        found["accesses"] = in_warps(accesses, warp, begun)
    rays = own["rays"]
    path = rows_of(paths, start[rays["warp_id"]] + rays["visit"].astype(np.int64), rays["lane"].astype(np.int64))
    rays = rays | {"visit": moved.at[path], "lane": moved.lane[path]}
    order = np.lexsort((rays["segment"], rays["lane"], rays["visit"]))
    placed = in_warps(rays, warp, begun)
    found["rays"] = taken(placed, order)
    for name in ("distances", "culled"):
        if name in own:
            found[name] = taken(own[name] | {"warp_id": placed["warp_id"]}, order)
    return {name: table | {"warp_id": table["warp_id"] + first} for name, table in found.items()}


def typed(table: Table, columns: Columns) -> Columns:
    """Columns with the dtypes of the schema."""
    found: Columns = {}
    for column in table.columns:
        if column.name not in columns:
            continue
        values = columns[column.name]
        found[column.name] = values if column.dtype == STRING else values.astype(column.dtype, copy=False)
        if column.ragged:
            found[offset_name(column)] = columns[offset_name(column)].astype(np.uint64, copy=False)
    return found
