"""Declarations to ``ptx.ir.Variable``: sizes, alignments and the bytes of initialisers."""

from math import prod
from typing import Any

from ptx.ir import Immediate, Symbol, Variable
from ptx.numbers import TYPE_BYTES, encode
from ptx.syntax import Source

MOST_DIMENSIONS = 16
MOST_ALIGN = 1 << 20


def register_type(attributes: list[Any], type_name: str) -> str:
    """``f32`` or ``v4.f32``."""
    vectors = [a for a in attributes if isinstance(a, str) and a.startswith(".v")]
    return (vectors[0][1:] if vectors else "") + (type_name if vectors else type_name[1:])


def declared_variable(
    source: Source, offset: int, name: str, space: str, attributes: list[Any], type_name: str,
    dimensions: list[int | None], linkage: list[str], initial: Any,
) -> Variable:  # fmt: skip
    """The variable of one declarator. An unsized array takes the size of its initialiser, or 0 without one.

    Raises UserError for a size or alignment that cannot be, and for an initialiser with too many elements.
    """
    full_type = register_type(attributes, type_name)
    element = type_name[1:]
    lanes = int(full_type[1]) if full_type.startswith("v") else 1
    given = [a for a in attributes if isinstance(a, int)]
    place = source.position(offset)
    elements = ([initial] if not isinstance(initial, list) else initial) if initial is not None else []
    shape = [len(elements) if d is None and i == 0 else d or 0 for i, d in enumerate(dimensions)]
    if lanes > 1:
        shape.append(lanes)
    align = given[0] if given else TYPE_BYTES[element] * lanes
    if align <= 0 or align & (align - 1) or align > MOST_ALIGN:
        raise source.error(offset, f"the alignment of '{name}' must be a power of two up to {MOST_ALIGN}, not {align}")
    if any(d < 0 for d in shape) or len(shape) > MOST_DIMENSIONS:
        raise source.error(offset, f"'{name}' must have at most {MOST_DIMENSIONS} dimensions, none negative")
    bytes_in_all = prod(shape) * TYPE_BYTES[element]
    if bytes_in_all > 1 << 40:
        raise source.error(offset, f"'{name}' is larger than 1 TiB")
    flat = _flatten(elements, shape or [1])
    if flat is None:
        raise source.error(offset, f"the initialiser of '{name}' must fit its {prod(shape)} elements, it has more")
    data, relocations = _encode(flat, element)
    return Variable(
        name, space[1:].split("::")[0], full_type, bytes_in_all, align, place,
        linkage[0][1:] if linkage else "", data, relocations,
    )  # fmt: skip


def _flatten(values: list[Any], shape: list[int]) -> list[Immediate | Symbol] | None:
    """Nested initialiser lists in memory order, missing elements 0; None when there are too many."""
    if len(shape) == 1 or not any(isinstance(value, list) for value in values):
        flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
        return flat if len(flat) <= prod(shape) and not any(isinstance(v, list) for v in flat) else None
    if len(values) > shape[0]:
        return None
    made: list[Immediate | Symbol] = []
    for value in values:
        row = _flatten(value if isinstance(value, list) else [value], shape[1:])
        if row is None:
            return None
        made += row + [Immediate(0)] * (prod(shape[1:]) - len(row))
    return made


def _encode(values: list[Immediate | Symbol], element: str) -> tuple[bytes, tuple[tuple[int, Symbol], ...]]:
    size = TYPE_BYTES[element]
    data, relocations = bytearray(), []
    for value in values:
        if isinstance(value, Symbol):
            relocations.append((len(data), value))
            data += bytes(size)
        else:
            data += encode(value, element)
    while data and not relocations and data[-1] == 0:
        data.pop()
    return bytes(data), tuple(relocations)
