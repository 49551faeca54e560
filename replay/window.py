"""The part of a trace that is in memory: warps are loaded in order, and forgotten when all before a live one are done.

Memory is bounded by the warps between the oldest live and the newest loaded one: an SM's worth of work ahead, never
the trace. Addresses are coalesced while they are loaded, so the engine never sees a lane's address.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from formats.errors import FormatError
from formats.reader import Trace
from formats.trace import NODE_KINDS
from replay.coalescer import SCRATCH_WORDS, coalesce, most_sectors
from replay.rt_table import add_entries, table_nodes
from replay.rt_unit_spec import FCC, NO_TABLE
from replay.rt_unit_state import EARLY_OUT, FIRST_STRETCH, HIGHEST_ADDRESS, Records, node_info
from replay.work import Program, Work

ROWS_PER_BATCH = 24_000_000  # lane addresses and records loaded at a time, about
COLUMNS = {
    "visits": ("warp_id", "block_id", "active_mask"),
    "accesses": ("warp_id", "visit", "instruction_id", "address"),
    "rays": ("warp_id", "visit", "lane", "segment", "kind", "node"),
    "predicates": ("warp_id", "visit", "instruction_id", "lane_mask"),
}
# How the arrays of Work and Records refer to each other: array -> (array its values are rows of)
Arrays = dict[str, np.ndarray]


class Window:
    """Loads batches of warps of one kernel after the other, and keeps what live warps need.

    rays, node_visits   int64[warps, 32] of the image launch, filled while loading; None when not wanted.
    """

    def __init__(self, trace: Trace, program: Program, static: "Static", per_lane: bool, table: int) -> None:
        """table: place of the intersection table in ``rt_unit_spec.TABLES``."""
        self.trace, self.program, self.static, self.table = trace, program, static, table
        count = trace.rows("warps")
        self.info = read_nodes(trace)
        self.node_kinds = (self.info & 15).astype(np.uint8)
        if table == FCC:
            self.info = np.concatenate([self.info, table_nodes()])
        self.groups = np.zeros(32, np.int64)
        self.first_warp = self.loaded_warps = 0
        self.arrays = empty_arrays()
        self.batches = self._batches(count)
        self.rays = np.zeros((count, 32), np.uint32) if per_lane else None
        self.node_visits = np.zeros((count, 32), np.uint32) if per_lane else None

    def _batches(self, warps: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
        rows = sum(self.trace.rows(name) for name in ("visits", "accesses", "rays")) * 8 + 1
        size = int(np.clip(ROWS_PER_BATCH * max(warps, 1) // rows, 32, 4096))
        present = {name: columns for name, columns in COLUMNS.items() if name in self.trace.tables}
        return self.trace.warp_batches(size, present)

    def load(self, oldest_live_warp: int) -> dict[str, int]:
        """Load the next batch and forget the warps before ``oldest_live_warp``.

        Returns by how many rows each array moved down: what is to be subtracted from cursors into it.
        """
        first, last, tables = next(self.batches)
        batch = self._prepare(first, last, tables)
        kept = min(oldest_live_warp, first) - self.first_warp
        shift = starts(self.arrays, kept)
        self.arrays = join(self.arrays, shift, batch)
        self.first_warp += kept
        self.loaded_warps = last
        return shift

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
            self._check_blocks(visits["block_id"])
        if "accesses" in tables and len(tables["accesses"]["visit"]):
            batch |= self._coalesce(tables["accesses"])
            bounds["access"] = np.searchsorted(tables["accesses"]["warp_id"], warps)
        if "rays" in tables and len(tables["rays"]["visit"]):
            bounds["trace"] = self._trace(batch, tables["rays"], first, last)
        if (predicates := tables.get("predicates")) is not None:
            key = (predicates["visit"].astype(np.int64) << 32) | predicates["instruction_id"]
            batch["predicate_key"], batch["predicate_lanes"] = key, np.bitwise_count(predicates["lane_mask"])
            bounds["predicate"] = np.searchsorted(predicates["warp_id"], warps)
        names = ("visit", "access", "trace", "predicate")
        batch["span"] = np.stack(
            [bounds[name][part : part + last - first] for name in names for part in (0, 1)], axis=1
        ).astype(np.int64)
        return batch

    def _check_blocks(self, block: np.ndarray) -> None:
        if len(block) and int(block.max()) >= len(self.program.first):
            raise FormatError(
                f"{self.trace.path}: table visits, column block_id: must be below {len(self.program.first)},"
                f" not {int(block.max())}"
            )

    def _coalesce(self, accesses: dict[str, Any]) -> Arrays:
        instruction = accesses["instruction_id"]
        if int(instruction.max()) >= len(self.static.access_bytes):
            raise FormatError(
                f"{self.trace.path}: table accesses, column instruction_id: must be below"
                f" {len(self.static.access_bytes)}, not {int(instruction.max())}"
            )
        address, offset = accesses["address"].astype(np.int64), accesses["address_offset"].astype(np.int64)
        rows, room = len(instruction), most_sectors(len(address), instruction, self.static.access_bytes)
        first, conflict = np.empty(rows + 1, np.int64), np.empty(rows, np.uint8)
        sector, byte_mask = np.empty(room, np.int64), np.empty(room, np.uint32)
        total = coalesce(
            instruction.astype(np.int64), offset, address, self.static.access_bytes, self.static.is_store,
            self.static.space, self.static.shared_base, self.static.shared_bytes, first, conflict, sector, byte_mask,
            np.empty(SCRATCH_WORDS, np.int64),
        )  # fmt: skip
        key = (accesses["visit"].astype(np.int64) << 32) | instruction
        return {
            "access_key": key, "access_first": first[:-1], "conflict": conflict,
            "sector": sector[:total].copy(), "byte_mask": byte_mask[:total].copy(),
        }  # fmt: skip

    def _trace(self, batch: Arrays, rays: dict[str, Any], first: int, last: int) -> np.ndarray:
        """Group rays into trace operations, one per (warp, visit); returns the first operation of each warp."""
        warp, visit = rays["warp_id"].astype(np.int64), rays["visit"].astype(np.int64)
        starts_one = np.ones(len(warp), bool)
        starts_one[1:] = (warp[1:] != warp[:-1]) | (visit[1:] != visit[:-1])
        operation = np.flatnonzero(starts_one)
        node, offset = rays["node"], rays["node_offset"].astype(np.int64)
        if len(node) and int((node & 0x7FFFFFFF).max()) >= len(self.node_kinds):
            found = int((node & 0x7FFFFFFF).max())
            raise FormatError(
                f"{self.trace.path}: table rays, column node: must be below {len(self.node_kinds)}, the number of"
                f" nodes, not {found}"
            )
        batch["trace_visit"], batch["first_ray"] = visit[operation], operation
        batch["lane"] = rays["lane"] | (rays["segment"] == 0) * FIRST_STRETCH | (rays["kind"] != 0) * EARLY_OUT
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
        """Put the records into the batch, and what the rays load and write for the intersection table."""
        store = np.zeros(0, np.int64)
        first_store = np.zeros(len(offset), np.int64)
        if self.table != NO_TABLE:
            offset, node, first_store, store = add_entries(
                self.table, batch["first_ray"], batch["lane"], offset, node, self.node_kinds, self.groups,
                str(self.trace.path),
            )  # fmt: skip
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

    def records(self) -> Records:
        """The window's rays as the RT units read them."""
        a = self.arrays
        return Records(
            np.append(a["first_ray"], len(a["lane"])), a["lane"], np.append(a["first_node"], len(a["node"])), a["node"],
            np.append(a["first_store"], len(a["store"])), a["store"], self.info,
        )  # fmt: skip


class Static:
    """What the coalescer needs of the static instructions and the launch."""

    def __init__(self, instructions: dict[str, Any], kernels: dict[str, Any]) -> None:
        spaces = instructions["memory_space"].astype(str)
        self.access_bytes = instructions["access_bytes"].astype(np.int64)
        self.is_store = instructions["operation_class"].astype(str) == "store"
        self.space = np.select([spaces == "shared", spaces == "generic"], [1, 2], 0).astype(np.int64)
        self.shared_base = int(kernels["shared_base"].max(initial=0))
        self.shared_bytes = int(kernels["shared_bytes"].max(initial=0))


def empty_arrays() -> Arrays:
    """The arrays of a window without warps."""
    dtypes = {
        "block": np.uint32, "mask": np.uint32, "access_key": np.int64, "access_first": np.int64, "conflict": np.uint8,
        "sector": np.int64, "byte_mask": np.uint32, "trace_visit": np.int64, "first_ray": np.int64, "lane": np.uint8,
        "first_node": np.int64, "node": np.uint32, "first_store": np.int64, "store": np.int64,
        "predicate_key": np.int64, "predicate_lanes": np.uint8,
    }  # fmt: skip
    return {name: np.zeros(0, dtype) for name, dtype in dtypes.items()} | {"span": np.zeros((0, 8), np.int64)}


def starts(arrays: Arrays, warps: int) -> dict[str, int]:
    """First row of every array that belongs to a warp from number ``warps`` of the window on."""
    span = arrays["span"]
    if warps < len(span):
        visit, access, trace, predicate = (int(span[warps, column]) for column in (0, 2, 4, 6))
    else:
        visit, access, trace, predicate = (
            len(arrays[name]) for name in ("block", "access_key", "trace_visit", "predicate_key")
        )
    sector = pointed_at(arrays["access_first"], access, len(arrays["sector"]))
    ray = pointed_at(arrays["first_ray"], trace, len(arrays["lane"]))
    node = pointed_at(arrays["first_node"], ray, len(arrays["node"]))
    store = pointed_at(arrays["first_store"], ray, len(arrays["store"]))
    return {
        "span": warps, "block": visit, "mask": visit, "access_key": access, "access_first": access, "conflict": access,
        "sector": sector, "byte_mask": sector, "trace_visit": trace, "first_ray": trace, "lane": ray,
        "first_node": ray, "node": node, "first_store": ray, "store": store,
        "predicate_key": predicate, "predicate_lanes": predicate,
    }  # fmt: skip


def pointed_at(first: np.ndarray, row: int, end: int) -> int:
    """Where row ``row`` starts in the array it points into; ``end`` when there is no such row."""
    return int(first[row]) if row < len(first) else end


def join(arrays: Arrays, shift: dict[str, int], batch: Arrays) -> Arrays:
    """What is kept of the window, followed by a batch, with all rows renumbered."""
    points_to = {"access_first": "sector", "first_ray": "lane", "first_node": "node", "first_store": "store"}
    joined = {}
    for name, array in arrays.items():
        old, new = array[shift[name] :], batch[name]
        if name == "span":
            rows = [name for name in ("block", "access_key", "trace_visit", "predicate_key") for _ in (0, 1)]
            old = old - np.array([shift[row] for row in rows])
            new = new + np.array([len(arrays[row]) - shift[row] for row in rows])
        elif target := points_to.get(name):
            old = old - shift[target]
            new = new + (len(arrays[target]) - shift[target])
        joined[name] = np.ascontiguousarray(np.concatenate([old, new]).astype(array.dtype, copy=False))
    return joined


def read_nodes(trace: Trace) -> np.ndarray:
    """The nodes table, packed for the RT unit."""
    if "nodes" not in trace.tables:
        return np.zeros(0, np.int64)
    nodes = trace.read("nodes", ["address", "bytes", "kind"])
    if len(nodes["kind"]) and int(nodes["kind"].max()) >= len(NODE_KINDS):
        raise FormatError(
            f"{trace.path}: table nodes, column kind: must be below {len(NODE_KINDS)}, not {int(nodes['kind'].max())}"
        )
    if len(nodes["bytes"]) and int(nodes["bytes"].max()) > 128:
        raise FormatError(
            f"{trace.path}: table nodes, column bytes: must be at most 128, not {int(nodes['bytes'].max())}"
        )
    if len(nodes["address"]) and int(nodes["address"].max()) >= HIGHEST_ADDRESS:
        raise FormatError(
            f"{trace.path}: table nodes, column address: must be below {HIGHEST_ADDRESS:#x}, not"
            f" {int(nodes['address'].max()):#x}"
        )
    return node_info(nodes["address"], nodes["bytes"], nodes["kind"])
