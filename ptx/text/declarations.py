"""Declarations as they are read: variables, registers, parameters and debug sections."""

import re
from typing import Any

from rayplay.ptx.ir import Annotation, Immediate, Symbol, Variable
from rayplay.ptx.text.function_body import Body
from rayplay.ptx.text.lalr import Source
from rayplay.ptx.text.operands import Children, OperandBuilder
from rayplay.ptx.text.variables import Mask, Property, declared_variable, initial_problem, register_type

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
WITHOUT_BANKS = (2, 2)  # the first version without .const[bank]
MOST_REGISTERS = 1 << 31  # of one range
REGISTER_TYPES = frozenset((
    *(f".{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)), ".b128", ".f16", ".f16x2", ".f32", ".f64",
    ".pred",
))  # fmt: skip


class DeclarationBuilder(OperandBuilder):
    """Builds declarations; ``body`` is the function being read, None outside functions."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.variables: dict[str, Variable] = {}
        self.annotations: list[Annotation] = []
        self.module_registers: list[tuple[str, int | None, str]] = []
        self.body: Body | None = None
        self.ptx_version = (0, 0)

    def variable_of(self, name: str) -> Variable | None:
        known = self.body.variable(name) if self.body is not None else None
        return known or self.variables.get(name)

    def written(self, start: int, end: int) -> str:
        """A part of the text on one line, without comments."""
        text = self.source.text[start:end]
        if "/" in text:
            text = COMMENT.sub(" ", text)
        return " ".join(text.split())

    # --- attributes ---------------------------------------------------------------------------------------------
    def append_align(self, children: Children, start: int, end: int) -> Children:
        children[0].append(self.integer(children[2], start))
        return children[0]

    def append_attribute(self, children: Children, start: int, end: int) -> Children:
        text = self.written(start, end)
        children[0].append(text[text.rindex(".attribute") :].partition("(")[2].rstrip()[:-1])
        return children[0]

    def append_dimension(self, children: Children, start: int, end: int) -> Children:
        children[0].append(children[2] if isinstance(children[2], int) else self.integer(children[2], start))
        return children[0]

    def append_unsized(self, children: Children, start: int, end: int) -> Children:
        children[0].append(None)
        return children[0]

    # --- initialisers -------------------------------------------------------------------------------------------
    def initial_symbol(self, children: Children, start: int, end: int) -> Symbol:
        return Symbol(children[0], self.offset(children, start) if len(children) > 1 else 0)

    def initial_generic(self, children: Children, start: int, end: int) -> Symbol:
        if children[0] != "generic":
            raise self.source.error(start, f"expected generic(...), found '{children[0]}(...)'")
        return Symbol(children[2], self.offset(children, start) if len(children) > 4 else 0, True)

    def initial_generic_of_sum(self, children: Children, start: int, end: int) -> Symbol:
        self.remark(start, "expected generic(symbol)+offset, found the offset inside the parentheses")
        return Symbol(children[2], self.offset(children[:-1], start), True)

    def initial_mask(self, children: Children, start: int, end: int) -> Mask:
        mask = self.integer(self.number(children, start, end), start)
        shifted = mask // (mask & -mask) if mask else 0
        if shifted != 0xFF or (mask & -mask).bit_length() % 8 != 1:
            raise self.source.error(start, f"expected a mask of one byte such as 0xff00, found '{children[0]}'")
        return Mask(mask, children[2])

    def sampler_property(self, children: Children, start: int, end: int) -> Property:
        value = children[2]
        return Property(children[0], str(value.bits) if isinstance(value, Immediate) else value)

    # --- variables ----------------------------------------------------------------------------------------------
    def declarator(self, children: Children, start: int, end: int) -> tuple[str, Children, Any, int]:
        return children[0], children[1], children[3] if len(children) > 2 else None, start

    def declaration(self, children: Children, start: int, end: int) -> None:
        linkage, space, attributes, type_name, declarators, _ = children
        if "[" in space and self.ptx_version >= WITHOUT_BANKS:
            self.remark(start, f"{space} names a bank of .const, which .version 2.2 has abolished")
        for name, dimensions, initial, offset in declarators:
            made = declared_variable(
                self.source, offset, name, space, attributes, type_name, dimensions, linkage, initial
            )
            wrong = initial_problem(initial, type_name[1:], bool(dimensions) or ".v" in str(attributes))
            if wrong is not None:
                self.remark(offset, f"'{name}' is a {type_name}, {wrong}")
            if self.body is not None:
                if linkage:
                    self.remark(offset, f"'{name}' is declared in a function, which {linkage[0]} is not for")
                self._refuse_twice(name, offset)
                self.body.declare_variable(made)
            elif name in self.variables and self.variables[name].linkage != "extern" and made.linkage != "extern":
                raise self.source.error(offset, f"'{name}' is declared twice")
            elif made.linkage != "extern" or name not in self.variables:
                self.variables[name] = made

    def register_name(self, children: Children, start: int, end: int) -> tuple[str, int | None, int]:
        return children[0], None, start

    def register_range(self, children: Children, start: int, end: int) -> tuple[str, int | None, int]:
        count = self.integer(self.number([children[2]], start, end), start)
        if count > MOST_REGISTERS:
            raise self.source.error(start, f"expected at most {MOST_REGISTERS} registers in a range, found {count}")
        return children[0], count, start

    def registers(self, children: Children, start: int, end: int) -> None:
        _, attributes, type_name, names, _ = children
        if type_name not in REGISTER_TYPES:
            raise self.source.error(start, f"expected the type of a register, found {type_name}")
        type_name = register_type(attributes, type_name)
        for name, count, offset in names:
            if self.body is None:
                self.module_registers.append((name, count, type_name))
            else:
                self._refuse_twice(name, offset, count)
                if count is None:
                    self.scopes.declare_register(name, type_name)
                else:
                    self.scopes.declare_range(name, count, type_name)

    def _refuse_twice(self, name: str, offset: int, count: int | None = None) -> None:
        if self.scopes.is_declared_here(name, count):
            raise self.source.error(offset, f"'{name}' is declared twice in one scope")
        if "." in name:
            raise self.source.error(offset, f"expected a name without '.', found '{name}'")

    # --- parameters ---------------------------------------------------------------------------------------------
    def pointer(self, children: Children, start: int, end: int) -> tuple[str, int]:
        aligns = [a for a in children[-1] if isinstance(a, int)]
        return children[1][1:] if len(children) > 2 else "", aligns[0] if aligns else 0

    def parameter(self, children: Children, start: int, end: int) -> Variable:
        space, attributes, type_name, pointer, name, dimensions = children
        return declared_variable(self.source, start, name, space, attributes, type_name, dimensions, [], None, pointer)

    def register_parameter(self, children: Children, start: int, end: int) -> Variable:
        _, attributes, type_name, name, dimensions = children
        return declared_variable(self.source, start, name, ".reg", attributes, type_name, dimensions, [], None)

    # --- debug information --------------------------------------------------------------------------------------
    def text(self, children: Children, start: int, end: int) -> str:
        return self.written(start, end)

    def append_section_values(self, children: Children, start: int, end: int) -> Children:
        children[0].append(f"{children[1]} {', '.join(children[2])}")
        return children[0]

    def append_section_label(self, children: Children, start: int, end: int) -> Children:
        children[0].append(f"{children[1]}:")
        return children[0]

    def section(self, children: Children, start: int, end: int) -> None:
        lines = "\n".join(children[3])
        self._annotate(f".section {children[1]}\n{{\n{lines}\n}}", start)

    def dwarf(self, children: Children, start: int, end: int) -> None:
        self._annotate(children[0].rstrip(), start)

    def file(self, children: Children, start: int, end: int) -> None:
        self._annotate(" ".join(children).replace(" , ", ", "), start)

    def module_pragma(self, children: Children, start: int, end: int) -> None:
        self._annotate(f".pragma {', '.join(children[1])};", start)

    def _annotate(self, text: str, start: int) -> None:
        self.annotations.append(Annotation(text, self.place(start)))

    def pragma(self, children: Children, start: int, end: int) -> None:
        """Between instructions."""
        assert self.body is not None
        text = f".pragma {', '.join(children[1])};"
        self.body.annotations.append(Annotation(text, self.place(start), len(self.body.instructions)))

    def line_information(self, children: Children, start: int, end: int) -> None:
        made = Annotation(self.written(start, end), self.place(start))
        if self.body is None:
            self.annotations.append(made)
        else:
            self.body.annotations.append(Annotation(made.text, made.position, len(self.body.instructions)))
