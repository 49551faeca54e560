"""Reductions to structure: methods that ``syntax.reduce_text`` calls, named by the alternatives of ``grammar.lark``.

This file has lists, words and operands; ``parser.py`` adds declarations, functions and instructions.
"""

from typing import Any

from ptx.ir import Address, Immediate, Not, Operand, Pair, Position, Register, Symbol, Texture, Vector
from ptx.numbers import immediate
from ptx.scopes import Scopes
from ptx.syntax import Source

WARP_SIZE = Immediate(32)
MOST_DIGITS = 400  # of a constant; a double written out in full has 309

Children = list[Any]


class Arguments(tuple[Operand, ...]):
    """A parenthesised list of operands: what only a ``call`` has."""


class ListBuilder:
    """Positions and lists, which every language has."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def place(self, offset: int) -> Position:
        """The position of a character of the text."""
        return self.source.position(offset)

    def ignore(self, children: Children, start: int, end: int) -> None:
        """Nothing that the structure keeps."""

    def leave(self, children: Children, start: int, end: int) -> Any:
        return children[0]

    take = leave

    def empty_list(self, children: Children, start: int, end: int) -> Children:
        return []

    def empty_dict(self, children: Children, start: int, end: int) -> dict[str, Any]:
        return {}

    def empty_parentheses(self, children: Children, start: int, end: int) -> Children:
        return []

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
    """Builds operands; ``scopes`` are those of the function being read."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.scopes = Scopes()
        self._numbers: dict[str, Immediate] = {}

    def constant(self, text: str) -> Immediate:
        """The constant a NUMBER stands for."""
        made = self._numbers.get(text)
        if made is None:
            made = self._numbers[text] = immediate(text)
        return made

    def checked(self, text: str, offset: int) -> Immediate:
        """The constant of a NUMBER where it is used: an integer must fit 64 bits."""
        made = self.constant(text) if len(text) <= MOST_DIGITS else None
        if made is None or (made.kind == "int" and not -(1 << 63) <= made.bits < 1 << 64):
            raise self.source.error(offset, f"expected a constant of at most 64 bits, found '{text[:40]}'")
        return made

    def integer(self, text: str, offset: int) -> int:
        """A NUMBER that must be an integer."""
        made = self.checked(text, offset)
        if made.kind != "int":
            raise self.source.error(offset, f"expected an integer, found '{text}'")
        return made.bits

    def named(self, children: Children, start: int, end: int) -> Register | Symbol | Immediate:
        name = children[0]
        made = self.scopes.meaning.get(name)
        if made is not None:
            return made
        return WARP_SIZE if name == "WARP_SZ" else self.scopes.lookup(name)

    def register(self, name: str, offset: int) -> Register:
        """A name that must be a register."""
        made = self.scopes.lookup(name)
        if not isinstance(made, Register):
            raise self.source.error(offset, f"expected a register, found '{name}', which is not declared as one")
        return made

    def number(self, children: Children, start: int, end: int) -> Immediate:
        return self.checked(children[0], start)

    def symbol_sum(self, children: Children, start: int, end: int) -> Symbol:
        return self._symbol(children[0], self.integer(children[2], start), start)

    def symbol_difference(self, children: Children, start: int, end: int) -> Symbol:
        return self._symbol(children[0], self._negative(children[1], start), start)

    def _symbol(self, name: str, offset: int, start: int) -> Symbol:
        made = self.scopes.lookup(name)
        if not isinstance(made, Symbol):
            raise self.source.error(start, f"expected a variable before the offset, found register '{name}'")
        return Symbol(made.name, offset)

    def _negative(self, text: str, start: int) -> int:
        if text[0] != "-":
            raise self.source.error(start, f"expected '+' or '-' before '{text}'")
        return self.integer(text, start)

    def negated(self, children: Children, start: int, end: int) -> Not:
        return Not(self.register(children[1], start))

    def pair(self, children: Children, start: int, end: int) -> Pair:
        first, second = (None if children[i] == "_" else self.register(children[i], start) for i in (0, 2))
        return Pair(first, second)

    def vector(self, children: Children, start: int, end: int) -> Vector:
        if not all(isinstance(element, Register | Immediate | Symbol) for element in children[1]):
            raise self.source.error(start, "expected registers or constants in {..}")
        return Vector(tuple(None if type(e) is Register and e.name == "_" else e for e in children[1]))

    def address(self, children: Children, start: int, end: int) -> Address:
        return children[1]

    def texture(self, children: Children, start: int, end: int) -> Texture:
        name, rest = children[1], children[3]
        self._no_arguments(rest, start)
        sampler = rest[0] if len(rest) == 2 else None
        named = isinstance(name.base, Register | Symbol) and isinstance(sampler, Register | Symbol | None)
        if name.offset or len(rest) > 2 or not named:
            raise self.source.error(start, "expected [texture, coordinates] or [texture, sampler, coordinates]")
        return Texture(name.base, sampler, rest[-1])

    def base(self, children: Children, start: int, end: int) -> Address:
        return Address(self.named(children, start, end))

    def base_number(self, children: Children, start: int, end: int) -> Address:
        return Address(Immediate(self.integer(children[0], start)))

    def base_sum(self, children: Children, start: int, end: int) -> Address:
        return Address(self.named(children, start, end), self.integer(children[2], start))

    def base_difference(self, children: Children, start: int, end: int) -> Address:
        return Address(self.named(children, start, end), self._negative(children[1], start))

    def no_arguments(self, children: Children, start: int, end: int) -> Arguments:
        return Arguments()

    def arguments(self, children: Children, start: int, end: int) -> Arguments:
        self._no_arguments(children[1], start)
        return Arguments(children[1])

    def _no_arguments(self, operands: Children, start: int) -> None:
        if any(type(operand) is Arguments for operand in operands):
            raise self.source.error(start, "expected an operand, found a parenthesised list, which only a call has")
