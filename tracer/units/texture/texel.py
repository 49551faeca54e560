"""Texels of an image in device memory: where they lie, and their channels as float64, which holds all of them."""

from rayplay.tracer.abi.words import MACHINE
from rayplay.tracer.memory import image_record as image
from rayplay.tracer.native.floats import f16_value
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import f32_of_bits, load_i32, load_i64, load_u8, load_u16, load_u32
from rayplay.tracer.units.memory import host_place
from rayplay.tracer.units.texture.block import fraction

RECORDS, RECORD_COUNT = 8 * MACHINE.records, 8 * MACHINE.record_count

SRGB_TO_LINEAR = tuple(
    level / 255 / 12.92 if level <= 10 else ((level / 255 + 0.055) / 1.055) ** 2.4 for level in range(256)
)
"""IEC 61966-2-1."""


@compiled
def open_record(machine: int, handle: int, magic: int) -> int:
    """Host address of the record behind a handle; 0 for no such handle, another kind, or a level outside memory."""
    record = record_of(machine, handle) if handle & (image.HANDLE_ALIGN - 1) == 0 and handle else 0
    if record == 0 or word(record, image.MAGIC) != magic:
        return 0
    for number in range(max(word(record, image.LEVELS), 1)):
        level = record + number * image.RECORD_BYTES
        size = word(level, image.TOTAL_BYTES)
        if size and host_place(machine, word(level, image.BASE), size, 1, False) == 0:
            return 0
    return record


@compiled
def record_of(machine: int, handle: int) -> int:
    """Host address of the record with a handle; 0 for none. Records lie in the order of their handles."""
    first, low, high = load_i64(machine + RECORDS), 0, load_i64(machine + RECORD_COUNT)
    while low < high:
        middle = (low + high) >> 1
        record = first + image.RECORD_BYTES * middle
        found = word(record, image.HANDLE)
        if found == handle:
            return record
        if found < handle:
            low = middle + 1
        else:
            high = middle
    return 0


@compiled
def word(record: int, number: int) -> int:
    """A word of a record."""
    return load_i64(record + 8 * number)


@compiled
def texel_bytes(record: int) -> int:
    """Bytes of a texel."""
    return word(record, image.CHANNELS) * image.ELEMENT_BYTES[word(record, image.ELEMENT)]


@compiled
def texel_offset(record: int, x: int, y: int, z: int) -> int:
    """Offset of a texel (``tracer.memory.layout``); z counts slices, layers or faces."""
    start = z * word(record, image.SLICE_BYTES)
    if word(record, image.FIELDS) == 0:
        return start + y * word(record, image.ROW_BYTES) + x * texel_bytes(record)
    x, y = x + word(record, image.ORIGIN_X), y + word(record, image.ORIGIN_Y)
    return start + along(record, image.FIELD_X, x) + along(record, image.FIELD_Y, y)


@compiled
def along(record: int, first: int, index: int) -> int:
    """Offset of an index along the axis whose fields begin at a word."""
    offset = 0
    for number in range(first, first + image.AXIS_FIELDS * image.FIELD_WORDS, image.FIELD_WORDS):
        offset += (index & word(record, number)) * word(record, number + 1)
    return offset


@compiled
def address_of(record: int, offset: int) -> int:
    """Device address that an access of a texel is recorded with: the texel's, or its block's."""
    moved = offset >> word(record, image.ADDRESS_SHIFT) & word(record, image.ADDRESS_MASK)
    return word(record, image.ADDRESS_BASE) + moved


@compiled
def channel(record: int, image_place: int, offset: int, number: int) -> float:
    """A channel of the texel at an offset in the image at a host address, as the texture's read mode has it.

    Those it lacks are 0, 0, 1.
    """
    if number >= word(record, image.CHANNELS):
        return 1.0 if number == 3 else 0.0
    element = word(record, image.ELEMENT)
    if element >= image.BC1:
        block = image_place + (offset >> 4) * (8 if element == image.BC1 else 16)
        return fraction(word(record, image.SRGB) != 0, element, block, offset & 15, number)
    at = image_place + offset + number * image.ELEMENT_BYTES[element]
    if element == image.F32:
        return float(f32_of_bits(load_u32(at)))
    if element == image.F16:
        return f16_value(load_u16(at))
    if word(record, image.READ_FLOAT) == 0:
        return float(integer(element, at))
    value = integer(element, at)
    if element == image.U8:
        return SRGB_TO_LINEAR[value] if number < 3 and word(record, image.SRGB) else value / 255.0
    if element == image.U16:
        return value / 65535.0
    return max(value / (127.0 if element == image.S8 else 32767.0), -1.0)


@compiled
def integer(element: int, place: int) -> int:
    """An integer element at a host address."""
    if element == image.U8:
        return load_u8(place)
    if element == image.S8:
        return (load_u8(place) ^ 0x80) - 0x80
    if element == image.U16:
        return load_u16(place)
    if element == image.S16:
        return (load_u16(place) ^ 0x8000) - 0x8000
    return load_i32(place) if element == image.S32 else load_u32(place)
