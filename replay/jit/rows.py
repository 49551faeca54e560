"""Layout of the units' arrays in the host's memory: data that is used together, in one line of its caches.

A GPU's state is larger than a core's caches, so that much of a replay's time is waiting for memory.
"""

import mmap
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from rayplay.replay.jit.bits import FAR, inlined, intrinsic

# Array of a state, of two dimensions, whose rows are as long on every GPU: machine code has their length as a constant.
FixedRows = Annotated[np.ndarray, "fixed rows"]
CACHE_LINE_WORDS = 8  # of 8 bytes
SPREAD_WORDS = 37 * CACHE_LINE_WORDS  # 37 lines: some 30 SMs are to be spread over 1,024 places
LARGE_BYTES = 1 << 22  # from here on numpy asks for large pages, and most of what lies there may never be used


def aligned_rows(rows: int, columns: int) -> np.ndarray:
    """int64[rows, columns] of zeros that begins at a line of the host's caches: with 8 columns each row is one."""
    words = np.zeros(rows * columns + CACHE_LINE_WORDS, np.int64)
    first = -(words.ctypes.data >> 3) % CACHE_LINE_WORDS
    return words[first : first + rows * columns].reshape(rows, columns)


def sparse_rows(rows: int, columns: int) -> np.ndarray:
    """int64[rows, columns] of zeros, few of which will ever be used: the host gives them page by page, small ones."""
    return np.frombuffer(mmap.mmap(-1, 8 * rows * columns), np.int64).reshape(rows, columns)


def pitch(rows: int, columns: int) -> int:
    """Distance in rows of 8-byte columns between one SM or slice and the next, each of which has ``rows`` rows.

    With a power of two between them, the first rows of all, the most used, would push each other out of the few places
    of the host's caches that their addresses share.
    """
    return rows + SPREAD_WORDS // columns


def ring_size(entries: int) -> int:
    """Places of a ring with room for ``entries``: a power of two, for ``wrap``."""
    return 1 << (entries - 1).bit_length()


@inlined
def wrap(count: int, ring: int) -> int:
    """Place of entry number ``count`` of a ring with ``ring`` places, a power of two."""
    return count & (ring - 1)


def together(states: Any) -> Any:
    """A tuple of states, tuples of arrays themselves, with their arrays side by side in one block of memory.

    Each begins at a line of the host's caches, and the host needs few pages, whose places it remembers, for all of
    them. Arrays of ``LARGE_BYTES`` or more stay where they are.
    """
    places = np.cumsum([0, *(-(-array.nbytes // 64) for array in small_arrays(states))])
    block = aligned_rows(int(places[-1]) + LARGE_BYTES // 64, CACHE_LINE_WORDS)
    rooms = iter(places[:-1].tolist())

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            items = [moved(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if not isinstance(value, np.ndarray) or value.nbytes >= LARGE_BYTES:
            return value
        bytes_here = block[next(rooms) :].reshape(-1).view(np.uint8)[: value.nbytes]
        here = bytes_here.view(value.dtype).reshape(value.shape)
        here[...] = value
        return here

    return moved(states)


def small_arrays(value: Any) -> Iterator[np.ndarray]:
    """The arrays of a tuple of states that ``together`` moves, in order."""
    if isinstance(value, tuple):
        for item in value:
            yield from small_arrays(item)
    elif isinstance(value, np.ndarray) and value.nbytes < LARGE_BYTES:
        yield value


@intrinsic(lambda array, offset: None)
def host_prefetch_bytes(typing_context: Any, array: Any, offset: Any) -> Any:
    """Have the line that holds a byte of an array brought into the host's caches; a place outside does no harm."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        number, byte = ir.IntType(64), ir.IntType(8).as_pointer()
        address = builder.inttoptr(builder.add(builder.ptrtoint(held.data, number), arguments[1]), byte)
        small = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, small, small, small])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, small(0), small(3), small(1)])  # to read, in all caches, data
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@inlined
def host_prefetch(array: np.ndarray, row: int) -> None:
    """Prefetch the start of a row of an array into the host's caches."""
    host_prefetch_bytes(array, row * array.strides[0])


@inlined
def host_prefetch_rows(array: np.ndarray, first: int, last: int) -> None:
    """Have the rows ``first`` to ``last`` (exclusive) brought there, all at once."""
    for offset in range(first * array.strides[0], last * array.strides[0], 8 * CACHE_LINE_WORDS):
        host_prefetch_bytes(array, offset)


@inlined
def append_dated(array: np.ndarray, base: int, tail: int, ring: int, cycle: int, tag: int) -> None:
    """Add an entry (cycle, tag) to a ring from row ``base`` on; the cycle behind the last entry is FAR."""
    array[base + wrap(tail, ring), 0], array[base + wrap(tail, ring), 1] = cycle, tag
    array[base + wrap(tail + 1, ring), 0] = FAR


@inlined
def rewind(array: np.ndarray, base: int, head: int, tail: int, ring: int) -> int:
    """Compact the pending entries to the start of the ring, cached on the host, unless more are copied than gained.

    array  rows of ``ring`` places from row ``base`` on; ``head`` to ``tail`` (exclusive) are pending.

    Returns by how many places ``head`` and ``tail`` move back.
    """
    first, waiting = head & (ring - 1), tail - head
    if first < waiting or first + waiting > ring:
        return 0
    for place in range(waiting):
        for column in range(array.shape[1]):
            array[base + place, column] = array[base + first + place, column]
    return head
