"""Texels of an image in device memory: where they lie, and their channels as float64, which holds all of them."""

from rayplay.tracer.memory import image_record as image
from rayplay.tracer.native.floats import f16_value
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import f32_of_bits, load_i32, load_i64, load_u8, load_u16, load_u32
from rayplay.tracer.units.memory import host_place

SRGB_TO_LINEAR = tuple(
    level / 255 / 12.92 if level <= 10 else ((level / 255 + 0.055) / 1.055) ** 2.4 for level in range(256)
)
"""IEC 61966-2-1."""


@compiled
def open_record(machine: int, handle: int, magic: int) -> int:
    """Host address of the record behind a handle; 0 for another kind, or an image or level outside memory."""
    record = host_place(machine, handle, image.RECORD_BYTES, image.RECORD_ALIGN, False)
    if record == 0 or load_i64(record + 8 * image.MAGIC) != magic:
        return 0
    levels = max(load_i64(record + 8 * image.LEVELS), 1)
    if levels > 1 and host_place(machine, handle, levels * image.RECORD_BYTES, image.RECORD_ALIGN, False) == 0:
        return 0
    for level in range(record, record + levels * image.RECORD_BYTES, image.RECORD_BYTES):
        size = load_i64(level + 8 * image.TOTAL_BYTES)
        if size and host_place(machine, load_i64(level + 8 * image.BASE), size, 1, False) == 0:
            return 0
    return record


@compiled
def word(record: int, number: int) -> int:
    """A word of a record."""
    return load_i64(record + 8 * number)


@compiled
def texel_bytes(record: int) -> int:
    """Bytes of a texel."""
    return word(record, image.CHANNELS) * image.ELEMENT_BYTES[word(record, image.ELEMENT)]


@compiled
def texel_address(record: int, x: int, y: int, z: int) -> int:
    """Device address of a texel; z counts slices, layers or faces."""
    start = word(record, image.BASE) + z * word(record, image.SLICE_BYTES) + y * word(record, image.ROW_BYTES)
    return start + x * texel_bytes(record)


@compiled
def channel(record: int, place: int, number: int) -> float:
    """A channel of the texel at a host address, as the texture's read mode has it; those it lacks are 0, 0, 1."""
    if number >= word(record, image.CHANNELS):
        return 1.0 if number == 3 else 0.0
    element = word(record, image.ELEMENT)
    at = place + number * image.ELEMENT_BYTES[element]
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
