"""The matrix unit: D = A x B + C of a warp instruction.

Products are exact; a result starts as its element of C and takes the products in ascending k, in float64 with a fused
multiply-add, and is rounded once to the type of D (to nearest even; NaN is 0x7fffffff or 0x7fff). Integers are exact in
float64 and wrap at 32 bits, or saturate. Of tf32 the upper 19 bits count. Lanes that do not execute the instruction
contribute zeros. Fragment layouts: ``tracer.units.matrix.types``; mma.m8n8k4 of f16 is four products
of eight lanes each.
"""

import numpy as np
from numba import carray, types

from rayplay.tracer.native import memory as raw
from rayplay.tracer.native.calls import as_pointer
from rayplay.tracer.native.floats import f16_of, f16_value, f32_of
from rayplay.tracer.native.jit import callback, compiled
from rayplay.tracer.units.call import RESULT_SLOT, SCRATCH_SLOT, SLOT_BYTES
from rayplay.tracer.units.matrix.gather import gather, transposed
from rayplay.tracer.units.matrix.plan import MATRIX
from rayplay.tracer.units.matrix.types import ACC_F16, ACC_F32, ACC_S32, B1, F64
from rayplay.tracer.units.matrix.vectors import COLUMNS, row_product
from rayplay.tracer.units.settings import take

EVERYONE = (1 << 32) - 1
B_FIRST, C_FIRST, D_FIRST = 8 * SLOT_BYTES, 16 * SLOT_BYTES, RESULT_SLOT * SLOT_BYTES
SCRATCH = SCRATCH_SLOT * SLOT_BYTES
A_BYTES, B_BYTES = 32 << 10, 16 << 10  # room for A in the scratch, and twice for B, float64 each; C follows


@compiled
def move_halves(slots: int, number: int, lane: int, pair: np.ndarray, outward: bool) -> None:
    """Two accumulators of a lane in one register of f16x2: from it into ``pair``, or out of it."""
    place = slots + number // 2 * SLOT_BYTES + 4 * lane
    if outward:
        raw.store_u32(place, f16_of(pair[0]) | f16_of(pair[1]) << 16)
    else:
        bits = raw.load_u32(place)
        pair[0], pair[1] = f16_value(bits & 0xFFFF), f16_value(bits >> 16)


@compiled
def move_singles(slots: int, number: int, lane: int, pair: np.ndarray, outward: bool) -> None:
    """Two accumulators of f32."""
    place = slots + number * SLOT_BYTES + 4 * lane
    if outward:
        raw.store_u32(place, f32_of(pair[0]))
        raw.store_u32(place + SLOT_BYTES, f32_of(pair[1]))
    else:
        pair[0], pair[1] = raw.f32_of_bits(raw.load_u32(place)), raw.f32_of_bits(raw.load_u32(place + SLOT_BYTES))


@compiled
def move_integers(slots: int, number: int, lane: int, pair: np.ndarray, outward: bool, saturates: bool) -> None:
    """Two accumulators of s32."""
    place = slots + number * SLOT_BYTES + 4 * lane
    if not outward:
        pair[0], pair[1] = raw.load_i32(place), raw.load_i32(place + SLOT_BYTES)
        return
    for index in range(2):
        value = pair[index]
        if saturates:
            value = min(max(value, -2147483648.0), 2147483647.0)
        raw.store_u32(place + index * SLOT_BYTES, int(value))


@compiled
def move_doubles(slots: int, number: int, lane: int, pair: np.ndarray, outward: bool) -> None:
    """Two accumulators of f64."""
    place = slots + number * SLOT_BYTES + 8 * lane
    if outward:
        raw.store_i64(place, raw.f64_bits(pair[0]))
        raw.store_i64(place + SLOT_BYTES, raw.f64_bits(pair[1]))
    else:
        pair[0], pair[1] = raw.f64_of_bits(raw.load_i64(place)), raw.f64_of_bits(raw.load_i64(place + SLOT_BYTES))


@compiled
def move_accumulators(slots: int, values: np.ndarray, kind: int, outward: bool, saturates: bool) -> None:
    """C from its registers to float64[m, n], or D from float64 to its registers (``outward``)."""
    bands = values.shape[0] // 8
    for block in range(bands * (values.shape[1] // 8)):
        for lane in range(32):
            row = 8 * (block % bands) + (lane >> 2)
            column = 8 * (block // bands) + 2 * (lane & 3)
            pair = values[row, column : column + 2]
            if kind == ACC_F16:
                move_halves(slots, 2 * block, lane, pair, outward)
            elif kind == ACC_F32:
                move_singles(slots, 2 * block, lane, pair, outward)
            elif kind == ACC_S32:
                move_integers(slots, 2 * block, lane, pair, outward, saturates)
            else:
                move_doubles(slots, 2 * block, lane, pair, outward)


@compiled
def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """c += a x b, each element in ascending k."""
    k, pitch = a.shape[1], 8 * c.shape[1]
    for row in range(a.shape[0]):
        for column in range(0, c.shape[1], COLUMNS):
            start = 8 * column
            row_product(
                a.ctypes.data + 8 * k * row, b.ctypes.data + start, c.ctypes.data + pitch * row + start, k, pitch
            )


@compiled
def silence(rows: int, mask: int, width: int) -> None:
    """Zeros in the operands, registers of ``width`` bytes, of lanes that do not execute the instruction."""
    for lane in range(32):
        if not mask >> lane & 1:
            for slot in range(RESULT_SLOT):
                for byte in range(0, width, 4):
                    raw.store_u32(rows + slot * SLOT_BYTES + width * lane + byte, 0)


@compiled
def multiply_bits(a: np.ndarray, b: np.ndarray, c: np.ndarray, both: bool) -> None:
    """c += the number of bits set in a & b, or in a ^ b, whose bits are 1 and -1 here."""
    for row in range(a.shape[0]):
        for column in range(c.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[row, k] * b[k, column]
            c[row, column] += total if both else (a.shape[1] - total) * 0.5


@compiled
def product(rows: int, settings: int) -> None:
    """Any shape except ``quads``."""
    m, n, k = (take(settings, MATRIX.m8)) * 8, (take(settings, MATRIX.n8)) * 8, take(settings, MATRIX.k)
    kind_a, kind_b = take(settings, MATRIX.a), take(settings, MATRIX.b)
    saturates, both = take(settings, MATRIX.saturates) != 0, take(settings, MATRIX.ands) != 0
    a = carray(as_pointer(rows + SCRATCH), (m, k), np.float64)
    columns = carray(as_pointer(rows + SCRATCH + A_BYTES), (n, k), np.float64)
    b = carray(as_pointer(rows + SCRATCH + A_BYTES + B_BYTES), (k, n), np.float64)
    c = carray(as_pointer(rows + SCRATCH + A_BYTES + 2 * B_BYTES), (m, n), np.float64)
    low = 0.0 if both else -1.0
    gather(rows, a, kind_a, True, low)
    gather(rows + B_FIRST, columns, kind_b, False, low)
    transposed(columns, b)
    move_accumulators(rows + C_FIRST, c, take(settings, MATRIX.c), False, False)
    if kind_a == B1:
        multiply_bits(a, b, c, both)
    else:
        multiply(a, b, c)
    move_accumulators(rows + D_FIRST, c, take(settings, MATRIX.d), True, saturates)


@compiled
def quads(rows: int, settings: int) -> None:
    """mma.m8n8k4 of f16: lanes 4q to 4q + 3 and 4q + 16 to 4q + 19 multiply 8 x 4 by 4 x 8."""
    a = carray(as_pointer(rows + SCRATCH), (8, 4), np.float64)
    b = carray(as_pointer(rows + SCRATCH + A_BYTES), (4, 8), np.float64)
    c = carray(as_pointer(rows + SCRATCH + A_BYTES + B_BYTES), (8, 8), np.float64)
    transposed_a, transposed_b = take(settings, MATRIX.transposed_a) != 0, take(settings, MATRIX.transposed_b) != 0
    for quad in range(4):
        for index in range(8):
            lane = 4 * quad + (index & 3) + 16 * (index >> 2)
            for number in range(4):
                shift = 16 * (number & 1)
                place = (number >> 1) * SLOT_BYTES + 4 * lane
                upper = index & 4
                value = f16_value(raw.load_u32(rows + place) >> shift & 0xFFFF)
                if transposed_a:
                    a[upper + number, index & 3] = value
                else:
                    a[index, number] = value
                value = f16_value(raw.load_u32(rows + B_FIRST + place) >> shift & 0xFFFF)
                if transposed_b:
                    b[number, index] = value
                else:
                    b[index & 3, upper + number] = value
        move_quad(rows + C_FIRST, c, quad, take(settings, MATRIX.c), False)
        multiply(a, b, c)
        move_quad(rows + D_FIRST, c, quad, take(settings, MATRIX.d), True)


@compiled
def move_quad(slots: int, values: np.ndarray, quad: int, kind: int, outward: bool) -> None:
    """``move_accumulators`` for the 8 x 8 of a quad pair: rows of eight in f16, pairs two columns wide in f32."""
    for index in range(8):
        lane = 4 * quad + (index & 3) + 16 * (index >> 2)
        if kind == ACC_F16:
            for number in range(0, 8, 2):
                move_halves(slots, number, lane, values[index, number : number + 2], outward)
        else:
            for number in range(0, 8, 2):
                row, column = (index & 4) + (lane & 1) + (number & 2), (number & 4) + (lane & 2)
                move_singles(slots, number, lane, values[row, column : column + 2], outward)


@callback(types.int64(types.int64, types.int64, types.int64, types.int64))
def matrix_unit(machine: int, rows: int, mask: int, settings: int) -> int:
    """``tracer.units.call`` says how it is called; settings are ``MATRIX``."""
    if mask != EVERYONE:
        silence(rows, mask, 8 if take(settings, MATRIX.a) == F64 else 4)
    if take(settings, MATRIX.quads):
        quads(rows, settings)
    else:
        product(rows, settings)
    return 0
