"""Memory partition: the L2 slices of one controller and their DRAM channel, advanced together in order of time.

Partitions share nothing, so they may run on several threads. Inside one, at equal cycles, fills come before DRAM
commands and these before look-ups; the slices go in order of number.
"""

from replay import dram, dram_state, l2
from replay.bits import FAR, compiled, entry_point, inlined
from replay.dram_state import Dram
from replay.l2_state import BLOCKED, BLOCKED_TIMES, HEAD, L2, LOOKUP_AT, OUT_HEAD, OUT_TAIL, TAIL


@compiled
def advance(cache: L2, memory: Dram, controller: int, until: int) -> None:
    """Do every event of the partition before cycle ``until``."""
    channel = memory.channel
    tick = commanded = FAR
    while True:
        filled = FAR
        if channel[controller, dram_state.OUT_HEAD] != channel[controller, dram_state.OUT_TAIL]:
            place = channel[controller, dram_state.OUT_HEAD] & (memory.capacity - 1)
            filled = memory.returned[controller * memory.capacity + place, 0]
        if dram.next_tick(memory, controller) != tick:  # the division takes longer than all else here
            tick = dram.next_tick(memory, controller)
            commanded = dram_state.to_cycle(memory, tick) if tick < FAR else FAR
        part = next_slice(cache, controller)
        looked_up = lookup_cycle(cache, part)
        soonest = min(filled, commanded, looked_up)
        if soonest >= until:
            break
        if filled == soonest:
            take_return(cache, memory, controller, filled)
        elif commanded == soonest:
            under_way = channel[controller, dram_state.UNDER_WAY]
            dram.advance(memory, controller)
            if channel[controller, dram_state.UNDER_WAY] < under_way:
                wake(cache, controller, soonest)
        else:
            look_up(cache, memory, part, looked_up)


@inlined
def lookup_cycle(cache: L2, part: int) -> int:
    """Cycle of the next look-up of a slice, FAR when its input is empty or waits for a fill."""
    state = cache.slice
    if state[part, HEAD] == state[part, TAIL] or state[part, BLOCKED]:
        return FAR
    head = part * cache.ring + (state[part, HEAD] & (cache.ring - 1))
    return max(cache.input[head, 0], state[part, LOOKUP_AT])


@inlined
def next_slice(cache: L2, controller: int) -> int:
    """The slice of the controller that looks up first."""
    first = controller * cache.slices_per_controller
    best, best_cycle = first, lookup_cycle(cache, first)
    for part in range(first + 1, first + cache.slices_per_controller):
        cycle = lookup_cycle(cache, part)
        if cycle < best_cycle:
            best, best_cycle = part, cycle
    return best


@inlined
def look_up(cache: L2, memory: Dram, part: int, now: int) -> None:
    """One look-up of a slice; a request that cannot be served blocks the slice until the channel moves."""
    cache.slice[part, LOOKUP_AT] = now + 1
    if l2.look_up(cache, memory, part, now):
        cache.slice[part, HEAD] += 1
    else:
        cache.slice[part, BLOCKED] = 1
        cache.stats[part, BLOCKED_TIMES] += 1


@inlined
def take_return(cache: L2, memory: Dram, controller: int, now: int) -> None:
    """Fill the sector whose data came back first."""
    channel = memory.channel
    place = channel[controller, dram_state.OUT_HEAD] & (memory.capacity - 1)
    at = controller * memory.capacity + place
    channel[controller, dram_state.OUT_HEAD] += 1
    channel[controller, dram_state.UNDER_WAY] -= 1
    l2.fill(cache, memory.returned[at, 2], now, memory.returned[at, 1])
    wake(cache, controller, now)


@inlined
def wake(cache: L2, controller: int, now: int) -> None:
    """Let the controller's blocked slices try again."""
    first = controller * cache.slices_per_controller
    for part in range(first, first + cache.slices_per_controller):
        if cache.slice[part, BLOCKED]:
            cache.slice[part, BLOCKED] = 0
            cache.slice[part, LOOKUP_AT] = max(cache.slice[part, LOOKUP_AT], now)


@compiled
def is_idle(cache: L2, memory: Dram, controller: int) -> bool:
    """Whether nothing is under way in the partition."""
    first = controller * cache.slices_per_controller
    for part in range(first, first + cache.slices_per_controller):
        if cache.slice[part, HEAD] != cache.slice[part, TAIL]:
            return False
        if cache.slice[part, OUT_HEAD] != cache.slice[part, OUT_TAIL]:
            return False
    return memory.channel[controller, dram_state.UNDER_WAY] == 0


@entry_point
def drain(cache: L2, memory: Dram, controller: int) -> None:
    """Finish what is under way, such as the write-backs that no SM waits for."""
    advance(cache, memory, controller, FAR)
