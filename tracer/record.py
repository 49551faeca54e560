"""From the record buffers of a launch to rows of the trace, warp after warp.

A sink is anything with ``put(table, columns)``: ``formats.writer.TraceWriter``, or ``MemorySink``.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tracer.compiled import entry_point
from tracer.driver_cta import (
    RUN_ACCESSES,
    RUN_ADDRESSES,
    RUN_RAYS,
    RUN_VISITS,
    RUN_WARP,
    RUN_WORDS,
)  # fmt: skip
from tracer.driver_state import ACCESS_BYTES, ADDRESS_BYTES, MACHINE, MOST_PART_ACCESSES, MOST_PART_BLOCKS, VISIT_BYTES
from tracer.driver_trace import (
    COUNT_NODES,
    COUNT_RAYS,
    COUNT_RUNS,
    RAY_HIT_T,
    RAY_INSTANCE,
    RAY_INSTRUCTION,
    RAY_KIND,
    RAY_LANE,
    RAY_NODES,
    RAY_ORIGIN,
    RAY_PRIMITIVE,
    RAY_SEGMENT,
    RAY_T_MAX,
    RAY_T_MIN,
    RAY_VISIT,
    RAY_WORDS,
    STRETCH_WORDS,
)  # fmt: skip
from tracer.frame import LANES
from tracer.record_rows import RUN_COLUMN, Columns, Rows, copied, joined, offsets, reordered, row_order, split

VISITS, ACCESSES, ADDRESSES, RUNS = 1 << 16, 1 << 15, 1 << 19, 1 << 13  # small enough to stay in the cache
RAYS, NODES = 1 << 16, 2 * LANES * STRETCH_WORDS


@runtime_checkable
class Sink(Protocol):
    """Where rows go."""

    def put(self, table: str, columns: dict[str, Any]) -> None:
        """Append rows to a table, in the layout of ``formats.writer.TraceWriter.put``."""


@dataclass
class MemorySink:
    """Keeps copies of all rows (``keep=True``) or only counts them."""

    keep: bool = True
    rows: dict[str, int] = field(default_factory=dict)
    _parts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def put(self, table: str, columns: dict[str, Any]) -> None:
        """Count rows, and keep copies of them."""
        first = next(iter(columns.values()))
        self.rows[table] = self.rows.get(table, 0) + len(first)
        if self.keep:
            copies = {name: np.array(values) for name, values in columns.items()}
            self._parts.setdefault(table, []).append(copies)

    def table(self, name: str) -> dict[str, np.ndarray]:
        """All rows of a table; offsets of ragged columns run on over the parts."""
        parts = self._parts.get(name, [])
        made: dict[str, np.ndarray] = {}
        for column in parts[0] if parts else ():
            if column.endswith("_offset"):
                starts = np.cumsum([0, *(int(part[column][-1]) for part in parts)])
                pieces = [part[column][:-1] + np.uint64(start) for part, start in zip(parts, starts, strict=False)]
                made[column] = np.concatenate([*pieces, starts[-1:].astype(np.uint64)])
            else:
                made[column] = np.concatenate([part[column] for part in parts])
        return made


@cache
def shared_buffers(has_rays: bool) -> "Buffers":
    """The process's buffers: fresh pages are dear, so that all launches write into the same ones."""
    return Buffers(has_rays)


class Buffers:
    """The recycled memory that running warps write into; ``has_rays`` launches trace."""

    def __init__(self, has_rays: bool) -> None:
        room = MOST_PART_ACCESSES
        self.visits = np.zeros((VISITS + MOST_PART_BLOCKS + 1, 2), np.uint32)
        self.accesses = np.zeros((ACCESSES + room + 1, 4), np.uint32)
        self.addresses = np.zeros(ADDRESSES + LANES * (room + 1), np.uint64)
        self.rays = np.zeros((RAYS if has_rays else 0, RAY_WORDS), np.uint32)
        self.nodes = np.zeros(NODES if has_rays else 0, np.uint32)
        self.runs = np.zeros((RUNS, RUN_WORDS), np.int64)
        self.counts = np.zeros(3, np.int64)
        self.starts = np.array([a.ctypes.data for a in (self.visits, self.accesses, self.addresses)], np.int64)

    def reset(self, machine: np.ndarray) -> None:
        """Empty, for the machine to write into."""
        self.counts[:] = 0
        limits = (VISITS * VISIT_BYTES, ACCESSES * ACCESS_BYTES, ADDRESSES * ADDRESS_BYTES)
        for name, start, length in zip(("visit", "access", "address"), self.starts, limits, strict=True):
            machine[MACHINE[f"{name}_next"]] = start
            machine[MACHINE[f"{name}_limit"]] = start + length - VISIT_BYTES

    def runs_made(self) -> np.ndarray:
        """int64[runs + 1, RUN_WORDS]: where each run begins (row k) and ends (row k + 1), first row 0."""
        return np.vstack((np.zeros((1, RUN_WORDS), np.int64), self.runs[: self.counts[COUNT_RUNS]]))


@dataclass
class Counts:
    """What was recorded."""

    visits: int = 0
    accesses: int = 0
    rays: int = 0
    hits: int = 0
    warp_instructions: int = 0
    thread_instructions: int = 0


class Recorder:
    """Sends what lies in the buffers to the sink, each warp's rows together and warps in order.

    instruction_counts   int64[blocks of the launch]; first_ids are the ids that its first block and
                         its first instruction have in the trace.
    warps_per_cta        warps of a CTA of more than one may be interleaved in the buffers.
    """

    def __init__(
        self,
        sink: Sink,
        buffers: Buffers,
        instruction_counts: np.ndarray,
        first_ids: tuple[int, int],
        warps_per_cta: int,
    ) -> None:
        self.sink = sink
        self.buffers = buffers
        self.instruction_counts = instruction_counts
        self.first_block, self.first_instruction = (np.uint32(first) for first in first_ids)
        self.warps_per_cta = warps_per_cta
        self.counts = Counts()
        self._kept: list[Rows] = []  # rows of the CTA that was not complete when the buffers were full
        self._kept_until = 0

    def drain(self, machine: np.ndarray, unfinished_from: int) -> None:
        """Empty the buffers. Rows of warps from id ``unfinished_from`` on are kept until their CTA is complete."""
        rows = self._rows()
        self.buffers.reset(machine)
        if self._kept:
            head, rows = split(rows, self._kept_until)
            self._kept.append(copied(head))
            if unfinished_from < self._kept_until:
                return
            self._send(joined(self._kept))
            self._kept = []
        done, rest = split(rows, unfinished_from)
        self._send(done)
        if len(rest["runs"]["warp"]):
            self._kept, self._kept_until = [copied(rest)], unfinished_from + self.warps_per_cta

    def _rows(self) -> Rows:
        """Views of the rows in the buffers, with their warp ids."""
        b = self.buffers
        ends = b.runs_made()
        warp = ends[1:, RUN_WARP].astype(np.uint32)
        lengths = np.diff(ends, axis=0)
        visits, accesses = (b.runs[: b.counts[COUNT_RUNS], k] for k in (RUN_VISITS, RUN_ACCESSES))
        v, a, r = (b.visits[: _last(visits)], b.accesses[: _last(accesses)], b.rays[: b.counts[COUNT_RAYS]])
        lanes = np.bitwise_count(a[:, 2])
        return {
            "runs": {"warp": warp, "lengths": lengths},
            "visits": {
                "warp_id": np.repeat(warp, lengths[:, RUN_VISITS]), "block_id": v[:, 0] + self.first_block,
                "active_mask": v[:, 1],
            },
            "accesses": {
                "warp_id": np.repeat(warp, lengths[:, RUN_ACCESSES]), "visit": a[:, 1],
                "instruction_id": a[:, 0] + self.first_instruction, "lane_mask": a[:, 2],
                "address": b.addresses[: int(ends[-1, RUN_ADDRESSES])],
                "address_offset": offsets(lanes),
            },
            "rays": {
                "warp_id": np.repeat(warp, lengths[:, RUN_RAYS]), **_ray_columns(r, self.first_instruction),
                "node": b.nodes[: b.counts[COUNT_NODES]], "node_offset": offsets(r[:, RAY_NODES]),
            },
        }  # fmt: skip

    def _send(self, rows: Rows) -> None:
        warp = rows["runs"]["warp"]
        if np.any(warp[1:] < warp[:-1]):
            order = np.argsort(warp, kind="stable")
            lengths = rows["runs"]["lengths"]
            for table, column in RUN_COLUMN.items():
                rows[table] = reordered(rows[table], row_order(lengths[:, column], order))
        visits = rows["visits"]
        total = instructions(visits["block_id"], visits["active_mask"], self.instruction_counts, int(self.first_block))
        self.counts.visits += len(visits["block_id"])
        self.counts.accesses += len(rows["accesses"]["visit"])
        self.counts.rays += len(rows["rays"]["visit"])
        self.counts.hits += int(np.count_nonzero(rows["rays"]["instance"] >= 0))
        self.counts.warp_instructions += total[0]
        self.counts.thread_instructions += total[1]
        for table in ("visits", "accesses", "rays"):
            if len(rows[table]["warp_id"]) or (table == "rays" and len(self.buffers.rays)):
                self.sink.put(table, rows[table])


@entry_point
def instructions(blocks: np.ndarray, masks: np.ndarray, counts: np.ndarray, first_block: int) -> tuple[int, int]:
    """Warp and thread instructions of block visits."""
    warp, thread = 0, 0
    for row in range(blocks.shape[0]):
        count = counts[blocks[row] - first_block]
        mask = np.uint32(masks[row])
        mask -= (mask >> np.uint32(1)) & np.uint32(0x55555555)
        mask = (mask & np.uint32(0x33333333)) + ((mask >> np.uint32(2)) & np.uint32(0x33333333))
        mask = (mask + (mask >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
        warp += count
        thread += count * np.int64(((np.uint64(mask) * np.uint64(0x01010101)) >> np.uint64(24)) & np.uint64(0xFF))
    return warp, thread


def _last(ends: np.ndarray) -> int:
    return int(ends[-1]) if len(ends) else 0


def _ray_columns(rows: np.ndarray, first_instruction: np.uint32) -> Columns:
    """Columns of ``rays`` from the words of its rows."""
    floats = rows.view(np.float32)
    axes = [f"{what}_{axis}" for what in ("origin", "direction") for axis in "xyz"]
    return {
        "visit": rows[:, RAY_VISIT],
        "instruction_id": rows[:, RAY_INSTRUCTION] + first_instruction,
        "lane": rows[:, RAY_LANE].astype(np.uint8),
        "segment": rows[:, RAY_SEGMENT].astype(np.uint16),
        "kind": rows[:, RAY_KIND].astype(np.uint8),
        **{name: floats[:, RAY_ORIGIN + index] for index, name in enumerate(axes)},
        "t_min": floats[:, RAY_T_MIN],
        "t_max": floats[:, RAY_T_MAX],
        "hit_t": floats[:, RAY_HIT_T],
        "instance": rows[:, RAY_INSTANCE].view(np.int32),
        "primitive": rows[:, RAY_PRIMITIVE].view(np.int32),
    }
