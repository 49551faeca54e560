"""Additions of a reorder to the program of a trace: state stored, a barrier, the sort, state loaded."""

from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.trace import UNITS
from rayplay.replay.reorder.spec import VECTOR_BYTES

SORT = "reorder.sort"


class Added(NamedTuple):
    """Blocks that store state, meet and load state, -1 for none; instructions that store and load."""

    blocks: np.ndarray
    stores: np.ndarray
    loads: np.ndarray


ROWS = {
    "store": ("st.global.v4.b32", "store", "global", VECTOR_BYTES),
    "meet": ("reorder", "barrier", "none", 0),
    "load": ("ld.global.v4.b32", "load", "global", VECTOR_BYTES),
    "use": ("mov.b32", "move", "none", 0),
    "sort": (SORT, "int", "none", 0),
}
"""Opcode, class, memory and bytes of what a reorder adds."""


def program_with(trace: Trace, vectors: int, sort: int) -> tuple[Columns, Columns, Added]:
    """Tables ``instructions`` and ``blocks`` with what a reorder adds, whose state is some vectors of 16 B a thread.

    sort  instructions behind the barrier, each waiting for the one before.
    """
    instructions, blocks = trace.read("instructions"), trace.read("blocks")
    kinds = [["store"] * vectors, ["meet"] + ["sort"] * sort, ["load"] * vectors + ["use"] * (vectors > 0)]
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
            written: Any = {"load": loaded, "sort": loaded[:1]}.get(kind, [])
            read: Any = {"use": loaded, "sort": loaded[:1]}.get(kind, [])
            instructions = extended(instructions, row, destination_registers=written, source_registers=read)
        row = {"kernel_id": 0, "block_id": number, "first_instruction": first, "instruction_count": len(inside),
               "reconvergence_block": -1, "program": "reorder"}  # fmt: skip
        blocks = extended(blocks, row) if inside else blocks
        first += len(inside)
    if not vectors:
        blocks["block_id"][-1] = numbers[0]
        instructions["block_id"][-1 - sort :] = numbers[0]
        return instructions, blocks, Added(np.array([-1, numbers[0], -1]), np.empty(0, int), np.empty(0, int))
    ids = np.flatnonzero(instructions["block_id"] >= numbers[0])
    return instructions, blocks, Added(numbers, ids[:vectors], ids[vectors + 1 + sort : 2 * vectors + 1 + sort])


def timed(table: Columns, instructions: Columns, sort_cycles: int) -> Columns:
    """Table ``characterisation`` with the instructions that it lacks; a use waits for loads.

    sort_cycles  of each instruction of the sort.
    """
    for row in range(len(table["unit"]), len(instructions["line"])):
        group = instructions["operation_class"][row]
        unit = {"store": "lsu", "load": "lsu", "barrier": "branch", "move": "int", "int": "int"}[group]
        loads, uses = group == "load", group == "move"
        values = {
            "instruction_id": row, "unit": UNITS.index(unit), "initiation_cycles": 1 + uses,
            "stall_cycles": max(sort_cycles, 1) if group == "int" else 1, "scoreboard_slot": 0 if loads else -1,
            "wait_mask": 1 if uses else 0,
        }  # fmt: skip
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
