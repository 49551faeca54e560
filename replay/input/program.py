"""Static tables of a trace to the integers the schedulers issue from."""

from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.parquet.loose import read_table
from rayplay.formats.schema.trace import CHARACTERISATION, RECORDED_SPACES, UNITS
from rayplay.replay.input import work as op

# Without a characterisation table: unit, stall and initiation cycles of an operation class; a load's result is waited
# for at once. Numbers are from Vulkan-Sim's configurations (docs/sources/vulkan-sim.md#instruction-latencies).
DEFAULTS = {
    "int": ("int", 4, 2), "fp32": ("sp", 4, 2), "fp64": ("dp", 39, 39), "fp16": ("sp", 4, 2), "sfu": ("sfu", 21, 8),
    "load": ("lsu", 1, 1), "store": ("lsu", 1, 1), "atomic": ("lsu", 1, 1), "texture": ("lsu", 1, 4),
    "branch": ("branch", 4, 4), "barrier": ("branch", 1, 1), "fence": ("lsu", 1, 1), "trace": ("rt", 1, 1),
    "matrix": ("tensor", 16, 16), "exit": ("branch", 1, 1),
}  # fmt: skip
OTHER = ("int", 1, 1)


def load_program(
    tables: dict[str, dict[str, Any]], characterisation: dict[str, Any] | None, place: str, textures: int = op.LOAD
) -> op.Program:
    """Join instructions, blocks and characterisation; ``FormatError`` when they do not describe the same program.

    tables            columns of ``instructions`` and ``blocks``.
    characterisation  columns of ``characterisation``; None or empty: the defaults of each operation class.
    textures          kind of texture accesses: LOAD, as others through the L1, or TEXTURE.
    """
    instructions, blocks = tables["instructions"], tables["blocks"]
    count = len(instructions["instruction_id"])
    if characterisation is None or not len(characterisation["unit"]):
        characterisation = default_characterisation(instructions)
    if len(characterisation["unit"]) != count:
        raise FormatError(
            f"{place}: table characterisation must have a row per instruction ({count}),"
            f" not {len(characterisation['unit'])}"
        )
    first, length = block_bounds(instructions, blocks, place)
    kind, fences = kinds(instructions, textures)
    unit = np.where(np.isin(kind, (op.LOAD, op.LOAD_BYPASS, op.TEXTURE)), UNITS.index("lsu"), characterisation["unit"])
    wait = characterisation["wait_mask"].astype(np.int64) | np.where(fences, 1 << op.STORES_SLOT, 0) | op.HELD_BIT
    code = op.pack(
        unit, kind, wait, characterisation["scoreboard_slot"],
        characterisation["stall_cycles"], characterisation["initiation_cycles"],
    )  # fmt: skip
    return op.Program(code, first, length)


def block_bounds(instructions: dict[str, Any], blocks: dict[str, Any], place: str) -> tuple[np.ndarray, np.ndarray]:
    """First instruction and instruction count of each block; ``FormatError`` where there are no such instructions."""
    count = len(instructions["instruction_id"])
    ends = blocks["first_instruction"].astype(np.int64) + blocks["instruction_count"]
    if len(ends) and (ends.max() > count or blocks["instruction_count"].min() < 1):
        row = int(np.argmax((ends > count) | (blocks["instruction_count"] < 1)))
        raise FormatError(
            f"{place}: table blocks, row {row}: must hold instructions below {count}, not up to {ends[row]}"
        )
    return blocks["first_instruction"].astype(np.int64), blocks["instruction_count"].astype(np.int64)


def kinds(instructions: dict[str, Any], textures: int) -> tuple[np.ndarray, np.ndarray]:
    """Kind of each instruction for the engine, and which are memory fences. textures: as in ``load_program``."""
    classes, opcodes = instructions["operation_class"].astype(str), instructions["opcode"].astype(str)
    recorded = np.isin(instructions["memory_space"].astype(str), RECORDED_SPACES)
    kind = np.full(len(classes), op.PLAIN, np.int64)
    for name, code in (("load", op.LOAD), ("store", op.STORE), ("atomic", op.ATOMIC), ("texture", textures)):
        kind[(classes == name) & recorded] = code
    kind[(kind == op.LOAD) & np.array([passes_l1(opcode) for opcode in opcodes], bool)] = op.LOAD_BYPASS
    kind[(kind == op.ATOMIC) & np.isin(np.char.lower(opcodes.astype("U3")), ("red",))] = op.REDUCTION
    of_a_cta = (
        (classes == "barrier") & ~np.char.startswith(opcodes, "bar.warp") & (np.char.find(opcodes, ".arrive") < 0)
    )
    kind[of_a_cta] = op.BARRIER
    return kind, classes == "fence"


def passes_l1(opcode: str) -> bool:
    """Whether a load must see what other SMs wrote: GPU-wide or volatile, or, in PTX, cached in the L2 only."""
    if opcode.isupper():  # SASS; with .STRONG.SYS or .CG Accel-Sim still looks into the L1
        return {"STRONG", "GPU"} <= set(opcode.split("."))
    parts = opcode.lower().split(".")
    shared = bool({"relaxed", "acquire"} & set(parts)) and bool({"gpu", "sys"} & set(parts))
    return shared or bool({"volatile", "cg", "cv"} & set(parts[1:]))


def default_characterisation(instructions: dict[str, Any]) -> dict[str, np.ndarray]:
    """A characterisation from the operation classes alone: every load is waited for by the next instruction."""
    classes = instructions["operation_class"].astype(str)
    rows = [DEFAULTS.get(name, OTHER) for name in classes]
    loads = np.isin(classes, ("load", "atomic", "texture"))
    wait = np.zeros(len(rows), np.int64)
    wait[1:] = loads[:-1]
    after = np.asarray(instructions["block_id"])
    starts = np.ones(len(rows), bool)
    starts[1:] = after[1:] != after[:-1]
    return {
        "unit": np.array([UNITS.index(row[0]) for row in rows], np.int64),
        "stall_cycles": np.array([row[1] for row in rows], np.int64),
        "initiation_cycles": np.array([row[2] for row in rows], np.int64),
        "scoreboard_slot": np.where(loads, 0, -1),
        "wait_mask": (wait.astype(bool) | starts | loads).astype(np.int64),
    }


def read_characterisation(trace: Trace, path: Path | str | None) -> dict[str, Any] | None:
    """The characterisation of the trace's instructions: its own table, or a Parquet file of the same columns."""
    if path is None:
        return trace.read("characterisation") if "characterisation" in trace.tables else None
    if not Path(path).is_file():
        raise UserError(f"{path}: no such characterisation file")
    return read_table(Path(path), CHARACTERISATION)
