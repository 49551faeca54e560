"""Defaults for missing columns and tables with one obvious value: complete a user's own tables to a trace."""

from typing import Any

import numpy as np

from rayplay.formats.guard import limits
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.parquet.arrow import Columns, list_lengths, offset_name, row_count
from rayplay.formats.schema.column import STRING, Table
from rayplay.formats.schema.trace import ACCESSES, BLOCKS, INSTRUCTIONS, KERNELS, MEMORY_CLASSES, TRACE, WARPS

ALL_LANES = 0xFFFF_FFFF
WARP_THREADS = 32
KERNEL: dict[str, Any] = {
    "name": "kernel", "stream": 0, "grid_y": 1, "grid_z": 1, "block_x": WARP_THREADS, "block_y": 1, "block_z": 1,
    "registers_per_thread": 32, "shared_bytes": 0, "shared_base": 0, "local_base": 0, "local_bytes": 0,
    "source": "sass",
}  # fmt: skip


def complete(given: dict[str, Columns]) -> dict[str, Columns]:
    """All tables of the trace, in the order of the format; ``given`` are columns that ``read_frame`` made."""
    for name in ("instructions", "visits"):
        if name not in given:
            table = TRACE.table(name)
            columns = ", ".join(f"{column.name} ({column.doc})" for column in table.columns)
            raise FormatError(f"table {name} must be given: a row is one {table.per_row}, its columns are {columns}")
    tables = {name: dict(columns) for name, columns in given.items()}
    tables["instructions"] = instructions(tables["instructions"])
    tables["blocks"] = blocks(tables.get("blocks", {}), tables["instructions"])
    tables["visits"] = _whole(TRACE.table("visits"), tables["visits"], {})
    tables["warps"] = warps(tables.get("warps", {}), tables["visits"])
    tables["kernels"] = kernels(tables.get("kernels", {}), tables["warps"])
    if "accesses" in tables:
        tables["accesses"] = accesses(tables["accesses"], tables["visits"])
    for table in TRACE.tables:
        if table.row_number and table.name in tables:
            tables[table.name].setdefault(table.row_number, np.arange(_rows(table, tables[table.name])))
    rest = ("threads", "predicates", "copies", "rays", "nodes", "image", "characterisation")
    for name in rest:
        if name in tables:
            tables[name] = _whole(TRACE.table(name), tables[name], {})
    return {table.name: tables[table.name] for table in TRACE.tables if table.name in tables}


def instructions(given: Columns) -> Columns:
    """``operation_class`` must be given, and ``block_id`` where the program branches; one block otherwise."""
    kinds = _needed(INSTRUCTIONS, given, "operation_class")
    memory = np.isin(kinds.astype(str), MEMORY_CLASSES)
    opcodes = given.get("opcode", kinds)
    return _whole(INSTRUCTIONS, given, {
        "kernel_id": 0, "instruction_id": np.arange(len(kinds)), "block_id": 0, "opcode": kinds, "text": opcodes,
        "memory_space": np.where(memory, "global", "none").astype(object), "access_bytes": np.where(memory, 4, 0),
        "destination_registers": None, "source_registers": None, "line": 0,
    })  # fmt: skip


def blocks(given: Columns, program: Columns) -> Columns:
    """Runs of instructions with the same ``block_id``; the reconvergence block is unknown unless given."""
    numbers, first, counts = np.unique(program["block_id"], return_index=True, return_counts=True)
    return _whole(BLOCKS, given, {
        "kernel_id": program["kernel_id"][first], "block_id": numbers, "first_instruction": first,
        "instruction_count": counts, "reconvergence_block": -1, "program": "kernel",
    }, _rows(BLOCKS, given) if given else len(numbers))  # fmt: skip


def warps(given: Columns, visits: Columns) -> Columns:
    """One warp a CTA up to the last that visits a block, with all 32 lanes."""
    count = int(visits["warp_id"].max(initial=0)) + 1 if len(visits["warp_id"]) else 0
    rows = _rows(WARPS, given) if given else count
    limits.WARPS.check(rows, "warp_id", table="visits")
    return _whole(WARPS, given, {
        "kernel_id": 0, "warp_id": np.arange(rows), "cta_id": np.arange(rows), "warp_in_cta": 0,
        "launched_mask": ALL_LANES,
    }, rows)  # fmt: skip


def kernels(given: Columns, all_warps: Columns) -> Columns:
    """One launch, as long along x as its CTAs need."""
    ctas = int(all_warps["cta_id"].max(initial=0)) + 1
    rows = _rows(KERNELS, given) if given else 1
    return _whole(KERNELS, given, KERNEL | {"kernel_id": np.arange(rows), "grid_x": ctas}, rows)


def accesses(given: Columns, visits: Columns) -> Columns:
    """Default lanes of an access: the lanes of its visit."""
    warp, visit = (_needed(ACCESSES, given, name).astype(np.int64) for name in ("warp_id", "visit"))
    place = np.searchsorted(visits["warp_id"], warp) + visit
    inside = np.minimum(place, max(len(visits["warp_id"]) - 1, 0))
    lanes = visits["active_mask"][inside] if len(visits["warp_id"]) else np.zeros(len(warp), np.uint32)
    return _whole(ACCESSES, given, {"lane_mask": lanes})


def _whole(table: Table, given: Columns, defaults: dict[str, Any], rows: int | None = None) -> Columns:
    """The table's columns: given, by default (an array, or one value for all rows; None: empty lists), or an error."""
    rows = _rows(table, given) if rows is None else rows
    columns: Columns = {}
    for column in table.columns:
        if column.name in given:
            names = (column.name, offset_name(column)) if column.ragged else (column.name,)
            columns |= {name: given[name] for name in names}
        elif column.ragged and column.name in defaults:
            columns |= {column.name: np.zeros(0, column.dtype), offset_name(column): np.zeros(rows + 1, np.uint64)}
        elif column.name in defaults:
            value = defaults[column.name]
            dtype = object if column.dtype == STRING else np.int64
            columns[column.name] = value if isinstance(value, np.ndarray) else np.full(rows, value, dtype)
        elif column.name != table.row_number:
            _needed(table, given, column.name)
        else:
            columns[column.name] = np.arange(rows)
    return columns


def _needed(table: Table, given: Columns, name: str) -> np.ndarray:
    if name not in given:
        column = table.column(name)
        allowed = f"; one of {', '.join(column.values)}" if column.values else ""
        kind = f"list of {column.dtype}" if column.ragged else column.dtype
        raise FormatError(f"table {table.name}: column {name} must be given ({kind}: {column.doc}{allowed})")
    return given[name]


def _rows(table: Table, given: Columns) -> int:
    present = [column for column in table.columns if column.name in given]
    if not present:
        return 0
    return len(list_lengths(present[0], given)) if present[0].ragged else row_count(present, given)
