"""Vulkan-Sim's dumps of its RT unit as input of ``replay.rt.unit``.

Source: ``docs/sources/vulkan-sim.md#golden-dumps``.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rayplay.formats.exchange.vulkan_sim import Nodes, Record, read_calls, read_lines
from rayplay.replay.input import rays
from rayplay.replay.input.rays import Records

BLOCK_BYTES = 256  # device memory is allocated in blocks


@dataclass
class WarpTrace:
    """One ``A`` line with its lanes' records, and the ``D`` line that ends it; ``latency`` is per active lane."""

    sm: int
    warp: int
    uid: int
    arrival_cycle: int
    records: dict[int, list[Record]] = field(default_factory=dict)  # by lane
    stores: dict[int, list[int]] = field(default_factory=dict)  # by lane: offsets in the warp's intersection table
    table: int = 0  # address of that table where the warp stores into it
    start_cycle: int = -1
    end_cycle: int = -1
    latency: dict[int, int] = field(default_factory=dict)


def read_dump(path: Path) -> list[WarpTrace]:
    """The warps of a dump in order of arrival."""
    warps: dict[int, WarpTrace] = {}
    for call in read_calls(path):
        records = {lane: records for lane, (_, records) in call.rays.items()}
        address = [address for stores in call.stores.values() for address, _, _ in stores]
        table = min(address, default=0) // BLOCK_BYTES * BLOCK_BYTES  # its first row holds a store of some lane
        stores = {lane: [address - table for address, _, _ in stores] for lane, stores in call.stores.items()}
        warps[call.uid] = WarpTrace(call.sm, call.slot, call.uid, call.cycle, records, stores, table)
    for _, (kind, *words) in read_lines(path):
        if kind == "D":
            done = warps[int(words[2])]
            done.start_cycle, done.end_cycle = int(words[3]), int(words[4])
            done.latency = {int(lane): int(cycles) for lane, cycles in (w.split(":") for w in words[5:])}
    return sorted(warps.values(), key=lambda warp: (warp.arrival_cycle, warp.sm))


def to_records(warps: list[WarpTrace]) -> Records:
    """The warps as operations 0, 1, ... of the RT unit; a node per different (address, bytes, kind)."""
    nodes = Nodes()
    lane, first_ray, first_node, node, first_store, store = [], [0], [0], [], [0], []
    for warp in warps:
        for index, records in sorted(warp.records.items()):
            lane.append(index | rays.FIRST_STRETCH)
            node += [nodes.add(record) for record in records]
            first_node.append(len(node))
            store += warp.stores.get(index, [])
            first_store.append(len(store))
        first_ray.append(len(lane))
    address, size, kinds = (np.array(column, np.int64) for column in zip(*nodes.numbers, strict=True))
    return Records(
        np.array(first_ray, np.int64), np.array(lane, np.uint8), np.array(first_node, np.int64),
        np.array(node, np.uint32), np.array(first_store, np.int64), np.array(store, np.int64),
        rays.node_info(address, size, kinds),
    )  # fmt: skip


def read_accesses(path: Path, warp: dict[int, int]) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """``M`` and ``R`` lines per SM, in order of cycle, with the columns of ``rt_drive``.

    warp  number on its SM of the warp with a uid.
    """
    accesses: dict[int, list[list[int]]] = {}
    responses: dict[int, list[list[int]]] = {}
    for _, (kind, *words) in read_lines(path):
        if kind == "M":
            row = [int(words[2]), 0, int(words[3], 16) >> 5, int(words[4]), int(words[5])]
            accesses.setdefault(int(words[0]), []).append(row)
        elif kind == "R":
            row = [int(words[2]), int(words[3], 16) >> 5, int(words[5]), warp[int(words[1])]]
            responses.setdefault(int(words[0]), []).append(row)
    return tuple(  # type: ignore[return-value]
        {sm: np.array(sorted(rows, key=lambda row: row[0]), np.int64) for sm, rows in table.items()}
        for table in (accesses, responses)
    )
