"""CTAs one after another, the warps of a CTA in turn from barrier to barrier, until the record buffers are full."""

import numpy as np

from rayplay.tracer.abi.words import BARRIER, DEADLOCK, ENDLESS, FULL, MACHINE, YIELD
from rayplay.tracer.native.calls import borrowed, call_program
from rayplay.tracer.native.jit import compiled, entry_point, inlined_entry_point
from rayplay.tracer.warp.stack import (
    BARRIER_ARRIVED,
    BARRIER_LANES,
    BARRIER_TRUE,
    ITEM_FUNCTION,
    ITEM_START,
    RUN,
    WARP_DONE,
    Warps,
    borrow,
    enter,
    start_warp,
    suspended,
)  # fmt: skip
from rayplay.tracer.warp.trace_call import COUNT_NODES, COUNT_RAYS, COUNT_RUNS, advance

# int64 words of a launch's progress
(
    NEXT_CTA, LAST_CTA, IN_CTA, NEXT_WARP, ENTRY, SBT_DATA, THREADS, FIRST_WARP, IS_IMAGE, WIDTH, IDLE_ROUNDS,
) = range(11)  # fmt: skip
PROGRESS_WORDS = 11
LONG_VISITS = 1 << 20  # after so many without a stop a warp hands over to the next one
ENDLESS_VISITS = 1 << 33
MOST_IDLE_ROUNDS = 1 << 14  # in which no warp ended or came to a barrier, only waited for others

# int64 words per warp of the running CTA
(
    WARP_VISITS, WARP_STATE, WARP_BARRIER, WARP_COUNT, WARP_MASK, WARP_TRUE, WARP_LANES, WARP_INSTRUCTION,
    WARP_STRETCH,
) = range(9)  # fmt: skip
WARP_WORDS = 9
STATE_READY, STATE_WAITING, STATE_ENDED = 0, 1, 2

# int64 words of a run: a warp, and where its rows end in the buffers (they begin where the run before ends)
RUN_WARP, RUN_VISITS, RUN_ACCESSES, RUN_ADDRESSES, RUN_RAYS, RUN_NODES = range(6)
RUN_WORDS = 6

LAUNCH_DONE = 200
VISIT_NEXT, VISIT_ORIGIN, VISIT_LIMIT = MACHINE["visit_next"], MACHINE["visit_origin"], MACHINE["visit_limit"]
ACCESS_NEXT, ACCESS_LIMIT = MACHINE["access_next"], MACHINE["access_limit"]
ADDRESS_NEXT, ADDRESS_LIMIT = MACHINE["address_next"], MACHINE["address_limit"]
CTAID_X, CTAID_Y, CTAID_Z = MACHINE["ctaid_x"], MACHINE["ctaid_y"], MACHINE["ctaid_z"]
NCTAID_X, NCTAID_Y = MACHINE["nctaid_x"], MACHINE["nctaid_y"]
M_TID = MACHINE["tid"]
M_WARP_IN_CTA = MACHINE["warp_in_cta"]
M_FIRST_THREAD = MACHINE["first_thread"]
M_SUSPEND_BARRIER = MACHINE["suspend_barrier"]
M_SUSPEND_COUNT = MACHINE["suspend_count"]
M_SUSPEND_INSTRUCTION = MACHINE["suspend_instruction"]
M_BARRIER_TRUE, M_BARRIER_LANES = MACHINE["barrier_true"], MACHINE["barrier_lanes"]


@inlined_entry_point
def begin_cta(w: Warps, progress: np.ndarray, warps: np.ndarray, shared: np.ndarray) -> None:
    """Set up the next CTA: its index, empty shared memory, every warp at the entry."""
    cta = progress[NEXT_CTA]
    w.machine[CTAID_X] = cta % w.machine[NCTAID_X]
    w.machine[CTAID_Y] = cta // w.machine[NCTAID_X] % w.machine[NCTAID_Y]
    w.machine[CTAID_Z] = cta // (w.machine[NCTAID_X] * w.machine[NCTAID_Y])
    shared[:] = 0
    w.barriers[:] = 0
    for warp in range(warps.shape[0]):
        left = progress[THREADS] - 32 * warp
        if progress[IS_IMAGE]:
            left = progress[WIDTH] - 32 * w.machine[CTAID_X]
        mask = (1 << min(left, 32)) - 1
        warps[warp, WARP_VISITS], warps[warp, WARP_STATE], warps[warp, WARP_MASK] = 0, STATE_READY, mask
        warps[warp, WARP_STRETCH] = 0
        start_warp(w, warp, progress[ENTRY], mask, progress[SBT_DATA])
    progress[IN_CTA], progress[NEXT_WARP] = 1, 0


@inlined_entry_point
def begin_run(w: Warps, progress: np.ndarray, warps: np.ndarray, tids: np.ndarray) -> int:
    """Make the next warp the running one; FULL when a record buffer has no room for it."""
    warp = progress[NEXT_WARP]
    m = w.machine
    if w.counts[COUNT_RUNS] >= w.runs.shape[0] or m[VISIT_NEXT] > m[VISIT_LIMIT]:
        return FULL
    if m[ACCESS_NEXT] > m[ACCESS_LIMIT] or m[ADDRESS_NEXT] > m[ADDRESS_LIMIT]:
        return FULL
    m[M_TID] = tids[warp].ctypes.data
    m[M_WARP_IN_CTA] = warp
    m[M_BARRIER_TRUE], m[M_BARRIER_LANES] = warps[warp, WARP_TRUE], warps[warp, WARP_LANES]
    m[M_FIRST_THREAD] = progress[NEXT_CTA] * progress[THREADS] + 32 * warp
    m[VISIT_ORIGIN] = m[VISIT_NEXT] - 8 * warps[warp, WARP_VISITS]
    return RUN


@inlined_entry_point
def end_run(w: Warps, progress: np.ndarray, warps: np.ndarray, starts: np.ndarray) -> None:
    """Write the run down; ``starts``: addresses of the visit, access and address buffers."""
    warp = progress[NEXT_WARP]
    m = w.machine
    warps[warp, WARP_VISITS] = (m[VISIT_NEXT] - m[VISIT_ORIGIN]) >> 3
    run = w.runs[w.counts[COUNT_RUNS]]
    run[RUN_WARP] = progress[FIRST_WARP] + progress[NEXT_CTA] * warps.shape[0] + warp
    run[RUN_VISITS] = (m[VISIT_NEXT] - starts[0]) >> 3
    run[RUN_ACCESSES] = (m[ACCESS_NEXT] - starts[1]) >> 4
    run[RUN_ADDRESSES] = (m[ADDRESS_NEXT] - starts[2]) >> 3
    run[RUN_RAYS], run[RUN_NODES] = w.counts[COUNT_RAYS], w.counts[COUNT_NODES]
    w.counts[COUNT_RUNS] += 1


@inlined_entry_point
def note_stop(w: Warps, progress: np.ndarray, warps: np.ndarray, code: int) -> int:
    """After a run: RUN to go on with the next warp, else the code that stops the launch for now."""
    warp = warps[progress[NEXT_WARP]]
    if code == FULL:
        return _long_stretch(progress, warp)
    if code == WARP_DONE:
        warp[WARP_STATE] = STATE_ENDED
    elif code == BARRIER:
        warp[WARP_STATE] = STATE_WAITING
        warp[WARP_BARRIER] = w.machine[M_SUSPEND_BARRIER]
        warp[WARP_COUNT] = w.machine[M_SUSPEND_COUNT]
        warp[WARP_INSTRUCTION] = w.machine[M_SUSPEND_INSTRUCTION]
    elif code != YIELD:
        return code
    if code != YIELD:
        progress[IDLE_ROUNDS] = 0
    warp[WARP_STRETCH] = warp[WARP_VISITS]
    progress[NEXT_WARP] += 1
    return RUN


@compiled
def _long_stretch(progress: np.ndarray, warp: np.ndarray) -> int:
    """After a run that has filled the buffers: a warp that goes on and on may wait for another one in a loop."""
    visits = warp[WARP_VISITS] - warp[WARP_STRETCH]
    if visits > ENDLESS_VISITS:
        return ENDLESS
    if visits > LONG_VISITS:
        progress[NEXT_WARP] += 1
        progress[IDLE_ROUNDS] = 0
    return FULL


@inlined_entry_point
def end_round(w: Warps, progress: np.ndarray, warps: np.ndarray) -> int:
    """After all warps had their turn: open the barriers that are complete, end the CTA when no warp is left.

    A barrier waits for the threads it names, or for all warps that have not ended. DEADLOCK when none can open, or
    when warps have only waited for each other for many rounds.
    """
    progress[NEXT_WARP] = 0
    left, ready = 0, 0
    for warp in range(warps.shape[0]):
        left += warps[warp, WARP_STATE] != STATE_ENDED
        ready += warps[warp, WARP_STATE] == STATE_READY
    if left == 0:
        progress[IN_CTA] = 0
        progress[NEXT_CTA] += 1
        return RUN
    opened = False
    for warp in range(warps.shape[0]):
        if warps[warp, WARP_STATE] == STATE_WAITING and _is_complete(w, warps[warp], left):
            _open(w, warps, warps[warp, WARP_BARRIER])
            opened = True
    progress[IDLE_ROUNDS] = 0 if opened else progress[IDLE_ROUNDS] + 1
    return RUN if opened or (ready and progress[IDLE_ROUNDS] < MOST_IDLE_ROUNDS) else DEADLOCK


@compiled
def _is_complete(w: Warps, warp: np.ndarray, left: int) -> bool:
    """Whether enough threads have arrived where a warp waits; counts are rounded up to whole warps."""
    count = warp[WARP_COUNT]
    wanted = left if count == 0 else (count + 31) // 32
    return w.barriers[warp[WARP_BARRIER], BARRIER_ARRIVED] >= 32 * wanted


@compiled
def _open(w: Warps, warps: np.ndarray, number: int) -> None:
    """Let the warps that wait at a barrier go on, with what it has found."""
    barrier = w.barriers[number]
    for warp in range(warps.shape[0]):
        if warps[warp, WARP_STATE] == STATE_WAITING and warps[warp, WARP_BARRIER] == number:
            warps[warp, WARP_STATE] = STATE_READY
            warps[warp, WARP_TRUE], warps[warp, WARP_LANES] = barrier[BARRIER_TRUE], barrier[BARRIER_LANES]
    barrier[:] = 0


@inlined_entry_point
def run_warp(w: Warps, warp: int) -> int:
    """Run a warp in machine code until it ends, waits, or must stop."""
    machine = w.machine.ctypes.data
    stack = w.stacks[warp].ctypes.data
    while True:
        code = advance(w, warp)
        if code != RUN:
            return code
        item = w.items[warp, w.depth[warp] - 1]
        enter(w, warp, item)
        reason = call_program(w.addresses[item[ITEM_FUNCTION]], machine, stack + 8 * item[ITEM_START])
        code = suspended(w, warp, reason)
        if code != RUN:
            return code


@entry_point
def run_ctas(
    w: Warps, progress: np.ndarray, warps: np.ndarray, tids: np.ndarray, shared: np.ndarray, starts: np.ndarray
) -> int:
    """Run CTAs in machine code up to LAST_CTA: LAUNCH_DONE, FULL, or an error."""
    w = borrow(w)
    progress, warps, tids = borrowed(progress), borrowed(warps), borrowed(tids)
    shared, starts = borrowed(shared), borrowed(starts)
    while progress[NEXT_CTA] < progress[LAST_CTA]:
        if progress[IN_CTA] == 0:
            begin_cta(w, progress, warps, shared)
        while progress[NEXT_WARP] < warps.shape[0]:
            if warps[progress[NEXT_WARP], WARP_STATE] != STATE_READY:
                progress[NEXT_WARP] += 1
                continue
            code = begin_run(w, progress, warps, tids)
            if code == RUN:
                code = run_warp(w, progress[NEXT_WARP])
                end_run(w, progress, warps, starts)
                code = note_stop(w, progress, warps, code)
            if code != RUN:
                return code
        code = end_round(w, progress, warps)
        if code != RUN:
            return code
    return LAUNCH_DONE
