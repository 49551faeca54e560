"""The instruction at the front of the LSU: its accesses enter the banks, go past the L1, or to shared memory.

It ends its stay with its last access: loads are then over when all their data is, stores at once.
"""

from rayplay.replay.input.work import LOAD, LOAD_BYPASS, STORE, TEXTURE, Work
from rayplay.replay.jit.bits import FAR, inlined
from rayplay.replay.lsu.state import (
    ADDEND,
    ARRIVES,
    BANK_CONFLICT_CYCLES,
    BYPASS_TAG,
    BYTES,
    CONFLICT,
    CURSOR,
    END,
    FRONT_AT,
    HEAD,
    KIND,
    MISSING,
    OCCUPIED,
    OPERATION,
    OPERATIONS,
    PIPE_HEAD,
    PIPE_TAIL,
    QUEUE_HEAD,
    QUEUE_TAIL,
    READY,
    SECTOR,
    SECTORS,
    SHARED_CYCLES,
    STALLED,
    STREAM,
    TAGS_AT,
    TAIL,
    TEXTURE_ACCESSES,
    Lsu,
)
from rayplay.replay.memory import l1 as cache
from rayplay.replay.memory import texture
from rayplay.replay.memory.cache.tags import look_ahead
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import ATOMIC as ATOMIC_REQUEST
from rayplay.replay.memory.port import READ, Port, may_send, send
from rayplay.replay.unit.streams import count_for

STILL_THERE, LEAVES, JOINS_PIPE = range(3)


@inlined
def front(state: Lsu, l1: L1, port: Port, work: Work, sm: int, now: int, at: int) -> int:
    """Give the operation at the queue's head its cycle: STILL_THERE, LEAVES, or JOINS_PIPE of shared memory."""
    operation, row = state.operation, sm * OPERATIONS + at
    state.unit[sm, STALLED] = 0
    count_for(state, sm, operation[row, STREAM])
    if operation[row, CONFLICT]:
        return access_shared(state, sm, now, row, at)
    if operation[row, KIND] == LOAD or operation[row, KIND] == STORE:
        enter_banks(state, l1, work, sm, now, row, at)
    elif operation[row, KIND] == TEXTURE:
        look_up_texture(state, work, sm, now, row, at)
    elif operation[row, CURSOR] < operation[row, END]:
        pass_l1(state, port, work, sm, now, row, at)
    if operation[row, CURSOR] < operation[row, END]:
        return STILL_THERE
    leave(state, sm, now)
    return LEAVES


@inlined
def leave(state: Lsu, sm: int, now: int) -> None:
    """The operation at the queue's head leaves it; the next goes on once it has arrived."""
    unit = state.unit
    unit[sm, QUEUE_HEAD] += 1
    following = sm * OPERATIONS + int(state.queue[sm, unit[sm, QUEUE_HEAD] & 63])
    is_empty = unit[sm, QUEUE_HEAD] == unit[sm, QUEUE_TAIL]
    unit[sm, FRONT_AT] = FAR if is_empty else max(now + 1, state.operation[following, ARRIVES])


@inlined
def access_shared(state: Lsu, sm: int, now: int, row: int, at: int) -> int:
    """A cycle of an access to shared memory; its last one moves a load into the pipeline, where that has room."""
    unit, conflict = state.unit, state.operation[row, CONFLICT]
    if conflict > 1:
        state.stats[sm, BANK_CONFLICT_CYCLES] += conflict - 1
        state.stats[sm, SHARED_CYCLES] += conflict - 1
        state.operation[row, CONFLICT] = 1
        unit[sm, FRONT_AT] = now + conflict - 1
        return STILL_THERE
    loads = state.operation[row, KIND] != STORE
    if loads and unit[sm, PIPE_TAIL] - unit[sm, PIPE_HEAD] == state.shared_latency:
        unit[sm, FRONT_AT] = now + 1
        return STILL_THERE
    state.stats[sm, SHARED_CYCLES] += 1
    leave(state, sm, now)
    if not loads:
        return LEAVES
    place = sm * state.pipe_size + (unit[sm, PIPE_TAIL] & (state.pipe_size - 1))
    state.pipe[place, 0] = now + state.shared_latency
    state.pipe[place, 1] = at
    unit[sm, PIPE_TAIL] += 1
    return JOINS_PIPE


@inlined
def enter_banks(state: Lsu, l1: L1, work: Work, sm: int, now: int, row: int, at: int) -> None:
    """Accesses enter their banks until one of these has had one in this cycle, or is full."""
    cursor, end, addend = state.operation[row, CURSOR], state.operation[row, END], state.operation[row, ADDEND]
    line, first, entered = -1, cursor, 0
    state.unit[sm, FRONT_AT] = now + 1
    while cursor < end:
        sector = work.sector[cursor] + addend
        number = cache.bank_of(l1, sector)
        if (entered >> number) & 1:
            break
        bank = sm * state.banks + number
        if state.bank[bank, TAIL] - state.bank[bank, HEAD] == state.l1_latency:
            state.unit[sm, STALLED] = 1
            break
        place = bank * state.depth + (state.bank[bank, TAIL] & (state.depth - 1))
        if sector >> l1.cache.sector_shift != line:
            line = sector >> l1.cache.sector_shift
            look_ahead(l1.cache, sm, sector)
        state.access[place, READY] = now + state.l1_latency
        state.access[place, SECTOR] = sector
        state.access[place, BYTES] = work.byte_mask[cursor]
        state.access[place, OPERATION] = at
        state.bank[bank, TAIL] += 1
        entered |= 1 << number
        cursor += 1
    if cursor > first:
        state.unit[sm, OCCUPIED] |= entered
        state.unit[sm, TAGS_AT] = min(state.unit[sm, TAGS_AT], now + state.l1_latency)
        state.stats[sm, SECTORS] += cursor - first
        state.operation[row, CURSOR] = cursor


@inlined
def pass_l1(state: Lsu, port: Port, work: Work, sm: int, now: int, row: int, at: int) -> None:
    """One access goes to the L2 past the L1."""
    state.unit[sm, FRONT_AT] = now + 1
    if not may_send(port, sm, now):
        state.unit[sm, STALLED] = 1
        return
    cursor = state.operation[row, CURSOR]
    kind = READ if state.operation[row, KIND] == LOAD_BYPASS else ATOMIC_REQUEST
    count_for(port, sm, state.operation[row, STREAM])
    send(port, sm, now, work.sector[cursor] + state.operation[row, ADDEND], kind, int(work.byte_mask[cursor]),
         at * 4 + BYPASS_TAG)  # fmt: skip
    state.stats[sm, SECTORS] += 1
    state.operation[row, CURSOR] = cursor + 1


@inlined
def look_up_texture(state: Lsu, work: Work, sm: int, now: int, row: int, at: int) -> None:
    """One line of a texture instruction is looked up: its sectors are one access."""
    state.unit[sm, FRONT_AT] = now + 1
    cursor, end = state.operation[row, CURSOR], state.operation[row, END]
    if cursor == end:
        return
    line = texture.line_of(state.texture, work.sector[cursor])
    count_for(state.texture, sm, state.operation[row, STREAM])
    if texture.look_up(state.texture, sm, now, at, line):
        following = cursor + 1
        while following < end and texture.line_of(state.texture, work.sector[following]) == line:
            following += 1
        state.unit[sm, TEXTURE_ACCESSES] += 1
        state.operation[row, MISSING] -= following - cursor - 1
        state.operation[row, CURSOR] = following
