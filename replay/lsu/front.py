"""The instruction at the front of the LSU: its accesses enter the banks, go past the L1, or to shared memory.

It ends its stay with its last access: loads are then over when all their data is, stores at once.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, count_bits, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.lsu import state as lsu
from rayplay.replay.memory import l1 as cache
from rayplay.replay.memory import rop, texture
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.tags import look_ahead
from rayplay.replay.memory.port import ATOMIC as ATOMIC_REQUEST
from rayplay.replay.memory.port import READ, TEXTURE, WRITE, Port, decode, may_send, send
from rayplay.replay.unit.streams import count_for

STILL_THERE, LEAVES, JOINS_PIPE = range(3)


@inlined
def front(state: lsu.Lsu, l1: cache.L1, port: Port, work: op.Work, sm: int, now: int, at: int) -> int:
    """Give the operation at the queue's head its cycle: STILL_THERE, LEAVES, or JOINS_PIPE of shared memory."""
    operation, row = state.operation, sm * lsu.OPERATIONS + at
    state.unit[sm, lsu.STALLED] = 0
    count_for(state, sm, operation[row, lsu.STREAM])
    if operation[row, lsu.COLOUR] and not write_colours(state, work, sm, now, row):
        return STILL_THERE
    if operation[row, lsu.CONFLICT]:
        return access_shared(state, sm, now, row, at)
    is_cached = not (state.local_skips_l1 if operation[row, lsu.LOCAL] else state.global_skips_l1)
    if (operation[row, lsu.KIND] == op.LOAD or operation[row, lsu.KIND] == op.STORE) and is_cached:
        enter_banks(state, l1, port, work, sm, now, row, at)
    elif operation[row, lsu.KIND] == op.TEXTURE and state.texture.is_unit:
        if not join_texture_unit(state, sm, now, row, at):
            return STILL_THERE
        leave(state, sm, now)
        return LEAVES
    elif operation[row, lsu.KIND] == op.TEXTURE:
        look_up_texture(state, work, sm, now, row, at)
    elif operation[row, lsu.CURSOR] < operation[row, lsu.END]:
        pass_l1(state, port, work, sm, now, row, at)
    if operation[row, lsu.CURSOR] < operation[row, lsu.END]:
        return STILL_THERE
    leave(state, sm, now)
    return LEAVES


@inlined
def write_colours(state: lsu.Lsu, work: op.Work, sm: int, now: int, row: int) -> bool:
    """Whether the raster unit takes the colours at the front, which are then stored as other data."""
    size = 0
    for access in range(state.operation[row, lsu.CURSOR], state.operation[row, lsu.END]):
        size += count_bits(np.int64(work.byte_mask[access]))
    again = rop.write(state.rop, sm, now, size, state.operation[row, lsu.STREAM])
    state.unit[sm, lsu.FRONT_AT] = max(again, state.unit[sm, lsu.FRONT_AT])
    state.operation[row, lsu.COLOUR] = int(again > now)
    return again == now


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
def enter_banks(state: lsu.Lsu, l1: cache.L1, port: Port, work: op.Work, sm: int, now: int, row: int, at: int) -> None:
    """The front's accesses enter the banks that the texture unit has left."""
    end = state.operation[row, lsu.END]
    state.unit[sm, lsu.FRONT_AT] = now + 1
    entered = fill_banks(state, l1, port, work, sm, now, row, at, end, state.texture.unit[sm, texture.TAKEN])
    cursor = state.operation[row, lsu.CURSOR]
    if cursor < end and not (entered >> cache.bank_of(l1, work.sector[cursor] + state.operation[row, lsu.ADDEND])) & 1:
        state.unit[sm, lsu.STALLED] = 1


@inlined
def fill_banks(
    state: lsu.Lsu, l1: cache.L1, port: Port, work: op.Work, sm: int, now: int, row: int, at: int, end: int, taken: int
) -> int:
    """Accesses before ``end`` enter their banks until one of these has had one in this cycle, or is full.

    Returns the banks that have had one; taken: before.
    """
    cursor, addend = state.operation[row, lsu.CURSOR], state.operation[row, lsu.ADDEND]
    whole = (
        cache_state.FULL if state.texture.is_unit and state.operation[row, lsu.KIND] == op.TEXTURE else 0
    )  # sectors of texels
    line, first, entered = -1, cursor, taken
    while cursor < end:
        sector = work.sector[cursor] + addend
        number = cache.bank_of(l1, sector)
        if cursor - first < state.banks:
            decode(port, sm, sector)
        if (entered >> number) & 1:
            break
        bank = sm * state.banks + number
        if state.bank[bank, lsu.TAIL] - state.bank[bank, lsu.HEAD] == state.l1_latency:
            break
        place = bank * state.depth + wrap(state.bank[bank, lsu.TAIL], state.depth)
        if sector >> l1.cache.sector_shift != line:
            line = sector >> l1.cache.sector_shift
            look_ahead(l1.cache, sm, sector)
        state.access[place, lsu.READY] = now + state.l1_latency
        state.access[place, lsu.SECTOR] = sector
        state.access[place, lsu.BYTES] = work.byte_mask[cursor] | whole
        state.access[place, lsu.OPERATION] = at
        state.bank[bank, lsu.TAIL] += 1
        entered |= 1 << number
        cursor += 1
    if cursor > first:
        state.unit[sm, lsu.OCCUPIED] |= entered
        state.unit[sm, lsu.TAGS_AT] = min(state.unit[sm, lsu.TAGS_AT], now + state.l1_latency)
        state.stats[sm, lsu.SECTORS] += cursor - first
        state.operation[row, lsu.CURSOR] = cursor
    return entered


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
    decode(port, sm, work.sector[cursor] + state.operation[row, lsu.ADDEND])
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


@inlined
def join_texture_unit(state: lsu.Lsu, sm: int, now: int, row: int, at: int) -> bool:
    """A texture instruction joins the texture unit, unless that is full; its result is one part more."""
    if state.operation[row, lsu.CURSOR] == state.operation[row, lsu.END]:
        return True
    count_for(state.texture, sm, state.operation[row, lsu.STREAM])
    if not texture.enter_unit(state.texture, sm, at):
        state.unit[sm, lsu.FRONT_AT] = now + 1
        return False
    state.unit[sm, lsu.TEXTURE_ACCESSES] += 1
    state.operation[row, lsu.MISSING] += 1
    return True


@inlined
def ask_for_texels(state: lsu.Lsu, l1: cache.L1, port: Port, work: op.Work, sm: int, now: int) -> None:
    """A cycle of the texture unit: sectors of one request enter the banks, before the front's."""
    unit, stats = state.texture.unit, state.texture.stats
    unit[sm, texture.TAKEN] = 0
    at = texture.next_instruction(state.texture, sm, now)
    if at < 0:
        return
    row = sm * lsu.OPERATIONS + at
    first, end = state.operation[row, lsu.CURSOR], state.operation[row, lsu.END]
    count_for(state, sm, state.operation[row, lsu.STREAM])
    count_for(state.texture, sm, state.operation[row, lsu.STREAM])
    if unit[sm, texture.BEGUN] == 0:
        unit[sm, texture.BEGUN] = now + 1
        stats[sm, texture.REQUESTS] += 1
    stop = first
    while stop < end and work.byte_mask[stop] == work.byte_mask[first]:
        stop += 1
    unit[sm, texture.TAKEN] = fill_banks(state, l1, port, work, sm, now, row, at, stop, 0)
    cursor = state.operation[row, lsu.CURSOR]
    stats[sm, texture.SECTORS] += cursor - first
    if cursor == stop:
        is_wide = state.operation[row, lsu.WIDE] == 1
        cycles = state.texture.wide_request_cycles if is_wide else state.texture.request_cycles
        unit[sm, texture.NEXT_REQUEST] = max(now + 1, unit[sm, texture.BEGUN] - 1 + cycles)
        unit[sm, texture.BEGUN] = 0
    if cursor == end:
        unit[sm, texture.QUEUE_HEAD] += 1
