"""The copy unit: cp.async, from global to shared memory, lane after lane. The read is what is recorded."""

from numba import cfunc, types

from tracer.compiled import compiled
from tracer.copy_plan import IGNORE_SOURCE, SOURCE_BYTES
from tracer.raw_memory import load_i64, load_u8, load_u32, store_i64, store_u8
from tracer.unit import ADDRESS_SLOT, SLOT_BYTES
from tracer.unit_memory import host_place, refuse_address


@compiled
def copy_lane(machine: int, rows: int, lane: int, size: int, mode: int) -> int:
    """Copy a lane's bytes; what its source lacks is zero. Bytes that are not read need not be in memory."""
    target = load_i64(rows + 8 * lane)
    source = load_i64(rows + SLOT_BYTES + 8 * lane)
    store_i64(rows + ADDRESS_SLOT * SLOT_BYTES + 8 * lane, source)
    count = size
    if mode == SOURCE_BYTES:
        count = min(load_u32(rows + 2 * SLOT_BYTES + 4 * lane), size)
    elif mode == IGNORE_SOURCE and load_u32(rows + 2 * SLOT_BYTES + 4 * lane):
        count = 0
    place = host_place(machine, target, size, size, True)
    if place == 0:
        return refuse_address(machine, lane, target)
    origin = 0
    if count:
        origin = host_place(machine, source, count, size, False)
        if origin == 0:
            return refuse_address(machine, lane, source)
    for number in range(size):
        store_u8(place + number, load_u8(origin + number) if number < count else 0)
    return 0


@cfunc(types.int64(types.int64, types.int64, types.int64, types.int64), cache=True)
def copy_unit(machine: int, rows: int, mask: int, settings: int) -> int:
    """``tracer.unit`` says how it is called; settings are those of ``tracer.copy_plan``."""
    for lane in range(32):
        if mask >> lane & 1:
            error = copy_lane(machine, rows, lane, settings & 31, settings >> 5)
            if error:
                return error
    return 0
