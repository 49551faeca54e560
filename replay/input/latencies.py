"""Latencies of PTX instructions as a GPU has them, in place of the ones in a trace.

A trace's characterisation has the slots of variable latencies, which do not depend on the GPU, and the stalls of fixed
ones, which do. Each block gives new stalls: it issues in order and as early as its results allow, as when the
trace was written (docs/formats.md, characterisation).
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.schema.trace import UNITS
from rayplay.replay.unit.schema import law, value

ALL = "*"
MEMORY_UNITS = ("lsu", "rt", "texture")
KEPT = ("load", "store", "atomic", "texture", "barrier", "fence", "trace", "exit")
"""Classes whose results come when a unit says so: only rows for a unit of ``MEMORY_UNITS`` are for them."""
MOST_CYCLES = 0xFFFF
NO_SLOT = -1


class Row(NamedTuple):
    """Unit, cycles until a dependent instruction may issue, and cycles that the unit stays busy."""

    pattern: str
    unit: int
    latency_cycles: int
    initiation_cycles: int


@dataclass(frozen=True)
class Spec:
    """Latencies of PTX instructions in the model ``characterised``."""

    of_ptx: tuple[str, ...] = value(
        "rows", "Opcode pattern, unit, cycles to a dependent instruction, cycles of the unit; none: as the trace has it"
    )

    def __post_init__(self) -> None:
        rows = self.rows()
        law(not rows or rows[-1].pattern == ALL, f"the last row of of_ptx must be for {ALL}, not {self.of_ptx[-1:]}")

    def rows(self) -> list[Row]:
        """The rows, in the order in which an opcode is looked up. Raises ``LawError`` for a malformed one."""
        return [_row(text) for text in self.of_ptx]


def _row(text: str) -> Row:
    words = text.split()
    law(
        len(words) == 4 and words[1] in UNITS and all(word.isdecimal() and len(word) < 6 for word in words[2:]),
        f"a row of of_ptx must be PATTERN UNIT LATENCY INITIATION, units {', '.join(UNITS)}, not {text!r}",
    )
    latency, initiation = map(int, words[2:])
    law(
        0 < latency <= MOST_CYCLES and 0 < initiation <= MOST_CYCLES,
        f"cycles of a row of of_ptx must be 1 to {MOST_CYCLES}, not {text!r}",
    )
    return Row(words[0], UNITS.index(words[1]), latency, initiation)


def retimed(
    tables: dict[str, dict[str, Any]], characterisation: dict[str, Any] | None, spec: Spec
) -> dict[str, Any] | None:  # fmt: skip
    """The characterisation with the latencies of ``spec`` for the instructions of PTX kernels.

    tables  columns of ``instructions``, ``blocks`` and ``kernels``.
    """
    rows, instructions = spec.rows(), tables["instructions"]
    count = len(instructions["instruction_id"])
    if not rows or characterisation is None or len(characterisation["unit"]) != count:
        return characterisation
    ptx = tables["kernels"]["source"].astype(str)[instructions["kernel_id"]] != "sass"
    made = {name: np.asarray(column).astype(np.int64) for name, column in characterisation.items()}
    classes, latency = instructions["operation_class"].astype(str), [1] * count
    for row in np.flatnonzero(ptx).tolist():
        found = _chosen(str(instructions["opcode"][row]), classes[row] in KEPT, rows)
        if found is not None:
            latency[row] = found.latency_cycles
            made["unit"][row], made["initiation_cycles"][row] = found.unit, found.initiation_cycles
    written, read = (_lists(instructions, name) for name in ("destination_registers", "source_registers"))
    first = tables["blocks"]["first_instruction"].astype(np.int64)
    ends = first + tables["blocks"]["instruction_count"]
    leaves = classes == "exit"
    for begin, end in zip(first.tolist(), ends.tolist(), strict=True):
        if end <= count and begin < end and ptx[begin]:
            made["stall_cycles"][begin:end] = _stalls(
                range(begin, end), written, read, latency, made["scoreboard_slot"], bool(leaves[end - 1])
            )
    return made


def _chosen(opcode: str, kept: bool, rows: list[Row]) -> Row | None:
    """The first row that fits; None where the trace's unit stays."""
    fitting = (row for row in rows if fnmatchcase(opcode, row.pattern))
    return next((row for row in fitting if not kept or UNITS[row.unit] in MEMORY_UNITS), None)


def _lists(instructions: dict[str, Any], name: str) -> list[list[int]]:
    values, offsets = instructions[name].tolist(), instructions[f"{name}_offset"].tolist()
    return [values[begin:end] for begin, end in pairwise(offsets)]


def _stalls(
    block: range, written: list[list[int]], read: list[list[int]], latency: list[int], slots: np.ndarray, ends: bool
) -> list[int]:
    """Stalls of a block that issues in order, as early as fixed latencies allow; ``ends``: no block follows."""
    ready: dict[int, int] = {}  # when the result under way to a register is there
    stalls, now = [1] * len(block), 0
    for place, index in enumerate(block):
        earliest = now + (place > 0)
        for register in (*read[index], *written[index]):
            earliest = max(earliest, ready.get(register, 0))
        if place:
            stalls[place - 1] = min(earliest - now, MOST_CYCLES)
        now = earliest
        for register in written[index]:
            if slots[index] == NO_SLOT:
                ready[register] = now + latency[index]
            else:
                ready.pop(register, None)
    latest = 0 if ends else max(ready.values(), default=0)
    stalls[-1] = min(max(1, latest - now), MOST_CYCLES)
    return stalls
