"""Load/store unit of an SM: takes memory instructions in order, one at a time, and walks their sectors into the L1.

Peak rate: one instruction per cycle; ``l1.banks`` sectors per cycle while they lie in different banks; a shared-memory
instruction takes as many cycles as its worst bank has different words. A load releases its scoreboard slot when its
last sector is there; a store when its last sector has left for the L2. Source: ``reference/accel-sim.md`` B.2.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replay import l1 as cache
from replay.bits import FAR, inlined
from replay.config import law, value
from replay.l1 import FAIL, HIT, L1
from replay.port import ATOMIC as ATOMIC_REQUEST
from replay.port import Port, may_send, send
from replay.work import LOAD, STORE, Work

OPERATIONS = 256  # memory instructions of an SM under way
ACK_TAG, ATOMIC_TAG = 1, 3
TIMERS = 64
# columns of operation: warp, kind, slot, sector cursor and end, sectors still missing, cycles a shared access takes,
# cycle it reaches the unit
WARP, KIND, SLOT, CURSOR, END, MISSING, CONFLICT, ARRIVES = range(8)
# columns of unit: queue head and tail, pipeline head and tail, free operations, timers, cycle the front is free,
# next cycle to run, cycle up to which the oldest sector is known to have been blocked (-1: it is not)
QUEUE_HEAD, QUEUE_TAIL, PIPE_HEAD, PIPE_TAIL, FREE, TIMER_COUNT, FRONT_AT, NEXT_CYCLE, BLOCKED_AT = range(9)
INSTRUCTIONS, SECTORS, SHARED_CYCLES, BANK_CONFLICT_CYCLES, STALL_CYCLES = range(5)
COUNTERS = ("instructions", "sectors", "shared_cycles", "bank_conflict_cycles", "blocked_cycles")


@dataclass(frozen=True)
class Spec:
    """Load/store unit of an SM and its shared memory."""

    queue_entries: int = value("instructions", "Memory instructions that may wait in the unit", 1)
    issue_cycles: int = value("cycles", "From issue to the first bank access", 1)
    shared_latency_cycles: int = value("cycles", "From the bank access of shared memory to the data", 1)

    def __post_init__(self) -> None:
        law(self.queue_entries <= 64, f"queue_entries must be at most 64, not {self.queue_entries}")


class Lsu(NamedTuple):
    """All SMs' units; operation o of SM s is row s * OPERATIONS + o."""

    operation: np.ndarray  # int64[sms * OPERATIONS, 8]
    unit: np.ndarray  # int64[sms, 9]
    free: np.ndarray  # int64[sms, OPERATIONS]: stack of free operations
    queue: np.ndarray  # int64[sms, 64]: operations
    pipe: np.ndarray  # int64[sms * pipe_size, 4]: cycle of the tag check, sector, byte mask, operation
    timer: np.ndarray  # int64[sms, TIMERS, 2]: cycle, operation; the latest first
    stats: np.ndarray  # int64[sms, 5]
    pipe_size: int
    queue_entries: int
    issue_cycles: int
    shared_latency: int
    l1_latency: int
    banks: int


def make_state(spec: Spec, l1: cache.Spec, sms: int) -> Lsu:
    """Idle units."""
    pipe_size = 1 << ((l1.latency_cycles + 2) * l1.banks - 1).bit_length()
    unit = np.zeros((sms, 9), np.int64)
    unit[:, FREE] = OPERATIONS
    unit[:, NEXT_CYCLE] = FAR
    unit[:, BLOCKED_AT] = -1
    return Lsu(
        np.zeros((sms * OPERATIONS, 8), np.int64),
        unit,
        np.tile(np.arange(OPERATIONS), (sms, 1)),
        np.zeros((sms, 64), np.int64),
        np.zeros((sms * pipe_size, 4), np.int64),
        np.zeros((sms, TIMERS, 2), np.int64),
        np.zeros((sms, len(COUNTERS)), np.int64),
        pipe_size,
        spec.queue_entries,
        spec.issue_cycles,
        spec.shared_latency_cycles,
        l1.latency_cycles,
        l1.banks,
    )


@inlined
def has_room(state: Lsu, sm: int) -> bool:
    """Whether one more memory instruction may issue."""
    unit = state.unit
    waiting = unit[sm, QUEUE_TAIL] - unit[sm, QUEUE_HEAD]
    return waiting < state.queue_entries and unit[sm, FREE] > 0 and unit[sm, TIMER_COUNT] + waiting < TIMERS


@inlined
def new_operation(state: Lsu, sm: int, warp: int, kind: int, slot: int) -> int:
    """A free operation for a warp's instruction."""
    unit = state.unit
    unit[sm, FREE] -= 1
    at = state.free[sm, unit[sm, FREE]]
    row = sm * OPERATIONS + at
    state.operation[row, WARP] = warp
    state.operation[row, KIND] = kind
    state.operation[row, SLOT] = slot
    return at


@inlined
def free_operation(state: Lsu, sm: int, at: int) -> None:
    """The operation is over."""
    unit = state.unit
    state.free[sm, unit[sm, FREE]] = at
    unit[sm, FREE] += 1


@inlined
def enqueue(state: Lsu, work: Work, sm: int, now: int, warp: int, kind: int, slot: int, access: int) -> None:
    """A memory instruction issues: it reaches the unit ``issue_cycles`` later."""
    unit = state.unit
    at = new_operation(state, sm, warp, kind, slot)
    row = sm * OPERATIONS + at
    first, last = work.access_first[access], work.access_first[access + 1]
    state.operation[row, CURSOR] = first
    state.operation[row, END] = last
    state.operation[row, MISSING] = last - first
    state.operation[row, CONFLICT] = work.conflict[access]
    state.operation[row, ARRIVES] = now + state.issue_cycles
    state.queue[sm, unit[sm, QUEUE_TAIL] & 63] = at
    unit[sm, QUEUE_TAIL] += 1
    unit[sm, NEXT_CYCLE] = min(unit[sm, NEXT_CYCLE], max(now + state.issue_cycles, unit[sm, FRONT_AT]))
    state.stats[sm, INSTRUCTIONS] += 1


@inlined
def start_timer(state: Lsu, sm: int, cycle: int, at: int) -> None:
    """Complete the operation at ``cycle``; the list stays sorted, the latest first."""
    unit, timer = state.unit, state.timer
    place = unit[sm, TIMER_COUNT]
    while place and timer[sm, place - 1, 0] <= cycle:
        timer[sm, place, 0] = timer[sm, place - 1, 0]
        timer[sm, place, 1] = timer[sm, place - 1, 1]
        place -= 1
    timer[sm, place, 0] = cycle
    timer[sm, place, 1] = at
    unit[sm, TIMER_COUNT] += 1
    unit[sm, NEXT_CYCLE] = min(unit[sm, NEXT_CYCLE], cycle)


@inlined
def front(state: Lsu, work: Work, sm: int, now: int) -> None:
    """Give the instruction at the queue's head its cycle: sectors in different banks, or a shared-memory access."""
    unit, operation = state.unit, state.operation
    if unit[sm, QUEUE_HEAD] == unit[sm, QUEUE_TAIL] or unit[sm, FRONT_AT] > now:
        return
    at = state.queue[sm, unit[sm, QUEUE_HEAD] & 63]
    row = sm * OPERATIONS + at
    if operation[row, ARRIVES] > now:
        return
    conflict = operation[row, CONFLICT]
    if conflict:
        unit[sm, FRONT_AT] = now + conflict
        unit[sm, QUEUE_HEAD] += 1
        state.stats[sm, SHARED_CYCLES] += conflict
        state.stats[sm, BANK_CONFLICT_CYCLES] += conflict - 1
        start_timer(state, sm, now + conflict - 1 + state.shared_latency, at)
        return
    cursor, end = operation[row, CURSOR], operation[row, END]
    banks = 0
    while cursor < end and unit[sm, PIPE_TAIL] - unit[sm, PIPE_HEAD] < state.pipe_size:
        bank = 1 << (work.sector[cursor] & (state.banks - 1))
        if banks & bank:
            break
        banks |= bank
        place = sm * state.pipe_size + (unit[sm, PIPE_TAIL] & (state.pipe_size - 1))
        state.pipe[place, 0] = now + state.l1_latency
        state.pipe[place, 1] = work.sector[cursor]
        state.pipe[place, 2] = work.byte_mask[cursor]
        state.pipe[place, 3] = at
        unit[sm, PIPE_TAIL] += 1
        state.stats[sm, SECTORS] += 1
        cursor += 1
    operation[row, CURSOR] = cursor
    if cursor == end:
        unit[sm, QUEUE_HEAD] += 1
        unit[sm, FRONT_AT] = now + 1


@inlined
def check_tag(state: Lsu, l1: L1, port: Port, sm: int, now: int) -> int:
    """The tag check of the pipeline's oldest sector: the operation it completes, -1 for none, -2 when it must wait."""
    unit, operation = state.unit, state.operation
    place = sm * state.pipe_size + (unit[sm, PIPE_HEAD] & (state.pipe_size - 1))
    sector, at = state.pipe[place, 1], state.pipe[place, 3]
    row = sm * OPERATIONS + at
    kind = operation[row, KIND]
    done = 0
    if kind == LOAD:
        answer = cache.read(l1, port, sm, now, sector, at << 1)
        if answer == FAIL:
            return -2
        done = 1 if answer == HIT else 0
    elif kind == STORE:
        if not cache.write(l1, port, sm, now, sector, state.pipe[place, 2], operation[row, WARP] * 4 + ACK_TAG):
            return -2
        done = 1
    else:
        if not may_send(port, sm, now):
            return -2
        send(port, sm, now, sector, ATOMIC_REQUEST, 0, at * 4 + ATOMIC_TAG)
    unit[sm, PIPE_HEAD] += 1
    operation[row, MISSING] -= done
    return at if done and operation[row, MISSING] == 0 else -1


@inlined
def count_blocked(state: Lsu, l1: L1, sm: int, until: int) -> None:
    """Count the cycles before ``until`` in which the oldest sector tried again in vain, while the unit slept."""
    unit = state.unit
    skipped = until - 1 - unit[sm, BLOCKED_AT]
    if unit[sm, BLOCKED_AT] < 0 or skipped <= 0:
        return
    unit[sm, BLOCKED_AT] = until - 1
    state.stats[sm, STALL_CYCLES] += skipped
    place = sm * state.pipe_size + (unit[sm, PIPE_HEAD] & (state.pipe_size - 1))
    if state.operation[sm * OPERATIONS + state.pipe[place, 3], KIND] in (LOAD, STORE):
        l1.stats[sm, cache.FAILS] += skipped


@inlined
def wake(state: Lsu, sm: int, now: int) -> None:
    """A response came: a blocked sector tries again."""
    if state.unit[sm, BLOCKED_AT] >= 0:
        state.unit[sm, NEXT_CYCLE] = min(state.unit[sm, NEXT_CYCLE], now)


@inlined
def receive_sector(state: Lsu, sm: int, at: int) -> bool:
    """A missing sector of an operation arrived; True when it was the last."""
    row = sm * OPERATIONS + at
    state.operation[row, MISSING] -= 1
    return state.operation[row, MISSING] == 0


@inlined
def next_cycle(state: Lsu, port: Port, sm: int, now: int) -> int:
    """The next cycle in which the unit can do something; a blocked sector waits for the port or for a response."""
    unit = state.unit
    soonest = FAR
    if unit[sm, BLOCKED_AT] >= 0:
        soonest = FAR
    elif unit[sm, PIPE_HEAD] != unit[sm, PIPE_TAIL]:
        place = sm * state.pipe_size + (unit[sm, PIPE_HEAD] & (state.pipe_size - 1))
        soonest = max(state.pipe[place, 0], now + 1)
    if unit[sm, QUEUE_HEAD] != unit[sm, QUEUE_TAIL]:
        head = sm * OPERATIONS + state.queue[sm, unit[sm, QUEUE_HEAD] & 63]
        full = unit[sm, PIPE_TAIL] - unit[sm, PIPE_HEAD] == state.pipe_size
        if not full or state.operation[head, CONFLICT]:
            soonest = min(soonest, max(state.operation[head, ARRIVES], unit[sm, FRONT_AT], now + 1))
    if unit[sm, TIMER_COUNT]:
        soonest = min(soonest, state.timer[sm, unit[sm, TIMER_COUNT] - 1, 0])
    return soonest


def stats(state: Lsu) -> dict[str, np.ndarray]:
    """Every counter per SM."""
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
