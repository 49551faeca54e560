"""The surface unit: loads, stores, reductions and queries, lane after lane.

``.b`` moves bytes, and its first coordinate counts them; ``sust.p`` stores whole texels, converted: integers are
clamped to their element, floats rounded to nearest even. Outside the surface ``.trap`` ends the launch, ``.clamp``
takes the nearest place inside, ``.zero`` reads zeros and writes nothing. An access is recorded with the place inside.
"""

from numba import types

from rayplay.tracer.abi.words import STOP
from rayplay.tracer.memory import image_record as image
from rayplay.tracer.native import memory as raw
from rayplay.tracer.native.floats import f16_of
from rayplay.tracer.native.jit import callback, compiled
from rayplay.tracer.units.call import ADDRESS_SLOT, RESULT_SLOT, SLOT_BYTES
from rayplay.tracer.units.memory import FIRST, HOST, refuse
from rayplay.tracer.units.settings import take
from rayplay.tracer.units.surface.plan import DATA, LOAD, QUERY, REDUCE, SURFACE
from rayplay.tracer.units.texture.plan import COORDINATE, LAYER
from rayplay.tracer.units.texture.texel import open_record, texel_bytes, texel_offset, word
from rayplay.tracer.units.texture.unit import channel_order, channel_type, handle_of, input_word

RESULTS, ADDRESSES, DATA_FIRST = (slot * SLOT_BYTES for slot in (RESULT_SLOT, ADDRESS_SLOT, DATA))
TRAP, CLAMP, ZERO = range(3)
ADD, MIN, MAX, AND = range(4)
TYPE_S32, TYPE_S64 = 1, 3


@compiled
def signed(bits: int) -> int:
    """32 bits as a signed number."""
    return (bits ^ 0x80000000) - 0x80000000


@compiled
def place_lane(record: int, rows: int, lane: int, settings: int, span: int, at: int) -> bool:
    """Write the place of a lane's ``span`` bytes to ``at``: address, x in bytes; whether it lies inside.

    Without ``.p`` the first coordinate is in bytes.
    """
    geometry, size = take(settings, SURFACE.geometry), texel_bytes(record)
    x = signed(input_word(rows, COORDINATE, lane))
    x = x * size if take(settings, SURFACE.formatted) else x
    y = signed(input_word(rows, COORDINATE + 1, lane)) if geometry != image.G_1D and geometry != image.G_A1D else 0
    z = signed(input_word(rows, COORDINATE + 2, lane)) if geometry == image.G_3D else 0
    z = signed(input_word(rows, LAYER, lane)) if geometry >= image.G_A1D else z
    last_x = word(record, image.WIDTH) * size - span
    last_y = word(record, image.HEIGHT) - 1
    last_z = (word(record, image.LAYERS) if geometry >= image.G_A1D else word(record, image.DEPTH)) - 1
    inside = 0 <= x <= last_x and 0 <= y <= last_y and 0 <= z <= last_z
    nearest = min(max(x, 0), max(last_x, 0))
    row = word(record, image.BASE) + texel_offset(record, 0, min(max(y, 0), last_y), min(max(z, 0), last_z))
    raw.store_i64(at, row + nearest)
    return inside


@compiled
def store_channels(record: int, place: int, rows: int, lane: int, lanes: int) -> None:
    """``sust.p``: the channels of a texel from registers of 32 bits; those without a register stay."""
    element = word(record, image.ELEMENT)
    size = image.ELEMENT_BYTES[element]
    for number in range(lanes):
        if number < word(record, image.CHANNELS):
            bits = raw.load_u32(rows + DATA_FIRST + number * SLOT_BYTES + 4 * lane)
            store_texel(element, place + number * size, bits)


@compiled
def store_texel(element: int, place: int, bits: int) -> None:
    """An element from the register that holds it."""
    if element == image.F16:
        raw.store_u16(place, f16_of(float(raw.f32_of_bits(bits))))
    elif element >= image.U32:
        raw.store_u32(place, bits)
    else:
        width = 8 * image.ELEMENT_BYTES[element]
        if element & 1 == image.S8:
            value = min(max(signed(bits), -(1 << (width - 1))), (1 << (width - 1)) - 1)
        else:
            value = min(bits, (1 << width) - 1)
        if width == 8:
            raw.store_u8(place, value)
        else:
            raw.store_u16(place, value)


@compiled
def raw_values(place: int, rows: int, lane: int, size: int, lanes: int, reads: bool) -> None:
    """``.b``: elements of ``size`` bytes from, or to, registers."""
    width = 8 if size == 8 else 4
    for number in range(lanes):
        register = rows + (RESULTS if reads else DATA_FIRST) + number * SLOT_BYTES + width * lane
        at = place + number * size
        if size == 8:
            raw.store_i64(register if reads else at, raw.load_i64(at if reads else register))
        elif size == 4:
            raw.store_u32(register if reads else at, raw.load_u32(at if reads else register))
        elif size == 2:
            if reads:
                raw.store_u32(register, raw.load_u16(at))
            else:
                raw.store_u16(at, raw.load_u32(register))
        elif reads:
            raw.store_u32(register, raw.load_u8(at))
        else:
            raw.store_u8(at, raw.load_u32(register))


@compiled
def clear(rows: int, lane: int, size: int, lanes: int) -> None:
    """Zeros in a lane's results."""
    for number in range(lanes):
        if size == 8:
            raw.store_i64(rows + RESULTS + number * SLOT_BYTES + 8 * lane, 0)
        else:
            raw.store_u32(rows + RESULTS + number * SLOT_BYTES + 4 * lane, 0)


@compiled
def reduce_at(place: int, rows: int, lane: int, settings: int) -> None:
    """sured: memory takes the combination of what it holds and the lane's operand."""
    operation, kind = take(settings, SURFACE.operation), take(settings, SURFACE.kind)
    if take(settings, SURFACE.bytes) == 8:
        old, new = raw.load_i64(place), raw.load_i64(rows + DATA_FIRST + 8 * lane)
        bias = 0 if kind == TYPE_S64 else -(1 << 63)
        raw.store_i64(place, combined(old, new, operation, bias))
        return
    if kind == TYPE_S32:
        raw.store_u32(place, combined(raw.load_i32(place), raw.load_i32(rows + DATA_FIRST + 4 * lane), operation, 0))
    else:
        raw.store_u32(place, combined(raw.load_u32(place), raw.load_u32(rows + DATA_FIRST + 4 * lane), operation, 0))


@compiled
def combined(old: int, new: int, operation: int, bias: int) -> int:
    """The reduction of two numbers; ``bias`` flips the order's sign bit."""
    if operation == ADD:
        return old + new
    if operation == MIN:
        return old if old ^ bias < new ^ bias else new
    if operation == MAX:
        return old if old ^ bias > new ^ bias else new
    return old & new if operation == AND else old | new


@compiled
def access_lane(machine: int, rows: int, lane: int, settings: int, record: int) -> int:
    """One lane's load, store or reduction."""
    action, formatted = take(settings, SURFACE.action), take(settings, SURFACE.formatted) != 0
    size, lanes, clamp = take(settings, SURFACE.bytes), take(settings, SURFACE.lanes), take(settings, SURFACE.clamp)
    span = texel_bytes(record) if formatted and action != REDUCE else size * lanes
    at = rows + ADDRESSES + 8 * lane
    inside = place_lane(record, rows, lane, settings, span, at)
    address = raw.load_i64(at)
    odd = not formatted and signed(input_word(rows, COORDINATE, lane)) % span != 0
    if odd or (not inside and clamp == TRAP) or span > texel_bytes(record) * word(record, image.WIDTH):
        return refuse(machine, lane, signed(input_word(rows, COORDINATE, lane)), STOP.outside_surface)
    place = raw.load_i64(machine + HOST) + address - raw.load_i64(machine + FIRST)
    if not inside and clamp == ZERO:
        if action == LOAD:
            clear(rows, lane, size, lanes)
    elif action == REDUCE:
        reduce_at(place, rows, lane, settings)
    elif formatted:
        store_channels(record, place, rows, lane, lanes)
    else:
        raw_values(place, rows, lane, size, lanes, action == LOAD)
    return 0


@compiled
def query_surface(record: int, number: int) -> int:
    """Answer of suq, in the order of ``surface_plan.QUERIES``; the layout is always linear, 0."""
    if number < 3:
        return word(record, image.WIDTH + number)
    if number == 3:
        return channel_type(word(record, image.ELEMENT), False)
    if number == 4:
        return channel_order(word(record, image.CHANNELS))
    if number == 5:
        return word(record, image.LAYERS) if word(record, image.GEOMETRY) >= image.G_A1D else 0
    return 0


@callback(types.int64(types.int64, types.int64, types.int64, types.int64))
def surface_unit(machine: int, rows: int, mask: int, settings: int) -> int:
    """``tracer.units.call`` says how it is called; settings are ``SURFACE``."""
    queries = take(settings, SURFACE.action) == QUERY
    indirect = take(settings, SURFACE.indirect) != 0
    for lane in range(32):
        if not mask >> lane & 1:
            continue
        handle = handle_of(machine, rows, 0, lane, indirect)
        record = open_record(machine, handle, image.SURFACE_MAGIC)
        if record == 0 or not (queries or word(record, image.GEOMETRY) == take(settings, SURFACE.geometry)):
            return refuse(machine, lane, handle, STOP.bad_handle)
        if queries:
            raw.store_u32(rows + RESULTS + 4 * lane, query_surface(record, take(settings, SURFACE.query)))
            continue
        code = access_lane(machine, rows, lane, settings, record)
        if code:
            return code
    return 0
