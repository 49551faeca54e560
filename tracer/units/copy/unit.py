"""The copy unit, lane after lane: cp.async and cp.async.bulk, done at once, and what they change in an mbarrier.

Of cp.async the read from global memory is recorded; a bulk copy, whose length its text does not say, is not.
"""

from numba import types

from rayplay.tracer.meaning.mbarrier import BYTES_MASK, BYTES_SHIFT, COUNT_MASK, EXPECTED_SHIFT, PHASE_SHIFT
from rayplay.tracer.native.jit import callback, compiled
from rayplay.tracer.native.memory import load_i64, load_u8, load_u32, store_i64, store_u8
from rayplay.tracer.units.call import ADDRESS_SLOT, SLOT_BYTES
from rayplay.tracer.units.copy.plan import ARRIVE, BULK, BULK_COUNTED, COPY, IGNORE_SOURCE, SOURCE_BYTES
from rayplay.tracer.units.memory import host_place, refuse_address
from rayplay.tracer.units.settings import take

BULK_BYTES = 16


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


@compiled
def copy_bulk(machine: int, rows: int, lane: int, settings: int) -> int:
    """Copy a multiple of 16 bytes, and count them down in an mbarrier of shared memory where there is one."""
    to_shared, from_shared = take(settings, COPY.to_shared) != 0, take(settings, COPY.from_shared) != 0
    target, source = load_i64(rows + 8 * lane), load_i64(rows + SLOT_BYTES + 8 * lane)
    size = load_u32(rows + 2 * SLOT_BYTES + 4 * lane)
    place = host_place(machine, target, size, BULK_BYTES, to_shared)
    if place == 0 or size % BULK_BYTES:
        return refuse_address(machine, lane, target)
    origin = host_place(machine, source, size, BULK_BYTES, from_shared)
    if origin == 0:
        return refuse_address(machine, lane, source)
    for number in range(0, size, 8):
        store_i64(place + number, load_i64(origin + number))
    if take(settings, COPY.mode) == BULK_COUNTED:
        return change_barrier(machine, load_i64(rows + 3 * SLOT_BYTES + 8 * lane), lane, 0, size, True)
    return 0


@compiled
def change_barrier(machine: int, address: int, lane: int, arrivals: int, size: int, shared: bool) -> int:
    """Take arrivals and bytes from what an mbarrier waits for; a phase that nothing is left of ends."""
    place = host_place(machine, address, 8, 8, shared)
    if place == 0:
        return refuse_address(machine, lane, address)
    state = load_i64(place)
    expected = state >> EXPECTED_SHIFT & COUNT_MASK
    left = ((state & COUNT_MASK) - arrivals) & COUNT_MASK
    coming = ((state >> BYTES_SHIFT & BYTES_MASK) - size) & BYTES_MASK
    phase = state >> PHASE_SHIFT & 1
    if left == 0 and coming == 0:
        left, phase = expected, 1 - phase
    store_i64(place, left | expected << EXPECTED_SHIFT | coming << BYTES_SHIFT | phase << PHASE_SHIFT)
    return 0


@callback(types.int64(types.int64, types.int64, types.int64, types.int64))
def copy_unit(machine: int, rows: int, mask: int, settings: int) -> int:
    """``tracer.units.call`` says how it is called; settings are ``COPY``."""
    mode = take(settings, COPY.mode)
    for lane in range(32):
        if mask >> lane & 1:
            if mode == ARRIVE:
                error = change_barrier(
                    machine, load_i64(rows + 8 * lane), lane, 1, 0, take(settings, COPY.to_shared) != 0
                )
            elif mode in (BULK, BULK_COUNTED):
                error = copy_bulk(machine, rows, lane, settings)
            else:
                error = copy_lane(machine, rows, lane, take(settings, COPY.size), mode)
            if error:
                return error
    return 0
