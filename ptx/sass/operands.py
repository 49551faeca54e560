"""Operands of SASS: words, numbers and references to structure.

``SassOperandBuilder`` has the methods that ``sass.lark`` names for operands; ``parser.py`` adds the rest.
"""

import re
from typing import Any

from rayplay.ptx.ir import Immediate, Modified, Not, Operand, Reference, Register, Symbol, Vector
from rayplay.ptx.numbers import f64_bits
from rayplay.ptx.text.lalr import Source
from rayplay.ptx.text.operands import Children, ListBuilder

# Registers as the disassemblers name them: general, predicate, uniform ones, barriers, scoreboards, special ones.
REGISTER = re.compile(r"(?:U?R(?:\d{1,3}|Z)|U?P(?:[0-6]|T|R)|S?B\d{1,2}|SRZ?)\Z|SR_\w+(?:\.[XYZ])?\Z")
_SUFFIXED = re.compile(r"(U?R(?:\d{1,3}|Z)|U?P[0-6T])\.(.+)\Z")
_SPECIAL_BITS = {"QNAN": 0x7FF8 << 48, "SNAN": 0x7FF4 << 48, "NAN": 0x7FF8 << 48, "INF": 0x7FF << 52}
MOST_DIGITS = 400


def word_operand(text: str) -> Operand:
    """A register with its suffixes, or a symbol for what no register is called (``2D``, ``gsb0``)."""
    if REGISTER.match(text):
        name, _, component = text.partition(".")
        return Register(name, component)
    suffixed = _SUFFIXED.match(text)
    if suffixed:
        return Modified(Register(suffixed[1]), suffixes=tuple(suffixed[2].split(".")))
    return Symbol(text)


def number_operand(text: str) -> Immediate:
    """Hexadecimal numbers are integers, all others floats: ``kind`` is ``f64`` whatever the instruction's type."""
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    if digits[:2] == "0x":
        return Immediate(sign * int(digits[2:], 16))
    if digits in _SPECIAL_BITS:
        return Immediate(_SPECIAL_BITS[digits] | (1 << 63 if sign < 0 else 0), "f64")
    return Immediate(f64_bits(sign * float(digits)), "f64")


class SassOperandBuilder(ListBuilder):
    """Builds operands. Words and numbers are few and come often, so each is made once."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._words: dict[str, Operand] = {}
        self._numbers: dict[str, Immediate] = {}

    def word(self, children: Children, start: int, end: int) -> Operand:
        text = children[0]
        made = self._words.get(text)
        if made is None:
            made = self._words[text] = word_operand(text)
        return made

    def number(self, children: Children, start: int, end: int) -> Immediate:
        text = children[0]
        made = self._numbers.get(text)
        if made is None:
            if len(text) > MOST_DIGITS:
                raise self.source.error(
                    start, f"expected a constant of at most {MOST_DIGITS} digits, found '{text[:40]}'"
                )
            made = self._numbers[text] = number_operand(text)
        return made

    def target(self, children: Children, start: int, end: int) -> Symbol:
        """A label or function: what stands in the parentheses behind a backquote."""
        return Symbol(children[0][2:-1].strip())

    def relocation(self, children: Children, start: int, end: int) -> Symbol:
        """``32@lo(name)``: kept as it is written, the linker gives it a value."""
        return Symbol(children[0])

    def negated(self, children: Children, start: int, end: int) -> Not:
        made = self.word(children[1:], start, end)
        if not isinstance(made, Register):
            raise self.source.error(start, f"expected a predicate after '!', found '{children[1]}'")
        return Not(made)

    def signed(self, children: Children, start: int, end: int) -> Modified:
        sign, made = children
        if isinstance(made, Modified):
            return Modified(made.operand, sign, made.absolute, made.suffixes)
        return Modified(made, sign)

    def absolute(self, children: Children, start: int, end: int) -> Modified:
        made, outer = children[1], tuple(suffix[1:] for suffix in children[3])
        if isinstance(made, Modified):
            return Modified(made.operand, made.sign, True, made.suffixes + outer)
        return Modified(made, "", True, outer)

    def reference(self, children: Children, start: int, end: int) -> Operand:
        made, suffixes = children
        return Modified(made, suffixes=tuple(s[1:] for s in suffixes)) if suffixes else made

    def vector(self, children: Children, start: int, end: int) -> Vector:
        return Vector(tuple(children[1]))

    def plain_reference(self, children: Children, start: int, end: int) -> Reference:
        return self._reference("", None, children[1], start)

    def named_reference(self, children: Children, start: int, end: int) -> Reference:
        return self._reference(children[0], None, children[2], start)

    def table_reference(self, children: Children, start: int, end: int) -> Reference:
        if len(children[2]) != 1:
            raise self.source.error(start, f"expected one bank or descriptor in {children[0]}[..][..]")
        return self._reference(children[0], children[2][0], children[5], start)

    def _reference(self, name: str, table: Any, terms: Children, start: int) -> Reference:
        registers = tuple(term for term in terms if not isinstance(term, Immediate))
        offsets = [term for term in terms if isinstance(term, Immediate)]
        if any(offset.kind != "int" for offset in offsets):
            raise self.source.error(start, "expected an integer offset in [..]")
        return Reference(name, table, registers, sum(offset.bits for offset in offsets))
