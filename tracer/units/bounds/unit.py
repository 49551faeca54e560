"""The bounds unit, lane after lane: whether an access of another allocation than the instruction's last one is legal.

Machine code compares addresses with the allocation in which the instruction last found itself, and calls this unit for
lanes outside of it. ``BOUNDS.instruction`` says where the instruction keeps that allocation: first address and bytes.
"""

from numba import types

from rayplay.tracer.abi.words import MACHINE
from rayplay.tracer.native.jit import callback
from rayplay.tracer.native.memory import load_i64, store_i64
from rayplay.tracer.units.memory import END, ROW_BYTES, allocation_of, is_near, refuse_address
from rayplay.tracer.units.settings import BOUNDS, take

KEPT, OUTSIDE = 8 * MACHINE.bounds, 8 * MACHINE.outside


@callback(types.int64(types.int64, types.int64, types.int64, types.int64))
def bounds_unit(machine: int, rows: int, mask: int, settings: int) -> int:
    """``tracer.units.call`` says how it is called; addresses lie in slot 0, settings are ``BOUNDS``."""
    size, instruction = take(settings, BOUNDS.size), take(settings, BOUNDS.instruction)
    kept = load_i64(machine + KEPT) + ROW_BYTES * instruction
    for lane in range(32):
        if mask >> lane & 1:
            address = load_i64(rows + 8 * lane)
            row = allocation_of(machine, address, size) if address & (size - 1) == 0 else 0
            if row:
                first = load_i64(row)
                if first & (size - 1) == 0:  # else distances from it do not show alignment
                    store_i64(kept, first)
                    store_i64(kept + END, load_i64(row + END) - first)
            elif address & (size - 1) or not is_near(machine, address, size):
                return refuse_address(machine, lane, address)
            else:
                count = load_i64(machine + OUTSIDE) + 8 * instruction
                store_i64(count, load_i64(count) + 1)
    return 0
