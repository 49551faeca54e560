"""Elements of A and B from the registers of a warp to float64; ``tracer.units.matrix.types`` has the layouts.

Four lanes hold a row of A, or a column of B, one after the other: what they hold of a block lies together in a slot.
"""

import numpy as np
from numba import carray

from rayplay.tracer.native.calls import as_pointer
from rayplay.tracer.native.floats import e4m3_value, e5m2_value
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import f32_of_bits, f64_bits, load_i64, load_u8, load_u32, store_i64
from rayplay.tracer.units.call import SLOT_BYTES
from rayplay.tracer.units.matrix import types
from rayplay.tracer.units.matrix.vectors import read_bf16, read_halves, read_signed, read_unsigned


@compiled
def bits_of(kind: int) -> int:
    """Bits of an element of A or B."""
    if kind in (types.F16, types.BF16):
        return 16
    if kind == types.TF32:
        return 32
    if kind == types.F64:
        return 64
    if kind == types.B1:
        return 1
    return 4 if kind in (types.S4, types.U4) else 8


@compiled
def read_small_floats(source: int, line: np.ndarray, kind: int) -> None:
    """Sixteen floats of 8 bits."""
    for number in range(16):
        bits = load_u8(source + number)
        line[number] = e4m3_value(bits) if kind == types.E4M3 else e5m2_value(bits)


@compiled
def read_nibbles(source: int, line: np.ndarray, kind: int) -> None:
    """32 integers of 4 bits."""
    bias = 8 if kind == types.S4 else 0
    for number in range(32):
        bits = load_u8(source + (number >> 1)) >> 4 * (number & 1) & 15
        line[number] = (bits ^ bias) - bias


@compiled
def read_bits(source: int, line: np.ndarray, low: float) -> None:
    """128 bits: 1.0 for a set bit, ``low`` for a clear one."""
    for number in range(128):
        line[number] = 1.0 if load_u8(source + (number >> 3)) >> (number & 7) & 1 else low


@compiled
def read_line(source: int, line: int, kind: int, low: float) -> None:
    """Four lanes' part of a row of A or a column of B, four registers, to float64 at ``line``."""
    if kind == types.F16:
        read_halves(source, line)
    elif kind == types.BF16:
        read_bf16(source, line)
    elif kind == types.S8:
        read_signed(source, line)
    elif kind == types.U8:
        read_unsigned(source, line)
    elif kind == types.TF32:
        for number in range(4):
            value = f32_of_bits(load_u32(source + 4 * number) & 0xFFFFE000)
            store_i64(line + 8 * number, f64_bits(float(value)))
    elif kind == types.F64:
        for number in range(4):
            store_i64(line + 8 * number, load_i64(source + 8 * number))
    elif kind == types.B1:
        read_bits(source, carray(as_pointer(line), 128, np.float64), low)
    elif kind in (types.S4, types.U4):
        read_nibbles(source, carray(as_pointer(line), 32, np.float64), kind)
    else:
        read_small_floats(source, carray(as_pointer(line), 16, np.float64), kind)


@compiled
def gather(slots: int, values: np.ndarray, kind: int, lines_first: bool, low: float) -> None:
    """Multiplicand registers at ``slots`` to ``values``, float64: [row, k] of A (``lines_first``), [column, k] of B.

    low: what a 0 bit of .b1 stands for.
    """
    size = bits_of(kind)
    width, line_bytes = 128 // size, 16
    if kind == types.F64:
        width, line_bytes = 4, 32
    bands, chunks = values.shape[0] // 8, values.shape[1] // width
    for block in range(bands * chunks):
        band = block % bands if lines_first else block // chunks
        chunk = block // bands if lines_first else block % chunks
        for number in range(8):
            source = slots + block * SLOT_BYTES + number * line_bytes
            place = (8 * band + number) * values.shape[1] + chunk * width
            read_line(source, values.ctypes.data + 8 * place, kind, low)


@compiled
def transposed(source: np.ndarray, target: np.ndarray) -> None:
    """Rows to columns."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[column, row] = source[row, column]
