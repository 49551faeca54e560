"""What the compiler is told of a state's arrays: which never share memory, and how long their rows are.

numba knows an array's type alone. So it had to take every write to one array for a write to all others, read again what
it had just read, and multiply by the length of a row at every place. Here the arrays in two fields are two types, and
the length of ``FixedRows`` is a constant.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.extending import register_model
from numba.np import arrayobj

from rayplay.replay.jit.rows import FixedRows

usual_load, usual_store = arrayobj.load_item, arrayobj.store_item
Columns = tuple[Any, ...]  # of a state, per field: the constant length of its array's rows, else 0; a state's columns


class FieldArray(types.Array):
    """The array in a field, named ``Class.field``: it shares no memory with those in other fields."""

    def __init__(self, array: types.Array, field: str) -> None:
        self.field = field
        name = f"{array.name[:-1]}, {field})"
        super().__init__(array.dtype, array.ndim, array.layout, not array.mutable, name, array.aligned)

    @property
    def mangling_args(self) -> tuple[str, tuple[object, ...]]:
        """What its name in machine code is made of."""
        name, found = super().mangling_args
        return name, (*found, self.field)

    @property
    def key(self) -> tuple[Any, ...]:
        """What it is equal by."""
        return *super().key, self.field


register_model(FieldArray)(models.ArrayModel)


def columns_of(state: Any) -> Columns:
    """The columns of a state, a NamedTuple."""
    return tuple(columns_of_field(state, name) for name in state._fields)


def columns_of_field(state: Any, name: str) -> Any:
    """What ``columns_of`` says of one field."""
    value = getattr(state, name)
    if hasattr(value, "_fields"):
        return columns_of(value)
    return value.shape[1] if type(state).__annotations__[name] is FixedRows else 0


def with_constant_strides(context: Any, builder: Any, kind: types.Array, value: Any, columns: int) -> Any:
    """A contiguous array of one dimension, or one of two whose rows are known to have so many columns."""
    array = context.make_array(kind)(context, builder, value)
    number, size = ir.IntType(64), context.get_abi_sizeof(context.get_data_type(kind.dtype))
    if kind.ndim == 2:
        rows = cgutils.unpack_tuple(builder, array.shape)[0]
        array.shape = cgutils.pack_array(builder, [rows, number(columns)])
    array.strides = cgutils.pack_array(builder, [number(columns * size), number(size)][-kind.ndim :])
    return array._getvalue()


def tag_of(builder: Any, kind: FieldArray) -> Any:
    """What marks the reads and writes of a field (LLVM's type-based alias analysis)."""
    module, zero = builder.module, ir.IntType(64)(0)
    field = module.add_metadata([kind.field, module.add_metadata(["rayplay"]), zero])
    return module.add_metadata([field, field, zero])


def load_item(context: Any, builder: Any, kind: Any, pointer: Any) -> Any:
    """Read an item, as numba does."""
    value = usual_load(context, builder, kind, pointer)
    if isinstance(kind, FieldArray) and isinstance(value, ir.LoadInstr):
        value.set_metadata("tbaa", tag_of(builder, kind))
    return value


def store_item(context: Any, builder: Any, kind: Any, value: Any, pointer: Any) -> Any:
    """Write an item, as numba does."""
    if not isinstance(kind, FieldArray) or not isinstance(kind.dtype, types.Integer):
        return usual_store(context, builder, kind, value, pointer)
    return builder.store(value, pointer).set_metadata("tbaa", tag_of(builder, kind))


def install() -> None:
    """From now on, numba's functions on arrays mark what they read and write."""
    arrayobj.load_item, arrayobj.store_item = load_item, store_item
