"""The static tables of an imported kernel: instructions and blocks, from what its PCs were seen to do."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from formats import sass_classes
from formats.accelsim_flow import STEP_BYTES, Flow, Placed, leaders
from formats.accelsim_parse import MOST_DESTINATIONS
from formats.accelsim_tokens import PREDICATE_REGISTER, UNIFORM_PREDICATE_REGISTER, UNIFORM_REGISTER
from formats.errors import FormatError
from formats.trace import MEMORY_CLASSES, OPERATION_CLASSES, RECORDED_SPACES

ZERO_REGISTER = 255
SENDS_AWAY = ("branch", "barrier", "exit")


@dataclass(frozen=True)
class Policy:
    """What to do with an opcode that ``formats.sass_classes`` does not have: ``error``, ``warn`` or a class."""

    unknown: str = "error"

    def __post_init__(self) -> None:
        if self.unknown not in ("error", "warn") and self.unknown.removeprefix("class=") not in OPERATION_CLASSES:
            classes = ", ".join(OPERATION_CLASSES)
            raise FormatError(f"--unknown must be error, warn or class=CLASS (one of {classes}), not {self.unknown}")

    def class_of(self, opcode: str, place: str) -> str:
        """Operation class of an opcode. Raises ``FormatError`` when it is unknown and must not be."""
        known = sass_classes.CLASSES.get(opcode.partition(".")[0])
        if known is not None:
            return known
        if self.unknown == "error":
            raise FormatError(f"{place}: unknown opcode {opcode}; --unknown warn or --unknown class=int takes it")
        taken = self.unknown.removeprefix("class=") if self.unknown != "warn" else "other"
        if self.unknown == "warn":
            tqdm.write(f"warning: {place}: unknown opcode {opcode} is taken as '{taken}'")
        return taken


@dataclass(frozen=True)
class Opcodes:
    """Every opcode of a kernel, by number."""

    names: list[str]
    classes: list[str]
    spaces: list[str]

    @property
    def sends_away(self) -> np.ndarray:
        """bool[n]: whether control may go elsewhere after it."""
        return np.isin(np.array(self.classes, object), SENDS_AWAY)


def describe(names: list[str], policy: Policy, place: str) -> Opcodes:
    """Classes and memory spaces of opcodes by number."""
    classes = [policy.class_of(name, place) for name in names]
    spaces = [sass_classes.memory_space(name) for name in names]
    for index, kind in enumerate(classes):
        if kind in MEMORY_CLASSES and spaces[index] == "none":
            spaces[index] = "global"
    return Opcodes(names, classes, spaces)


def place_instructions(flow: Flow, opcodes: Opcodes, instructions: int, blocks: int) -> Placed:
    """Numbers of instructions and blocks by PC index, from the given ones on."""
    order, begins = leaders(flow, opcodes.sends_away)
    count = len(flow.opcode)
    instruction, block = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    first, memory, shared = np.zeros(count, bool), np.zeros(count, bool), np.zeros(count, bool)
    instruction[order] = instructions + np.arange(len(order))
    block[order] = blocks + np.cumsum(begins) - 1
    first[order] = begins
    recorded = [
        kind in MEMORY_CLASSES and space in RECORDED_SPACES
        for kind, space in zip(opcodes.classes, opcodes.spaces, strict=True)
    ]
    memory[order] = np.array(recorded, bool)[flow.opcode[order]]
    shared[order] = (np.array(opcodes.spaces, object) == "shared")[flow.opcode[order]]
    return Placed(instruction, block, first, memory, shared)


def instruction_rows(flow: Flow, placed: Placed, opcodes: Opcodes, kernel_id: int, skips: np.ndarray) -> dict[str, Any]:
    """Rows of ``instructions``. skips: bool by PC index, whether a predicate was seen to switch off lanes."""
    order = np.flatnonzero(placed.instruction >= 0)
    numbers = flow.opcode[order]
    registers = [[int(r) for r in row if r >= 0] for row in flow.register[order]]
    split = [int((row[:MOST_DESTINATIONS] >= 0).sum()) for row in flow.register[order]]
    written, read = zip(*((r[:k], r[k:]) for r, k in zip(registers, split, strict=True)), strict=True)
    names = [opcodes.names[number] for number in numbers]
    return {
        "kernel_id": np.full(len(order), kernel_id, np.uint32),
        "instruction_id": placed.instruction[order].astype(np.uint32),
        "block_id": placed.block[order].astype(np.uint32),
        "opcode": np.array(names, object),
        "operation_class": np.array([opcodes.classes[number] for number in numbers], object),
        "memory_space": np.array([opcodes.spaces[number] for number in numbers], object),
        "access_bytes": _access_bytes(flow, placed, order, names),
        **_ragged("destination_registers", written),
        **_ragged("source_registers", read),
        "line": np.zeros(len(order), np.uint32),
        "text": np.array(
            [
                _text(skips[index], *row)
                for index, *row in zip(order, names, written, read, flow.width[order].tolist(), strict=True)
            ],
            object,
        ),
    }  # fmt: skip


def _access_bytes(flow: Flow, placed: Placed, order: np.ndarray, names: list[str]) -> np.ndarray:
    """What the opcode says; Accel-Sim's width column where the table does not know the opcode."""
    known = np.array([sass_classes.access_bytes(name) for name in names], np.uint16)
    return np.where(known == 0, np.where(placed.is_memory[order], flow.width[order], 0), known).astype(np.uint16)


def _ragged(name: str, lists: tuple[list[int], ...]) -> dict[str, np.ndarray]:
    values = [value for row in lists for value in row]
    offsets = np.cumsum([0, *(len(row) for row in lists)])
    return {name: np.array(values, np.uint32), f"{name}_offset": offsets.astype(np.uint64)}


def _text(skips: bool, opcode: str, written: list[int], read: list[int], immediate: int) -> str:
    """The instruction as far as the trace tells; ``@P?`` where a predicate that it does not name was at work."""
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
    """Rows of ``blocks``; where lanes meet again a trace of executed instructions does not say."""
    begins = np.flatnonzero(placed.begins)
    blocks = placed.block[placed.block >= 0]
    return {
        "kernel_id": np.full(len(begins), kernel_id, np.uint32),
        "block_id": placed.block[begins].astype(np.uint32),
        "first_instruction": placed.instruction[begins].astype(np.uint32),
        "instruction_count": np.bincount(blocks - blocks.min()).astype(np.uint32),
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
