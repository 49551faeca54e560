"""A trace whose warps trace the rays of a Vulkan-Sim dump, on its SMs and at its cycles.

Each warp is a CTA of its own that stalls until its arrival; CTAs go to the SMs in turn, so that every SM gets as many,
some of which have nothing to trace. The dump leaves out what else the warps did: 63 memory instructions per ray
(193,014 for the 3,069 rays of box32; ``reference/vulkan-sim.md`` 1.5), each on blocks of 256 B that every thread has
for itself (1.1), most of which miss. ``loads`` of them may stand in for that, issued shortly before the arrival.
"""

from pathlib import Path
from typing import Any

import numpy as np

from formats.trace import UNITS
from formats.writer import TraceWriter
from tests.replay.vulkan_sim import KINDS, TRIANGLE_HIT, WarpTrace

Table = dict[str, Any]
STALLS = 8  # instructions that stall a warp until it is due, each for at most 65,535 cycles
LOAD_STALL = 20  # cycles between two loads
BLOCK_BYTES = 256
PRIVATE = 0xD000_0000  # address of the threads' blocks


def in_turn(warps: list[WarpTrace], sms: int) -> list[WarpTrace | None]:
    """The warps in the order of CTAs: number n goes to SM n % sms."""
    mine = [[warp for warp in warps if warp.sm == sm] for sm in range(sms)]
    rows = max(len(column) for column in mine)
    return [mine[sm][row] if row < len(mine[sm]) else None for row in range(rows) for sm in range(sms)]


def write_trace(path: Path, warps: list[WarpTrace], sms: int, loads: int = 0) -> Path:
    """The trace of a dump on a GPU with ``sms`` SMs; arrivals count from the first. Each warp makes ``loads`` loads."""
    ctas = in_turn(warps, sms)
    first = min(warp.arrival_cycle for warp in warps)
    count, number = len(ctas), np.arange(len(ctas))
    full = np.full(count, 0xFFFFFFFF)
    nodes: dict[tuple[int, int, int], int] = {}
    with TraceWriter(path, {"command": "test"}) as writer:
        writer.put("kernels", {
            "kernel_id": [0], "name": ["dump"], "stream": [0], "grid_x": [count], "grid_y": [1], "grid_z": [1],
            "block_x": [32], "block_y": [1], "block_z": [1], "registers_per_thread": [16], "shared_bytes": [0],
            "shared_base": [1 << 40], "local_base": [1 << 41], "local_bytes": [0], "source": ["ptx"],
        })  # fmt: skip
        for name, columns in program(ctas, first, loads).items():
            writer.put(name, columns)
        writer.put("warps", {
            "kernel_id": number * 0, "warp_id": number, "cta_id": number, "warp_in_cta": number * 0,
            "launched_mask": full,
        })  # fmt: skip
        writer.put("visits", {"warp_id": number, "block_id": number, "active_mask": full})
        if loads:
            writer.put("accesses", accesses(ctas, loads))
        writer.put("rays", rays(ctas, nodes, STALLS + loads))
        address, size, kind = (np.array(column) for column in zip(*nodes, strict=True))
        writer.put("nodes", {"node_id": np.arange(len(nodes)), "address": address, "bytes": size, "kind": kind})
    return path


def program(ctas: list[WarpTrace | None], first: int, loads: int) -> dict[str, Table]:
    """A block per warp: instructions that stall it until it is due, its loads, and one that traces some lanes."""
    blocks, length = len(ctas), STALLS + loads + 1
    total = blocks * length
    arrives = np.array([0 if warp is None else warp.arrival_cycle - first for warp in ctas])
    due = np.maximum(arrives - loads * LOAD_STALL, STALLS)
    stall = np.full((blocks, length), LOAD_STALL)
    stall[:, :STALLS] = np.diff(np.linspace(0, due, STALLS + 1).astype(int), axis=0).T
    number = np.arange(total)
    place = number % length
    traces = np.repeat([warp is not None for warp in ctas], length)
    classes = np.where(place < STALLS, "int", np.where(place < length - 1, "load", np.where(traces, "trace", "int")))
    is_load = classes == "load"
    ragged: Table = {}
    for name in ("destination_registers", "source_registers"):
        ragged |= {name: np.zeros(0, np.uint32), f"{name}_offset": np.zeros(total + 1, np.int64)}
    return {
        "instructions": ragged | {
            "kernel_id": number * 0, "instruction_id": number, "block_id": number // length, "opcode": classes,
            "operation_class": classes, "memory_space": np.where(is_load, "global", "none"),
            "access_bytes": is_load * 4,
            "line": number, "text": np.where(classes == "trace", "@p trace", classes),
        },
        "blocks": {
            "kernel_id": [0] * blocks, "block_id": range(blocks), "first_instruction": range(0, total, length),
            "instruction_count": [length] * blocks, "reconvergence_block": [-1] * blocks, "program": ["dump"] * blocks,
        },
        "characterisation": {
            "instruction_id": number, "unit": np.where(is_load, UNITS.index("lsu"), UNITS.index("int")),
            "stall_cycles": stall.ravel(),
            "initiation_cycles": [1] * total, "scoreboard_slot": [-1] * total,
            "wait_mask": [0] * total,
        },
    }  # fmt: skip


def accesses(ctas: list[WarpTrace | None], loads: int) -> Table:
    """Every thread reads ``loads`` blocks of its own, the same whenever its warp comes."""
    rows = len(ctas) * loads
    warp, load = np.divmod(np.arange(rows), loads)
    owner = np.array([-1 if warp is None else warp.sm * 32 + warp.warp for warp in ctas])
    owner = np.unique(owner, return_inverse=True)[1]
    block = (load[:, None] * (owner.max() + 1) + owner[warp][:, None]) * 32 + np.arange(32)
    return {
        "warp_id": warp, "visit": warp * 0, "instruction_id": warp * (STALLS + loads + 1) + STALLS + load,
        "lane_mask": np.full(rows, 0xFFFFFFFF), "address": (PRIVATE + block * BLOCK_BYTES).ravel().astype(np.uint64),
        "address_offset": np.arange(rows + 1) * 32,
    }  # fmt: skip


def rays(ctas: list[WarpTrace | None], nodes: dict[tuple[int, int, int], int], before: int) -> Table:
    """The rays of every warp, traced after ``before`` instructions; ``nodes`` numbers the (address, bytes, kind)."""
    rows: list[tuple[int, int]] = []
    node, offset = [], [0]
    for number, warp in enumerate(ctas):
        for lane, records in sorted(warp.records.items()) if warp else ():
            rows.append((number, lane))
            for address, size, kind in records:
                key = (address, size, KINDS[kind])
                node.append(nodes.setdefault(key, len(nodes)) | (kind == TRIANGLE_HIT) << 31)
            offset.append(len(node))
    warp_id, lane_id = np.array(rows).T
    zero = np.zeros(len(rows))
    vectors = {f"{name}_{axis}": zero for name in ("origin", "direction") for axis in "xyz"}
    return vectors | {
        "warp_id": warp_id, "visit": warp_id * 0, "instruction_id": warp_id * (before + 1) + before, "lane": lane_id,
        "segment": warp_id * 0, "kind": warp_id * 0, "t_min": zero, "t_max": zero + 1, "hit_t": zero + np.inf,
        "instance": warp_id * 0 - 1, "primitive": warp_id * 0 - 1, "node": np.array(node, np.uint32),
        "node_offset": np.array(offset),
    }  # fmt: skip
