"""The compact protocol of Apache Thrift, as far as page headers and footers of Parquet need it.

Source: ``doc/specs/thrift-compact-protocol.md`` of Apache Thrift.
"""

from collections.abc import Callable
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
INTEGERS = (I16, I32, I64)
LONG_LIST = 15
MOST_DEPTH = 16

Change = dict[tuple[int, ...], Callable[[int], int]]


class Reader:
    """Reads one value after the other from ``data``; ``IndexError`` at its end, ``ValueError`` for an illegal one."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Field number -> value; texts and lists are skipped."""
        fields: dict[int, Any] = {}
        number = 0
        while kind_and_number := self.field(number):
            kind, number = kind_and_number
            if kind in (TRUE, FALSE):
                fields[number] = kind == TRUE
            elif kind in INTEGERS:
                fields[number] = self.integer()
            elif kind == STRUCT and depth < MOST_DEPTH:
                fields[number] = self.struct(depth + 1)
            else:
                self.copy(kind, bytearray(), {}, depth=depth)
        return fields

    def copy(self, kind: int, out: bytearray, change: Change, path: tuple[int, ...] = (), depth: int = 0) -> None:
        """Append the next value to ``out``, its integers at the paths of field numbers in ``change`` changed."""
        if depth > MOST_DEPTH:
            raise ValueError("a value must not nest deeper")
        start = self.at
        if kind in INTEGERS:
            value = self.integer()
            put_integer(out, change[path](value) if path in change else value)
        elif kind in (BYTE, DOUBLE, BINARY):
            self.skip(self.varint() if kind == BINARY else 8 if kind == DOUBLE else 1)
            out += self.data[start : self.at]
        elif kind in (LIST, SET):
            head = self.byte()
            count = head >> 4 if head >> 4 != LONG_LIST else self.varint()
            out += self.data[start : self.at]
            element = BYTE if head & 15 in (TRUE, FALSE) else head & 15  # inside lists a truth value is a byte
            for _ in range(count):
                self.copy(element, out, change, path, depth + 1)
        elif kind == STRUCT:
            field = 0
            while kind_and_field := self.field(field):
                kind, field = kind_and_field
                out += self.data[start : self.at]
                self.copy(kind, out, change, (*path, field), depth + 1)
                start = self.at
            out.append(0)
        elif kind not in (TRUE, FALSE):  # which have no bytes of their own
            raise ValueError(f"type {kind} at byte {self.at} is unknown")

    def field(self, last: int) -> tuple[int, int] | None:
        """The head of a struct's next field, which follows the field ``last``: its type and number; None at the end."""
        head = self.byte()
        if head == 0:
            return None
        return head & 15, last + (head >> 4) if head >> 4 else self.integer()

    def integer(self) -> int:
        """A zigzag varint of at most 64 bits."""
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def skip(self, count: int) -> None:
        """Skip ``count`` bytes."""
        self.at += count
        if self.at > len(self.data):
            raise IndexError("end of data")

    def byte(self) -> int:
        """The next byte."""
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        """A number without a sign, seven bits a byte."""
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise ValueError("a number must have at most 64 bits")


def put_varint(out: bytearray, value: int) -> None:
    """Append a number without a sign, seven bits a byte."""
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def put_integer(out: bytearray, value: int) -> None:
    """Append a zigzag varint."""
    put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)
