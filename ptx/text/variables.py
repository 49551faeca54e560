"""Declarations to ``ptx.ir.Variable``: sizes, alignments and the bytes of initialisers."""

from math import prod
from typing import Any, NamedTuple

from rayplay.ptx.ir import Immediate, Symbol, Variable
from rayplay.ptx.numbers import TYPE_BYTES, encode
from rayplay.ptx.text.lalr import Source

MOST_DIMENSIONS = 16
MOST_ALIGN = 1 << 20
MOST_NESTED = 1 << 22  # elements of an array with a nested initialiser, which is written out with its zeros
ADDRESS_BYTES = 8


class Mask(NamedTuple):
    """``0xff00(symbol)``: the bits of an address that the mask selects, moved down to bit 0."""

    mask: int
    symbol: Symbol


class Property(NamedTuple):
    """``filter_mode = linear`` of a sampler or texture."""

    name: str
    value: str


Value = Immediate | Symbol | Mask


class Attributes(NamedTuple):
    """Words between the state space and the type."""

    lanes: int
    align: int | None
    named: tuple[str, ...]


def attributes_of(written: list[Any]) -> Attributes:
    """Alignments are integers, vectors start with ``.v``, the rest are the texts of ``.attribute(...)``."""
    texts = [a for a in written if isinstance(a, str)]
    lanes = [int(text[2:]) for text in texts if text.startswith(".v")]
    aligns = [a for a in written if isinstance(a, int)]
    named = tuple(text for text in texts if not text.startswith(".v"))
    return Attributes(lanes[0] if lanes else 1, aligns[0] if aligns else None, named)


def register_type(attributes: list[Any], type_name: str) -> str:
    """``f32`` or ``v4.f32``."""
    lanes = attributes_of(attributes).lanes
    return f"v{lanes}{type_name}" if lanes > 1 else type_name[1:]


def declared_variable(
    source: Source, offset: int, name: str, space: str, attributes: list[Any], type_name: str,
    dimensions: list[int | None], linkage: list[str], initial: Any, pointer: tuple[str, int] | None = None,
) -> Variable:  # fmt: skip
    """The variable of one declarator. An unsized array takes the size of its initialiser, or 0 without one.

    Raises UserError for a size or alignment that cannot be, and for an initialiser with too many elements.
    """
    said = attributes_of(attributes)
    element = type_name[1:]
    elements = ([initial] if not isinstance(initial, list) else initial) if initial is not None else []
    properties = tuple((e.name, e.value) for e in elements if isinstance(e, Property))
    elements = [] if properties else elements
    declared = tuple(len(elements) if d is None and i == 0 else d or 0 for i, d in enumerate(dimensions))
    shape = [*declared, said.lanes] if said.lanes > 1 else list(declared)
    align = TYPE_BYTES[element] * said.lanes if said.align is None else said.align
    if align <= 0 or align & (align - 1) or align > MOST_ALIGN:
        raise source.error(offset, f"the alignment of '{name}' must be a power of two up to {MOST_ALIGN}, not {align}")
    if any(d < 0 for d in shape) or len(shape) > MOST_DIMENSIONS:
        raise source.error(offset, f"'{name}' must have at most {MOST_DIMENSIONS} dimensions, none negative")
    bytes_in_all = prod(shape) * TYPE_BYTES[element]
    if bytes_in_all > 1 << 40:
        raise source.error(offset, f"'{name}' is larger than 1 TiB")
    if prod(shape) > MOST_NESTED and any(isinstance(e, list) for e in elements):
        raise source.error(offset, f"'{name}' has a nested initialiser and more than {MOST_NESTED} elements")
    flat = _flatten(elements, shape or [1])
    if flat is None:
        raise source.error(offset, f"the initialiser of '{name}' must fit its {prod(shape)} elements, it has more")
    data, relocations, masked = _encode(flat, element)
    return Variable(
        name, space[1:].split("::")[0].split("[")[0], register_type(attributes, type_name), bytes_in_all, align,
        source.position(offset), linkage[0][1:] if linkage else "", data, relocations, declared, masked, pointer,
        said.named, properties,
    )  # fmt: skip


def initial_problem(initial: Any, element: str, has_elements: bool) -> str | None:
    """The fault in the kind of an initialiser's first constant, None without one."""
    if isinstance(initial, list) and not has_elements and not (initial and isinstance(initial[0], Property)):
        return "which no list initialises"
    while isinstance(initial, list) and initial:
        initial = initial[0]
    if isinstance(initial, Symbol) and (element[0] == "f" or TYPE_BYTES[element] < 4):
        return f"which the address of '{initial.name}' is not"
    if isinstance(initial, Immediate) and element[0] in "usf" and (initial.kind == "int") == (element[0] == "f"):
        return f"which {'an integer' if initial.kind == 'int' else 'a floating-point'} constant is not"
    return None


def _flatten(values: list[Any], shape: list[int]) -> list[Value] | None:
    """Nested initialiser lists in memory order, missing elements 0; None when there are too many."""
    if len(shape) == 1 or not any(isinstance(value, list) for value in values):
        flat = [v for value in values for v in (value if isinstance(value, list) else [value])]
        whole = len(flat) <= prod(shape) and not any(isinstance(v, list | Property) for v in flat)
        return flat if whole else None
    if len(values) > shape[0]:
        return None
    made: list[Value] = []
    for value in values:
        row = _flatten(value if isinstance(value, list) else [value], shape[1:])
        if row is None:
            return None
        made += row + [Immediate(0)] * (prod(shape[1:]) - len(row))
    return made


def _encode(
    values: list[Value], element: str
) -> tuple[bytes, tuple[tuple[int, Symbol], ...], tuple[tuple[int, int, Symbol], ...]]:
    """The bytes of an initialiser, the addresses in it, and the single bytes of addresses."""
    size = TYPE_BYTES[element]
    data, relocations, masks = bytearray(), [], {}
    for value in values:
        if isinstance(value, Immediate):
            data += encode(value, element)
            continue
        if isinstance(value, Symbol):
            relocations.append((len(data), value))
        else:
            masks[len(data)] = value
        data += bytes(size)
    while data and not relocations and not masks and data[-1] == 0:
        data.pop()
    relocations += _whole_addresses(masks)
    masked = tuple((offset, value.mask, value.symbol) for offset, value in masks.items())
    return bytes(data), tuple(sorted(relocations, key=lambda r: r[0])), masked


def _whole_addresses(masks: dict[int, Mask]) -> list[tuple[int, Symbol]]:
    """Take the rows of bytes that make a whole address out of ``masks``: a packed structure with a pointer in it."""
    found = []
    for offset, (mask, symbol) in list(masks.items()):
        row = {offset + i: Mask(0xFF << 8 * i, symbol) for i in range(ADDRESS_BYTES)}
        if mask == 0xFF and all(masks.get(place) == value for place, value in row.items()):
            found.append((offset, symbol))
            for place in row:
                del masks[place]
    return found
