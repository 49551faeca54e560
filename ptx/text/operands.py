"""Reductions to structure: methods that ``lalr.reduce_text`` calls, named by the alternatives of ``grammar.lark``.

This file has lists, constants and operands; ``declarations.py`` adds declarations, ``parser.py`` functions and
instructions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rayplay.ptx import ir
from rayplay.ptx.numbers import TYPE_BYTES, immediate
from rayplay.ptx.text.constants import ExpressionError, Value, cast, constant_of, evaluate, unary, value_of, wrap
from rayplay.ptx.text.lalr import Source
from rayplay.ptx.text.scopes import Scopes

WARP_SIZE = ir.Immediate(32)
MOST_DIGITS = 400  # of a constant; a double written out in full has 309

Children = list[Any]


class Arguments(tuple[ir.Operand, ...]):
    """A parenthesised list of operands: what only a ``call`` has."""


@dataclass(frozen=True)
class Element:
    """``table[3]``: the address of an element, or in a load or store the element itself."""

    symbol: ir.Symbol


@dataclass(frozen=True)
class Sum:
    """``%r1+4`` where an operand stands: the register's value plus a constant."""

    register: ir.Register
    offset: int


class ListBuilder:
    """Positions and lists, which every language has."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def place(self, offset: int) -> ir.Position:
        """The position of a character of the text."""
        return self.source.position(offset)

    def ignore(self, children: Children, start: int, end: int) -> None:
        """Nothing that the structure keeps."""

    def leave(self, children: Children, start: int, end: int) -> Any:
        return children[0]

    def empty_list(self, children: Children, start: int, end: int) -> Children:
        return []

    def empty_dict(self, children: Children, start: int, end: int) -> dict[str, Any]:
        return {}

    def first(self, children: Children, start: int, end: int) -> Children:
        return children

    def second(self, children: Children, start: int, end: int) -> Any:
        return children[1]

    def append(self, children: Children, start: int, end: int) -> Children:
        children[0].append(children[1])
        return children[0]

    def append_after_comma(self, children: Children, start: int, end: int) -> Children:
        children[0].append(children[2])
        return children[0]


class OperandBuilder(ListBuilder):
    """Builds operands; ``scopes`` belong to the function being read.

    ``remarks`` collects text that is understood although PTX does not have it (``ptx.verifier.code`` reports it).
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.scopes = Scopes()
        self.remarks: list[tuple[ir.Position, str]] = []
        self.has_markers = False  # whether an Element or a Sum was read since the last instruction
        self._numbers: dict[str, ir.Immediate] = {}

    def remark(self, offset: int, message: str) -> None:
        """Keep something that PTX does not have, in case somebody asks."""
        self.remarks.append((self.place(offset), message))

    # --- constants ----------------------------------------------------------------------------------------------
    def number(self, children: Children, start: int, end: int) -> ir.Immediate:
        text = children[0]
        made = self._numbers.get(text)
        if made is None:
            made = immediate(text) if len(text) <= MOST_DIGITS else None
            if made is None or (made.kind == "int" and made.bits >= 1 << 64):
                raise self.source.error(start, f"expected a constant of at most 64 bits, found '{text[:40]}'")
            self._numbers[text] = made
        return made

    def warp_size(self, children: Children, start: int, end: int) -> ir.Immediate:
        return WARP_SIZE

    def _value(self, operand: Any, start: int) -> Value:
        """A constant to compute with."""
        operand = self.unwrapped(operand, start)
        if not isinstance(operand, ir.Immediate):
            raise self.source.error(start, "expected a constant in an expression")
        return value_of(operand)

    def unwrapped(self, operand: Any, start: int) -> Any:
        """An operand; parentheses around a constant are no list."""
        if type(operand) is not Arguments:
            return operand.symbol if type(operand) is Element else operand
        if len(operand) == 1 and type(operand[0]) is ir.Immediate:
            return operand[0]
        raise self.source.error(start, "expected an operand, found a parenthesised list, which only a call has")

    def signed(self, children: Children, start: int, end: int) -> ir.Immediate:
        return self._computed(start, lambda: unary(children[0], self._value(children[1], start)))

    def cast(self, children: Children, start: int, end: int) -> ir.Immediate:
        return self._computed(start, lambda: cast(children[1], self._value(children[3], start)))

    def operation(self, children: Children, start: int, end: int) -> Children:
        first, written, second = children
        return [self._value(first, start), written, self._value(second, start)]

    def append_operation(self, children: Children, start: int, end: int) -> Children:
        children[0] += (children[1], self._value(children[2], start))
        return children[0]

    def folded(self, children: Children, start: int, end: int) -> ir.Immediate:
        return self._computed(start, lambda: evaluate(children[0]))

    def constant_expression(self, children: Children, start: int, end: int) -> ir.Immediate:
        made = self.unwrapped(children[0], start)
        if not isinstance(made, ir.Immediate):
            raise self.source.error(start, "expected a constant")
        return made

    def _computed(self, start: int, compute: Callable[[], Value]) -> ir.Immediate:
        try:
            return constant_of(compute())
        except ExpressionError as error:
            raise self.source.error(start, str(error)) from None

    def integer(self, made: ir.Immediate, offset: int) -> int:
        """A constant that must be an integer."""
        if made.kind != "int":
            raise self.source.error(offset, "expected an integer, found a floating-point constant")
        return made.bits

    def offset(self, children: Children, start: int) -> int:
        """The bytes of ``+ expression`` or ``- expression``, the last two children."""
        value = self.integer(children[-1], start)
        if children[-2] == "-":
            self.remark(start, "expected '+' before an offset, found '-'")
            value = -value
        return wrap(value, False)

    # --- names --------------------------------------------------------------------------------------------------
    def named(self, children: Children, start: int, end: int) -> ir.Register | ir.Symbol:
        return self.scopes.meaning.get(children[0]) or self.scopes.lookup(children[0])

    def register(self, name: str, offset: int) -> ir.Register:
        """A name that must be a register."""
        made = self.scopes.lookup(name)
        if not isinstance(made, ir.Register):
            raise self.source.error(offset, f"expected a register, found '{name}', which is not declared as one")
        return made

    def sum(self, children: Children, start: int, end: int) -> "ir.Symbol | Sum":
        offset = self.offset(children, start)
        made = self.scopes.lookup(children[0])
        if isinstance(made, ir.Symbol):
            return ir.Symbol(made.name, offset)
        self.has_markers = True
        return Sum(made, offset)

    def _symbol(self, name: str, offset: int, start: int) -> ir.Symbol:
        made = self.scopes.lookup(name)
        if not isinstance(made, ir.Symbol):
            raise self.source.error(start, f"expected a variable before the offset, found register '{name}'")
        return ir.Symbol(made.name, offset)

    def first_index(self, children: Children, start: int, end: int) -> Children:
        return [self.integer(children[1], start)]

    def element(self, children: Children, start: int, end: int) -> Element:
        """``table[3]``: the address of an element; ``variable_of`` knows the shapes."""
        name = children[0]
        made = self._symbol(name, 0, start)
        variable = self.variable_of(made.name)
        if variable is None:
            raise self.source.error(start, f"expected an array before '[', found '{name}'")
        indices = children[1]
        if len(indices) > max(1, len(variable.shape)):
            raise self.source.error(start, f"'{name}' has {len(variable.shape)} dimensions, not {len(indices)}")
        stride = TYPE_BYTES[variable.type.rpartition(".")[2]] * (int(variable.type[1]) if "." in variable.type else 1)
        offset = 0
        for place in reversed(range(len(variable.shape) or 1)):
            offset += (indices[place] if place < len(indices) else 0) * stride
            stride *= variable.shape[place] if variable.shape else 1
        self.has_markers = True
        return Element(ir.Symbol(made.name, wrap(offset, False)))

    def variable_of(self, name: str) -> ir.Variable | None:
        """The variable that a name of the structure stands for."""
        raise NotImplementedError

    # --- operands -----------------------------------------------------------------------------------------------
    def negated(self, children: Children, start: int, end: int) -> ir.Not:
        return ir.Not(self.register(children[1], start))

    def minus(self, children: Children, start: int, end: int) -> ir.Modified:
        return ir.Modified(self.register(children[1], start), "-")

    def pair(self, children: Children, start: int, end: int) -> ir.Pair:
        first, second = (
            part if type(part) is ir.Vector else None if part == "_" else self.register(part, start)
            for part in (children[0], children[2])
        )
        return ir.Pair(first, second)  # type: ignore[arg-type]  # the grammar has no vector in the second place

    def vector(self, children: Children, start: int, end: int) -> ir.Vector:
        made = [self.unwrapped(element, start) for element in children[1]]
        if not all(isinstance(element, ir.Register | ir.Immediate | ir.Symbol) for element in made):
            raise self.source.error(start, "expected registers or constants in {..}")
        return ir.Vector(tuple(None if type(e) is ir.Register and e.name == "_" else e for e in made))

    def unified_address(self, children: Children, start: int, end: int) -> ir.Address:
        if children[3] != ".unified":
            raise self.source.error(end - len(children[3]), f"expected ',', ';' or .unified, found '{children[3]}'")
        return ir.Address(children[1].base, children[1].offset, True)

    def texture(self, children: Children, start: int, end: int) -> ir.Texture:
        name, rest = children[1], [self.unwrapped(operand, start) for operand in children[3]]
        sampler = rest[0] if len(rest) == 2 else None
        named = isinstance(name.base, ir.Register | ir.Symbol) and isinstance(sampler, ir.Register | ir.Symbol | None)
        if len(rest) > 2 or not named or (name.offset and not isinstance(name.base, ir.Symbol)):
            raise self.source.error(start, "expected [texture, coordinates] or [texture, sampler, coordinates]")
        base = ir.Symbol(name.base.name, name.offset) if name.offset else name.base
        return ir.Texture(base, sampler, rest[-1])

    def base(self, children: Children, start: int, end: int) -> ir.Address:
        return ir.Address(self.named(children, start, end))

    def base_number(self, children: Children, start: int, end: int) -> ir.Address:
        return ir.Address(ir.Immediate(self.integer(children[0], start)))

    def base_sum(self, children: Children, start: int, end: int) -> ir.Address:
        return ir.Address(self.named(children, start, end), self.offset(children, start))

    def base_element(self, children: Children, start: int, end: int) -> ir.Address:
        made = self.element(children, start, end).symbol
        return ir.Address(ir.Symbol(made.name), made.offset)

    def no_arguments(self, children: Children, start: int, end: int) -> Arguments:
        return Arguments()

    def arguments(self, children: Children, start: int, end: int) -> Arguments:
        return Arguments(self.unwrapped(operand, start) for operand in children[1])
