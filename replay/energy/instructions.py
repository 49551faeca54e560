"""Events of AccelWattch that a result does not count, from the instructions of its trace, launch by launch.

Threads of each operation, operands, constant accesses, and the records that rays fetched, for the tests of RT units.
Source: ``docs/sources/accelwattch.md#counting-rules``.
"""

import re
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.schema.trace import NODE_HIT_BIT, NODE_KINDS
from rayplay.replay.energy.operations import NONE, event_of

LANES = 32  # that an operand of a warp counts, however many are active
SASS_REGISTERS = 256  # R0 to R255, the zero register; uniform registers and predicates stand beyond, and do not count
OPERANDS = ("REG_RD", "REG_WR", "NON_REG_OPs")
_IMMEDIATE = re.compile(r",\s*(?:-?[0-9]|0[fd][0-9a-f]{8})", re.IGNORECASE)  # of an operand that is no destination
_ARITHMETIC = ("int", "move", "predicate", "convert", "fp32", "fp16", "fp64", "sfu", "shuffle")


class Instructions(NamedTuple):
    """The instructions of one launch.

    events            event of ``energy.table`` -> count.
    records           kind of BVH record -> how many its rays fetched.
    warp              warp instructions.
    operating_warp    of these, instructions of the lane units.
    operating_thread  their active threads.
    """

    events: dict[str, float]
    records: dict[str, int]
    warp: int
    operating_warp: int
    operating_thread: int


class Program(NamedTuple):
    """The instructions of all launches: launch, block, event, and operands of each kind, int64[3, instructions]."""

    launch: np.ndarray
    block: np.ndarray
    event: np.ndarray
    operands: np.ndarray
    is_constant: np.ndarray


def instructions(trace: Trace) -> dict[int, Instructions]:
    """Launch -> its instructions. Raises ``FormatError`` when the trace is damaged."""
    program = read_program(trace)
    warps, threads = executions(trace, program.block)
    records = fetched_records(trace)
    launches = trace.read("kernels", ["kernel_id"])["kernel_id"].tolist()
    return {launch: of_launch(program, warps, threads, launch, records.get(launch, {})) for launch in launches}


def of_launch(
    program: Program, warps: np.ndarray, threads: np.ndarray, launch: int, records: dict[str, int]
) -> Instructions:
    """The instructions of one launch. warps, threads: executions of each instruction."""
    mine = slice(*np.searchsorted(program.launch, (launch, launch + 1)).tolist())
    warp, thread, event = warps[mine], threads[mine], program.event[mine]
    events = {name: float(thread[event == name].sum()) for name in sorted({*event.tolist()} - {NONE})}
    for name, operands in zip(OPERANDS, program.operands[:, mine], strict=True):
        events[name] = float(LANES * (operands * warp).sum())
    events["CC_H"] = float(warp[program.is_constant[mine]].sum())
    operating = event != NONE
    return Instructions(events, records, int(warp.sum()), int(warp[operating].sum()), int(thread[operating].sum()))


def read_program(trace: Trace) -> Program:
    """The trace's instructions."""
    table, kernels = trace.read("instructions"), trace.read("kernels", ["kernel_id", "source"])
    sources = dict(zip(kernels["kernel_id"].tolist(), kernels["source"].tolist(), strict=True))
    source = [sources[launch] for launch in table["kernel_id"].tolist()]
    rows = list(zip(table["opcode"], table["operation_class"], source, strict=True))
    constants = [
        opcode.partition(".")[0] == "LDC" if of == "sass" else kind == "constant" and opcode.startswith("ld")
        for opcode, kind, of in rows
    ]
    return Program(
        table["kernel_id"], table["block_id"].astype(np.int64), np.array([event_of(*row) for row in rows], object),
        np.array([operands(table, row, of) for row, of in enumerate(source)], np.int64).reshape(-1, 3).T,
        np.array(constants, bool),
    )  # fmt: skip


def operands(table: dict[str, Any], row: int, source: str) -> tuple[int, int, int]:
    """Operands of an instruction: registers read, each once; registers written; immediates, of PTX alone."""
    read = set(registers(table, "source_registers", row))
    written = registers(table, "destination_registers", row)
    if source == "sass":
        return sum(each < SASS_REGISTERS for each in read), sum(each < SASS_REGISTERS for each in written), 0
    text, kind = table["text"][row], table["operation_class"][row]
    guards = 1 if text.startswith("@") and read else 0
    immediates = len(_IMMEDIATE.findall(text)) if kind in _ARITHMETIC else 0
    return len(read) - guards, 0 if kind == "predicate" else len(written), immediates


def registers(table: dict[str, Any], column: str, row: int) -> list[int]:
    """One cell of a ragged column."""
    first, end = table[f"{column}_offset"][row : row + 2].tolist()
    found: list[int] = table[column][int(first) : int(end)].tolist()
    return found


def executions(trace: Trace, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Executions of each instruction by warps, and the threads that executed it: int64[instructions] both.

    A lane that a guard keeps out (table ``predicates``) does not execute. block: block of each instruction.
    """
    count = trace.rows("blocks")
    visits, lanes, kept_out = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(len(block), np.int64)
    tables = {"visits": ["warp_id", "block_id", "active_mask"]}
    if "predicates" in trace.tables:
        tables["predicates"] = ["warp_id", "visit", "instruction_id", "lane_mask"]
    for _, _, rows in trace.warp_batches(trace.batch_bounds(list(tables)), tables):
        visited = rows["visits"]
        expect_below(visited["block_id"], count, trace, "visits, column block_id")
        active = np.bitwise_count(visited["active_mask"]).astype(np.int64)
        visits += np.bincount(visited["block_id"], minlength=count)
        lanes += np.bincount(visited["block_id"], active, count).astype(np.int64)
        if "predicates" in rows:
            guarded = rows["predicates"]
            at = np.searchsorted(visited["warp_id"], guarded["warp_id"]) + guarded["visit"].astype(np.int64)
            expect_below(at, len(active), trace, "predicates, column visit")
            expect_below(guarded["instruction_id"], len(block), trace, "predicates, column instruction_id")
            fewer = active[at] - np.bitwise_count(guarded["lane_mask"])
            kept_out += np.bincount(guarded["instruction_id"], fewer, len(block)).astype(np.int64)
    return visits[block], lanes[block] - kept_out


def expect_below(found: np.ndarray, count: int, trace: Trace, where: str) -> None:
    """``FormatError`` for a row that points to what does not exist."""
    if len(found) and int(found.max()) >= count:
        raise FormatError(f"{trace.path}: table {where}: must be below {count}, not {int(found.max())}")


def fetched_records(trace: Trace) -> dict[int, dict[str, int]]:
    """Launch -> kind of BVH record -> how many its rays fetched; empty without rays."""
    if not {"rays", "nodes"} <= set(trace.tables):
        return {}
    launch_of, kind_of = trace.read("warps", ["kernel_id"])["kernel_id"], trace.read("nodes", ["kind"])["kind"]
    found: dict[int, np.ndarray] = {}
    for rows in trace.batches("rays", ["warp_id", "node"]):
        node = (rows["node"] & (NODE_HIT_BIT - 1)).astype(np.int64)
        expect_below(node, len(kind_of), trace, "rays, column node")
        expect_below(rows["warp_id"], len(launch_of), trace, "rays, column warp_id")
        lengths: np.ndarray = np.diff(rows["node_offset"].astype(np.int64))
        launch = np.repeat(launch_of[rows["warp_id"]], lengths)
        for each in np.unique(launch).tolist():
            counts = np.bincount(kind_of[node[launch == each]], minlength=len(NODE_KINDS))
            found[each] = found.get(each, 0) + counts
    return {each: dict(zip(NODE_KINDS, counts.tolist(), strict=True)) for each, counts in found.items()}
