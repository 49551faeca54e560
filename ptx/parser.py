"""PTX text to ``ptx.ir.Module``: declarations, functions and instructions on top of the operands of ``build.py``."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from ptx.body import Body
from ptx.build import Arguments, Children, OperandBuilder
from ptx.declarations import declared_variable, register_type
from ptx.ir import Call, Function, Guard, Immediate, Instruction, Module, Operand, Position, Register, Symbol, Variable
from ptx.numbers import as_f32
from ptx.syntax import Source, reduce_text, table

MOST_REGISTERS = 1 << 20  # of one function: a typing error must not fill the memory
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def parse(text: str, name: str) -> Module:
    """Parse the text of one PTX module; ``name`` is what messages call it.

    Raises UserError (``name:line:column: expected X, found Y``) where the text is not PTX. Unknown opcodes are kept:
    ``ptx.verify`` and ``ptx.opcodes.describe`` judge them.
    """
    source = Source(text, name)
    builder = ModuleBuilder(source)
    return reduce_text(table(), source, builder)


def parse_file(path: str | Path) -> Module:
    """Parse a ``.ptx`` file. Raises UserError for a syntax error, OSError for a file that cannot be read."""
    return parse(Path(path).read_bytes().decode(errors="replace"), str(path))


class ModuleBuilder(OperandBuilder):
    """Builds one module; ``body`` is the function being read."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, Function] = {}
        self.aliases: list[tuple[str, str]] = []
        self.body: Body | None = None
        self._opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}

    def module(self, children: Children, start: int, end: int) -> Module:
        major, minor = children[0].split()[1].split(".")
        target = tuple(re.split(r"\s*,\s*", children[1].split(None, 1)[1]))
        size = int(children[2].split()[1]) if len(children) == 4 else 32
        for alias, name in self.aliases:
            if name in self.functions:
                self.functions[alias] = replace(self.functions[name], name=alias)
        lines = tuple(self.source.text.split("\n"))
        return Module(self.source.name, lines, (int(major), int(minor)), target, size, self.variables, self.functions)

    def alias(self, children: Children, start: int, end: int) -> None:
        self.aliases.append((children[1], children[3]))

    # --- declarations -------------------------------------------------------------------------------------------
    def append_align(self, children: Children, start: int, end: int) -> Children:
        children[0].append(self.integer(children[2], start))
        return children[0]

    def append_dimension(self, children: Children, start: int, end: int) -> Children:
        children[0].append(self.integer(children[2], start))
        return children[0]

    def append_unsized(self, children: Children, start: int, end: int) -> Children:
        children[0].append(None)
        return children[0]

    def initial_number(self, children: Children, start: int, end: int) -> Immediate:
        return self.checked(children[0], start)

    def initial_symbol(self, children: Children, start: int, end: int) -> Symbol:
        return Symbol(children[0], self.integer(children[2], start) if len(children) > 1 else 0)

    def initial_generic(self, children: Children, start: int, end: int) -> Symbol:
        if children[0] != "generic":
            raise self.source.error(start, f"expected generic(...), found '{children[0]}(...)'")
        return Symbol(children[2], self.integer(children[5], start) if len(children) > 4 else 0)

    def no_initialisers(self, children: Children, start: int, end: int) -> Children:
        return []

    def declarator(self, children: Children, start: int, end: int) -> tuple[str, Children, Any, int]:
        return children[0], children[1], children[3] if len(children) > 2 else None, start

    def declaration(self, children: Children, start: int, end: int) -> None:
        linkage, space, attributes, type_name, declarators, _ = children
        for name, dimensions, initial, offset in declarators:
            made = declared_variable(
                self.source, offset, name, space, attributes, type_name, dimensions, linkage, initial
            )
            if self.body is not None:
                self._refuse_twice(name, offset)
                self.body.declare_variable(made)
            elif name in self.variables and self.variables[name].linkage != "extern" and made.linkage != "extern":
                raise self.source.error(offset, f"'{name}' is declared twice")
            elif made.linkage != "extern" or name not in self.variables:
                self.variables[name] = made

    def register_name(self, children: Children, start: int, end: int) -> tuple[str, int | None, int]:
        return children[0], None, start

    def register_range(self, children: Children, start: int, end: int) -> tuple[str, int | None, int]:
        count = self.integer(children[2], start)
        if not 0 <= count <= MOST_REGISTERS - len(self._body().registers):
            raise self.source.error(
                start, f"expected at most {MOST_REGISTERS} registers in a function, found {count} more"
            )
        return children[0], count, start

    def registers(self, children: Children, start: int, end: int) -> None:
        _, attributes, type_name, names, _ = children
        type_name = register_type(attributes, type_name)
        for name, count, offset in names:
            for written in (name,) if count is None else (f"{name}{i}" for i in range(count)):
                self._refuse_twice(written, offset)
                self._body().declare_register(written, type_name)

    def _refuse_twice(self, name: str, offset: int) -> None:
        if self.scopes.is_declared_here(name):
            raise self.source.error(offset, f"'{name}' is declared twice in one scope")

    def _body(self) -> Body:
        assert self.body is not None  # the grammar has registers and statements in bodies only
        return self.body

    # --- functions ----------------------------------------------------------------------------------------------
    def parameter(self, children: Children, start: int, end: int) -> Variable:
        space, attributes, type_name, _, name, dimensions = children
        return declared_variable(self.source, start, name, space, attributes, type_name, dimensions, [], None)

    def register_parameter(self, children: Children, start: int, end: int) -> Variable:
        _, attributes, type_name, name = children
        return declared_variable(self.source, start, name, ".reg", attributes, type_name, [], [], None)

    def append_directive(self, children: Children, start: int, end: int) -> dict[str, Any]:
        children[0][children[1][1:]] = tuple(self.integer(number, start) for number in children[2])
        return children[0]

    def entry_head(self, children: Children, start: int, end: int) -> None:
        linkage, _, name, parameters, directives = children
        self._open_function(Body(name, True, linkage, [], parameters, directives, self.place(start)))

    def func_head(self, children: Children, start: int, end: int) -> None:
        linkage, _, _, returns, name, parameters, directives = children
        self._open_function(Body(name, False, linkage, returns, parameters, directives, self.place(start)))

    def _open_function(self, body: Body) -> None:
        self.body, self.scopes = body, body.scopes

    def function(self, children: Children, start: int, end: int) -> None:
        self._close_function(self.place(end - 1), start)

    def function_declaration(self, children: Children, start: int, end: int) -> None:
        self._close_function(None, start)

    def _close_function(self, closing: Position | None, start: int) -> None:
        """``closing`` is the place of the ``}``, None for a declaration without a body."""
        is_declaration = closing is None
        made = self._body().finish(is_declaration, closing)
        known = self.functions.get(made.name)
        if known is not None and not known.is_declaration and not is_declaration:
            raise self.source.error(start, f"function '{made.name}' is defined twice")
        if known is None or known.is_declaration:
            self.functions[made.name] = made
        self.body = None

    # --- statements ---------------------------------------------------------------------------------------------
    def open(self, children: Children, start: int, end: int) -> None:
        self._body().open()

    def close(self, children: Children, start: int, end: int) -> None:
        self._body().close()

    def label(self, children: Children, start: int, end: int) -> None:
        name = children[0]
        if not self._body().declare_label(name):
            raise self.source.error(start, f"label '{name}' stands twice in one scope")

    def branch_targets(self, children: Children, start: int, end: int) -> None:
        self._body().branch_targets[self.scopes.declare_variable(children[0])] = tuple(children[3])

    def call_prototype(self, children: Children, start: int, end: int) -> None:
        name, _, _, returns, _, parameters, directives, _ = children
        made = Body(name, False, [], returns, parameters, directives, self.place(start)).finish(True)
        self._body().prototypes[self.scopes.declare_variable(name)] = made

    def guard(self, children: Children, start: int, end: int) -> Guard:
        return Guard(self.register(children[1], start), False)

    def negated_guard(self, children: Children, start: int, end: int) -> Guard:
        return Guard(self.register(children[2], start), True)

    def instruction(self, children: Children, start: int, end: int) -> None:
        self._instruction(None, children[0], children[1], start, end)

    def bare_instruction(self, children: Children, start: int, end: int) -> None:
        self._instruction(None, children[0], [], start, end)

    def guarded_instruction(self, children: Children, start: int, end: int) -> None:
        self._instruction(children[0], children[1], children[2], start, end)

    def bare_guarded_instruction(self, children: Children, start: int, end: int) -> None:
        self._instruction(children[0], children[1], [], start, end)

    def _instruction(self, guard: Guard | None, word: str, operands: Children, start: int, end: int) -> None:
        split = self._opcodes.get(word)
        if split is None:
            first, *rest = word.split(".")
            split = self._opcodes[word] = (first, tuple(rest))
        opcode, modifiers = split
        text = self.source.text[start:end]
        if "//" in text or "/*" in text:
            text = _COMMENT.sub(" ", text)
        text = " ".join(text.split())
        call = None
        if opcode == "call":
            call, operands = self._call(operands, start), []
        else:
            self._no_arguments(operands, start)
            if modifiers and modifiers[-1] == "f32":
                operands = [as_f32(o) if type(o) is Immediate else o for o in operands]
        place = self.source.position(start)
        self._body().instructions.append(Instruction(opcode, modifiers, tuple(operands), guard, place, text, call))

    def _call(self, operands: Children, start: int) -> Call:
        """``(results), target, (arguments), prototype``, of which only the target must be there."""
        rest = list(operands)
        results: tuple[Operand, ...] = rest.pop(0) if rest and type(rest[0]) is Arguments else ()
        target = rest.pop(0) if rest else None
        arguments: tuple[Operand, ...] = rest.pop(0) if rest and type(rest[0]) is Arguments else ()
        prototype = rest.pop(0) if rest else None
        if not isinstance(target, Register | Symbol) or not isinstance(prototype, Symbol | None) or rest:
            raise self.source.error(start, "expected call (results), function, (arguments), prototype;")
        return Call(tuple(results), target, tuple(arguments), prototype.name if prototype else None)
