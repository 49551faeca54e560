"""The texture unit: sampling, gathering and queries.

Texels are blended in float64 with weights in 1/256 that make up 1, texels of weight 0 not at all, and the result is
rounded once. Look-ups of several levels or samples are rounded each, then summed in the same way. A float result of an
integer texture read as such, and an integer result of a float texture, are bits.
An access is recorded with the 16 bytes around the texel nearest to the origin of each lane's footprint, brought into
the image, and with the further sectors of the footprints (``sectors``). Layers and faces are clamped to the
image's.
"""

import numpy as np
from numba import carray, types

from rayplay.tracer.abi.words import MACHINE, STOP
from rayplay.tracer.memory import image_record as image
from rayplay.tracer.native.calls import as_pointer
from rayplay.tracer.native.floats import f16_of, f32_of
from rayplay.tracer.native.jit import callback, compiled
from rayplay.tracer.native.memory import f32_bits, f32_of_bits, f64_of_bits, load_i64, load_u32, store_i64, store_u32
from rayplay.tracer.units.call import ADDRESS_SLOT, RESULT_SLOT, SCRATCH_SLOT, SLOT_BYTES
from rayplay.tracer.units.memory import END, FIRST, HOST, ROW_BYTES, host_place, refuse
from rayplay.tracer.units.settings import take
from rayplay.tracer.units.texture import addressing, levels
from rayplay.tracer.units.texture.plan import COORDINATE, GATHER, LAYER, LEVEL, OFFSET, QUERY_SAMPLER, SAMPLE, TEXTURE
from rayplay.tracer.units.texture.sectors import COUNT, finish, note
from rayplay.tracer.units.texture.texel import RECORDS, address_of, channel, open_record, texel_offset, word

RESULTS, ADDRESSES, SCRATCH = (slot * SLOT_BYTES for slot in (RESULT_SLOT, ADDRESS_SLOT, SCRATCH_SLOT))
KEPT_ROWS = 8 * MACHINE.bounds
RESULT_F16, RESULT_F16X2 = 3, 4
# int64 words of the scratch: per axis the two texels and the weight of the second, -1 for the border
FOOTPRINT = 9
RECORDED_BYTES = 16
SUMS = SCRATCH + 8 * FOOTPRINT  # float64 of the four channels
UNORM, SNORM, SIGNED, UNSIGNED_INT, HALF, FLOAT = 0x10D2, 0x10D0, 0x10D7, 0x10DA, 0x10DD, 0x10DE
"""OpenCL's channel types, of 8 bits where there are more, as PTX numbers them."""


@compiled
def handle_of(machine: int, rows: int, slot: int, lane: int, indirect: bool) -> int:
    """A lane's handle: its operand, or what lies at the entry parameter whose address that is."""
    value = load_i64(rows + slot * SLOT_BYTES + 8 * lane)
    if indirect:
        place = host_place(machine, value, 8, 8, False)
        return load_i64(place) if place else 0
    return value


@compiled
def input_word(rows: int, slot: int, lane: int) -> int:
    """32 bits of an operand."""
    return load_u32(rows + slot * SLOT_BYTES + 4 * lane)


@compiled
def set_axis(footprint: np.ndarray, axis: int, first: int, weight: int, length: int, mode: int) -> None:
    """Write an axis of the footprint."""
    footprint[3 * axis] = addressing.inside(first, length, mode)
    footprint[3 * axis + 1] = addressing.inside(first + 1, length, mode)
    footprint[3 * axis + 2] = weight


@compiled
def locate(
    record: int, sampler: int, rows: int, lane: int, settings: int, pick: levels.Chosen, sample: int,
    footprint: np.ndarray,
) -> None:  # fmt: skip
    """The footprint of a lane's sample in the level of ``record``: the texels along each axis, and their weights."""
    geometry, integer = take(settings, TEXTURE.geometry), take(settings, TEXTURE.integer) != 0
    linear = (addressing.filters(sampler) or take(settings, TEXTURE.action) == GATHER) and not integer
    normalized = addressing.is_normalized(record, sampler) and not integer
    layer = min(input_word(rows, LAYER, lane), word(record, image.LAYERS) - 1)
    u, v = input_word(rows, COORDINATE, lane), input_word(rows, COORDINATE + 1, lane)
    cube = geometry in (image.G_CUBE, image.G_ACUBE)
    if cube:
        direction = input_word(rows, COORDINATE + 2, lane)
        face, s, t = addressing.cube_face(f32_of_bits(u), f32_of_bits(v), f32_of_bits(direction))
        u, v, normalized = f32_bits(s), f32_bits(t), True
        cubes = word(record, image.LAYERS) // 6
        layer = face + 6 * (min(input_word(rows, LAYER, lane), cubes - 1) if geometry == image.G_ACUBE else 0)
    dimensions = image.DIMENSIONS[geometry]
    for axis in range(3):
        if axis >= dimensions:
            set_axis(footprint, axis, layer if axis == 2 and geometry >= image.G_A1D else 0, 0, 1 << 30, image.CLAMP)
            continue
        length = word(record, image.WIDTH + axis)
        mode = image.CLAMP if cube else addressing.address_mode(sampler, axis, normalized)
        if word(record, image.LINEAR_MEMORY):
            mode, linear = image.OUTSIDE, False
        bits = u if axis == 0 else v if axis == 1 else input_word(rows, COORDINATE + 2, lane)
        if pick.samples > 1:
            bits = f32_bits(levels.moved(rows, lane, settings, pick, sample, axis))
        first, weight = addressing.first_texel(bits, integer, length, mode, normalized, linear)
        if take(settings, TEXTURE.has_offset):
            first += (input_word(rows, OFFSET + axis, lane) ^ 0x80000000) - 0x80000000
        set_axis(footprint, axis, first, weight, length, mode)


@compiled
def value_at(machine: int, record: int, sampler: int, x: int, y: int, z: int, number: int) -> float:
    """A channel of a texel, or of the border where an index is -1."""
    if x < 0 or y < 0 or z < 0:
        return f64_of_bits(word(sampler, image.BORDER + number))
    place = load_i64(machine + HOST) + word(record, image.BASE) - load_i64(machine + FIRST)
    return channel(record, place, texel_offset(record, x, y, z), number)


@compiled
def blend(machine: int, record: int, sampler: int, footprint: np.ndarray, number: int) -> float:
    """A channel of the footprint: the sum of its texels by weight, x first."""
    total = 0.0
    taps = 8 if footprint[8] else 4 if footprint[5] else 2
    for tap in range(taps):
        weight = addressing.weight_of(tap, footprint[2], footprint[5], footprint[8])
        if weight:
            x, y, z = footprint[tap & 1], footprint[3 + (tap >> 1 & 1)], footprint[6 + (tap >> 2)]
            value = value_at(machine, record, sampler, x, y, z, number)
            if weight == addressing.WEIGHT_ONE:
                return value
            total += weight * value
    return total / addressing.WEIGHT_ONE


@compiled
def result_bits(record: int, value: float, kind: int) -> int:
    """A channel as the instruction returns it."""
    if word(record, image.READ_FLOAT) == 0:
        return int(value) & 0xFFFFFFFF
    return f16_of(value) if kind >= RESULT_F16 else f32_of(value)


@compiled
def value_of(
    machine: int, record: int, sampler: int, settings: int, footprint: np.ndarray, outside: bool, number: int
) -> float:
    """A channel of a footprint, not yet rounded."""
    if take(settings, TEXTURE.action) == SAMPLE and number >= word(record, image.CHANNELS) and not outside:
        return 1.0 if number == 3 else 0.0
    if take(settings, TEXTURE.action) == SAMPLE:
        return blend(machine, record, sampler, footprint, number)
    x, y = footprint[1 if number in (1, 2) else 0], footprint[4 if number < 2 else 3]  # counter-clockwise from below
    return value_at(machine, record, sampler, x, y, footprint[6], take(settings, TEXTURE.component))


@compiled
def note_address(record: int, rows: int, lane: int, footprint: np.ndarray) -> None:
    """The address that a lane's access is recorded with."""
    x, y, z = max(footprint[0], 0), max(footprint[3], 0), max(footprint[6], 0)
    store_i64(rows + ADDRESSES + 8 * lane, address_of(record, texel_offset(record, x, y, z)) & -RECORDED_BYTES)


@compiled
def note_texels(record: int, rows: int, settings: int, footprint: np.ndarray) -> None:
    """Note the texels of a footprint that are read."""
    for tap in range(8 if footprint[8] else 4 if footprint[5] or take(settings, TEXTURE.action) == GATHER else 2):
        x, y, z = footprint[tap & 1], footprint[3 + (tap >> 1 & 1)], footprint[6 + (tap >> 2)]
        weight = addressing.weight_of(tap, footprint[2], footprint[5], footprint[8])
        if (weight or take(settings, TEXTURE.action) == GATHER) and x >= 0 and y >= 0 and z >= 0:
            note(rows, address_of(record, texel_offset(record, x, y, z)))


@compiled
def store_result(rows: int, lane: int, number: int, bits: int, kind: int) -> None:
    """A channel of a lane's result in its slot."""
    if kind == RESULT_F16X2:
        place = rows + RESULTS + (number >> 1) * SLOT_BYTES + 4 * lane
        store_u32(place, bits & 0xFFFF if number & 1 == 0 else load_u32(place) | bits << 16)
    else:
        store_u32(rows + RESULTS + number * SLOT_BYTES + 4 * lane, bits)


@compiled
def sample_lane(machine: int, rows: int, lane: int, settings: int, record: int, sampler: int) -> None:
    """Results and recorded address of a lane."""
    footprint = carray(as_pointer(rows + SCRATCH), FOOTPRINT, np.int64)
    sums = carray(as_pointer(rows + SUMS), 4, np.float64)
    kind, pick = take(settings, TEXTURE.result), levels.chosen(record, sampler, rows, lane, settings)
    single = pick.samples == 1 and pick.weight == 0
    sums[:] = 0.0
    for sample in range(pick.samples):
        for step in range(2 if pick.weight else 1):
            level = record + (pick.level + step) * image.RECORD_BYTES
            locate(level, sampler, rows, lane, settings, pick, sample, footprint)
            if sample == 0 and step == 0:
                note_address(level, rows, lane, footprint)
            if take(settings, TEXTURE.sectors):
                note_texels(level, rows, settings, footprint)
            weight, outside = pick.weight if step else levels.ONE - pick.weight, footprint.min() < 0
            for number in range(4):
                value = value_of(machine, level, sampler, settings, footprint, outside, number)
                sums[number] = value if single else sums[number] + weight * float(np.float32(value))
    for number in range(4):
        value = sums[number] if single else sums[number] / (levels.ONE * pick.samples)
        store_result(rows, lane, number, result_bits(record, value, kind), kind)
    store_u32(rows + RESULTS + (2 if kind == RESULT_F16X2 else 4) * SLOT_BYTES + 4 * lane, 1)


@compiled
def query_texture(record: int, number: int) -> int:
    """Answer of txq for a texture, in the order of ``texture_plan.TEXTURE_QUERIES``."""
    element, normalized = word(record, image.ELEMENT), word(record, image.READ_FLOAT) != 0
    if number < 3:
        return word(record, image.WIDTH + number)
    if number == 3:
        return channel_type(element, normalized)
    if number == 4:
        return channel_order(word(record, image.CHANNELS))
    if number == 5:
        return word(record, image.NORMALIZED)
    if number == 6:
        geometry = word(record, image.GEOMETRY)
        return 0 if geometry < image.G_A1D or geometry == image.G_CUBE else word(record, image.LAYERS)
    return word(record, image.LEVELS)


@compiled
def channel_type(element: int, normalized: bool) -> int:
    """OpenCL's number of an element type."""
    if element >= image.BC1:
        return UNORM
    if element >= image.F16:
        return HALF if element == image.F16 else FLOAT
    size, signed = element >> 1, element & 1 != 0
    if normalized:
        return (SNORM if signed else UNORM) + (1 if element >= image.U16 else 0)
    return (SIGNED if signed else UNSIGNED_INT) + size


@compiled
def channel_order(channels: int) -> int:
    """OpenCL's number of R, RG or RGBA."""
    return 0x10B0 if channels == 1 else 0x10B2 if channels == 2 else 0x10B5


@compiled
def query_sampler(record: int, number: int) -> int:
    """Answer of txq for a sampler: filter, modes (PTX counts two kinds of clamp), whether coordinates are in texels."""
    if number == 0:
        return word(record, image.FILTER)
    if number == 4:
        return 1 - word(record, image.NORMALIZED)
    mode = word(record, image.ADDRESS_X + number - 1)
    return mode + 1 if mode >= image.CLAMP else mode


@compiled
def query(machine: int, rows: int, mask: int, settings: int) -> int:
    """txq, lane after lane."""
    for lane in range(32):
        if not mask >> lane & 1:
            continue
        handle = handle_of(machine, rows, 0, lane, take(settings, TEXTURE.indirect) != 0)
        record, of_sampler = (
            open_record(machine, handle, image.TEXTURE_MAGIC),
            take(settings, TEXTURE.action) == QUERY_SAMPLER,
        )
        if record == 0 and of_sampler:
            record = open_record(machine, handle, image.SAMPLER_MAGIC)
        if record == 0:
            return refuse(machine, lane, handle, STOP.bad_handle)
        number = take(settings, TEXTURE.query)
        if take(settings, TEXTURE.detail) and not of_sampler:
            level = min(input_word(rows, LEVEL, lane), word(record, image.LEVELS) - 1)
            record += image.RECORD_BYTES * level
        value = query_sampler(record, number) if of_sampler else query_texture(record, number)
        store_u32(rows + RESULTS + 4 * lane, value)
    return 0


@compiled
def fits(record: int, sampler: int, settings: int) -> bool:
    """Whether a texture has the geometry that an instruction names, and can be read as its sampler says."""
    blends = (
        (addressing.filters(sampler) or word(sampler, image.LEVEL_FILTER) == image.BOTH_LEVELS)
        and take(settings, TEXTURE.action) == SAMPLE
        and take(settings, TEXTURE.integer) == 0
    )
    return word(record, image.GEOMETRY) == take(settings, TEXTURE.geometry) and not (
        blends and word(record, image.READ_FLOAT) == 0
    )


@compiled
def number_of_record(machine: int, record: int) -> int:
    """Its row among the records, of which the first has no handle."""
    return (record - load_i64(machine + RECORDS)) // image.RECORD_BYTES


@callback(types.int64(types.int64, types.int64, types.int64, types.int64))
def texture_unit(machine: int, rows: int, mask: int, settings: int) -> int:
    """``tracer.units.call`` says how it is called; settings are ``TEXTURE``."""
    if take(settings, TEXTURE.action) > GATHER:
        return query(machine, rows, mask, settings)
    first, second, shared = 0, 0, True
    store_i64(rows + COUNT, 0)
    for lane in range(32):
        if not mask >> lane & 1:
            continue
        texture = handle_of(machine, rows, 0, lane, take(settings, TEXTURE.indirect) != 0)
        record = open_record(machine, texture, image.TEXTURE_MAGIC)
        if record == 0:
            return refuse(machine, lane, texture, STOP.bad_handle)
        handle, sampler = 0, record
        if take(settings, TEXTURE.has_sampler):
            handle = handle_of(machine, rows, 1, lane, take(settings, TEXTURE.sampler_indirect) != 0)
            sampler = open_record(machine, handle, image.SAMPLER_MAGIC)
        if sampler == 0 or not fits(record, sampler, settings):
            return refuse(machine, lane, handle or texture, STOP.bad_handle)
        kept = number_of_record(machine, record), number_of_record(machine, sampler) if handle else 0
        shared = shared and (first == 0 or (first, second) == kept)
        first, second = kept
        sample_lane(machine, rows, lane, settings, record, sampler)
    finish(rows, mask)
    if shared and take(settings, TEXTURE.kept):
        row = load_i64(machine + KEPT_ROWS) + ROW_BYTES * (take(settings, TEXTURE.kept) - 1)
        store_i64(row, first)
        store_i64(row + END, second)
    return 0
