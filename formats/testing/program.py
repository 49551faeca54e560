"""The programs of generated traces: blocks of PTX-like instructions, with registers and characterisation."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rayplay.formats.schema.trace import MEMORY_CLASSES, RECORDED_SPACES, UNITS

# Opcode -> operation class, memory space, bytes per lane, unit, stall cycles, initiation cycles, has variable latency.
OPCODES: dict[str, tuple[str, str, int, str, int, int, bool]] = {
    "ld.param.u64": ("constant", "param", 8, "int", 4, 2, False),
    "add.s32": ("int", "none", 0, "int", 4, 2, False),
    "fma.rn.f32": ("fp32", "none", 0, "sp", 4, 2, False),
    "sqrt.approx.f32": ("sfu", "none", 0, "sfu", 8, 8, False),
    "setp.lt.s32": ("predicate", "none", 0, "int", 4, 2, False),
    "ld.global.f32": ("load", "global", 4, "lsu", 1, 2, True),
    "st.global.f32": ("store", "global", 4, "lsu", 1, 2, False),
    "ld.local.f32": ("load", "local", 4, "lsu", 1, 2, True),
    "st.shared.f32": ("store", "shared", 4, "lsu", 1, 2, False),
    "ld.shared.f32": ("load", "shared", 4, "lsu", 1, 2, True),
    "ld.v1.f32": ("load", "generic", 4, "lsu", 1, 2, True),
    "atom.global.add.f32": ("atomic", "global", 4, "lsu", 1, 4, True),
    "call.uni.trace": ("trace", "none", 0, "rt", 1, 2, True),
    "bar.sync": ("barrier", "none", 0, "branch", 1, 2, False),
    "filter_shader": ("runtime", "none", 0, "int", 4, 2, False),
    "bra": ("branch", "none", 0, "branch", 1, 2, False),
    "exit": ("exit", "none", 0, "branch", 1, 2, False),
}
# Block -> its opcodes before the arithmetic (`@` marks a predicated one), its last opcode, where its branches meet.
IMAGE_BLOCKS: dict[str, tuple[tuple[str, ...], str, str | None]] = {
    "entry": (("ld.param.u64", "filter_shader"), "bra", "exit"),
    "head": (("setp.lt.s32",), "bra", "call"),
    "then": (("ld.global.f32", "ld.v1.f32"), "bra", "call"),
    "else": (("ld.local.f32",), "bra", "call"),
    "call": (("@ld.global.f32",), "call.uni.trace", "latch"),
    "latch": (("sqrt.approx.f32",), "bra", "exit"),
    "any_hit": (("ld.global.f32",), "bra", "latch"),
    "exit": (("st.global.f32",), "exit", None),
}
COMPUTE_BLOCKS: dict[str, tuple[tuple[str, ...], str, str | None]] = {
    "entry": (("ld.param.u64",), "bra", "body"),
    "body": (("ld.global.f32", "st.shared.f32"), "bar.sync", "after"),
    "after": (("ld.shared.f32", "@atom.global.add.f32"), "bra", "exit"),
    "exit": (("st.global.f32",), "exit", None),
}
ARITHMETIC = ("add.s32", "fma.rn.f32")
LOAD_SLOT, TRACE_SLOT = 0, 1


@dataclass(frozen=True, slots=True)
class MemoryInstruction:
    """An instruction whose addresses are recorded."""

    number: int
    space: str
    predicated: bool


@dataclass(slots=True)
class Program:
    """One launch's program: its blocks in order, and what a walk through them has to record."""

    name: str
    first_block: int
    order: tuple[str, ...]
    recorded: dict[str, list[MemoryInstruction]] = field(default_factory=dict)
    trace_instruction: int | None = None


@dataclass(slots=True)
class Programs:
    """The programs of all launches and their static tables, row by row."""

    programs: list[Program] = field(default_factory=list)
    instructions: list[dict[str, Any]] = field(default_factory=list)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    characterisation: list[dict[str, Any]] = field(default_factory=list)

    def tables(self) -> dict[str, dict[str, Any]]:
        """The columns of ``instructions``, ``blocks`` and ``characterisation``."""
        names = ("instructions", "blocks", "characterisation")
        return {name: columns_of(getattr(self, name)) for name in names}


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows to columns; a list-valued cell makes a ragged column."""
    columns: dict[str, Any] = {}
    for name in rows[0] if rows else ():
        cells = [row[name] for row in rows]
        if isinstance(cells[0], list):
            values = [value for cell in cells for value in cell]
            kind = np.float32 if any(isinstance(value, float) for value in values) else np.uint64
            columns[name] = np.array(values, kind)
            columns[f"{name}_offset"] = np.cumsum([0, *[len(cell) for cell in cells]])
        else:
            columns[name] = cells
    return columns


def make_programs(rng: np.random.Generator, image: bool, compute: bool) -> Programs:
    """The programs of the launches asked for, with a random amount of arithmetic in each block."""
    made = Programs()
    for name, wanted, blocks in (("image", image, IMAGE_BLOCKS), ("compute", compute, COMPUTE_BLOCKS)):
        if wanted:
            _add_program(made, rng, name, blocks)
    return made


def _add_program(
    made: Programs, rng: np.random.Generator, name: str, blocks: dict[str, tuple[tuple[str, ...], str, str | None]]
) -> None:
    program = Program(name, len(made.blocks), tuple(blocks))
    kernel = len(made.programs)
    for block, (memory, last, meets) in blocks.items():
        arithmetic = rng.choice(ARITHMETIC, int(rng.integers(1, 6))).tolist()
        first = len(made.instructions)
        program.recorded[block] = []
        for opcode in (*memory, *arithmetic, last):
            _add_instruction(made, program, rng, block, opcode, kernel)
        made.blocks.append({
            "kernel_id": kernel, "block_id": len(made.blocks), "first_instruction": first,
            "instruction_count": len(made.instructions) - first, "program": name,
            "reconvergence_block": -1 if meets is None else program.first_block + program.order.index(meets),
        })  # fmt: skip
    made.programs.append(program)


def _add_instruction(
    made: Programs, program: Program, rng: np.random.Generator, block: str, marked: str, kernel: int
) -> None:
    number = len(made.instructions)
    predicated, opcode = marked.startswith("@"), marked.removeprefix("@")
    operation_class, space, access_bytes, unit, stall, initiation, variable = OPCODES[opcode]
    target, *sources = (int(register) for register in rng.integers(0, 32, 3))
    writes = operation_class not in ("store", "branch", "exit", "barrier")
    made.instructions.append({
        "kernel_id": kernel, "instruction_id": number, "block_id": len(made.blocks), "opcode": opcode,
        "operation_class": operation_class, "memory_space": space, "access_bytes": access_bytes,
        "destination_registers": [target] if writes else [], "source_registers": sources, "line": number + 1,
        "text": f"{'@%p1 ' * predicated}{opcode} %r{target}, %r{sources[0]}, %r{sources[1]};",
    })  # fmt: skip
    slot = TRACE_SLOT if operation_class == "trace" else LOAD_SLOT
    made.characterisation.append({
        "instruction_id": number, "unit": UNITS.index(unit), "stall_cycles": stall, "initiation_cycles": initiation,
        "scoreboard_slot": slot if variable else -1, "wait_mask": 1 << LOAD_SLOT | 1 << TRACE_SLOT,
    })  # fmt: skip
    if operation_class == "trace":
        program.trace_instruction = number
    if operation_class in MEMORY_CLASSES and space in RECORDED_SPACES:
        program.recorded[block].append(MemoryInstruction(number, space, predicated))
