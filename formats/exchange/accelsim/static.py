"""Static tables of an imported kernel: instructions and blocks, reconstructed from their executions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from rayplay.formats.exchange.accelsim import sass_classes
from rayplay.formats.exchange.accelsim.flow import Flow, Placed, leaders
from rayplay.formats.exchange.accelsim.parse import MOST_DESTINATIONS
from rayplay.formats.exchange.accelsim.program import Program, Seen
from rayplay.formats.exchange.accelsim.tokens import PREDICATE_REGISTER, UNIFORM_PREDICATE_REGISTER, UNIFORM_REGISTER
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.schema.trace import MEMORY_CLASSES, OPERATION_CLASSES, RECORDED_SPACES

ZERO_REGISTER = 255
ACCEL_SIM_CLASSES = {
    "sp": "fp32", "int": "int", "alu": "move", "sfu": "sfu", "dp": "fp64", "spec1": "branch", "bra": "branch",
    "spec3": "matrix", "tensor": "matrix", "load": "load", "store": "store", "bar": "barrier", "membar": "fence",
    "exit": "exit",
}  # fmt: skip
"""Ours, by Accel-Sim's name (docs/sources/accel-sim.md#opcode-classes). Its spec2 and spec4 are missing: none of ours
goes to the texture or the uniform unit for an opcode that no table has."""
SENDS_AWAY = ("branch", "barrier", "exit")
STEP_BYTES = 8
"""PCs of any architecture are multiples of it."""


@dataclass(frozen=True)
class Policy:
    """Policy for an opcode that ``sass_classes`` lacks: ``error``, ``warn``, ``class=CLASS``.

    CLASS is one of Rayplay's or Accel-Sim's (``ACCEL_SIM_CLASSES``), in any case.
    """

    unknown: str = "error"

    def __post_init__(self) -> None:
        if self.unknown not in ("error", "warn") and self.taken not in OPERATION_CLASSES:
            theirs, ours = ", ".join(map(str.upper, ACCEL_SIM_CLASSES)), ", ".join(OPERATION_CLASSES)
            raise FormatError(
                f"--unknown must be error, warn or class=CLASS (one of {ours}, or Accel-Sim's {theirs}, in any case), "
                f"not {self.unknown}"
            )

    @property
    def taken(self) -> str:
        """The operation class of unknown opcodes; no class at all where ``unknown`` names none."""
        if self.unknown == "warn":
            return "other"
        prefix, _, name = self.unknown.lower().partition("=")
        return ACCEL_SIM_CLASSES.get(name, name) if prefix == "class" else ""

    def class_of(self, opcode: str, place_of: Callable[[str], str]) -> str:
        """Operation class of an opcode. Raises ``FormatError`` when it is unknown and must not be."""
        known = sass_classes.CLASSES.get(opcode.partition(".")[0])
        if known is not None:
            return known
        if self.unknown == "error":
            raise FormatError(
                f"{place_of(opcode)}: unknown opcode {opcode}; --unknown warn or --unknown class=INT takes it"
            )
        if self.unknown == "warn":
            tqdm.write(f"warning: {place_of(opcode)}: unknown opcode {opcode} is taken as '{self.taken}'")
        return self.taken


@dataclass(frozen=True)
class Opcodes:
    """Every opcode of a kernel, by number."""

    names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()

    @property
    def sends_away(self) -> np.ndarray:
        """bool[n]: whether control may go elsewhere after it."""
        return np.isin(np.array(self.classes, object), SENDS_AWAY)

    @property
    def is_recorded(self) -> np.ndarray:
        """bool[n]: whether the addresses of its accesses belong in the trace."""
        pairs = zip(self.classes, self.spaces, strict=True)
        return np.array([kind in MEMORY_CLASSES and space in RECORDED_SPACES for kind, space in pairs], bool)

    @property
    def keeps_width(self) -> np.ndarray:
        """bool[n]: whether the width or immediate of a line is kept: DEPBAR's, and where no table knows the width."""
        unknown = [sass_classes.access_bytes(name) == 0 for name in self.names]
        waits = [name.startswith("DEPBAR") for name in self.names]
        return (self.is_recorded & np.array(unknown, bool)) | np.array(waits, bool)


def describe(
    names: list[str], policy: Policy, place_of: Callable[[str], str], known: Opcodes, architecture: int
) -> Opcodes:
    """Classes and memory spaces of opcodes by number, of which the first are ``known``.

    place_of      gives the place of an opcode, for messages.
    architecture  their instruction set, by the number of ``sm_75``.
    """
    new = names[len(known.names) :]
    classes = [policy.class_of(name, place_of) for name in new]
    spaces = [sass_classes.memory_space(name, architecture) for name in new]
    for index, kind in enumerate(classes):
        if kind in MEMORY_CLASSES and spaces[index] == "none":
            spaces[index] = "global"
    return Opcodes(tuple(names), (*known.classes, *classes), (*known.spaces, *spaces))


def place_instructions(flow: Flow, program: Program, opcodes: Opcodes, instructions: int, blocks: int) -> Placed:
    """Numbers of instructions and blocks in the tables, from the given ones on."""
    opcode, order = program.rows().opcode, program.order()
    begins = leaders(flow, order, opcodes.sends_away[opcode])
    instruction, block = np.zeros((2, program.count), np.int64)
    first = np.zeros(program.count, bool)
    instruction[order] = instructions + np.arange(len(order))
    block[order] = blocks + np.cumsum(begins) - 1
    first[order] = begins
    shared = np.array([space == "shared" for space in opcodes.spaces], bool)
    return Placed(order, instruction, block, first, opcodes.is_recorded[opcode], shared[opcode])


def instruction_rows(
    program: Program, placed: Placed, opcodes: Opcodes, kernel_id: int, skips: np.ndarray, architecture: int
) -> dict[str, Any]:
    """Rows of ``instructions``. skips: bool by number, whether a predicate was seen to switch off lanes."""
    seen, order = program.rows(), placed.order
    numbers = seen.opcode[order]
    registers = [[int(r) for r in row if r >= 0] for row in seen.register[order]]
    split = [int((row[:MOST_DESTINATIONS] >= 0).sum()) for row in seen.register[order]]
    written, read = zip(*((r[:k], r[k:]) for r, k in zip(registers, split, strict=True)), strict=True)
    names, pcs = [opcodes.names[number] for number in numbers], seen.pc[order].tolist()
    return {
        "kernel_id": np.full(len(order), kernel_id, np.uint32),
        "instruction_id": placed.instruction[order].astype(np.uint32),
        "block_id": placed.block[order].astype(np.uint32),
        "opcode": np.array(names, object),
        "operation_class": np.array([opcodes.classes[number] for number in numbers], object),
        "memory_space": np.array([opcodes.spaces[number] for number in numbers], object),
        "access_bytes": _access_bytes(seen, placed, names),
        **_ragged("destination_registers", written),
        **_ragged("source_registers", read),
        "line": np.zeros(len(order), np.uint32),
        "text": np.array(
            [
                _text(skips[index], *row)
                + sass_classes.pc_mark(pc, following)
                + sass_classes.mark(opcodes.classes[number], architecture)
                for index, number, pc, following, *row in zip(
                    order, numbers, pcs, [0, *(pc + sass_classes.PC_BYTES for pc in pcs[:-1])], names, written, read,
                    seen.width[order].tolist(), strict=True,
                )
            ],
            object,
        ),
    }  # fmt: skip


def _access_bytes(seen: Seen, placed: Placed, names: list[str]) -> np.ndarray:
    """Access width by the opcode; Accel-Sim's width column where the table does not know the opcode."""
    known = np.array([sass_classes.access_bytes(name) for name in names], np.uint16)
    width = np.where(placed.is_memory, seen.width, 0)[placed.order]
    return np.where(known == 0, width, known).astype(np.uint16)


def _ragged(name: str, lists: tuple[list[int], ...]) -> dict[str, np.ndarray]:
    values = [value for row in lists for value in row]
    offsets = np.cumsum([0, *(len(row) for row in lists)])
    return {name: np.array(values, np.uint32), f"{name}_offset": offsets.astype(np.uint64)}


def _text(skips: bool, opcode: str, written: list[int], read: list[int], immediate: int) -> str:
    """The instruction as far as the trace tells; ``@P?`` for a predicate that the trace does not name."""
    operands = [register_name(register) for register in (*written, *read)]
    if opcode.startswith("DEPBAR"):
        operands.append(f"{immediate:#x}")
    return f"{'@P? ' if skips else ''}{opcode} {', '.join(operands)}".strip()


def register_name(number: int) -> str:
    """R7, RZ, UR7, P7 or UP7."""
    if number == ZERO_REGISTER:
        return "RZ"
    for first, letters in (
        (UNIFORM_PREDICATE_REGISTER, "UP"), (PREDICATE_REGISTER, "P"), (UNIFORM_REGISTER, "UR"),
    ):  # fmt: skip
        if number >= first:
            return f"{letters}{number - first}"
    return f"R{number}"


def block_rows(placed: Placed, kernel_id: int, name: str) -> dict[str, Any]:
    """Rows of ``blocks``; the reconvergence block is unknown in a trace of executed instructions."""
    begins = placed.order[placed.begins[placed.order]]
    return {
        "kernel_id": np.full(len(begins), kernel_id, np.uint32),
        "block_id": placed.block[begins].astype(np.uint32),
        "first_instruction": placed.instruction[begins].astype(np.uint32),
        "instruction_count": np.bincount(placed.block - placed.block.min()).astype(np.uint32),
        "reconvergence_block": np.full(len(begins), -1, np.int32),
        "program": np.array([name] * len(begins), object),
    }


def check_pcs(pc: np.ndarray, place: str, most: int) -> None:
    """Raises ``FormatError`` for a PC that is no multiple of 8 or too large."""
    wrong = (pc % STEP_BYTES != 0) | (pc < 0) | (pc >= most * STEP_BYTES)
    if wrong.any():
        raise FormatError(
            f"{place}: a PC must be a multiple of 8 below {most * STEP_BYTES:#x}, found {pc[wrong][0]:#x}"
        )
