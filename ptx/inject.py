"""Zatel's ``filter_shader``, injected into an entry: lanes whose pixel is not selected leave at once.

As in Zatel Listing 1, with one addition: every ``ret`` and ``exit`` of the entry becomes a branch to the final
``shader_exit`` block, which holds the only ``ret``. That block post-dominates everything, so that all launched lanes
meet there whichever pixels are selected, and taking lanes out of a trace changes no other row of it.

    .reg .u32 %shader_passes;
    .reg .pred %is_filtered;
    filter_shader %shader_passes;              1: trace this pixel, 0: skip it
    setp.eq.u32 %is_filtered, %shader_passes, 0;
    @%is_filtered bra shader_exit;
"""

import re
from dataclasses import replace

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function, Guard, Immediate, Instruction, Module, Position, Register, Symbol
from rayplay.ptx.isa.form import form_of, instruction
from rayplay.ptx.text.parser import parse

OPCODE = "filter_shader"
_LEAVES = ("ret", "exit")
_NOWHERE = Position(0, 0)
_LEAVE = re.compile(r"\b(?:ret|exit)\b")
_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|[{}]", re.DOTALL)


def is_injected(function: Function) -> bool:
    """Whether a function begins with the filter."""
    return bool(function.body) and function.body[0].opcode == OPCODE


def inject_filter(function: Function) -> Function:
    """The function with the filter in front and one ``ret`` at the end; one that has the filter already is unchanged.

    New instructions have line 0. Raises UserError for a function without a body.
    """
    if not function.body:
        raise UserError(f"function '{function.name}' must have a body to inject a filter into")
    if is_injected(function):
        return function
    passes, filtered, label = _free_names(function)
    prologue = (
        instruction(OPCODE, (), (Register(passes),), None, _NOWHERE, f"{OPCODE} {passes};"),
        instruction(
            "setp", ("eq", "u32"), (Register(filtered), Register(passes), Immediate(0)), None, _NOWHERE,
            f"setp.eq.u32 {filtered}, {passes}, 0;",
        ),
        instruction(
            "bra", (), (Symbol(label),), Guard(Register(filtered), False), _NOWHERE, f"@{filtered} bra {label};",
        ),
    )  # fmt: skip
    body = (*prologue, *(_branch_out(i, label) for i in function.body))
    return replace(
        function,
        registers={passes: "u32", filtered: "pred", **function.registers},
        body=(*body, instruction("ret", (), (), None, _NOWHERE, "ret;")),
        labels={**{name: index + len(prologue) for name, index in function.labels.items()}, label: len(body)},
    )


def _branch_out(left: Instruction, label: str) -> Instruction:
    if left.opcode not in _LEAVES:
        return left
    text = _LEAVE.sub("bra", left.text, count=1).rstrip("; ") + f" {label};"
    return replace(left, opcode="bra", operands=(Symbol(label),), text=text, form=form_of("bra", left.modifiers))


def _free_names(function: Function) -> tuple[str, str, str]:
    taken = {*function.registers, *function.labels, *function.variables, *(p.name for p in function.parameters)}
    suffix, count = "", 0
    while taken & {f"%shader_passes{suffix}", f"%is_filtered{suffix}", f"shader_exit{suffix}"}:
        count += 1
        suffix = f"_{count}"
    return f"%shader_passes{suffix}", f"%is_filtered{suffix}", f"shader_exit{suffix}"


def ray_generation(module: Module, name: str | None = None) -> Function:
    """The entry called ``name``; without a name the module's only ``__raygen__`` entry, or its only entry.

    Raises UserError naming the entries there are.
    """
    entries = [f for f in module.functions.values() if f.is_entry and not f.is_declaration]
    wanted = [f for f in entries if f.name == name] if name else [f for f in entries if f.name.startswith("__raygen__")]
    if not wanted and not name:
        wanted = entries
    if len(wanted) != 1:
        found = ", ".join(f.name for f in entries) or "none"
        raise UserError(f"{module.source_name}: choose one entry with --entry {name or 'NAME'}; there are: {found}")
    return wanted[0]


def inject_text(text: str, name: str, entry: str | None = None) -> str:
    """PTX text with the filter in one entry, everything else as it was; it parses to what ``inject_filter`` makes.

    Raises UserError for text that is not PTX or an entry that is not there.
    """
    module = parse(text, name)
    function = ray_generation(module, entry)
    if is_injected(function):
        return text
    passes, filtered, label = _free_names(function)
    starts = [0]
    for line in module.source_lines:
        starts.append(starts[-1] + len(line) + 1)
    opening, closing = _braces(text, starts[function.position.line - 1] + function.position.column - 1)
    prologue = (
        f"\n\t.reg .u32 \t{passes};\n\t.reg .pred \t{filtered};\n\t{OPCODE} \t{passes};\n"
        f"\tsetp.eq.u32 \t{filtered}, {passes}, 0;\n\t@{filtered} bra \t{label};\n"
    )
    edits = [(opening + 1, opening + 1, prologue)]
    tail = f"{label}:\n\tret;\n"
    for i in function.body:
        if i.opcode not in _LEAVES:
            continue
        start = starts[i.position.line - 1] + i.position.column - 1
        if start == closing:  # the ret that the closing brace implies
            tail = f"\tbra \t{label};\n{tail}"
            continue
        stop = text.index(";", start)
        edits.append((start, stop, _LEAVE.sub("bra", text[start:stop], count=1).rstrip() + f" {label}"))
    edits.append((closing, closing, tail))
    for start, stop, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def _braces(text: str, start: int) -> tuple[int, int]:
    """Offsets of the braces around the body of the function that begins at ``start``."""
    depth, opening = 0, -1
    for token in _TOKEN.finditer(text, start):
        if token.group() == "{":
            opening = token.start() if depth == 0 else opening
            depth += 1
        elif token.group() == "}":
            depth -= 1
            if depth == 0:
                return opening, token.start()
    raise AssertionError("a function that parses has both braces")
