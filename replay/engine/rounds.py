"""The rounds of a quantum: SMs run until they want a CTA, CTAs are handed out, and those SMs go on.

While one kernel is resident an SM runs alone until the quantum ends, until it has room while CTAs are left, or until
it holds none any more. Then the SMs that stopped first are served, and go on: no SM simulates past the cycle in
which it receives a CTA. When several kernels share the SMs, whose room may depend on each other's CTAs, all SMs go from
one cycle with an event to the next. A quantum ends early in the cycle after the one in which a kernel ends, so
that the next kernel begins exactly then.
"""

import numpy as np

from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm.turns import begins_cluster, next_core, offered

NOW, UNTIL, BOUND = range(3)  # of the clock: begin and end of the quantum under way, end of the round under way
GO_ON, SETTLED, WAITS_FOR_WARPS = range(3)
NO_ROOM, NONE_LEFT = -1, -2  # in place of a kernel


def make_clock() -> np.ndarray:
    """int64[3]: at cycle 0, between two quanta."""
    return np.zeros(3, np.int64)


@compiled
def begin(state: dispatch.Dispatch, clock: np.ndarray, stop: int, quantum: int) -> None:
    """Begin a quantum, unless one is under way that waited for the warps of a CTA."""
    unit, kernel = state.unit, state.kernel
    now = clock[NOW]
    if clock[UNTIL] > now:
        return
    clock[UNTIL] = min(now + quantum, stop)
    clock[BOUND] = clock[UNTIL]
    for sm in range(unit.shape[0]):
        unit[sm, dispatch.REACHED] = now
        unit[sm, dispatch.NEXT_EVENT] = now
    if kernel.shape[0] > 1:
        clock[BOUND] = now + 1
        unit[:, dispatch.ASK] = FAR
    elif kernel[0, dispatch.KERNEL] != dispatch.NONE and kernel[0, dispatch.NEXT] == kernel[0, dispatch.END]:
        for sm in range(unit.shape[0]):
            if unit[sm, dispatch.HELD] == 0:
                unit[sm, dispatch.ASK] = now - 1


@inlined
def may_run(state: dispatch.Dispatch, clock: np.ndarray, sm: int) -> bool:
    """Whether an SM has cycles left in the round, and has not stopped."""
    unit = state.unit
    return unit[sm, dispatch.REACHED] < clock[BOUND] and unit[sm, dispatch.ASK] >= unit[sm, dispatch.REACHED]


@inlined
def note_run(state: dispatch.Dispatch, clock: np.ndarray, sm: int, following: int) -> None:
    """An SM has run: it reached the round's end or stopped, and has something to do next at ``following``."""
    unit = state.unit
    unit[sm, dispatch.NEXT_EVENT] = following
    unit[sm, dispatch.REACHED] = min(clock[BOUND], unit[sm, dispatch.ASK] + 1)


@compiled
def settle(state: dispatch.Dispatch, clock: np.ndarray, loaded_warps: int) -> int:
    """Hand out CTAs after all SMs that may run have run; SETTLED at the end of the quantum."""
    kernel = state.kernel
    if kernel.shape[0] > 1:
        return settle_together(state, clock, loaded_warps)
    if kernel[0, dispatch.NEXT] < kernel[0, dispatch.END]:
        return serve_earliest(state, loaded_warps)
    return let_go(state, clock)


@inlined
def serve_earliest(state: dispatch.Dispatch, loaded_warps: int) -> int:
    """Serve the SMs that asked in the earliest cycle, round robin."""
    unit, kernel, sms = state.unit, state.kernel, state.unit.shape[0]
    cycle = FAR
    for sm in range(sms):
        if unit[sm, dispatch.ASK] < unit[sm, dispatch.REACHED]:
            cycle = min(cycle, unit[sm, dispatch.ASK])
    if cycle == FAR:
        return SETTLED
    last, core, served = state.turn[dispatch.LAST_SM], 0, False
    for turn in range(sms):
        if begins_cluster(state, turn):
            core, served = next_core(state, last, turn), False
        sm = offered(state, last, turn, core)
        if unit[sm, dispatch.ASK] != cycle or kernel[0, dispatch.NEXT] == kernel[0, dispatch.END]:
            continue
        if served:
            unit[sm, dispatch.ASK] = cycle + 1  # one CTA a cycle and cluster
            continue
        if dispatch.tested_at(state, sm, 0) > cycle + 1:
            unit[sm, dispatch.ASK] = dispatch.tested_at(state, sm, 0) - 1
            continue
        if state.warps[kernel[0, dispatch.NEXT], 1] > loaded_warps:
            return WAITS_FOR_WARPS
        dispatch.grant(state, sm, 0, cycle)
        served = state.cluster > 1
        more = kernel[0, dispatch.NEXT] < kernel[0, dispatch.END] and dispatch.has_room(state, sm, 0)
        unit[sm, dispatch.ASK] = cycle + 1 if more else FAR
    return GO_ON


@inlined
def let_go(state: dispatch.Dispatch, clock: np.ndarray) -> int:
    """No CTA is left: SMs that hold some go on at once, empty ones when the kernel is known to outlast the quantum.

    When no SM holds any, the kernel ended with the last of them, and the quantum ends in the next cycle.
    """
    unit, sms = state.unit, state.unit.shape[0]
    holders = released = 0
    for sm in range(sms):
        if unit[sm, dispatch.HELD] > 0:
            holders += 1
            if unit[sm, dispatch.ASK] < unit[sm, dispatch.REACHED]:
                unit[sm, dispatch.ASK] = FAR
                released += 1
    if released:
        return GO_ON
    if holders == 0 and state.kernel[0, dispatch.KERNEL] != dispatch.NONE:
        clock[UNTIL] = min(clock[UNTIL], dispatch.last_end(state, 0) + 1)
        clock[BOUND] = clock[UNTIL]
    for sm in range(sms):
        unit[sm, dispatch.ASK] = FAR
        released += unit[sm, dispatch.REACHED] < clock[UNTIL]
    return GO_ON if released else SETTLED


@compiled
def settle_together(state: dispatch.Dispatch, clock: np.ndarray, loaded_warps: int) -> int:
    """All SMs have done the same cycles: serve those with room, and go on to the next cycle with an event."""
    kernel = state.kernel
    unit, cycle = state.unit, clock[BOUND] - 1
    granted = serve_all(state, cycle, loaded_warps)
    if granted < 0:
        return WAITS_FOR_WARPS
    unit[:, dispatch.ASK] = FAR
    if dispatch.any_over(state, clock[BOUND]):
        clock[UNTIL] = clock[BOUND]
    if clock[BOUND] == clock[UNTIL]:
        return SETTLED
    following = cycle + 1
    if not granted:
        following = FAR
        for sm in range(unit.shape[0]):
            following = min(following, unit[sm, dispatch.NEXT_EVENT])
        for row in range(kernel.shape[0]):
            if kernel[row, dispatch.KERNEL] != dispatch.NONE and kernel[row, dispatch.OPENS] > cycle:
                is_without_work = kernel[row, dispatch.NEXT] == kernel[row, dispatch.END]  # ends as it opens
                following = min(following, kernel[row, dispatch.OPENS] - is_without_work)
            following = min(following, next_tested(state, row, cycle + 1))
    clock[BOUND] = min(max(following, cycle + 1) + 1, clock[UNTIL])
    return GO_ON


@inlined
def next_tested(state: dispatch.Dispatch, row: int, after: int) -> int:
    """The first cycle from ``after`` on in which an SM may be granted a CTA because its depths have been tested."""
    kernel, soonest = state.kernel, FAR
    if kernel[row, dispatch.TEST_CYCLES] and kernel[row, dispatch.NEXT] < kernel[row, dispatch.END]:
        for sm in range(state.unit.shape[0]):
            granted = dispatch.tested_at(state, sm, row) - 1
            if granted >= after:
                soonest = min(soonest, granted)
    return soonest


@inlined
def serve_all(state: dispatch.Dispatch, cycle: int, loaded_warps: int) -> int:
    """Offer the chosen kernel's next CTA to one SM after the other; returns CTAs granted, -1 for missing warps."""
    sms, granted = state.unit.shape[0], 0
    last, core, served = state.turn[dispatch.LAST_SM], 0, False
    for turn in range(sms):
        if begins_cluster(state, turn):
            core, served = next_core(state, last, turn), False
        sm = offered(state, last, turn, core)
        if served:
            continue
        row = choose_kernel(state, sm, cycle)
        if row == NONE_LEFT:
            break
        if state.unit[sm, dispatch.START] == cycle + 1:
            granted += 1  # before the warps of another SM's CTA were missing
            served = state.cluster > 1
        elif row != NO_ROOM:
            if state.warps[state.kernel[row, dispatch.NEXT], 1] > loaded_warps:
                return -1
            dispatch.grant(state, sm, row, cycle)
            granted += 1
            served = state.cluster > 1
    return granted


@inlined
def choose_kernel(state: dispatch.Dispatch, sm: int, cycle: int) -> int:
    """The resident kernel whose next CTA the SM gets: of the first class with one that fits; NO_ROOM or NONE_LEFT."""
    found = NONE_LEFT
    for work_class in range(state.classes):
        row = kernel_in_turn(state, work_class, cycle)
        if row >= 0:
            if dispatch.has_room(state, sm, row) and dispatch.tested_at(state, sm, row) <= cycle + 1:
                return row
            found = NO_ROOM
    return found


@inlined
def kernel_in_turn(state: dispatch.Dispatch, work_class: int, cycle: int) -> int:
    """The kernel that hands out CTAs of a class: the last one while it has some, else the next in turn; -1: none."""
    kernel, last = state.kernel, dispatch.LAST_KERNEL + work_class
    kernels = kernel.shape[0]
    for turn in range(kernels):
        row = (state.turn[last] + turn) % kernels
        has_some = kernel[row, dispatch.NEXT] < kernel[row, dispatch.END] and kernel[row, dispatch.OPENS] <= cycle
        if has_some and kernel[row, dispatch.CLASS] == work_class:
            state.turn[last] = row
            return row
    return -1


@compiled
def next_event(state: dispatch.Dispatch) -> int:
    """The next cycle after the quantum in which an SM has something to do or a kernel may hand out its first CTA."""
    unit, kernel = state.unit, state.kernel
    soonest = FAR
    for sm in range(unit.shape[0]):
        soonest = min(soonest, unit[sm, dispatch.NEXT_EVENT], unit[sm, dispatch.ASK])
    for row in range(kernel.shape[0]):
        if kernel[row, dispatch.KERNEL] != dispatch.NONE and kernel[row, dispatch.OPENS] >= unit[0, dispatch.REACHED]:
            soonest = min(soonest, kernel[row, dispatch.OPENS])
        if kernel.shape[0] > 1:
            soonest = min(soonest, next_tested(state, row, unit[0, dispatch.REACHED]))
    return soonest
