"""Memory partition: the L2 slices of one controller and their DRAM channel, advanced together in order of time.

Partitions share nothing, so they may run on several threads. In one instant the DRAM goes before the slices, and the
slices share nothing but the channel's queues, so the order among them is free.
"""

from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.jit.separate import separate
from rayplay.replay.memory.crossbar.crossbar import Crossbar
from rayplay.replay.memory.dram import channel as dram
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.memory.host_prefetch import host_prefetch_partition
from rayplay.replay.memory.l2 import slice as l2
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.unit import clocks

MANY = 16  # requests of a quantum for which it pays to look ahead


@inlined
def horizon(state: Crossbar, cache: l2_state.L2, routed: int) -> int:
    """First L2 cycle that requests which the crossbar has not moved yet, from its cycle ``routed`` on, may change."""
    leaves = clocks.after(state.to_l2, routed)
    return clocks.after(cache.from_core, clocks.at_or_after(cache.to_core, leaves) + cache.latency - 1)


@separate
def advance(state: Crossbar, cache: l2_state.L2, memory: dram_state.Dram, controller: int, routed: int) -> None:
    """Do every event of the partition that the crossbar's cycles before ``routed`` decide."""
    first, last = controller * cache.slices_per_controller, (controller + 1) * cache.slices_per_controller
    until, waiting = horizon(state, cache, routed), 0
    for part in range(first, last):
        waiting += l2.take_in(cache, part, clocks.after(state.to_l2, routed) - 1)
    if waiting >= MANY:
        host_prefetch_partition(cache, memory, controller, waiting)
    run(cache, memory, controller, until)
    for part in range(first, last):
        l2.settle(cache, part, until)
        l2.rewind_input(cache, part)


@compiled
def advance_until(cache: l2_state.L2, memory: dram_state.Dram, controller: int, since: int, until: int) -> None:
    """Do every event of the partition in the L2 cycles from ``since`` to before ``until``.

    All packets that leave the crossbar then are known. While some wait it goes cycle by cycle, since what a slice does
    in a cycle decides whether it takes one in the next.
    """
    first, last = controller * cache.slices_per_controller, (controller + 1) * cache.slices_per_controller
    while since < until:
        end = until
        for part in range(first, last):
            if cache.slice[part, l2_state.POPPED] < cache.slice[part, l2_state.TAIL]:
                end = since + 1
        for part in range(first, last):
            l2.take_in(cache, part, end - 1)
        run(cache, memory, controller, end)
        for part in range(first, last):
            l2.settle(cache, part, end)
            l2.rewind_input(cache, part)
        since = end


@compiled
def finish_ticks(cache: l2_state.L2, memory: dram_state.Dram, controller: int, last: int, following: int) -> None:
    """Do the DRAM's ticks up to ``last``, all before L2 cycle ``following``, which sees what they did."""
    while memory.channel[controller, dram_state.NEXT_TICK] <= last:
        dram.advance(memory, controller)
    touched = dram.take_touched(memory, controller, dram_state.FILLED)
    touched |= dram.take_touched(memory, controller, dram_state.SERVED)
    for number in range(cache.slices_per_controller):
        if (touched >> number) & 1:
            part = controller * cache.slices_per_controller + number
            cache.slice[part, l2_state.NEXT] = min(cache.slice[part, l2_state.NEXT], following)


@compiled
def run(cache: l2_state.L2, memory: dram_state.Dram, controller: int, until: int) -> None:
    """Do every event of the partition before L2 cycle ``until``."""
    first, last = controller * cache.slices_per_controller, (controller + 1) * cache.slices_per_controller
    own, channel, tick, commanded, soonest = cache.slice, memory.channel, FAR, FAR, FAR
    for part in range(first, last):
        soonest = min(soonest, own[part, l2_state.NEXT])
    while True:
        if channel[controller, dram_state.NEXT_TICK] != tick:
            tick = channel[controller, dram_state.NEXT_TICK]
            commanded = clocks.at_or_after(memory.to_l2, tick) if tick < FAR else FAR
        now = min(commanded, soonest)
        if now >= until:
            return
        if commanded == now:
            run_channel(memory, controller, now)
        filled = dram.take_touched(memory, controller, dram_state.FILLED)
        served = dram.take_touched(memory, controller, dram_state.SERVED)
        soonest = FAR
        for number in range(cache.slices_per_controller):
            part = first + number
            touched = (filled >> number) & 1 or (served >> number) & own[part, l2_state.WAITS]
            if own[part, l2_state.NEXT] == now or touched:
                l2.step(cache, memory, part, now)
            soonest = min(soonest, own[part, l2_state.NEXT])


@inlined
def run_channel(memory: dram_state.Dram, controller: int, now: int) -> None:
    """The ticks of the DRAM channel in an L2 cycle."""
    reached = clocks.at_or_before(memory.clock, now)
    while memory.channel[controller, dram_state.NEXT_TICK] <= reached:
        dram.advance(memory, controller)
