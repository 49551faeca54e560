"""Structure to a SASS listing in the manner of ``nvdisasm -c [-hex]``: what parses back to the same structure.

The padding at the end of sections, which the parser leaves out, is not printed; encodings are, where there are any.
"""

import re
import struct
from collections.abc import Iterator

from rayplay.ptx import ir
from rayplay.ptx.sass.operands import word_operand

_SPECIAL = {0x7FF8 << 48: "QNAN", 0x7FF4 << 48: "SNAN", 0x7FF << 52: "INF"}
_WORD = re.compile(r"(?:[A-Za-z]\w*|[1-3]D)\Z")
_RELOCATION = re.compile(r"(?:\d+|[A-Za-z]+)@\w*\(")
ENCODING_COLUMN = 100


def print_module(module: ir.Module) -> str:
    """The text of all functions, a section for each that is not part of the one before it."""
    lines = [f"\t.target\t{name}" for name in module.target]
    last = -1  # address of the last instruction in the section, -1 before the first section
    for function in module.functions.values():
        first = function.body[0].address or 0
        if first <= last or last < 0:
            lines += ["", f'\t.section\t.text.{function.name},"ax",@progbits']
        lines += _function(function)
        last = function.body[-1].address or 0
    return "\n".join(lines) + "\n"


def _function(function: ir.Function) -> Iterator[str]:
    for count in function.directives.get("registers", ()):
        yield f'\t.sectioninfo\t@"SHI_REGISTERS={count}"'
    if function.linkage:
        yield f"\t.{'global' if function.linkage == 'visible' else function.linkage}\t{function.name}"
    yield f"\t.type\t{function.name},@function"
    if function.is_entry:
        yield f'\t.other\t{function.name},@"STO_CUDA_ENTRY STV_DEFAULT"'
    yield f"{function.name}:"
    labels: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        labels.setdefault(index, []).append(label)
    for index, instruction in enumerate(function.body):
        yield from (f"{label}:" for label in labels.get(index, ()))
        yield from _instruction(instruction, function)


def _instruction(instruction: ir.Instruction, function: ir.Function) -> Iterator[str]:
    text = f"        /*{instruction.address:04x}*/  {print_instruction(instruction)}"
    targets = function.branch_targets.get(f"{instruction.address:04x}")
    text += f' (*"BRANCH_TARGETS {",".join(targets)}"*);' if targets else " ;"
    if instruction.encoding is None:
        yield text
        return
    low, high = instruction.encoding & (1 << 64) - 1, instruction.encoding >> 64
    yield f"{text:<{ENCODING_COLUMN}}/* {low:#018x} */"
    yield f"{'':<{ENCODING_COLUMN}}/* {high:#018x} */"


def print_instruction(instruction: ir.Instruction) -> str:
    """An instruction without its end: ``@!P0 IMAD.WIDE R2, R0, R3, c[0x0][0x160]``."""
    guard = instruction.guard
    head = f"@{'!' * guard.negated}{guard.register.name} " if guard else ""
    return f"{head}{instruction.full_opcode} {', '.join(map(print_operand, instruction.operands))}".rstrip()


def print_operand(operand: ir.Operand) -> str:
    """An operand as the listing has it."""
    if isinstance(operand, ir.Register):
        return f"{operand.name}.{operand.component}" if operand.component else operand.name
    if isinstance(operand, ir.Immediate):
        return _number(operand)
    if isinstance(operand, ir.Symbol):
        return operand.name if _is_plain(operand.name) else f"`({operand.name})"
    if isinstance(operand, ir.Not):
        return f"!{operand.register.name}"
    if isinstance(operand, ir.Vector):
        return "{" + ", ".join(print_operand(element) for element in operand.elements if element is not None) + "}"
    if isinstance(operand, ir.Modified):
        return _modified(operand)
    assert isinstance(operand, ir.Reference)  # the parser makes no other kinds
    table = f"[{print_operand(operand.table)}]" if operand.table is not None else ""
    terms = list(map(print_operand, operand.terms))
    if operand.offset or not terms:
        terms.append(hex(operand.offset))
    return f"{operand.name}{table}[{'+'.join(terms)}]"


def _modified(operand: ir.Modified) -> str:
    inner = print_operand(operand.operand)
    suffixes = "".join(f".{suffix}" for suffix in operand.suffixes)
    return f"{operand.sign}|{inner}|{suffixes}" if operand.absolute else f"{operand.sign}{inner}{suffixes}"


def _is_plain(name: str) -> bool:
    """Whether a symbol stands without `` `(..) ``: words (``2D``, ``gsb0``) and relocations (``32@lo(f)``)."""
    return _RELOCATION.match(name) is not None or (
        _WORD.match(name) is not None and isinstance(word_operand(name), ir.Symbol)
    )


def _number(constant: ir.Immediate) -> str:
    if constant.kind == "int":
        return hex(constant.bits)
    sign, bits = constant.bits >> 63, constant.bits & ~(1 << 63)
    if bits in _SPECIAL:
        return f"{'-' if sign else '+'}{_SPECIAL[bits]}"
    value = struct.unpack("<d", constant.bits.to_bytes(8, "little"))[0]
    return repr(value)
