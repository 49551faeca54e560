"""Fields of structures that the host fills, as a program's TOML lists them.

A *field* is one member of a structure (a launch parameter, a constant of shaders, a member of a shader binding table
record); it gets its offset by C's rules and its value from a named source or from the file itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice, one_of
from rayplay.ptx.ir import Module, Variable

Values = Mapping[str, Any]

_BASES = {
    "u8": ("<u1", 1), "i8": ("<i1", 1), "u16": ("<u2", 2), "i16": ("<i2", 2), "u32": ("<u4", 4), "i32": ("<i4", 4),
    "u64": ("<u8", 8), "i64": ("<i8", 8), "f32": ("<f4", 4), "f64": ("<f8", 8), "pointer": ("<u8", 8),
}  # fmt: skip
TYPES = (*_BASES, *(f"{base}x{count}" for base in _BASES if base != "pointer" for count in (2, 3, 4)))


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a structure. ``source`` names what fills it, ``value`` is a constant, ``bytes_per_pixel`` asks for
    a zeroed buffer of that many bytes per pixel; exactly one of the three is set."""

    name: str
    type: str
    offset: int
    source: str | None = None
    value: tuple[float, ...] | None = None
    bytes_per_pixel: int | None = None

    @property
    def dtype(self) -> str:
        """numpy's name for one component."""
        return _BASES[self.type.partition("x")[0]][0]

    @property
    def bytes(self) -> int:
        return _size_and_align(self.type)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenField:
    """A field as it is written; without ``source``, ``value`` and ``bytes_per_pixel`` its name is its source."""

    name: str
    type: str = one_of(TYPES)
    offset: int | None = None
    source: str | None = None
    value: float | tuple[float, ...] | None = None
    bytes_per_pixel: int | None = None

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.source, self.value, self.bytes_per_pixel)) > 1:
            raise ValueError("must have one of source, value and bytes_per_pixel, found more")


def place_fields(
    written: tuple[WrittenField, ...], sources: Mapping[str, str], place: str, per_pixel: bool = False
) -> tuple[Field, ...]:
    """The fields of a structure, each at its offset: the one written, or the next that fits its alignment.

    sources     type of each quantity that can fill a field, by name.
    per_pixel   whether fields may be buffers of some bytes per pixel.
    """
    fields: list[Field] = []
    end = 0
    for number, each in enumerate(written):
        align = _size_and_align(each.type)[1]
        offset = -(-end // align) * align if each.offset is None else each.offset
        if offset < end or offset % align:
            raise UserError(
                f"{place}[{number}].offset: must be a multiple of {align} and at least {end}, found {offset!r}"
            )
        fields.append(_filled(each, offset, sources, f"{place}[{number}]", per_pixel))
        end = offset + fields[-1].bytes
    return tuple(fields)


def _filled(written: WrittenField, offset: int, sources: Mapping[str, str], place: str, per_pixel: bool) -> Field:
    """The field with its constant, buffer or source, checked."""
    name, kind, count = written.name, written.type, written.bytes_per_pixel
    if written.value is not None:
        return Field(name, kind, offset, value=_constant(written.value, kind, place))
    if count is not None:
        if kind != "pointer" or not per_pixel or count < 1:
            raise UserError(f"{place}.bytes_per_pixel: must be a positive integer of a launch parameter pointer")
        return Field(name, kind, offset, bytes_per_pixel=count)
    source = written.source or name
    check_choice(source, sources, f"{place}.source")
    if not _fits(kind, sources[source]):
        raise UserError(f"{place}.type: source {source!r} must be {sources[source]}, not {kind}")
    return Field(name, kind, offset, source=source)


def _fits(kind: str, wanted: str) -> bool:
    """Whether a value of type ``wanted`` can be stored as ``kind``: equal bytes, and both floating or both not."""
    return _size_and_align(kind)[0] == _size_and_align(wanted)[0] and (kind[0] == "f") == (wanted[0] == "f")


def _constant(given: float | tuple[float, ...], kind: str, place: str) -> tuple[float, ...]:
    values = given if isinstance(given, tuple) else (given,)
    count = int(kind.partition("x")[2] or 1)
    if len(values) != count or not (kind[0] == "f" or all(isinstance(value, int) for value in values)):
        found = list(given) if isinstance(given, tuple) else given
        raise UserError(f"{place}.value: must be {count} number{'s' * (count > 1)} of type {kind}, found {found!r}")
    dtype = np.dtype(_BASES[kind.partition("x")[0]][0])
    most = np.finfo(dtype) if kind[0] == "f" else np.iinfo(dtype)
    if not all(most.min <= value <= most.max for value in values):
        raise UserError(f"{place}.value: must be from {most.min} to {most.max} as {kind}, found {given!r}")
    return values


def _size_and_align(kind: str) -> tuple[int, int]:
    """Bytes and alignment of a type, as CUDA's vector types have them: three components align as one."""
    base, _, count = kind.partition("x")
    size = _BASES[base][1]
    return size * int(count or 1), size if count in ("", "3") else min(16, size * int(count))


def pack_fields(fields: Sequence[Field], values: Values, place: str) -> bytes:
    """The bytes of a structure; a field whose source has no value here is a ``UserError``."""
    if not fields:
        return b""
    data = bytearray(fields[-1].offset + fields[-1].bytes)
    for field in fields:
        value = field.value if field.value is not None else values.get(field.source or field.name)
        if value is None:
            raise UserError(f"{place}: field {field.name!r}: there is no {field.source!r} here")
        packed = np.atleast_1d(np.asarray(value)).astype(field.dtype).tobytes()
        data[field.offset : field.offset + field.bytes] = packed
    return bytes(data)


def params_symbol(configured: str | None, params: Sequence[Field], modules: Sequence[Module], place: str) -> str | None:
    """Name of the launch parameters: the configured one, or the only ``.const`` object of the modules without contents;
    None where there are no parameters and none is named."""
    objects: dict[str, Variable] = {}
    for module in modules:
        for name, v in module.variables.items():
            is_empty = v.space == "const" and not any(v.initial) and not v.relocations
            if is_empty and (name not in objects or v.bytes > objects[name].bytes):
                objects[name] = v
    if configured is None and not params and len(objects) != 1:
        return None
    if configured is None and len(objects) != 1:
        raise UserError(
            f"{place}: params_symbol must say which .const object holds the launch parameters: {[*objects]}"
        )
    name = configured or next(iter(objects))
    sources = ", ".join(module.source_name for module in modules)
    check_choice(name, objects, f"{place}: params_symbol: .const objects of {sources}")
    bytes_ = params[-1].offset + params[-1].bytes if params else 0
    if objects[name].bytes and bytes_ > objects[name].bytes:
        raise UserError(f"{place}: params: {bytes_} bytes do not fit {name}, which has {objects[name].bytes}")
    return name
