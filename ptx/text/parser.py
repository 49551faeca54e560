"""PTX text to ``ptx.ir.Module``: functions and instructions on top of ``declarations.py``."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_bounded
from rayplay.ptx import ir
from rayplay.ptx.isa.form import form_of, instruction
from rayplay.ptx.isa.implied import with_defaults
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.numbers import as_f32
from rayplay.ptx.text.declarations import DeclarationBuilder
from rayplay.ptx.text.function_body import Body, redeclaration_problem
from rayplay.ptx.text.lalr import Source, reduce_text, table
from rayplay.ptx.text.operands import Arguments, Children, Element, Sum
from rayplay.ptx.text.scopes import MOST_SCOPES
from rayplay.ptx.text.variables import attributes_of

HEAD_BYTES = 4096
PRAGMAS = ".pragma"  # where a head keeps them among its directives
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})")


def parse(text: str, name: str) -> ir.Module:
    """Parse the text of one PTX module; ``name`` is what messages call it.

    Raises UserError (``name:line:column: expected X, found Y``) where the text is not PTX. Unknown opcodes are kept:
    ``ptx.verify`` and ``ptx.isa.describe.describe`` judge them.
    """
    source = Source(text, name)
    builder = ModuleBuilder(source)
    return reduce_text(table(), source, builder)


def parse_file(path: str | Path) -> ir.Module:
    """Parse a ``.ptx`` file.

    Raises UserError for a syntax error and a binary file, OSError for a file that cannot be read.
    """
    data = read_bounded(Path(path), LIST_BYTES)
    if b"\0" in data[:HEAD_BYTES].rstrip(b"\0 \t\r\n"):  # NVRTC ends its text with one
        raise UserError(
            f"{path}: must be PTX text, found a binary file: compile with nvcc -ptx, not -optix-ir or -cubin"
        )
    return parse(data.decode(errors="replace"), str(path))


class ModuleBuilder(DeclarationBuilder):
    """Builds one module out of declarations and functions."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.functions: dict[str, ir.Function] = {}
        self.aliases: dict[str, str] = {}
        self.targets: list[str] = []
        self.address_bits = 32
        self._opcodes: dict[str, tuple[str, tuple[str, ...], ir.Form]] = {}

    def version(self, children: Children, start: int, end: int) -> None:
        number = _VERSION.fullmatch(children[1])
        if number is None:
            raise self.source.error(start, f"expected a version such as 8.0, found '{children[1]}'")
        self.ptx_version = (int(number[1]), int(number[2]))

    def module(self, children: Children, start: int, end: int) -> ir.Module:
        if not self.targets:
            raise self.source.error(start, "expected .target after .version, found none")
        for alias, name in self.aliases.items():
            if name in self.functions:
                self.functions[alias] = replace(self.functions[name], name=alias)
        registers = {
            written: type_name for name, count, type_name in self.module_registers
            for written in ([name] if count is None else [f"{name}<{count}>"])
        }  # fmt: skip
        return ir.Module(
            self.source.name, tuple(self.source.text.split("\n")), self.ptx_version,
            tuple(dict.fromkeys(self.targets)), self.address_bits, self.variables, self.functions, self.aliases,
            registers, tuple(self.annotations), tuple(self.remarks),
        )  # fmt: skip

    def target(self, children: Children, start: int, end: int) -> None:
        self._refuse_late(".target", start)
        self.targets += children[1]

    def _refuse_late(self, directive: str, start: int) -> None:
        if self.functions or self.variables or (directive == ".address_size" and not self.targets):
            self.remark(start, f"expected {directive} at the head of the file, after .version and .target")

    def address_size(self, children: Children, start: int, end: int) -> None:
        self._refuse_late(".address_size", start)
        if self.ptx_version < (2, 3):
            self.remark(start, ".address_size needs .version 2.3 or later")
        if children[1] not in ("32", "64"):
            raise self.source.error(start, f"expected .address_size 32 or 64, found {children[1]}")
        self.address_bits = int(children[1])

    def alias(self, children: Children, start: int, end: int) -> None:
        self.aliases[children[1]] = children[3]

    def stray_semicolon(self, children: Children, start: int, end: int) -> None:
        self.remark(start, "expected a statement, found ';'")

    def _body(self) -> Body:
        assert self.body is not None  # the grammar has statements in bodies only
        return self.body

    # --- functions ----------------------------------------------------------------------------------------------
    def append_directive(self, children: Children, start: int, end: int) -> dict[str, Any]:
        children[0][children[1][1:]] = tuple(self.integer(number, start) for number in children[2])
        return children[0]

    def append_pragma(self, children: Children, start: int, end: int) -> dict[str, Any]:
        children[0][PRAGMAS] = (*children[0].get(PRAGMAS, ()), ", ".join(children[2]))
        return children[0]

    def entry_head(self, children: Children, start: int, end: int) -> None:
        linkage, _, name, parameters, directives = children
        self._open_function(True, linkage, [], name, [], parameters, directives, start)

    def func_head(self, children: Children, start: int, end: int) -> None:
        linkage, _, attributes, returns, name, parameters, directives = children
        self._open_function(False, linkage, attributes, name, returns, parameters, directives, start)

    def _open_function(
        self, is_entry: bool, linkage: list[str], attributes: list[Any], name: str, returns: list[ir.Variable],
        parameters: list[ir.Variable], directives: dict[str, Any], start: int,
    ) -> None:  # fmt: skip
        pragmas = directives.pop(PRAGMAS, ())
        self.body = Body(ir.Function(
            name, is_entry, linkage[0][1:] if linkage else "", tuple(returns), tuple(parameters), {}, {}, (), {},
            self.place(start), directives, pragmas=pragmas, attributes=attributes_of(attributes).named,
        ))  # fmt: skip
        names = [parameter.name for parameter in (*returns, *parameters) if parameter.name != "_"]
        if len(set(names)) < len(names):
            raise self.source.error(start, f"two parameters of '{name}' have the same name")
        self.scopes = self.body.scopes
        for register, count, type_name in self.module_registers:
            self.scopes.declare_outside(register, count, type_name)

    def function(self, children: Children, start: int, end: int) -> None:
        self._close_function(self.place(end - 1), start)

    def function_declaration(self, children: Children, start: int, end: int) -> None:
        self._close_function(None, start)

    def _close_function(self, closing: ir.Position | None, start: int) -> None:
        """``closing`` is the place of the ``}``, None for a declaration without a body."""
        is_declaration = closing is None
        body = self._body()
        for name in sorted(body.scopes.unknown & body.scopes.registers.keys()):
            self.remark(start, f"register '{name}' of '{body.head.name}' is used where it is not declared")
        made = body.finish(is_declaration, closing)
        self.body = None
        known = self.functions.get(made.name)
        differs = redeclaration_problem(known, made) if known is not None else None
        if differs is not None:
            self.remark(start, differs)
        if known is not None and not known.is_declaration and not is_declaration:
            raise self.source.error(start, f"function '{made.name}' is defined twice")
        if known is None or known.is_declaration:
            self.functions[made.name] = made

    # --- statements ---------------------------------------------------------------------------------------------
    def open(self, children: Children, start: int, end: int) -> None:
        if self.scopes.depth == MOST_SCOPES:
            raise self.source.error(start, f"expected at most {MOST_SCOPES} scopes inside each other")
        self._body().open()

    def close(self, children: Children, start: int, end: int) -> None:
        self._body().close()

    def label(self, children: Children, start: int, end: int) -> None:
        name = children[0]
        if self.scopes.is_declared_here(name):
            raise self.source.error(start, f"'{name}' is declared in this scope and cannot be a label, too")
        if not self._body().declare_label(name):
            raise self.source.error(start, f"label '{name}' stands twice in one scope")

    def branch_targets(self, children: Children, start: int, end: int) -> None:
        self._body().add_targets(self.scopes.declare_variable(children[0]), children[3])

    def call_prototype(self, children: Children, start: int, end: int) -> None:
        name, _, _, returns, _, parameters, directives, _ = children
        directives.pop(PRAGMAS, None)
        taken = tuple(parameters)
        head = ir.Function(name, False, "", tuple(returns), taken, {}, {}, (), {}, self.place(start), directives)
        self._body().prototypes[self.scopes.declare_variable(name)] = Body(head).finish(True)

    def opcode_part(self, children: Children, start: int, end: int) -> str:
        return children[0] + children[1]

    def guard(self, children: Children, start: int, end: int) -> ir.Guard:
        return ir.Guard(self.register(children[1], start), False)

    def negated_guard(self, children: Children, start: int, end: int) -> ir.Guard:
        return ir.Guard(self.register(children[2], start), True)

    def instruction(self, children: Children, start: int, end: int) -> None:
        guard = children.pop(0) if type(children[0]) is ir.Guard else None
        word, operands = children[0], children[1] if len(children) > 2 else []
        split = self._opcodes.get(word)
        if split is None:
            first, *rest = word.split(".")
            meant = with_defaults(first, tuple(rest), self.ptx_version)
            split = self._opcodes[word] = (first, meant, form_of(first, meant))
        opcode, modifiers, form = split
        text = self.written(start, end)
        call = None
        if opcode == "call":
            call, operands = self._call(operands, start), []
        else:
            for index, operand in enumerate(operands):
                if type(operand) is Arguments:
                    operands[index] = self.unwrapped(operand, start)
            if self.has_markers:
                operands = self._without_markers(form, operands, start)
            if modifiers and modifiers[-1] == "f32":
                operands = [as_f32(o) if type(o) is ir.Immediate else o for o in operands]
        place = self.source.position(start)
        self._body().add(ir.Instruction(opcode, modifiers, tuple(operands), guard, place, text, call, form=form))

    def _without_markers(self, form: ir.Form, operands: Children, start: int) -> Children:
        """``table[3]`` where an address belongs is ``[table+12]``, elsewhere ``table+12``; sums are added."""
        self.has_markers = False
        roles = TABLE[form.key].roles.split() if form is not ir.NO_FORM else []
        for index, operand in enumerate(operands):
            if type(operand) is Element:
                symbol = operand.symbol
                is_place = index < len(roles) and roles[index].lstrip("?") == "a"
                operands[index] = ir.Address(ir.Symbol(symbol.name), symbol.offset) if is_place else symbol
            elif type(operand) is Sum:
                operands[index] = self._added(operand, start)
        return operands

    def _added(self, operand: Sum, start: int) -> ir.Register:
        """An instruction before this one adds the constant to the register, as ptxas does."""
        name, scopes = operand.register.name, self.scopes
        declared = scopes.registers.get(name, "")
        if declared[:1] not in ("b", "u", "s") or declared[1:] not in ("16", "32", "64"):
            raise self.source.error(start, f"expected an integer register before '+', found '{name}'")
        made = ir.Register(scopes.unique(name))
        scopes.registers[made.name] = declared
        type_name = f"u{declared[1:]}"
        text = f"add.{type_name} {made.name}, {name}, {operand.offset};"
        added = (made, operand.register, ir.Immediate(operand.offset))
        self._body().add(instruction("add", (type_name,), added, None, self.place(start), text))
        return made

    def _call(self, operands: Children, start: int) -> ir.Call:
        """``(results), target, (arguments), prototype``, of which only the target must be there."""
        rest = [o if type(o) is Arguments else self.unwrapped(o, start) for o in operands]
        results: tuple[ir.Operand, ...] = rest.pop(0) if rest and type(rest[0]) is Arguments else ()
        target = rest.pop(0) if rest else None
        arguments: tuple[ir.Operand, ...] = rest.pop(0) if rest and type(rest[0]) is Arguments else ()
        prototype = rest.pop(0) if rest else None
        if not isinstance(target, ir.Register | ir.Symbol) or not isinstance(prototype, ir.Symbol | None) or rest:
            raise self.source.error(start, "expected call (results), function, (arguments), prototype;")
        return ir.Call(tuple(results), target, tuple(arguments), prototype.name if prototype else None)
