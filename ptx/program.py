"""All functions of one launch together: the numbering of a trace's blocks and instructions, and the static tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.trace import UNITS
from rayplay.ptx.flow.language import build, describe, require_rows
from rayplay.ptx.flow.liveness import register_count
from rayplay.ptx.graph import END, Cfg
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.timing.characterise import Characterisation
from rayplay.ptx.timing.control_codes import characterise_function
from rayplay.ptx.timing.pipelines import pipeline as pipeline_named

TRACE_PROGRAM_PREFIXES = ("__closesthit__", "__anyhit__", "__intersection__", "__miss__")

Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Program:
    """Functions of one launch, in the order given to ``link``.

    Block ``b`` of function ``i`` has id ``block_base[i] + b`` and its instruction at index ``k`` of the body has id
    ``instruction_base[i] + k``. Register names are numbered from 0 over all functions, in the order of first use.
    """

    functions: tuple[Function, ...]
    modules: tuple[Module, ...]
    cfgs: tuple[Cfg, ...]
    block_base: tuple[int, ...]
    instruction_base: tuple[int, ...]
    kernel_id: int

    @property
    def registers_per_thread(self) -> int:
        """32-bit registers a thread holds: the most that any one of the functions needs."""
        return max(register_count(f, c) for f, c in zip(self.functions, self.cfgs, strict=True))

    @property
    def source(self) -> str:
        """The language of the instructions, as the table ``kernels`` has it: ``ptx`` or ``sass``."""
        return self.functions[0].language if self.functions else "ptx"

    @property
    def entered_by_trace(self) -> list[bool]:
        """Per function whether a trace call can run it."""
        return [f.is_entry and f.name.startswith(TRACE_PROGRAM_PREFIXES) for f in self.functions]

    def tables(self, pipeline: str = "rtx2060") -> dict[str, Columns]:
        """Columns of the tables ``instructions``, ``blocks`` and ``characterisation`` (``formats/schema/trace.py``).

        ``pipeline`` is for PTX; SASS has its control codes, or the latencies of its architecture.
        Ragged columns are ``x`` with ``x_offset`` (uint64, rows + 1). Raises UserError for an unknown pipeline.
        """
        chosen = pipeline_named(pipeline)
        characterised = [
            characterise_function(function, cfg, chosen, entered)
            for function, cfg, entered in zip(self.functions, self.cfgs, self.entered_by_trace, strict=True)
        ]
        return {
            "instructions": self._instructions(),
            "blocks": self._blocks(),
            "characterisation": _characterisation(characterised, self.instruction_base[0] if self.functions else 0),
        }

    def _instructions(self) -> Columns:
        rows: dict[str, list[Any]] = {name: [] for name in (
            "block_id", "opcode", "operation_class", "memory_space", "access_bytes", "line", "text",
        )}  # fmt: skip
        destinations, sources = _Ragged(), _Ragged()
        numbers: dict[tuple[int, str], int] = {}
        for number, (function, cfg) in enumerate(zip(self.functions, self.cfgs, strict=True)):
            for block, extent in enumerate(cfg.blocks):
                rows["block_id"] += [self.block_base[number] + block] * extent.count
            for instruction in function.body:
                description = describe(instruction, function)
                rows["opcode"].append(instruction.full_opcode)
                rows["operation_class"].append(description.operation_class)
                rows["memory_space"].append(description.memory_space)
                rows["access_bytes"].append(description.access_bytes)
                rows["line"].append(instruction.position.line)
                rows["text"].append(instruction.text)
                for column, names in ((destinations, description.destinations), (sources, description.sources)):
                    column.append([numbers.setdefault((number, name), len(numbers)) for name in names])
        count = len(rows["opcode"])
        first = self.instruction_base[0] if self.functions else 0
        return {
            "kernel_id": np.full(count, self.kernel_id, np.uint32),
            "instruction_id": np.arange(first, first + count, dtype=np.uint32),
            "block_id": np.array(rows["block_id"], np.uint32),
            "opcode": np.array(rows["opcode"], object),
            "operation_class": np.array(rows["operation_class"], object),
            "memory_space": np.array(rows["memory_space"], object),
            "access_bytes": np.array(rows["access_bytes"], np.uint16),
            **destinations.columns("destination_registers"),
            **sources.columns("source_registers"),
            "line": np.array(rows["line"], np.uint32),
            "text": np.array(rows["text"], object),
        }

    def _blocks(self) -> Columns:
        blocks, first, count, reconvergence, program = [], [], [], [], []
        for number, (function, cfg) in enumerate(zip(self.functions, self.cfgs, strict=True)):
            for block, extent in enumerate(cfg.blocks):
                meets = cfg.reconvergence[block]
                blocks.append(self.block_base[number] + block)
                first.append(self.instruction_base[number] + extent.first)
                count.append(extent.count)
                reconvergence.append(END if meets == END else self.block_base[number] + meets)
                program.append(function.name)
        return {
            "kernel_id": np.full(len(blocks), self.kernel_id, np.uint32),
            "block_id": np.array(blocks, np.uint32),
            "first_instruction": np.array(first, np.uint32),
            "instruction_count": np.array(count, np.uint32),
            "reconvergence_block": np.array(reconvergence, np.int32),
            "program": np.array(program, object),
        }


class _Ragged:
    """A ragged column under construction."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.offsets = [0]

    def append(self, values: list[int]) -> None:
        self.values += values
        self.offsets.append(len(self.values))

    def columns(self, name: str) -> Columns:
        return {name: np.array(self.values, np.uint32), f"{name}_offset": np.array(self.offsets, np.uint64)}


def link(
    functions: Sequence[tuple[Module, Function]], kernel_id: int = 0, first_block: int = 0, first_instruction: int = 0
) -> Program:
    """Number the blocks and instructions of the functions that one launch can run.

    ``first_block`` and ``first_instruction`` are where a launch after others starts to count. Raises UserError, with
    file and line, for a branch to a label that does not exist and for an opcode without a row in the opcode table.
    """
    block_base, instruction_base, cfgs = [], [], []
    for module, function in functions:
        try:
            cfg = build(function)
            require_rows(function)
        except UserError as error:
            raise UserError(f"{module.source_name}: {error}") from None
        cfgs.append(cfg)
        block_base.append(first_block)
        instruction_base.append(first_instruction)
        first_block += len(cfg.blocks)
        first_instruction += len(function.body)
    return Program(
        tuple(f for _, f in functions), tuple(m for m, _ in functions), tuple(cfgs), tuple(block_base),
        tuple(instruction_base), kernel_id,
    )  # fmt: skip


def _characterisation(parts: list[Characterisation], first: int) -> Columns:
    units = [UNITS.index(unit) for part in parts for unit in part.unit]
    return {
        "instruction_id": np.arange(first, first + len(units), dtype=np.uint32),
        "unit": np.array(units, np.uint8),
        "stall_cycles": np.array([value for part in parts for value in part.stall_cycles], np.uint16),
        "initiation_cycles": np.array([value for part in parts for value in part.initiation_cycles], np.uint16),
        "scoreboard_slot": np.array([value for part in parts for value in part.scoreboard_slot], np.int8),
        "wait_mask": np.array([value for part in parts for value in part.wait_mask], np.uint8),
    }
