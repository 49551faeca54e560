"""States passed by reference: compiled code gets one address where a NamedTuple would be copied word by word.

A state is some twenty arrays, each of seven words or more, and a stage takes several states: numba passes them all by
value, which took most of the time to compile the engine, and much of the time to run it. ``Ref`` writes the state's
words into memory once; a reference has the same fields, each read from there when it is used. The words never change
(arrays are written, not replaced), so that the compiler may keep what it has read.
"""

import hashlib
import struct
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.extending import NativeValue, register_model, unbox
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr

from rayplay.replay.jit.aliasing import Columns, FieldArray, columns_of_field, read_array, read_word


class RefType(types.Type):
    """The type of a reference to a state of the NamedTuple type ``state``, whose arrays have these ``columns``.

    Its name is short, for it becomes part of every function's name in machine code.
    """

    def __init__(self, state: Any, columns: Columns) -> None:
        self.state, self.columns = state, columns
        self.offsets, end = [], 0  # of the fields, in bytes
        self._found: list[Any] = [None] * len(state.types)
        for member in state.types:
            begin, end = layout(member, end)
            self.offsets.append(begin)
        digest = hashlib.sha256(f"{state} {columns}".encode()).hexdigest()[:16]
        super().__init__(name=f"Ref({state.instance_class.__name__}, {digest})")

    @property
    def instance_class(self) -> type:
        """The class of the state, as a NamedTuple type has it."""
        found: type = self.state.instance_class
        return found

    def field(self, name: str) -> Any:
        """Type of a field."""
        place = self.state.fields.index(name)
        if self._found[place] is None:
            found, columns = self.state.types[place], self.columns[place]
            if isinstance(found, types.NamedTuple):
                found = RefType(found, columns)
            elif isinstance(found, types.Array):
                found = FieldArray(found, f"{self.instance_class.__name__}.{self.state.fields[place]}", columns)
            self._found[place] = found
        return self._found[place]


class Part:
    """A field of a state: what its type follows from, and its words."""

    def __init__(self, state: Any, name: str) -> None:
        self.value = getattr(state, name)
        self.columns = columns_of_field(state, name)
        self.signature = signature(self.value)
        self.form, self.words = words_of(self.value)


Parts = dict[str, Part]


class Ref:
    """A reference to a state, for compiled code: its words in memory, at ``address``; keeps the state alive.

    known  fields of states of this class that were referred to before, by name: the same ones need not be looked at
           again. Filled here.
    """

    def __init__(self, state: Any, known: Parts | None = None) -> None:
        self.state, known = state, {} if known is None else known
        for name, value in zip(state._fields, state, strict=True):
            if name not in known or known[name].value is not value:
                known[name] = Part(state, name)
        parts = [known[name] for name in state._fields]
        columns = tuple(part.columns for part in parts)
        kind = type(state), tuple(part.signature for part in parts), columns
        if kind not in KINDS:
            KINDS[kind] = RefType(numba.typeof(state), columns)
        self._numba_type_ = KINDS[kind]
        form, words = "".join(part.form for part in parts), [word for part in parts for word in part.words]
        self.words = np.frombuffer(struct.pack(form, *words), np.uint8)
        self.address = self.words.ctypes.data

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)


KINDS: dict[Any, RefType] = {}  # numba takes a millisecond to tell the type of an engine


def signature(value: Any) -> Any:
    """Key of a state's type."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    return (type(value), *map(signature, value)) if isinstance(value, tuple) else type(value)


def words_of(value: Any) -> tuple[str, list[int]]:
    """A state as compiled code holds it: a format of ``struct`` and its values.

    An array is no owner, no parent, items, bytes of an item, address, shape, strides (``numba.core.types.Array``).
    """
    if isinstance(value, np.ndarray):
        return f"{5 + 2 * value.ndim}q", [
            0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides,
        ]  # fmt: skip
    if not hasattr(value, "_fields"):
        return "?" if isinstance(value, bool) else "q", [value]
    members = [words_of(member) for member in value]
    return "".join(form for form, _ in members) + "0q", [word for _, words in members for word in words]


register_model(RefType)(models.OpaqueModel)


@unbox(RefType)
def unbox_reference(kind: Any, value: Any, c: Any) -> Any:
    """The address."""
    held = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_ulonglong(held)
    c.pyapi.decref(held)
    return NativeValue(c.builder.inttoptr(address, cgutils.voidptr_t))


@infer_getattr
class RefAttributes(AttributeTemplate):
    """A reference has the fields of its state; a state inside it is also a reference."""

    key = RefType

    def generic_resolve(self, reference: RefType, name: str) -> Any:  # type: ignore[override]
        """Type of a field, or None."""
        if name not in reference.state.fields:
            return None
        return reference.field(name)


@lower_getattr_generic(RefType)
def read_field(context: Any, builder: Any, kind: RefType, value: Any, name: str) -> Any:
    """The field's words, each read on its own, so that unused words are not read."""
    place = kind.state.fields.index(name)
    field, offset = kind.state.types[place], kind.offsets[place]
    if isinstance(field, types.Array):
        return read_array(context, builder, kind.field(name), at(builder, value, offset))
    if isinstance(field, types.NamedTuple):
        return at(builder, value, offset)
    if isinstance(field, types.UniTuple):  # a small state, whose fields are of one type
        whole = ir.Constant(context.get_value_type(field), ir.Undefined)
        for member in range(field.count):
            word = read_word(builder, value, offset + 8 * member, whole.type.element)
            whole = builder.insert_value(whole, word, member)
        return whole
    return read_word(builder, value, offset, context.get_value_type(field))


def at(builder: Any, value: Any, offset: int) -> Any:
    """The address ``offset`` bytes after another."""
    return builder.gep(value, [ir.IntType(64)(offset)], source_etype=ir.IntType(8)) if offset else value


def layout(kind: Any, offset: int = 0) -> tuple[int, int]:
    """First and end byte of a value of this type, at ``offset`` or after it, as ``words_of`` packs it."""
    if kind == types.boolean:
        return offset, offset + 1
    begin = end = -(-offset // 8) * 8
    if isinstance(kind, types.Array):
        return begin, begin + 8 * (5 + 2 * kind.ndim)
    if not isinstance(kind, types.BaseTuple):
        return begin, begin + 8
    members: Any = kind
    for member in members.types:
        end = layout(member, end)[1]
    return begin, -(-end // 8) * 8
