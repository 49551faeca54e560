"""The fragment unit: matrices between memory and the registers of a warp, and their transposition in registers.

ldmatrix and stmatrix move matrices of 8 rows of 16 bytes; lane ``8 i + r`` gives the address of row ``r`` of matrix
``i``. An access of fewer than four matrices is recorded with the rows' addresses repeated. wmma.load and wmma.store
take address and stride from the first lane that executes them; the lanes share the matrix in the order in which it lies
in memory, and each is recorded with where its share begins.
"""

from numba import types

from rayplay.tracer.native import memory as raw
from rayplay.tracer.native.jit import callback, compiled
from rayplay.tracer.units.call import ADDRESS_SLOT, RESULT_SLOT, SLOT_BYTES
from rayplay.tracer.units.fragment import plan
from rayplay.tracer.units.fragment.plan import FRAGMENT
from rayplay.tracer.units.matrix.gather import bits_of
from rayplay.tracer.units.matrix.types import ACC_F16, ACC_F64, F64
from rayplay.tracer.units.memory import host_place, refuse_address
from rayplay.tracer.units.settings import take

ADDRESSES, DATA, RESULTS = (slot * SLOT_BYTES for slot in (ADDRESS_SLOT, plan.DATA_INPUT, RESULT_SLOT))
STRIDES = plan.STRIDE_INPUT * SLOT_BYTES
ROW_BYTES, ROW_ELEMENTS = 16, 8


@compiled
def move_rows(machine: int, rows: int, mask: int, settings: int) -> int:
    """ldmatrix, stmatrix: rows of lanes that do not execute the instruction read as zeros and are not written."""
    stores, shared = take(settings, FRAGMENT.action) == plan.STORE_ROWS, take(settings, FRAGMENT.shared) != 0
    transposed, count = take(settings, FRAGMENT.transposed), take(settings, FRAGMENT.count)
    for lane in range(32):
        address = raw.load_i64(rows + plan.ADDRESS_INPUT * SLOT_BYTES + 8 * (lane % (8 * count)))
        raw.store_i64(rows + ADDRESSES + 8 * lane, address)
    for giver in range(8 * count):
        place = 0
        if mask >> giver & 1:
            address = raw.load_i64(rows + plan.ADDRESS_INPUT * SLOT_BYTES + 8 * giver)
            place = host_place(machine, address, ROW_BYTES, ROW_BYTES, shared)
            if place == 0:
                return refuse_address(machine, giver, address)
        move_row(rows, giver, place, mask, stores, transposed)
    return 0


@compiled
def move_row(rows: int, giver: int, place: int, mask: int, stores: bool, transposed: int) -> None:
    """One row of eight elements; ``place`` is 0 where its lane does not execute the instruction."""
    matrix, row = giver >> 3, giver & 7
    for column in range(ROW_ELEMENTS):
        line, along = (column, row) if transposed else (row, column)
        lane = 4 * line + (along >> 1)
        half = matrix * SLOT_BYTES + 4 * lane + 2 * (along & 1)
        if not stores:
            value = 0
            if place:
                value = raw.load_u16(place + 2 * column)
            raw.store_u16(rows + RESULTS + half, value)
        elif place:
            raw.store_u16(place + 2 * column, raw.load_u16(rows + DATA + half) if mask >> lane & 1 else 0)


@compiled
def transpose(rows: int, mask: int) -> int:
    """movmatrix: an 8 x 8 matrix of 16-bit elements, one row in four lanes."""
    for row in range(8):
        for column in range(8):
            lane = 4 * row + (column >> 1)
            value = raw.load_u16(rows + DATA + 4 * lane + 2 * (column & 1)) if mask >> lane & 1 else 0
            raw.store_u16(rows + RESULTS + 4 * (4 * column + (row >> 1)) + 2 * (row & 1), value)
    return 0


@compiled
def move_fragment(machine: int, rows: int, mask: int, settings: int) -> int:
    """wmma.load and wmma.store."""
    part, kind = take(settings, FRAGMENT.part), take(settings, FRAGMENT.kind)
    m, n, k = (take(settings, FRAGMENT.m8)) * 8, (take(settings, FRAGMENT.n8)) * 8, take(settings, FRAGMENT.k)
    height = k if part != plan.FRAGMENT_A and part != plan.FRAGMENT_C else m
    width = k if part == plan.FRAGMENT_A else n
    column_major = take(settings, FRAGMENT.transposed) != 0
    lines, length = (width, height) if column_major else (height, width)
    size = accumulator_bits(kind) if part == plan.FRAGMENT_C else 64 if kind == F64 else bits_of(kind)
    first = raw.trailing_zeros(mask)
    address = raw.load_i64(rows + plan.ADDRESS_INPUT * SLOT_BYTES + 8 * first)
    stride = raw.load_u32(rows + STRIDES + 4 * first) if take(settings, FRAGMENT.has_stride) else length
    pitch, line_bytes = stride * size // 8, length * size // 8
    error = share(machine, rows, first, address, pitch, lines, line_bytes, size, take(settings, FRAGMENT.shared) != 0)
    if error:
        return error
    place = host_place(machine, address, line_bytes, 1, take(settings, FRAGMENT.shared) != 0)
    loads = take(settings, FRAGMENT.action) == plan.LOAD_FRAGMENT
    if part == plan.FRAGMENT_C:
        move_results(rows, place, pitch, m, n, column_major, kind, loads, mask)
    else:
        move_multiplicand(rows, place, pitch, m if part == plan.FRAGMENT_A else n, k, size, settings)
    return 0


@compiled
def accumulator_bits(kind: int) -> int:
    """Bits of an element of C or D."""
    return 16 if kind == ACC_F16 else 64 if kind == ACC_F64 else 32


@compiled
def share(
    machine: int, rows: int, lane: int, address: int, pitch: int, lines: int, line_bytes: int, size: int, shared: bool
) -> int:
    """Check every line of the matrix, and record where each lane's share of its bytes begins."""
    align = max(size // 8, 1) if size >= 8 else 4
    for line in range(lines):
        if host_place(machine, address + line * pitch, line_bytes, align, shared) == 0:
            return refuse_address(machine, lane, address + line * pitch)
    chunk = lines * line_bytes // 32
    for number in range(32):
        start = number * chunk
        where = address + start // line_bytes * pitch + start % line_bytes
        raw.store_i64(rows + ADDRESSES + 8 * number, where)
    return 0


@compiled
def move_multiplicand(rows: int, place: int, pitch: int, lines: int, k: int, size: int, settings: int) -> None:
    """A or B from memory: ``tracer.units.matrix.types`` says where its elements belong."""
    is_a = take(settings, FRAGMENT.part) == plan.FRAGMENT_A
    count = take(settings, FRAGMENT.count)
    along_k = (take(settings, FRAGMENT.transposed) != 0) != is_a  # neighbours along k are neighbours in memory
    per_register = max(32 // size, 1)
    bands, chunks = lines // 8, k // (4 * per_register)
    for number in range(count):
        block = number % (bands * chunks)
        band = block % bands if is_a else block // chunks
        chunk = block // bands if is_a else block % chunks
        for lane in range(32):
            line, first = 8 * band + (lane >> 2), (4 * chunk + (lane & 3)) * per_register
            target = rows + RESULTS + number * SLOT_BYTES
            if size == 64:
                at = place + line * pitch + first * 8 if along_k else place + first * pitch + line * 8
                raw.store_i64(target + 8 * lane, raw.load_i64(at))
            elif along_k:
                raw.store_u32(target + 4 * lane, raw.load_u32(place + line * pitch + first * size // 8))
            else:
                bits = 0
                for index in range(per_register):
                    at = place + (first + index) * pitch + line * size // 8
                    bits |= load_sized(at, size) << (index * size)
                raw.store_u32(target + 4 * lane, bits)


@compiled
def load_sized(place: int, size: int) -> int:
    """8, 16 or 32 bits."""
    return raw.load_u8(place) if size == 8 else raw.load_u16(place) if size == 16 else raw.load_u32(place)


@compiled
def move_results(
    rows: int, place: int, pitch: int, m: int, n: int, column_major: bool, kind: int, loads: bool, mask: int
) -> None:
    """C from memory, or D to it, for the lanes that execute the instruction."""
    bands, size = m // 8, accumulator_bits(kind) // 8
    for block in range(bands * (n // 8)):
        for lane in range(32):
            for index in range(2):
                row, column = 8 * (block % bands) + (lane >> 2), 8 * (block // bands) + 2 * (lane & 3) + index
                at = place + (column * pitch + row * size if column_major else row * pitch + column * size)
                number = 2 * block + index
                slot = block * SLOT_BYTES + 4 * lane + 2 * index if size == 2 else number * SLOT_BYTES + size * lane
                if loads:
                    copy_sized(at, rows + RESULTS + slot, size)
                elif mask >> lane & 1:
                    copy_sized(rows + DATA + slot, at, size)


@compiled
def copy_sized(source: int, target: int, size: int) -> None:
    """1, 2, 4 or 8 bytes."""
    if size == 8:
        raw.store_i64(target, raw.load_i64(source))
    elif size == 4:
        raw.store_u32(target, raw.load_u32(source))
    elif size == 2:
        raw.store_u16(target, raw.load_u16(source))
    else:
        raw.store_u8(target, raw.load_u8(source))


@callback(types.int64(types.int64, types.int64, types.int64, types.int64))
def fragment_unit(machine: int, rows: int, mask: int, settings: int) -> int:
    """``tracer.units.call`` says how it is called; settings are ``FRAGMENT``."""
    if mask == 0:
        return 0
    action = take(settings, FRAGMENT.action)
    if action == plan.TRANSPOSE:
        return transpose(rows, mask)
    if action in (plan.LOAD_ROWS, plan.STORE_ROWS):
        return move_rows(machine, rows, mask, settings)
    return move_fragment(machine, rows, mask, settings)
