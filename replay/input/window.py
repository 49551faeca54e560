"""The part of a trace that is in memory: warps are loaded in order, and forgotten when they retire.

Memory is bounded by the live warps and one batch ahead of them, never by the trace, however long a warp lives; what one
warp does is held whole. Addresses are coalesced while they are loaded, so the engine never sees a lane's address.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.expect import REPLAYED_COLUMNS, Guard
from rayplay.formats.schema.trace import MOST_NODE_BYTES, NODE_KINDS
from rayplay.replay.input import rays as record
from rayplay.replay.input.coalescer import LOCAL_SECTORS, SCRATCH_WORDS, Accesses, Rows, Static, coalesce, most_sectors
from rayplay.replay.input.intersection_tables import add_entries, table_nodes
from rayplay.replay.input.ray_values import COLUMNS as RAY_COLUMNS
from rayplay.replay.input.ray_values import bounds_of_origins, hits_of, places_of
from rayplay.replay.input.stacks import add_spills, expect_parents, stack_nodes
from rayplay.replay.input.subtrees import subtrees
from rayplay.replay.input.traversals import COLUMNS, TABLE_OF, merged, read_parents
from rayplay.replay.input.window_arrays import Arrays, Moved, Needed, empty_arrays, first_kept, join
from rayplay.replay.input.work import SECTOR_BYTES, Program, Work

ROWS_PER_BATCH = 3_000_000  # lane addresses and records loaded at a time, about
WARPS_PER_BATCH = 4096  # at most
SPACE_SHIFT = 49  # of an address: its trace's number, where several are replayed together
SPACE_SECTORS = (1 << SPACE_SHIFT) // SECTOR_BYTES
MOST_NODES = record.NODE_BITS + 1 - 10_000  # and the loads from tables and stacks
MOST_SPACES = 4  # an address of a BVH record has 51 bits
ROWS_AT_ONCE = 1 << 15  # accesses that are coalesced together
WEIGHTS = {
    "visits": 1,
    "accesses": 32,
    "rays": 64,
    "predicates": 1,
    "distances": 64,
    "culled": 64,
}  # what a row of a table stands for among them


class Window:
    """Loads batches of warps of one kernel after the other, and keeps what live warps need.

    rays, node_visits   int64[warps, 32] of the image launch, filled while loading; None when not wanted.
    """

    def __init__(
        self, trace: Trace, program: Program, static: Static, per_lane: bool, table: int, pieces_ahead: int = 0,
        spaces: dict[str, list[int]] | None = None, needs: tuple[str, ...] = (),
        stack_entries: int = 0,
    ) -> None:  # fmt: skip
        """Nothing loaded.

        table         place of the intersection table in ``rt_unit_spec.TABLES``.
        pieces_ahead  of the tables, as in ``Trace.warp_batches``.
        spaces        first row of each trace that was joined in ``warps`` and ``nodes``, and the end; None: one trace.
        stack_entries  of a ray's stack in the RT unit, 0: any number.
        needs         of ``traversals.NEEDS``: what the rays tell beyond their records.
        """
        self.trace, self.program, self.static, self.table = trace, program, static, table
        count = trace.rows("warps")
        self.info = read_nodes(trace)
        self.first_warps = spaces["warps"] if spaces else [0, count]
        for space, first in enumerate(spaces["nodes"][:-1] if spaces else ()):
            self.info[first:] += min(space, 1) << SPACE_SHIFT + record.ADDRESS_SHIFT
        self.node_kinds = (self.info & 15).astype(np.uint8)
        if table == record.FCC:
            self.info = np.concatenate([self.info, table_nodes()])
        self.needs = tuple(name for name in needs if TABLE_OF.get(name, name) in trace.tables)
        self.parent = np.zeros(0, np.int32)
        self.stack_entries, self.stack_node = stack_entries if trace.rows("rays") else 0, len(self.info)
        if self.stack_entries:
            expect_parents(trace.tables, str(trace.path))
            self.info = np.concatenate([self.info, stack_nodes()])
        if {"parents", "subtrees"} & set(self.needs) or self.stack_entries:
            self.parent = np.full(len(self.info), record.NO_PARENT, np.int32)
            self.parent[: len(self.node_kinds)] = read_parents(trace, len(self.node_kinds))
        self.bounds = bounds_of_origins(trace) if "rays" in self.needs else np.zeros((2, 3), np.float32)
        self.groups = np.zeros(32, np.int64)
        self.first_warp = self.loaded_warps = 0
        self.arrays = empty_arrays()
        self.batches, self.guard = self._batches(count, pieces_ahead), Guard(trace)
        self.rays = np.zeros((count, 32), np.uint32) if per_lane else None
        self.node_visits = np.zeros((count, 32), np.uint32) if per_lane else None

    def _batches(self, warps: int, pieces_ahead: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Batches of as many warps as have about ``ROWS_PER_BATCH`` rows together, one warp at least."""
        present = {name: columns for name, columns in REPLAYED_COLUMNS.items() if name in self.trace.tables}
        present |= {name: columns for name, columns in COLUMNS.items() if name in self.needs}
        if "rays" in self.needs:
            present["rays"] = (*present["rays"], *RAY_COLUMNS)
        rows = np.zeros(warps, np.int64)
        for name in present:
            for batch in self.trace.batches(name, ["warp_id"]):
                if len(batch["warp_id"]) and int(batch["warp_id"].max()) < warps:  # else the reader's error comes later
                    rows += WEIGHTS[name] * np.bincount(batch["warp_id"], minlength=warps)
        full = np.flatnonzero(np.diff(np.cumsum(rows) // ROWS_PER_BATCH)) + 1
        each = np.arange(0, warps, WARPS_PER_BATCH)
        bounds = np.unique(np.concatenate([full, each, self.first_warps]))
        return self.trace.warp_batches(bounds.tolist(), present, pieces_ahead)

    def load(self, needed: Needed) -> Moved:
        """Load the next batch, and forget the warps of the window that are not ``needed`` any more.

        Returns by how much the cursors into its arrays are to move down.
        """
        first, last, tables = next(self.batches)
        self.guard.expect(first, last, tables)
        batch = self._prepare(first, last, tables)
        self._enter_space(batch, first)
        tables.clear()  # as they lie in the file: not held beside the window that takes them in
        moved = Moved(self.arrays, self.first_warp, needed(self.first_warp, first))
        self.arrays = join(self.arrays, moved, batch)
        self.first_warp += first_kept(moved.keep)
        self.loaded_warps = last
        return moved

    def _enter_space(self, batch: Arrays, first: int) -> None:
        """Put the addresses of a batch of warps into the address space of their trace."""
        if len(self.first_warps) == 2:
            return
        sector, space = batch["sector"], int(np.searchsorted(self.first_warps, first, side="right")) - 1
        is_local = sector >= LOCAL_SECTORS
        if ((sector < 0) | ((sector >= SPACE_SECTORS) & ~is_local)).any():
            most = f"must be below 2^{SPACE_SHIFT} where several traces are replayed together"
            raise FormatError(f"{self.trace.path}: table accesses, column address: {most}")
        sector += np.where(is_local, -space, space) * SPACE_SECTORS

    def _prepare(self, first: int, last: int, tables: dict[str, Any]) -> Arrays:
        batch = empty_arrays()
        warps = np.arange(first, last + 1)
        visits = tables.get("visits")
        bounds = {"visit": np.zeros(last - first + 1, np.int64)} | {
            name: np.zeros(last - first + 1, np.int64) for name in ("access", "trace", "predicate")
        }
        if visits is not None:
            batch["block"], batch["mask"] = visits["block_id"], visits["active_mask"]
            bounds["visit"] = np.searchsorted(visits["warp_id"], warps)
        if "accesses" in tables and len(tables["accesses"]["visit"]):
            batch |= self._coalesce(tables["accesses"])
            bounds["access"] = np.searchsorted(tables["accesses"]["warp_id"], warps)
        if "rays" in tables and len(tables["rays"]["visit"]):
            bounds["trace"] = self._trace(batch, tables, first, last)
        if (predicates := tables.get("predicates")) is not None:
            key = (predicates["visit"].astype(np.int64) << 32) | predicates["instruction_id"]
            batch["predicate_key"], batch["predicate_lanes"] = key, np.bitwise_count(predicates["lane_mask"])
            bounds["predicate"] = np.searchsorted(predicates["warp_id"], warps)
        names = ("visit", "access", "trace", "predicate")
        batch["span"] = np.stack(
            [bounds[name][part : part + last - first] for name in names for part in (0, 1)], axis=1
        ).astype(np.int64)
        return batch

    def _coalesce(self, accesses: dict[str, Any]) -> Arrays:
        instruction = accesses["instruction_id"]
        offset, address = accesses["address_offset"].astype(np.int64), accesses["address"].view(np.int64)
        parts, sectors = [], 0
        for begin in range(0, len(instruction), ROWS_AT_ONCE):
            end = min(begin + ROWS_AT_ONCE, len(instruction))
            found = self._coalesce_some(
                Rows(instruction[begin:end].astype(np.int64), accesses["lane_mask"][begin:end],
                     offset[begin : end + 1], address)
            )  # fmt: skip
            parts.append(found | {"access_first": found["access_first"] + sectors})
            sectors += len(found["sector"])
        key = (accesses["visit"].astype(np.int64) << 32) | instruction
        return {"access_key": key} | {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _coalesce_some(self, rows: Rows) -> Arrays:
        """Sectors of some accesses: the room that surely suffices for all of them is many times what they take."""
        lanes, count = int(rows.lane_first[-1] - rows.lane_first[0]), len(rows.instruction)
        room = most_sectors(lanes, rows.instruction, self.static.access_bytes)
        found = Accesses(
            np.empty(count + 1, np.int64), np.empty(count, np.uint8), np.empty(room, np.int64),
            np.empty(room, np.uint32),
        )  # fmt: skip
        total = coalesce(rows, self.static, found, np.empty(SCRATCH_WORDS, np.int64))
        return {
            "access_first": found.first[:-1], "conflict": found.conflict,
            "sector": found.sector[:total].copy(), "byte_mask": found.byte_mask[:total].copy(),
        }  # fmt: skip

    def _trace(self, batch: Arrays, tables: dict[str, Any], first: int, last: int) -> np.ndarray:
        """Group rays into trace operations, one per (warp, visit); returns the first operation of each warp."""
        rays = tables["rays"]
        warp, visit = rays["warp_id"].astype(np.int64), rays["visit"].astype(np.int64)
        starts_one = np.ones(len(warp), bool)
        starts_one[1:] = (warp[1:] != warp[:-1]) | (visit[1:] != visit[:-1])
        operation = np.flatnonzero(starts_one)
        offset, node, batch["distance"] = merged(tables, self.needs, len(self.node_kinds), self.trace.path)
        if "rays" in self.needs:
            batch["ray"], batch["hit"] = places_of(rays), hits_of(rays)
        batch["trace_visit"], batch["first_ray"] = visit[operation], operation
        batch["lane"] = (
            rays["lane"] | (rays["segment"] == 0) * record.FIRST_STRETCH | (rays["kind"] != 0) * record.EARLY_OUT
        )
        batch["lane"] = batch["lane"].astype(np.uint8)
        self._enter(batch, offset, node)
        if self.rays is not None and self.node_visits is not None:
            place = (warp - first) * 32 + rays["lane"]
            size = (last - first) * 32
            begun = np.bincount(place[rays["segment"] == 0], minlength=size)
            fetched = np.bincount(place, np.diff(offset), minlength=size)
            self.rays[first:last] = begun.reshape(-1, 32)
            self.node_visits[first:last] = fetched.reshape(-1, 32)
        return np.searchsorted(warp[operation], np.arange(first, last + 1))

    def _enter(self, batch: Arrays, offset: np.ndarray, node: np.ndarray) -> None:
        """Put the records into the batch, and what the rays load and write for intersection tables and stacks."""
        store = np.zeros(0, np.int64)
        first_store = np.zeros(len(offset), np.int64)
        if self.table != record.NO_TABLE:
            offset, node, first_store, store = add_entries(
                self.table, batch["first_ray"], batch["lane"], offset, node, self.node_kinds, self.groups,
                str(self.trace.path),
            )  # fmt: skip
        if self.stack_entries:
            offset, node, first_store, store = add_spills(
                self.stack_entries, batch["lane"], (offset, node, first_store, store),
                self.parent[: len(self.node_kinds)], self.stack_node, str(self.trace.path),
            )  # fmt: skip
        if 0 < len(batch["distance"]) < len(node):
            own = (node & np.uint32(record.NODE_BITS)) < len(self.node_kinds)  # not a load from a table or stack
            spread = np.zeros(len(node), np.int32)
            spread[own] = batch["distance"]
            batch["distance"] = spread
        if "subtrees" in self.needs:
            batch["subtree"] = subtrees(offset, node, self.parent, self.node_kinds)
        batch["first_node"], batch["node"] = offset[:-1], node
        batch["first_store"], batch["store"] = first_store[:-1], store

    def work(self) -> Work:
        """The window as the SMs read it."""
        a = self.arrays
        return Work(
            a["block"], a["mask"], a["access_key"], np.append(a["access_first"], len(a["sector"])), a["conflict"],
            a["sector"], a["byte_mask"], a["trace_visit"], a["predicate_key"], a["predicate_lanes"], a["span"],
            self.first_warp,
        )  # fmt: skip

    def records(self) -> record.Records:
        """The window's rays as the RT units read them."""
        a = self.arrays
        return record.Records(
            np.append(a["first_ray"], len(a["lane"])), a["lane"], np.append(a["first_node"], len(a["node"])), a["node"],
            np.append(a["first_store"], len(a["store"])), a["store"], self.info,
            self.parent, a["distance"], a["subtree"], a["ray"], a["hit"], self.bounds,
        )  # fmt: skip


def read_nodes(trace: Trace) -> np.ndarray:
    """The nodes table, packed for the RT unit."""
    if "nodes" not in trace.tables:
        return np.zeros(0, np.int64)
    nodes = trace.read("nodes", ["address", "bytes", "kind"])
    if len(nodes["kind"]) > MOST_NODES:
        raise FormatError(f"{trace.path}: table nodes: must have at most {MOST_NODES:,} rows to be replayed")
    if len(nodes["kind"]) and int(nodes["kind"].max()) >= len(NODE_KINDS):
        raise FormatError(
            f"{trace.path}: table nodes, column kind: must be below {len(NODE_KINDS)}, not {int(nodes['kind'].max())}"
        )
    if len(nodes["bytes"]) and int(longest := nodes["bytes"].max()) > MOST_NODE_BYTES:
        raise FormatError(f"{trace.path}: table nodes, column bytes: must be at most {MOST_NODE_BYTES}, not {longest}")
    if len(nodes["address"]) and int(nodes["address"].max()) >= record.HIGHEST_ADDRESS:
        raise FormatError(
            f"{trace.path}: table nodes, column address: must be below {record.HIGHEST_ADDRESS:#x}, not"
            f" {int(nodes['address'].max()):#x}"
        )
    return record.node_info(nodes["address"], nodes["bytes"], nodes["kind"])
