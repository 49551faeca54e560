"""Device memory as units see it: checked places, and the machine's error words."""

from rayplay.tracer.abi.words import MACHINE, STOP
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_i64, store_i64

HOST, FIRST, BYTES = (8 * MACHINE[name] for name in ("host_offset", "arena_first", "arena_bytes"))
SHARED_BASE, SHARED_BYTES = 8 * MACHINE.shared_base, 8 * MACHINE.shared_bytes
LANE, ADDRESS = 8 * MACHINE.error_lane, 8 * MACHINE.error_address


@compiled
def host_place(machine: int, address: int, size: int, align: int, shared: bool) -> int:
    """Host address of ``size`` bytes at a device address; 0 when they are outside memory or not aligned."""
    if shared:
        offset, limit = address, load_i64(machine + SHARED_BYTES)
        start = load_i64(machine + SHARED_BASE) - load_i64(machine + FIRST)
    else:
        offset, limit = address - load_i64(machine + FIRST), load_i64(machine + BYTES)
        start = 0
    if offset < 0 or offset > limit - size or address & (align - 1):
        return 0
    return load_i64(machine + HOST) + start + offset


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
