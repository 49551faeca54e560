"""From the record buffers of a launch to rows of the trace, warp after warp.

A sink is anything with ``put(table, columns)``: ``formats.writer.TraceWriter``, or ``MemorySink``.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tracer.driver_cta import (
    RUN_ACCESSES,
    RUN_ADDRESSES,
    RUN_RAYS,
    RUN_VISITS,
    RUN_WARP,
    RUN_WORDS,
)  # fmt: skip
from tracer.driver_state import ACCESS_BYTES, ADDRESS_BYTES, MACHINE, MOST_BLOCK_ACCESSES, VISIT_BYTES
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

Columns = dict[str, np.ndarray]
VISITS, ACCESSES, ADDRESSES, RUNS = 1 << 19, 1 << 17, 1 << 21, 1 << 15
RAYS, NODES = 1 << 16, 2 * LANES * STRETCH_WORDS


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


class Buffers:
    """The recycled memory that running warps write into; ``has_rays`` launches trace."""

    def __init__(self, has_rays: bool) -> None:
        room = MOST_BLOCK_ACCESSES
        self.visits = np.zeros((VISITS + 1, 2), np.uint32)
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

    instruction_counts   int64[blocks of the launch]; first_block is the id of the first of them.
    """

    def __init__(self, sink: Sink, buffers: Buffers, instruction_counts: np.ndarray, first_block: int) -> None:
        self.sink = sink
        self.buffers = buffers
        self.instruction_counts = instruction_counts
        self.first_block = first_block
        self.counts = Counts()
        self._kept: list[dict[str, Columns]] = []

    def drain(self, machine: np.ndarray, unfinished_from: int) -> None:
        """Empty the buffers. Rows of warps from id ``unfinished_from`` on are kept until their CTA is complete."""
        rows = self._rows()
        self.buffers.reset(machine)
        warp = rows["runs"]["warp"]
        is_unfinished = len(warp) > 0 and warp[-1] >= unfinished_from
        if is_unfinished or self._kept:
            self._kept.append({table: _copied(columns) for table, columns in rows.items()})
            if is_unfinished:
                return
            rows = _joined(self._kept)
            self._kept = []
        self._send(rows)

    def _rows(self) -> dict[str, Columns]:
        """Views of the rows in the buffers, with their warp ids."""
        b = self.buffers
        ends = b.runs_made()
        warp = ends[1:, RUN_WARP].astype(np.uint32)
        lengths = np.diff(ends, axis=0)
        visits, accesses, rays = (b.runs[: b.counts[COUNT_RUNS], k] for k in (RUN_VISITS, RUN_ACCESSES, RUN_RAYS))
        v, a, r = (b.visits[: _last(visits)], b.accesses[: _last(accesses)], b.rays[: b.counts[COUNT_RAYS]])
        lanes = np.bitwise_count(a[:, 2])
        return {
            "runs": {"warp": warp, "lengths": lengths},
            "visits": {
                "warp_id": np.repeat(warp, lengths[:, RUN_VISITS]), "block_id": v[:, 0], "active_mask": v[:, 1],
            },
            "accesses": {
                "warp_id": np.repeat(warp, lengths[:, RUN_ACCESSES]), "visit": a[:, 1], "instruction_id": a[:, 0],
                "lane_mask": a[:, 2], "address": b.addresses[: int(ends[-1, RUN_ADDRESSES])],
                "address_offset": _offsets(lanes),
            },
            "rays": {
                "warp_id": np.repeat(warp, lengths[:, RUN_RAYS]), **_ray_columns(r),
                "node": b.nodes[: b.counts[COUNT_NODES]], "node_offset": _offsets(r[:, RAY_NODES]),
            },
        }  # fmt: skip

    def _send(self, rows: dict[str, Columns]) -> None:
        warp = rows["runs"]["warp"]
        if np.any(warp[1:] < warp[:-1]):
            order = np.argsort(warp, kind="stable")
            lengths = rows["runs"]["lengths"]
            for table, column in (("visits", RUN_VISITS), ("accesses", RUN_ACCESSES), ("rays", RUN_RAYS)):
                rows[table] = _reordered(rows[table], _row_order(lengths[:, column], order))
        blocks = rows["visits"]["block_id"]
        instructions = self.instruction_counts[blocks - np.uint32(self.first_block)]
        lanes = np.bitwise_count(rows["visits"]["active_mask"])
        self.counts.visits += len(blocks)
        self.counts.accesses += len(rows["accesses"]["visit"])
        self.counts.rays += len(rows["rays"]["visit"])
        self.counts.hits += int(np.count_nonzero(rows["rays"]["instance"] >= 0))
        self.counts.warp_instructions += int(instructions.sum())
        self.counts.thread_instructions += int(instructions @ lanes.astype(np.int64))
        for table in ("visits", "accesses", "rays"):
            if len(rows[table]["warp_id"]) or (table == "rays" and len(self.buffers.rays)):
                self.sink.put(table, rows[table])


def _last(ends: np.ndarray) -> int:
    return int(ends[-1]) if len(ends) else 0


def _offsets(lengths: np.ndarray) -> np.ndarray:
    made = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=made[1:])
    return made


def _ray_columns(rows: np.ndarray) -> Columns:
    """Columns of ``rays`` from the words of its rows."""
    floats = rows.view(np.float32)
    axes = [f"{what}_{axis}" for what in ("origin", "direction") for axis in "xyz"]
    return {
        "visit": rows[:, RAY_VISIT],
        "instruction_id": rows[:, RAY_INSTRUCTION],
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


def _copied(columns: Columns) -> Columns:
    return {name: np.array(values) for name, values in columns.items()}


def _joined(parts: list[dict[str, Columns]]) -> dict[str, Columns]:
    """Rows of several drains one after the other."""
    made: dict[str, Columns] = {}
    for table in parts[0]:
        names = parts[0][table]
        made[table] = {name: np.concatenate([part[table][name] for part in parts]) for name in names}
        for name in names:
            if name.endswith("_offset"):
                lengths = [np.diff(part[table][name]) for part in parts]
                made[table][name] = _offsets(np.concatenate(lengths))
    return made


def _row_order(lengths: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Row numbers when runs of ``lengths`` rows are put in ``order``."""
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))[order]
    chosen = lengths[order]
    ends = np.cumsum(chosen)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - chosen), chosen)


def _reordered(columns: Columns, order: np.ndarray) -> Columns:
    """Rows in another order, ragged columns with them."""
    made: Columns = {}
    for name, values in columns.items():
        if name.endswith("_offset"):
            lengths = np.diff(values).astype(np.int64)
            ragged = name.removesuffix("_offset")
            made[ragged] = columns[ragged][_row_order(lengths, order)]
            made[name] = _offsets(lengths[order])
        elif f"{name}_offset" not in columns:
            made[name] = values[order]
    return made
