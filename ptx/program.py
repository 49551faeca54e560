"""All functions of one launch together: the numbering of a trace's blocks and instructions, and the static tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.trace import UNITS
from rayplay.ptx.flow.language import build, describe, require_rows
from rayplay.ptx.flow.liveness import register_count
from rayplay.ptx.flow.spin import with_turns
from rayplay.ptx.graph import END, Cfg
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.timing.characterise import Characterisation
from rayplay.ptx.timing.control_codes import characterise_function
from rayplay.ptx.timing.pipelines import pipeline as pipeline_named

TRACE_PROGRAM_PREFIXES = ("__closesthit__", "__anyhit__", "__intersection__", "__miss__")

Columns = dict[str, Any]


@dataclass(frozen=True)
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
    _tables: dict[str, dict[str, Columns]] = field(default_factory=dict, repr=False, compare=False)  # by pipeline

    @cached_property
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

        Launch, blocks and instructions count from 0 (``numbered``). ``pipeline`` is for PTX; SASS has its control
        codes, or the latencies of its architecture.
        Ragged columns are ``x`` with ``x_offset`` (uint64, rows + 1). Raises UserError for an unknown pipeline.
        """
        if pipeline not in self._tables:
            self._tables[pipeline] = self._made_tables(pipeline)
        return self._tables[pipeline]

    def _made_tables(self, pipeline: str) -> dict[str, Columns]:
        chosen = pipeline_named(pipeline)
        characterised = [
            characterise_function(function, cfg, chosen, entered)
            for function, cfg, entered in zip(self.functions, self.cfgs, self.entered_by_trace, strict=True)
        ]
        return {
            "instructions": self._instructions(),
            "blocks": self._blocks(),
            "characterisation": _characterisation(characterised),
        }

    def _instructions(self) -> Columns:
        described = [describe(i, function) for function in self.functions for i in function.body]
        body = [i for function in self.functions for i in function.body]
        owner = np.repeat(np.arange(len(self.functions)), [len(function.body) for function in self.functions]).tolist()
        blocks = [base + block for base, cfg in zip(self.block_base, self.cfgs, strict=True)
                  for block, extent in enumerate(cfg.blocks) for _ in range(extent.count)]  # fmt: skip
        destinations, sources = _Ragged(), _Ragged()
        numbers: dict[tuple[int, str], int] = {}
        for function, description in zip(owner, described, strict=True):
            for column, names in ((destinations, description.destinations), (sources, description.sources)):
                column.append([numbers.setdefault((function, name), len(numbers)) for name in names])
        return {
            "kernel_id": np.zeros(len(body), np.uint32),
            "instruction_id": np.arange(len(body), dtype=np.uint32),
            "block_id": np.array(blocks, np.uint32),
            "opcode": np.array([i.full_opcode for i in body], object),
            "operation_class": np.array([d.operation_class for d in described], object),
            "memory_space": np.array([d.memory_space for d in described], object),
            "access_bytes": np.array([d.access_bytes for d in described], np.uint16),
            **destinations.columns("destination_registers"),
            **sources.columns("source_registers"),
            "line": np.array([i.position.line for i in body], np.uint32),
            "text": np.array([i.text for i in body], object),
        }

    def _blocks(self) -> Columns:
        found = [
            (base + number, start + block.first, block.count, END if meets == END else base + meets, function.name)
            for function, cfg, base, start in zip(
                self.functions, self.cfgs, self.block_base, self.instruction_base, strict=True
            )
            for number, (block, meets) in enumerate(zip(cfg.blocks, cfg.reconvergence, strict=True))
        ]
        blocks, first, count, reconvergence, program = zip(*found, strict=True) if found else ((),) * 5
        return {
            "kernel_id": np.zeros(len(found), np.uint32),
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


def numbered(tables: dict[str, Columns], kernel: int, blocks: int, instructions: int) -> dict[str, Columns]:
    """The tables of a program as launch ``kernel`` of a trace, which holds ``blocks`` and ``instructions`` before."""
    first = {"kernel_id": kernel, "block_id": blocks, "first_instruction": instructions, "instruction_id": instructions}
    moved = {
        table: {name: column + np.uint32(first[name]) if name in first else column for name, column in columns.items()}
        for table, columns in tables.items()
    }
    meets = moved["blocks"]["reconvergence_block"]
    moved["blocks"]["reconvergence_block"] = np.where(meets == END, meets, meets + np.int32(blocks))
    return moved


def link(functions: Sequence[tuple[Module, Function]]) -> Program:
    """Number the blocks and instructions of the functions that one launch can run.

    Raises UserError, with file and line, for a branch to a label that does not exist and for an opcode without a row
    in the opcode table.
    """
    block_base, instruction_base, cfgs = [], [], []
    first_block = first_instruction = 0
    for module, function in functions:
        try:
            cfg = with_turns(module, function)[0] if module.language == "ptx" else build(function)
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
        tuple(instruction_base),
    )  # fmt: skip


def _characterisation(parts: list[Characterisation]) -> Columns:
    def column(name: str) -> list[Any]:
        return [value for part in parts for value in getattr(part, name)]

    units = [UNITS.index(unit) for unit in column("unit")]
    return {
        "instruction_id": np.arange(len(units), dtype=np.uint32),
        "unit": np.array(units, np.uint8),
        "stall_cycles": np.array(column("stall_cycles"), np.uint16),
        "initiation_cycles": np.array(column("initiation_cycles"), np.uint16),
        "scoreboard_slot": np.array(column("scoreboard_slot"), np.int8),
        "wait_mask": np.array(column("wait_mask"), np.uint8),
    }
