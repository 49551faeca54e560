"""Reading and writing items of a state's arrays, in a handful of instructions.

numba copies the array's words into memory and reads shape and strides back for each item, some seventy instructions
that the optimiser removes again: two thirds of all that it was given. It also compares every signed index with 0 and
adds the length where it is less: places in the engine's arrays are never counted from the end.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.imputils import impl_ret_borrowed, lower_builtin
from numba.np import arrayobj

from rayplay.replay.jit import aliasing as fields
from rayplay.replay.jit.link import PartLibrary, WholeLibrary

usual_index = arrayobj.fix_integer_index


def places_of(kind: fields.FieldArray, index: Any, value: Any, builder: Any) -> list[tuple[Any, Any]] | None:
    """Type and value of each index; None where they do not name one item, or a row."""
    kinds: Any = getattr(index, "types", (index,))  # of a tuple, or alone
    if kind.layout != "C" or not all(isinstance(found, types.Integer) for found in kinds):
        return None
    if not isinstance(index, types.BaseTuple):
        return [(index, value)]
    return [(found, builder.extract_value(value, place)) for place, found in enumerate(kinds)]


def pointer_to(context: Any, builder: Any, kind: fields.FieldArray, array: Any, places: list[tuple[Any, Any]]) -> Any:
    """Address of the item or the row."""
    number, found = ir.IntType(64), None
    for axis in range(kind.ndim):
        if axis < len(places):
            index, value = places[axis]
            value = context.cast(builder, value, index, types.intp if index.signed else types.uintp)
            found = value if found is None else builder.add(found, value)
        if axis + 1 < kind.ndim:
            length = number(kind.columns) if kind.columns else builder.extract_value(array, (fields.SHAPE, axis + 1))
            found = builder.mul(found, length)
    return builder.gep(builder.extract_value(array, fields.DATA), [found])


@lower_builtin(operator.getitem, fields.FieldArray, types.Integer)
@lower_builtin(operator.getitem, fields.FieldArray, types.BaseTuple)
def read_item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """An item, or a row as a view."""
    (kind, index), (array, value) = signature.args, arguments
    places = places_of(kind, index, value, builder)
    view = isinstance(signature.return_type, types.Array)
    if places is None or (view and kind.ndim - len(places) != 1):
        usual = arrayobj.getitem_array_tuple if isinstance(index, types.BaseTuple) else arrayobj.getitem_arraynd_intp
        return usual(context, builder, signature, arguments)
    pointer = pointer_to(context, builder, kind, array, places)
    if not view:
        return fields.load_item(context, builder, kind, pointer)
    number, size = ir.IntType(64), context.get_abi_sizeof(context.get_data_type(kind.dtype))
    length = number(kind.columns) if kind.columns else builder.extract_value(array, (fields.SHAPE, kind.ndim - 1))
    row = ir.Constant(context.get_value_type(signature.return_type),
                      [None, None, ir.Undefined, size, ir.Undefined, [ir.Undefined], [size]])  # fmt: skip
    for place, word in (
        (fields.ITEMS, length),
        (fields.DATA, pointer),
        ((fields.SHAPE, 0), length),
        ((fields.STRIDES, 0), number(size)),
    ):
        row = builder.insert_value(row, word, place)
    return impl_ret_borrowed(context, builder, signature.return_type, row)


@lower_builtin(operator.setitem, fields.FieldArray, types.Any, types.Any)
def write_item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write an item."""
    (kind, index, written), (array, value, item) = signature.args, arguments
    places = places_of(kind, index, value, builder)
    if places is None or len(places) != kind.ndim:
        return arrayobj.setitem_array(context, builder, signature, arguments)
    item = context.cast(builder, item, written, kind.dtype)
    return fields.store_item(context, builder, kind, item, pointer_to(context, builder, kind, array, places))


def fixed_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index as it is in the engine's functions, and as numba has it in others."""
    if isinstance(context.active_code_library, (PartLibrary, WholeLibrary)):
        return context.cast(builder, index, kind, types.intp)
    return usual_index(context, builder, kind, index, size)


def install() -> None:
    """From now on, numba compiles the engine's functions so; items are read and written so from the import on."""
    arrayobj.fix_integer_index = fixed_index
