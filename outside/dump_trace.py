"""Trace whose warps trace the rays of a Vulkan-Sim dump, on its SMs and at its cycles.

Each warp is a CTA of its own that stalls until its arrival; CTAs go to the SMs in turn, so that every SM gets as many,
some of which have nothing to trace. The dump leaves out what else the warps did, which is what empties the 32 KB of
L1 on Mobile between the traces: between two of them every thread reads its payload of 48 B and its hit attributes,
each in a block of 256 B that it has for itself (``docs/sources/vulkan-sim.md#thread-variables, #programs``). Here each
warp reads these three sectors of all its threads shortly before its arrival.
"""

from pathlib import Path
from typing import Any

import numpy as np

from outside.dump import WarpTrace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.exchange.vulkan_sim import Nodes
from rayplay.formats.schema.trace import UNITS

Table = dict[str, Any]
STALLS = 8  # instructions that stall a warp until it is due, each for at most 65,535 cycles
LOAD_STALL = 20  # cycles between two loads
PRIVATE = 0xD000_0000  # address of the threads' blocks
BLOCK_BYTES = 256
READ = ((0, 0), (0, 32), (1, 0))  # (block, byte in it): both sectors of the payload, and the hit attributes
LENGTH = STALLS + len(READ) + 1


def in_turn(warps: list[WarpTrace], sms: int) -> list[WarpTrace | None]:
    """The warps in the order of CTAs: number n goes to SM n % sms."""
    mine = [[warp for warp in warps if warp.sm == sm] for sm in range(sms)]
    rows = max(len(column) for column in mine)
    return [mine[sm][row] if row < len(mine[sm]) else None for row in range(rows) for sm in range(sms)]


def write_trace(path: Path, warps: list[WarpTrace], sms: int) -> Path:
    """The trace of a dump on a GPU with ``sms`` SMs; arrivals count from the first."""
    ctas = in_turn(warps, sms)
    first = min(warp.arrival_cycle for warp in warps)
    count, number = len(ctas), np.arange(len(ctas))
    full = np.full(count, 0xFFFFFFFF)
    nodes = Nodes()
    with TraceWriter(path, {"command": "test"}) as writer:
        writer.put("kernels", {
            "kernel_id": [0], "name": ["dump"], "stream": [0], "grid_x": [count], "grid_y": [1], "grid_z": [1],
            "block_x": [32], "block_y": [1], "block_z": [1], "registers_per_thread": [16], "shared_bytes": [0],
            "shared_base": [1 << 40], "local_base": [1 << 41], "local_bytes": [0], "source": ["ptx"],
        })  # fmt: skip
        for name, columns in program(ctas, first).items():
            writer.put(name, columns)
        writer.put("warps", {
            "kernel_id": number * 0, "warp_id": number, "cta_id": number, "warp_in_cta": number * 0,
            "launched_mask": full,
        })  # fmt: skip
        writer.put("visits", {"warp_id": number, "block_id": number, "active_mask": full})
        writer.put("accesses", accesses(ctas))
        writer.put("rays", rays(ctas, nodes))
        writer.put("nodes", nodes.table())
    return path


def program(ctas: list[WarpTrace | None], first: int) -> dict[str, Table]:
    """A block per warp: instructions that stall it until it is due, its loads, and one that traces some lanes."""
    blocks, length = len(ctas), LENGTH
    total = blocks * length
    arrives = np.array([0 if warp is None else warp.arrival_cycle - first for warp in ctas])
    due = np.maximum(arrives - len(READ) * LOAD_STALL, STALLS)
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


def accesses(ctas: list[WarpTrace | None]) -> Table:
    """Reads of each thread from private blocks, the same at every visit of its warp."""
    rows = len(ctas) * len(READ)
    warp, load = np.divmod(np.arange(rows), len(READ))
    owner = np.array([-1 if warp is None else warp.sm * 32 + warp.warp for warp in ctas])
    owner = np.unique(owner, return_inverse=True)[1]
    number, byte = np.array(READ)[load].T[..., None]
    block = (number * (owner.max() + 1) + owner[warp][:, None]) * 32 + np.arange(32)
    return {
        "warp_id": warp, "visit": warp * 0, "instruction_id": warp * LENGTH + STALLS + load,
        "lane_mask": np.full(rows, 0xFFFFFFFF),
        "address": (PRIVATE + block * BLOCK_BYTES + byte).ravel().astype(np.uint64),
        "address_offset": np.arange(rows + 1) * 32,
    }  # fmt: skip


def rays(ctas: list[WarpTrace | None], nodes: Nodes) -> Table:
    """The rays of every warp, traced by its last instruction; their records are added to ``nodes``."""
    rows: list[tuple[int, int]] = []
    node, offset = [], [0]
    for number, warp in enumerate(ctas):
        for lane, records in sorted(warp.records.items()) if warp else ():
            rows.append((number, lane))
            node += [nodes.add(record) for record in records]
            offset.append(len(node))
    warp_id, lane_id = np.array(rows).T
    zero = np.zeros(len(rows))
    vectors = {f"{name}_{axis}": zero for name in ("origin", "direction") for axis in "xyz"}
    return vectors | {
        "warp_id": warp_id, "visit": warp_id * 0, "instruction_id": warp_id * LENGTH + LENGTH - 1, "lane": lane_id,
        "segment": warp_id * 0, "kind": warp_id * 0, "t_min": zero, "t_max": zero + 1, "hit_t": zero + np.inf,
        "instance": warp_id * 0 - 1, "primitive": warp_id * 0 - 1, "node": np.array(node, np.uint32),
        "node_offset": np.array(offset),
    }  # fmt: skip
