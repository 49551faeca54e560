"""Where the units' arrays lie in the host's memory: what is used together, in one line of its caches.

A GPU's state is larger than a core's caches, so that much of a replay's time is waiting for memory.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from replay.bits import intrinsic

CACHE_LINE_WORDS = 8  # of 8 bytes


def aligned_rows(rows: int, columns: int) -> np.ndarray:
    """int64[rows, columns] of zeros that begins at a line of the host's caches: with 8 columns each row is one."""
    words = np.zeros(rows * columns + CACHE_LINE_WORDS, np.int64)
    first = -(words.ctypes.data >> 3) % CACHE_LINE_WORDS
    return words[first : first + rows * columns].reshape(rows, columns)


def ring_size(entries: int) -> int:
    """The power of two with room for so many entries: places of a ring are found by a mask."""
    return 1 << (entries - 1).bit_length()


@intrinsic
def prefetch(typing_context: Any, array: Any, row: Any) -> Any:
    """Have the begin of a row of an array brought into the host's caches: it will be used soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        number, byte = ir.IntType(64), ir.IntType(8).as_pointer()
        offset = builder.mul(arguments[1], builder.extract_value(held.strides, 0))
        address = builder.inttoptr(builder.add(builder.ptrtoint(held.data, number), offset), byte)
        small = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, small, small, small])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, small(0), small(3), small(1)])  # to read, in all caches, data
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
