"""Hints to the compiler about a state's arrays: which never share memory, and how long their rows are.

numba knows an array's type alone. So it had to take every write to one array for a write to all others, read again what
it had just read, and multiply by the length of a row at every place. Here the arrays in two fields are two types, and
the length of ``FixedRows`` is a constant.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.extending import register_model
from numba.np import arrayobj

from rayplay.replay.jit.rows import FixedRows

ITEMS, DATA, SHAPE, STRIDES = 2, 4, 5, 6  # members of numba's arrays; their words lie in this order
UNKNOWN = ir.Undefined
usual_load, usual_store = arrayobj.load_item, arrayobj.store_item
Columns = tuple[Any, ...]  # of a state, per field: the constant length of its array's rows, else 0; a state's columns


class FieldArray(types.Array):
    """The array in a field, named ``Class.field``, or a row of it: it shares no memory with those in other fields.

    columns  constant length of its rows; 0: its shape says.
    """

    def __init__(self, array: types.Array, field: str, columns: int = 0) -> None:
        self.field, self.columns = field, columns
        name = f"{array.name[:-1]}, {field}, {columns})"
        super().__init__(array.dtype, array.ndim, array.layout, not array.mutable, name, array.aligned)

    def copy(self, *arguments: Any, **changes: Any) -> "FieldArray":  # type: ignore[override]
        """The type of a view."""
        return FieldArray(super().copy(*arguments, **changes), self.field)

    @property
    def mangling_args(self) -> tuple[str, tuple[object, ...]]:
        """Parts of its name in machine code."""
        name, found = super().mangling_args
        return name, (*found, self.field)

    @property
    def key(self) -> str:  # type: ignore[override]
        """Key of equality: a text caches its hash, and types are looked up all the time."""
        return self.name


register_model(FieldArray)(models.ArrayModel)


def columns_of(state: Any) -> Columns:
    """The columns of a state, a NamedTuple."""
    return tuple(columns_of_field(state, name) for name in state._fields)


def columns_of_field(state: Any, name: str) -> Any:
    """Entry of ``columns_of`` for one field."""
    value = getattr(state, name)
    if hasattr(value, "_fields"):
        return columns_of(value)
    return value.shape[1] if type(state).__annotations__[name] is FixedRows else 0


def read_array(context: Any, builder: Any, kind: types.Array, words: Any) -> Any:
    """The array whose words lie at ``words`` (``refs.words_of``); what its type says is a constant instead."""
    number, pointer = ir.IntType(64), context.get_data_type(kind.dtype).as_pointer()
    size, columns = context.get_abi_sizeof(pointer.pointee), getattr(kind, "columns", 0)
    whole, axes = context.get_value_type(kind), range(kind.ndim)
    strides = strides_of(kind, size)
    array = ir.Constant(whole, [
        None, None, UNKNOWN, size, UNKNOWN, [columns or UNKNOWN] * kind.ndim, strides or [UNKNOWN] * kind.ndim,
    ])  # fmt: skip
    read: list[tuple[Any, int, Any]] = [(ITEMS, ITEMS, number), (DATA, DATA, pointer)]
    read += [((SHAPE, axis), SHAPE + axis, number) for axis in axes if not (columns and axis)]
    read += [((STRIDES, axis), SHAPE + kind.ndim + axis, number) for axis in axes if strides is None]
    for place, word, of_type in read:
        array = builder.insert_value(array, read_word(builder, words, 8 * word, of_type), place)
    return array


def strides_of(kind: types.Array, size: int) -> list[int] | None:
    """The strides that the type says, in bytes, or None."""
    columns = getattr(kind, "columns", 0)
    if kind.layout != "C" or (kind.ndim > 1 and not columns):
        return None
    return [columns * size, size][-kind.ndim :]


def read_word(builder: Any, words: Any, offset: int, kind: Any) -> Any:
    """The word ``offset`` bytes after ``words``, which never changes."""
    place = builder.gep(words, [ir.IntType(64)(offset)], source_etype=ir.IntType(8)) if offset else words
    loaded = builder.load(place, typ=kind)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def tag_of(builder: Any, kind: FieldArray) -> Any:
    """Mark of a field's reads and writes (LLVM's type-based alias analysis)."""
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
