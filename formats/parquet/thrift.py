"""The compact protocol of Apache Thrift, as far as page headers and footers of Parquet need it.

Source: ``doc/specs/thrift-compact-protocol.md`` of Apache Thrift.
"""

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
MOST_DEPTH = 8


class Reader:
    """Reads one value after the other from ``data``; ``IndexError`` at its end, ``ValueError`` for an illegal one."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Field number -> value; texts, lists and maps are skipped."""
        fields: dict[int, Any] = {}
        number = 0
        while kind_and_number := self.field(number):
            kind, number = kind_and_number
            value = self._value(kind, depth)
            if value is not None:
                fields[number] = value
        return fields

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

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MOST_DEPTH:
            raise ValueError("a header must not nest deeper")
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind in (I16, I32, I64):
            return self.integer()
        if kind == STRUCT:
            return self.struct(depth + 1)
        self._pass_over(kind, depth)
        return None

    def _pass_over(self, kind: int, depth: int) -> None:
        if kind in (LIST, SET):
            head = self.byte()
            for _ in range(self.varint() if head >> 4 == 15 else head >> 4):
                self._element(head & 15, depth)
        elif kind == MAP:
            count = self.varint()
            kinds = self.byte() if count else 0
            for _ in range(count):
                self._element(kinds >> 4, depth)
                self._element(kinds & 15, depth)
        else:
            self.skip({BYTE: 1, DOUBLE: 8}.get(kind) or self._text_bytes(kind))

    def _element(self, kind: int, depth: int) -> None:
        if kind in (TRUE, FALSE):  # inside lists and maps a truth value is a byte
            self.skip(1)
        else:
            self._value(kind, depth + 1)

    def _text_bytes(self, kind: int) -> int:
        if kind != BINARY:
            raise ValueError(f"a header must have fields of known types, not of type {kind}")
        return self.varint()
