"""Device memory as units see it: checked places, and the machine's error words."""

from rayplay.tracer.abi.words import MACHINE, STOP
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_i64, store_i64

HOST, FIRST, BYTES = (8 * MACHINE[name] for name in ("host_offset", "arena_first", "arena_bytes"))
SHARED_BASE, SHARED_BYTES = 8 * MACHINE.shared_base, 8 * MACHINE.shared_bytes
LANE, ADDRESS = 8 * MACHINE.error_lane, 8 * MACHINE.error_address
TABLE, COUNT, MEMCHECK = 8 * MACHINE.allocations, 8 * MACHINE.allocation_count, 8 * MACHINE.memcheck
ROW_BYTES, END = 16, 8
"""A row of the table of allocations: first address, end."""


@compiled
def allocation_of(machine: int, address: int, size: int) -> int:
    """Host address of the row of the allocation that holds ``size`` bytes at a device address; 0 for none."""
    low, high = 0, load_i64(machine + COUNT)
    table = load_i64(machine + TABLE)
    while low < high:  # the first row that begins behind the address
        middle = (low + high) >> 1
        if load_i64(table + ROW_BYTES * middle) <= address:
            low = middle + 1
        else:
            high = middle
    row = table + ROW_BYTES * (low - 1)
    return row if low > 0 and size <= load_i64(row + END) - address else 0


@compiled
def is_near(machine: int, address: int, size: int) -> bool:
    """Whether bytes outside all allocations may be read without memcheck: they lie between or near allocations."""
    offset = address - load_i64(machine + FIRST)
    return load_i64(machine + MEMCHECK) == 0 and 0 <= offset <= load_i64(machine + BYTES) - size


@compiled
def host_place(machine: int, address: int, size: int, align: int, shared: bool) -> int:
    """Host address of ``size`` bytes at a device address; 0 when they are outside memory or not aligned."""
    if address & (align - 1):
        return 0
    if shared:
        if address < 0 or address > load_i64(machine + SHARED_BYTES) - size:
            return 0
        return load_i64(machine + HOST) + load_i64(machine + SHARED_BASE) - load_i64(machine + FIRST) + address
    if size and not allocation_of(machine, address, size) and not is_near(machine, address, size):
        return 0
    return load_i64(machine + HOST) + address - load_i64(machine + FIRST)


@compiled
def refuse(machine: int, lane: int, address: int, code: int) -> int:
    """Note why the launch ends; returns ``code``."""
    store_i64(machine + LANE, lane)
    store_i64(machine + ADDRESS, address)
    return code


@compiled
def refuse_address(machine: int, lane: int, address: int) -> int:
    """An address outside memory, or not aligned."""
    return refuse(machine, lane, address, STOP.illegal_address)
