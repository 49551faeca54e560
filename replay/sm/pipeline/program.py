"""Static tables of a trace to what the pipelined SM issues: class, latency, initiation and registers.

A SASS instruction goes to the unit that the table of its instruction set names, a PTX instruction to its class's unit
(``docs/sources/accel-sim.md#opcode-classes``). EXIT and barriers pass the integer unit in one cycle.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from rayplay.formats.exchange.accelsim import sass_classes
from rayplay.formats.exchange.accelsim.sass_classes import spared_groups
from rayplay.formats.guard.errors import FormatError
from rayplay.replay.input import work as op
from rayplay.replay.input.program import block_bounds, kinds
from rayplay.replay.memory import texture as texture_unit
from rayplay.replay.sm.pipeline import state as pipe

MOST_DESTINATIONS = 255
UNIT_OF_CLASS = {
    "fp32": "sp", "fp16": "sp", "fp64": "dp", "sfu": "sfu", "branch": "branch", "trace": "rt", "matrix": "tensor",
}  # fmt: skip
HALF_RATE = ("HADD2", "HADD2_32I", "HFMA2", "HFMA2_32I", "HMUL2_32I", "HSET2", "HSETP2")  # of class fp16
QUICK = ("exit", "barrier")
# Opcodes of asynchronous copies (as they begin), of the end of a group of them, and of the wait for groups.
COPIES, COMMITS, AWAITS = ("LDGSTS", "cp.async.c"), ("LDGDEPBAR", "cp.async.commit"), ("DEPBAR", "cp.async.wait")


def load_pipeline_program(
    columns: dict[str, dict[str, Any]], spec: pipe.Spec, texture: texture_unit.Spec, banks: int, place: str
) -> tuple[op.Program, pipe.Tables]:
    """Join instructions and blocks; ``FormatError`` when they do not describe the same program.

    columns  columns of ``instructions``, ``blocks`` and ``kernels``.
    banks    register banks of a scheduler.
    """
    instructions = columns["instructions"]
    first, length = block_bounds(instructions, columns["blocks"], place)
    count = len(instructions["instruction_id"])
    if count >= 1 << pipe.INSTRUCTION_BITS:
        raise FormatError(
            f"{place}: table instructions must have fewer than {1 << pipe.INSTRUCTION_BITS} rows, not {count}"
        )
    from_sass = columns["kernels"]["source"].astype(str)[instructions["kernel_id"]] == "sass"
    kind = memory_kinds(instructions, from_sass, texture)
    unit = units(instructions, kind, from_sass)
    latency, initiation = timing(instructions, unit, spec)
    written, read = registers(instructions, kind, from_sass, spec.wide_loads == "all")
    destinations = np.array([len(found) for found in written], np.int64)
    if destinations.max(initial=0) > MOST_DESTINATIONS:
        raise FormatError(f"{place}: an instruction must write at most {MOST_DESTINATIONS} registers")
    kind, groups = copy_groups(instructions, kind)
    code = (
        unit | kind << op.KIND_SHIFT | latency << op.LATENCY_SHIFT | destinations << op.DESTINATIONS_SHIFT
        | initiation << op.INITIATION_SHIFT | (instructions["memory_space"].astype(str) == "shared") << op.SHARED_SHIFT
        | groups << op.GROUPS_SHIFT
    )  # fmt: skip
    every = [[*out, *into] for out, into in zip(written, read, strict=True)]
    starts = np.cumsum([0, *(len(found) for found in every)])
    numbers = np.array([number for found in every for number in found], np.int32)
    bit, words = places(every, instructions["kernel_id"])
    tables = pipe.Tables(
        code, numbers, starts,
        np.array([bits(found) for found in bit], np.int64),
        np.array([bits(found[:count]) for found, count in zip(bit, destinations, strict=True)], np.int64),
        np.array([reads_per_bank(found, banks) for found in read], np.uint64).view(np.int64), words,
        bool(groups.any() or np.isin(kind, (op.COMMIT, op.AWAIT)).any()),
    )  # fmt: skip
    return op.Program(code, first, length), tables


def memory_kinds(instructions: dict[str, Any], from_sass: np.ndarray, texture: texture_unit.Spec) -> np.ndarray:
    """Kind of each instruction for the engine: ``program.kinds``, and fences."""
    kind, fences = kinds(instructions, op.LOAD if texture.path == "l1" else op.TEXTURE)
    opcode = instructions["opcode"].astype(str)
    waits = ~from_sass | np.char.startswith(opcode, "MEMBAR") | np.char.startswith(opcode, "FENCE")
    kind[fences & waits] = op.FENCE
    if not texture.sass_accesses:
        kind[from_sass & (instructions["operation_class"].astype(str) == "texture")] = op.PLAIN
    return kind


def copy_groups(instructions: dict[str, Any], kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kinds, groups of asynchronous copies included, and the field GROUPS of each instruction.

    Of a copy that is 1, of a wait the number of the latest groups that it does not wait for.
    """
    opcode, kind, groups = instructions["opcode"].astype(str), kind.copy(), np.zeros(len(kind), np.int64)
    copies, commits, awaits = (
        np.logical_or.reduce([np.char.startswith(opcode, name) for name in names])
        for names in (COPIES, COMMITS, AWAITS)
    )
    groups[copies & np.isin(kind, (op.LOAD, op.LOAD_BYPASS))] = 1
    kind[commits], kind[awaits] = op.COMMIT, op.AWAIT
    for row in np.flatnonzero(awaits):
        groups[row] = min(spared_groups(opcode[row], str(instructions["text"][row])), op.MOST_GROUPS)
    return kind, groups


def units(instructions: dict[str, Any], kind: np.ndarray, from_sass: np.ndarray) -> np.ndarray:
    """Class of each instruction, a place in ``CLASSES``."""
    classes, opcodes = instructions["operation_class"].astype(str), instructions["opcode"].astype(str)
    architecture = instruction_sets(instructions)[instructions["kernel_id"]]
    quick = is_quick(classes, opcodes)
    found = np.full(len(classes), pipe.INT, np.int64)
    for row in np.flatnonzero(~quick):
        name, opcode = classes[row], opcodes[row]
        known = from_sass[row] and opcode.partition(".")[0] in sass_classes.CLASSES
        unit = sass_classes.unit(opcode, architecture[row]) if known else UNIT_OF_CLASS.get(name, "int")
        found[row] = pipe.INT if unit == "lsu" else pipe.CLASSES.index(unit)
    found[(kind != op.PLAIN) & ~quick] = pipe.MEMORY
    return np.where(np.isin(classes, "texture") & (kind == op.PLAIN) & ~from_sass, pipe.TEXTURE, found)


def is_quick(classes: np.ndarray, opcodes: np.ndarray) -> np.ndarray:
    """Instructions that pass the integer unit in one cycle: ends of threads and barriers, but not KILL."""
    return np.isin(classes, QUICK) & ~np.char.startswith(opcodes, "KILL")


def instruction_sets(instructions: dict[str, Any]) -> np.ndarray:
    """Instruction set of each kernel, as imported SASS is marked with it."""
    kernels = instructions["kernel_id"].astype(np.int64)
    found = np.full(int(kernels.max(initial=-1)) + 1, sass_classes.FIRST_OF_LAST_TABLE, np.int64)
    for row in np.flatnonzero(instructions["operation_class"].astype(str) == "exit"):
        found[kernels[row]] = min(found[kernels[row]], sass_classes.marked(str(instructions["text"][row])))
    return found


def timing(instructions: dict[str, Any], unit: np.ndarray, spec: pipe.Spec) -> tuple[np.ndarray, np.ndarray]:
    """Latency and initiation cycles of each instruction."""
    times = [(1, 1) if name in ("lsu", "rt") else spec.timing(name) for name in pipe.CLASSES]
    latency, initiation = (np.array([pair[part] for pair in times], np.int64)[unit] for part in (0, 1))
    classes, opcodes = instructions["operation_class"].astype(str), instructions["opcode"].astype(str)
    quick = is_quick(classes, opcodes)
    latency[quick], initiation[quick] = 1, 1
    base = np.array([opcode.partition(".")[0] for opcode in opcodes])
    half = (unit == pipe.SP) & (np.isin(base, HALF_RATE) | (np.char.islower(opcodes) & (classes == "fp16")))
    initiation[half] = np.maximum(initiation[half] // 2, 1)
    return latency, initiation


def registers(
    instructions: dict[str, Any], kind: np.ndarray, from_sass: np.ndarray, whole: bool
) -> tuple[list[list[int]], list[list[int]]]:
    """Registers each instruction writes and reads; with ``whole``, all that a wide SASS load writes."""
    lists = []
    for name in ("destination_registers", "source_registers"):
        values, offset = instructions[name].tolist(), instructions[f"{name}_offset"].tolist()
        lists.append([values[begin:end] for begin, end in pairwise(offset)])
    written, read = lists
    wide = from_sass & np.isin(kind, (op.LOAD, op.LOAD_BYPASS)) & (instructions["access_bytes"] > 4)
    for row in np.flatnonzero(wide) if whole else ():
        words = int(instructions["access_bytes"][row]) // 4
        written[row] = [number + word for number in written[row] for word in range(words)]
    return [list(dict.fromkeys(found)) for found in written], read


def places(every: list[list[int]], kernels: np.ndarray) -> tuple[list[list[int]], int]:
    """Bits for the registers of each instruction, and the words of 64 bits that tell all registers of a warp apart.

    Where no kernel names more than 64 registers, a register's bit is its index among its kernel's registers.
    """
    known: dict[int, dict[int, int]] = {}
    for kernel, found in zip(kernels.tolist(), every, strict=True):
        place = known.setdefault(kernel, {})
        for number in found:
            place.setdefault(number, len(place))
    if all(len(place) <= 64 for place in known.values()):
        return [[known[kernel][n] for n in found] for kernel, found in zip(kernels.tolist(), every, strict=True)], 1
    return every, max(number for found in every for number in found) // 64 + 1


def bits(numbers: list[int]) -> int:
    """A set of registers, bit = number & 63, as a signed number."""
    mask = 0
    for number in numbers:
        mask |= 1 << (number & 63)
    return mask - (1 << 64) if mask >> 63 else mask


def reads_per_bank(numbers: list[int], banks: int) -> int:
    """How often each bank is read, a byte per bank, for a warp 0: register r is in bank (r + 1) mod banks.

    A register that is named twice is read once.
    """
    packed = 0
    for number in set(numbers):
        packed += 1 << 8 * ((number + 1) % banks)
    return packed
