"""States passed by reference: compiled code gets one address where a NamedTuple would be copied word by word.

A state is some twenty arrays, each of seven words or more, and a stage takes several states: numba passes them all by
value, which took most of the time to compile the engine, and much of the time to run it. ``refer`` writes the state's
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

from rayplay.replay.jit.aliasing import Columns, FieldArray, columns_of_field, with_constant_strides


class RefType(types.Type):
    """The type of a reference to a state of the NamedTuple type ``state``, whose arrays have these ``columns``.

    Its name is short, for it becomes part of every function's name in machine code.
    """

    def __init__(self, state: Any, columns: Columns) -> None:
        self.state, self.columns = state, columns
        digest = hashlib.sha256(f"{state} {columns}".encode()).hexdigest()[:16]
        super().__init__(name=f"Ref({state.instance_class.__name__}, {digest})")

    @property
    def instance_class(self) -> type:
        """The class of the state, as a NamedTuple type has it."""
        found: type = self.state.instance_class
        return found


class Part:
    """A field of a state: what its type follows from, and its words."""

    def __init__(self, state: Any, name: str) -> None:
        self.value = getattr(state, name)
        self.columns = columns_of_field(state, name)
        self.signature = signature(self.value)
        self.form, self.words = words_of(self.value)


Parts = dict[str, Part]


class Ref:
    """A state's words in memory, at ``address``; keeps the state alive."""

    def __init__(self, state: Any, known: Parts) -> None:
        self.state = state
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


def refer(state: Any, known: Parts | None = None) -> Any:
    """A reference to a state, for compiled code.

    known  fields of states of this class that were referred to before, by name: those that are the same need not be
           looked at again. Filled here.
    """
    return Ref(state, {} if known is None else known)


KINDS: dict[Any, RefType] = {}  # numba takes a millisecond to tell the type of an engine


def signature(value: Any) -> Any:
    """What the type of a state follows from."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    return (type(value), *map(signature, value)) if isinstance(value, tuple) else type(value)


def words_of(value: Any) -> tuple[str, list[int]]:
    """What compiled code holds of a state, as a format of ``struct`` and its values.

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
    """A reference has the fields of its state; a state inside it is a reference, too."""

    key = RefType

    def generic_resolve(self, reference: RefType, name: str) -> Any:  # type: ignore[override]
        """Type of a field, None where there is none."""
        if name not in reference.state.fields:
            return None
        place = reference.state.fields.index(name)
        found = reference.state.types[place]
        if isinstance(found, types.NamedTuple):
            return RefType(found, reference.columns[place])
        field = f"{reference.instance_class.__name__}.{name}"
        return FieldArray(found, field) if isinstance(found, types.Array) else found


@lower_getattr_generic(RefType)
def read_field(context: Any, builder: Any, kind: RefType, value: Any, name: str) -> Any:
    """The field's words, each read on its own, so that those that nobody uses are not read."""
    place = kind.state.fields.index(name)
    field = kind.state.types[place]
    struct = context.get_value_type(kind.state)
    number = ir.IntType(32)
    typed = builder.bitcast(value, struct.as_pointer())
    pointer = builder.gep(typed, [number(0), number(place)])
    if isinstance(field, types.NamedTuple):
        return builder.bitcast(pointer, cgutils.voidptr_t)
    value = read_value(builder, pointer, struct.elements[place])
    columns = kind.columns[place]
    if isinstance(field, types.Array) and (columns or (field.ndim == 1 and field.layout == "C")):
        return with_constant_strides(context, builder, field, value, columns)
    return value


def read_value(builder: Any, pointer: Any, kind: Any) -> Any:
    """What lies at ``pointer``, structures member by member."""
    number = ir.IntType(32)
    if isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        whole = ir.Constant(kind, ir.Undefined)
        count = len(kind.elements) if isinstance(kind, ir.LiteralStructType) else kind.count
        for place in range(count):
            element = kind.elements[place] if isinstance(kind, ir.LiteralStructType) else kind.element
            member = read_value(builder, builder.gep(pointer, [number(0), number(place)]), element)
            whole = builder.insert_value(whole, member, place)
        return whole
    loaded = builder.load(pointer)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded
