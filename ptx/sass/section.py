"""One code section of a SASS listing: its instructions in order, its labels, and the functions it is cut into."""

import bisect
from dataclasses import dataclass, field, replace
from itertools import pairwise

from rayplay.ptx.ir import Function, Immediate, Instruction, Symbol
from rayplay.ptx.text.lalr import Source

# Opcodes whose last operand says where control, or a barrier, goes; cuobjdump writes it as an address.
TARGETED = frozenset(("BRA", "BSSY", "CALL", "JMP"))
_NEVER_FALLS_THROUGH = frozenset(("EXIT", "RET", "BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "KILL"))


@dataclass
class Known:
    """Facts that directives state of functions, by name."""

    functions: set[str] = field(default_factory=set)
    entries: set[str] = field(default_factory=set)
    linkage: dict[str, str] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)


@dataclass
class Section:
    """A section being read. ``labels`` maps a label to the number of instructions before it."""

    name: str
    start: int
    known: Known
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    notes: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def last_address(self) -> int:
        """The address of the last instruction read, -1 before the first."""
        last = self.instructions[-1].address if self.instructions else None
        return -1 if last is None else last

    def add_label(self, name: str, start: int) -> bool:
        """Whether the label is new."""
        if name in self.labels:
            return False
        self.labels[name] = len(self.instructions)
        return True

    def add_instruction(self, instruction: Instruction, notes: list[str]) -> bool:
        """Whether the instruction lies behind the one before it. ``notes`` are what stands in ``(*"..."*)``."""
        if instruction.address is None or instruction.address <= self.last_address:
            return False
        for note in notes:
            kind, _, rest = note[3:-3].partition(" ")
            if kind == "BRANCH_TARGETS":
                self.notes[instruction.address] = tuple(name.strip() for name in rest.split(","))
        self.instructions.append(instruction)
        return True


def finish_section(section: Section, source: Source) -> list[Function]:
    """The functions of a section in their order. An address that is branched to becomes a label (``.L_0150``)."""
    starts = _name_targets(section)
    starts[0] = section.name
    for name, index in section.labels.items():
        if name in section.known.functions:
            starts[index] = name
    _drop_padding(section)
    if not section.instructions:
        return []
    order = sorted(index for index in starts if index < len(section.instructions))
    labels: list[dict[str, int]] = [{} for _ in order]
    for name, index in section.labels.items():
        if index < len(section.instructions) and name not in section.known.functions and not _is_section(name, section):
            owner = bisect.bisect_right(order, index) - 1
            labels[owner][name] = index - order[owner]
    made = []
    for number, first in enumerate(order):
        stop = order[number + 1] if number + 1 < len(order) else len(section.instructions)
        made.append(_function(section, starts[first], section.instructions[first:stop], labels[number]))
    return made


def _function(section: Section, name: str, body: list[Instruction], labels: dict[str, int]) -> Function:
    """An entry is what the listing calls one; without such directives, the section's own function where lanes exit."""
    exits = any(instruction.opcode == "EXIT" for instruction in body)
    is_entry = name in section.known.entries or (not section.known.entries and name == section.name and exits)
    targets = {f"{i.address:04x}": section.notes[i.address] for i in body if i.address in section.notes}
    return Function(
        name, is_entry, section.known.linkage.get(name, ""), (), (), {}, {}, tuple(body), labels, body[0].position,
        branch_targets=targets, language="sass",
    )  # fmt: skip


def _name_targets(section: Section) -> dict[int, str]:
    """Replace addresses in branches and calls by names; returns the functions found: index of their first and name."""
    index_of = {instruction.address: index for index, instruction in enumerate(section.instructions)}
    calls = _called_functions(section, index_of)
    for number, instruction in enumerate(section.instructions):
        if instruction.opcode not in TARGETED or not instruction.operands:
            continue
        last = instruction.operands[-1]
        if not isinstance(last, Immediate) or last.bits not in index_of or "ABS" in instruction.modifiers:
            continue
        target = index_of[last.bits]
        if instruction.opcode == "CALL" and target in calls:
            name = calls[target]
        else:
            name = f".L_{last.bits:04x}"
            section.labels.setdefault(name, target)
        named = (*instruction.operands[:-1], Symbol(name))
        section.instructions[number] = replace(instruction, operands=named)
    return calls


def _called_functions(section: Section, index_of: dict[int | None, int]) -> dict[int, str]:
    """First instructions of functions that only addresses name: at the targets of calls behind which something returns.

    Compilers also call places inside a function to go there with all lanes; those are labels.
    """
    targets = {0: section.name}
    for instruction in section.instructions:
        last = instruction.operands[-1] if instruction.operands else None
        if instruction.opcode != "CALL" or "REL" not in instruction.modifiers or not isinstance(last, Immediate):
            continue
        if last.bits in index_of:
            targets.setdefault(index_of[last.bits], f"${section.name}${last.bits:#06x}")
    order = [*sorted(targets), len(section.instructions)]
    made = {}
    for first, stop in pairwise(order):
        if first == 0 or any(instruction.opcode == "RET" for instruction in section.instructions[first:stop]):
            made[first] = targets[first]
    return made


def _drop_padding(section: Section) -> None:
    """The NOPs at the end of a section, and the endless branch before them that nothing leads to."""
    body = section.instructions
    end = len(body)
    while end and body[end - 1].opcode == "NOP":
        end -= 1
    if end == len(body) and not (end and body[-1].opcode == "BRA"):
        return
    if end > 1 and _is_loop_of_one(section, end - 1) and _ends(body[end - 2]):
        here = {name for name, index in section.labels.items() if index == end - 1}
        if not any(_names(instruction) & here for instruction in body[: end - 1]) and not any(
            here.intersection(targets) for targets in section.notes.values()
        ):
            end -= 1
    if end == len(body) or (end and _ends(body[end - 1])):
        del body[end:]


def _is_loop_of_one(section: Section, index: int) -> bool:
    instruction = section.instructions[index]
    return instruction.opcode == "BRA" and any(section.labels.get(name) == index for name in _names(instruction))


def _names(instruction: Instruction) -> set[str]:
    return {operand.name for operand in instruction.operands if isinstance(operand, Symbol)}


def _ends(instruction: Instruction) -> bool:
    return instruction.guard is None and instruction.opcode in _NEVER_FALLS_THROUGH


def _is_section(name: str, section: Section) -> bool:
    return name.startswith(".text.") or name == section.name
