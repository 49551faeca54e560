"""The instruction at the front of the LSU: its accesses enter the banks, go past the L1, or to shared memory.

It ends its stay with its last access: loads are then over when all their data is, stores at once.
"""

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.lsu import state as lsu
from rayplay.replay.memory import l1 as cache
from rayplay.replay.memory import texture
from rayplay.replay.memory.cache.tags import look_ahead
from rayplay.replay.memory.port import ATOMIC as ATOMIC_REQUEST
from rayplay.replay.memory.port import READ, TEXTURE, WRITE, Port, may_send, send
from rayplay.replay.unit.streams import count_for

STILL_THERE, LEAVES, JOINS_PIPE = range(3)


@inlined
def front(state: lsu.Lsu, l1: cache.L1, port: Port, work: op.Work, sm: int, now: int, at: int) -> int:
    """Give the operation at the queue's head its cycle: STILL_THERE, LEAVES, or JOINS_PIPE of shared memory."""
    operation, row = state.operation, sm * lsu.OPERATIONS + at
    state.unit[sm, lsu.STALLED] = 0
    count_for(state, sm, operation[row, lsu.STREAM])
    if operation[row, lsu.CONFLICT]:
        return access_shared(state, sm, now, row, at)
    is_cached = not state.global_skips_l1 or operation[row, lsu.LOCAL] == 1
    if (operation[row, lsu.KIND] == op.LOAD or operation[row, lsu.KIND] == op.STORE) and is_cached:
        enter_banks(state, l1, work, sm, now, row, at)
    elif operation[row, lsu.KIND] == op.TEXTURE:
        look_up_texture(state, work, sm, now, row, at)
    elif operation[row, lsu.CURSOR] < operation[row, lsu.END]:
        pass_l1(state, port, work, sm, now, row, at)
    if operation[row, lsu.CURSOR] < operation[row, lsu.END]:
        return STILL_THERE
    leave(state, sm, now)
    return LEAVES


@inlined
def leave(state: lsu.Lsu, sm: int, now: int) -> None:
    """The operation at the queue's head leaves it; the next goes on once it has arrived."""
    unit = state.unit
    unit[sm, lsu.QUEUE_HEAD] += 1
    following = sm * lsu.OPERATIONS + int(state.queue[sm, wrap(unit[sm, lsu.QUEUE_HEAD], lsu.QUEUE)])
    is_empty = unit[sm, lsu.QUEUE_HEAD] == unit[sm, lsu.QUEUE_TAIL]
    unit[sm, lsu.FRONT_AT] = FAR if is_empty else max(now + 1, state.operation[following, lsu.ARRIVES])


@inlined
def access_shared(state: lsu.Lsu, sm: int, now: int, row: int, at: int) -> int:
    """A cycle of an access to shared memory; its last one moves a load into the pipeline, where that has room."""
    unit, conflict = state.unit, state.operation[row, lsu.CONFLICT]
    if conflict > 1:
        state.stats[sm, lsu.BANK_CONFLICT_CYCLES] += conflict - 1
        state.stats[sm, lsu.SHARED_CYCLES] += conflict - 1
        state.operation[row, lsu.CONFLICT] = 1
        unit[sm, lsu.FRONT_AT] = now + conflict - 1
        return STILL_THERE
    loads = state.operation[row, lsu.KIND] != op.STORE
    if loads and unit[sm, lsu.PIPE_TAIL] - unit[sm, lsu.PIPE_HEAD] == state.shared_latency:
        unit[sm, lsu.FRONT_AT] = now + 1
        return STILL_THERE
    state.stats[sm, lsu.SHARED_CYCLES] += 1
    leave(state, sm, now)
    if not loads:
        return LEAVES
    place = sm * state.pipe_size + wrap(unit[sm, lsu.PIPE_TAIL], state.pipe_size)
    state.pipe[place, 0] = now + state.shared_latency
    state.pipe[place, 1] = at
    unit[sm, lsu.PIPE_TAIL] += 1
    return JOINS_PIPE


@inlined
def enter_banks(state: lsu.Lsu, l1: cache.L1, work: op.Work, sm: int, now: int, row: int, at: int) -> None:
    """Accesses enter their banks until one of these has had one in this cycle, or is full."""
    cursor, end = state.operation[row, lsu.CURSOR], state.operation[row, lsu.END]
    addend = state.operation[row, lsu.ADDEND]
    line, first, entered = -1, cursor, 0
    state.unit[sm, lsu.FRONT_AT] = now + 1
    while cursor < end:
        sector = work.sector[cursor] + addend
        number = cache.bank_of(l1, sector)
        if (entered >> number) & 1:
            break
        bank = sm * state.banks + number
        if state.bank[bank, lsu.TAIL] - state.bank[bank, lsu.HEAD] == state.l1_latency:
            state.unit[sm, lsu.STALLED] = 1
            break
        place = bank * state.depth + wrap(state.bank[bank, lsu.TAIL], state.depth)
        if sector >> l1.cache.sector_shift != line:
            line = sector >> l1.cache.sector_shift
            look_ahead(l1.cache, sm, sector)
        state.access[place, lsu.READY] = now + state.l1_latency
        state.access[place, lsu.SECTOR] = sector
        state.access[place, lsu.BYTES] = work.byte_mask[cursor]
        state.access[place, lsu.OPERATION] = at
        state.bank[bank, lsu.TAIL] += 1
        entered |= 1 << number
        cursor += 1
    if cursor > first:
        state.unit[sm, lsu.OCCUPIED] |= entered
        state.unit[sm, lsu.TAGS_AT] = min(state.unit[sm, lsu.TAGS_AT], now + state.l1_latency)
        state.stats[sm, lsu.SECTORS] += cursor - first
        state.operation[row, lsu.CURSOR] = cursor


@inlined
def pass_l1(state: lsu.Lsu, port: Port, work: op.Work, sm: int, now: int, row: int, at: int) -> None:
    """One access goes to the L2 past the L1."""
    state.unit[sm, lsu.FRONT_AT] = now + 1
    if not may_send(port, sm, now):
        state.unit[sm, lsu.STALLED] = 1
        return
    cursor = state.operation[row, lsu.CURSOR]
    kind, tag = ATOMIC_REQUEST, at * 4 + lsu.BYPASS_TAG
    if state.operation[row, lsu.KIND] == op.LOAD_BYPASS or state.operation[row, lsu.KIND] == op.LOAD:
        kind = READ + TEXTURE * state.operation[row, lsu.TEXTURE]
    elif state.operation[row, lsu.KIND] == op.STORE:
        kind, tag = WRITE, state.operation[row, lsu.WARP] * 4 + lsu.ACK_TAG
        state.operation[row, lsu.MISSING] -= 1
    count_for(port, sm, state.operation[row, lsu.STREAM])
    send(port, sm, now, work.sector[cursor] + state.operation[row, lsu.ADDEND], kind, int(work.byte_mask[cursor]), tag)
    state.stats[sm, lsu.SECTORS] += 1
    state.operation[row, lsu.CURSOR] = cursor + 1


@inlined
def look_up_texture(state: lsu.Lsu, work: op.Work, sm: int, now: int, row: int, at: int) -> None:
    """One line of a texture instruction is looked up: its sectors are one access."""
    state.unit[sm, lsu.FRONT_AT] = now + 1
    cursor, end = state.operation[row, lsu.CURSOR], state.operation[row, lsu.END]
    if cursor == end:
        return
    line = texture.line_of(state.texture, work.sector[cursor])
    count_for(state.texture, sm, state.operation[row, lsu.STREAM])
    if texture.look_up(state.texture, sm, now, at, line):
        following = cursor + 1
        while following < end and texture.line_of(state.texture, work.sector[following]) == line:
            following += 1
        state.unit[sm, lsu.TEXTURE_ACCESSES] += 1
        state.operation[row, lsu.MISSING] -= following - cursor - 1
        state.operation[row, lsu.CURSOR] = following
