"""CTAs one after another, the warps of a CTA in turn from barrier to barrier, until the record buffers are full.

The warps of all CTAs of a cooperative launch take turns: row ``warp`` of the arrays is a warp of CTA ``warp // WARPS``.
"""

import numpy as np

from rayplay.tracer.abi import words
from rayplay.tracer.abi.words import BARRIER_STATE, ITEM, MACHINE, PROGRESS, RUN, STOP, USED, WARP
from rayplay.tracer.native.calls import borrowed, call_program
from rayplay.tracer.native.jit import compiled, entry_point, inlined_entry_point
from rayplay.tracer.warp.stack import enter, start_warp, suspended
from rayplay.tracer.warp.trace_call import advance
from rayplay.tracer.warp.warps import Warps, borrow

LONG_VISITS = 1 << 20  # without a stop, after which a warp hands over to the next one
WAIT_VISITS = 1 << 12  # without a stop, after which a warp whose lanes wait in a loop hands over to the next one
WAIT_ROUNDS = 16  # idle rounds that such a hand-over counts for
MOST_IDLE_ROUNDS = 1 << 14  # in which no warp ended or came to a barrier, only waited for others


@inlined_entry_point
def begin_cta(w: Warps, progress: np.ndarray, warps: np.ndarray, shared: np.ndarray) -> None:
    """Set up the next CTA, or all of a cooperative launch: its index, empty shared memory, every warp at the entry."""
    _place(w, progress, 0)
    shared[:] = 0
    w.barriers[:] = 0
    for warp in range(warps.shape[0]):
        left = progress[PROGRESS.threads] - 32 * (warp % progress[PROGRESS.warps])
        if progress[PROGRESS.is_image]:
            left = progress[PROGRESS.width] - 32 * w.machine[MACHINE.ctaid_x]
        mask = (1 << min(left, 32)) - 1
        warps[warp, WARP.visits], warps[warp, WARP.state], warps[warp, WARP.last_stop] = 0, words.WARP_READY, 0
        start_warp(w, warp, progress[PROGRESS.entry], mask, progress[PROGRESS.sbt_data])
    progress[PROGRESS.in_cta], progress[PROGRESS.next_warp] = 1, 0


@compiled
def _place(w: Warps, progress: np.ndarray, slot: int) -> None:
    """Set the machine's words for one of the CTAs that run in turns."""
    cta, m = progress[PROGRESS.next_cta] + slot, w.machine
    m[MACHINE.ctaid_x] = cta % m[MACHINE.nctaid_x]
    m[MACHINE.ctaid_y] = cta // m[MACHINE.nctaid_x] % m[MACHINE.nctaid_y]
    m[MACHINE.ctaid_z] = cta // (m[MACHINE.nctaid_x] * m[MACHINE.nctaid_y])
    m[MACHINE.cta_slot] = slot
    m[MACHINE.shared_base] = progress[PROGRESS.shared_first] + slot * m[MACHINE.shared_bytes]


@inlined_entry_point
def begin_run(w: Warps, progress: np.ndarray, warps: np.ndarray, tids: np.ndarray) -> int:
    """Make the next warp the running one; FULL when a record buffer has no room for it."""
    warp = progress[PROGRESS.next_warp]
    m = w.machine
    if w.counts[USED.runs] >= w.runs.shape[0] or m[MACHINE.visit_next] > m[MACHINE.visit_limit]:
        return STOP.full
    if m[MACHINE.access_next] > m[MACHINE.access_limit] or m[MACHINE.address_next] > m[MACHINE.address_limit]:
        return STOP.full
    in_cta = warp % progress[PROGRESS.warps]
    slot = warp // progress[PROGRESS.warps]
    if slot != m[MACHINE.cta_slot]:
        _place(w, progress, slot)
    m[MACHINE.tid] = tids[in_cta].ctypes.data
    m[MACHINE.warp_in_cta] = in_cta
    m[MACHINE.barrier_true], m[MACHINE.barrier_lanes] = warps[warp, WARP.true], warps[warp, WARP.lanes]
    m[MACHINE.first_thread] = (progress[PROGRESS.next_cta] + slot) * progress[PROGRESS.threads] + 32 * in_cta
    m[MACHINE.visit_origin] = m[MACHINE.visit_next] - words.VISIT_BYTES * warps[warp, WARP.visits]
    return STOP.none


@inlined_entry_point
def end_run(w: Warps, progress: np.ndarray, warps: np.ndarray, starts: np.ndarray) -> None:
    """Write the run down; ``starts``: addresses of the visit, access and address buffers."""
    warp = progress[PROGRESS.next_warp]
    m = w.machine
    warps[warp, WARP.visits] = (m[MACHINE.visit_next] - m[MACHINE.visit_origin]) // words.VISIT_BYTES
    run = w.runs[w.counts[USED.runs]]
    run[RUN.warp] = progress[PROGRESS.first_warp] + progress[PROGRESS.next_cta] * progress[PROGRESS.warps] + warp
    run[RUN.visits] = (m[MACHINE.visit_next] - starts[0]) // words.VISIT_BYTES
    run[RUN.accesses] = (m[MACHINE.access_next] - starts[1]) // words.ACCESS_BYTES
    run[RUN.addresses] = (m[MACHINE.address_next] - starts[2]) // words.ADDRESS_BYTES
    run[RUN.rays], run[RUN.nodes] = w.counts[USED.rays], w.counts[USED.nodes]
    w.counts[USED.runs] += 1


@inlined_entry_point
def note_stop(w: Warps, progress: np.ndarray, warps: np.ndarray, code: int) -> int:
    """After a run: NONE to take the next warp, else the code that stops the launch for now."""
    warp = warps[progress[PROGRESS.next_warp]]
    if code == STOP.full:
        return _long_stretch(progress, warp)
    if code == STOP.warp_done:
        warp[WARP.state] = words.WARP_ENDED
    elif code == STOP.barrier:
        warp[WARP.state] = words.WARP_WAITING
        warp[WARP.barrier] = w.machine[MACHINE.suspend_barrier]
        warp[WARP.count] = w.machine[MACHINE.suspend_count]
        warp[WARP.instruction] = w.machine[MACHINE.suspend_instruction]
    elif code == STOP.turn:  # lanes wait, and no others of their warp can run
        if warp[WARP.visits] - warp[WARP.last_stop] < WAIT_VISITS:
            return STOP.none
    elif code != STOP.yields:
        return code
    if code == STOP.turn:
        progress[PROGRESS.idle_rounds] += WAIT_ROUNDS
    elif code != STOP.yields:
        progress[PROGRESS.idle_rounds] = 0
    warp[WARP.last_stop] = warp[WARP.visits]
    progress[PROGRESS.next_warp] += 1
    return STOP.none


@compiled
def _long_stretch(progress: np.ndarray, warp: np.ndarray) -> int:
    """After a run that has filled the buffers: a warp that goes on and on may wait for another one in a loop."""
    if warp[WARP.visits] > progress[PROGRESS.most_visits]:
        return STOP.endless
    if warp[WARP.visits] - warp[WARP.last_stop] > LONG_VISITS:
        progress[PROGRESS.next_warp] += 1
        progress[PROGRESS.idle_rounds] = 0
    return STOP.full


@inlined_entry_point
def end_round(w: Warps, progress: np.ndarray, warps: np.ndarray) -> int:
    """After all warps had their turn: open the barriers that are complete, end the CTA when no warp is left.

    A barrier waits for the threads it names, or for all warps that have not ended. DEADLOCK when none can open, or
    when warps have only waited for each other for many rounds.
    """
    progress[PROGRESS.next_warp] = 0
    left, ready, per = 0, 0, progress[PROGRESS.warps]
    for warp in range(warps.shape[0]):
        left += warps[warp, WARP.state] != words.WARP_ENDED
        ready += warps[warp, WARP.state] == words.WARP_READY
    if left == 0:
        progress[PROGRESS.in_cta] = 0
        progress[PROGRESS.next_cta] += warps.shape[0] // per
        return STOP.none
    opened = False
    for slot in range(warps.shape[0] // per):
        opened |= _open_complete(w.barriers[slot], warps[slot * per : (slot + 1) * per])
    progress[PROGRESS.idle_rounds] = 0 if opened else progress[PROGRESS.idle_rounds] + 1
    return STOP.none if opened or (ready and progress[PROGRESS.idle_rounds] < MOST_IDLE_ROUNDS) else STOP.deadlock


@compiled
def _open_complete(barriers: np.ndarray, warps: np.ndarray) -> bool:
    """Open the complete barriers of a CTA; whether there were any."""
    left, opened = 0, False
    for warp in range(warps.shape[0]):
        left += warps[warp, WARP.state] != words.WARP_ENDED
    for warp in range(warps.shape[0]):
        if warps[warp, WARP.state] == words.WARP_WAITING and _is_complete(barriers, warps[warp], left):
            _open(barriers, warps, warps[warp, WARP.barrier])
            opened = True
    return opened


@compiled
def _is_complete(barriers: np.ndarray, warp: np.ndarray, left: int) -> bool:
    """Whether enough threads have arrived where a warp waits; counts are rounded up to whole warps."""
    count = warp[WARP.count]
    wanted = left if count == 0 else (count + 31) // 32
    return barriers[warp[WARP.barrier], BARRIER_STATE.arrived] >= 32 * wanted


@compiled
def _open(barriers: np.ndarray, warps: np.ndarray, number: int) -> None:
    """Let the warps that wait at a barrier go on, with what it has found."""
    barrier = barriers[number]
    for warp in range(warps.shape[0]):
        if warps[warp, WARP.state] == words.WARP_WAITING and warps[warp, WARP.barrier] == number:
            warps[warp, WARP.state] = words.WARP_READY
            warps[warp, WARP.true], warps[warp, WARP.lanes] = barrier[BARRIER_STATE.true], barrier[BARRIER_STATE.lanes]
    barrier[:] = 0


@inlined_entry_point
def run_warp(w: Warps, warp: int) -> int:
    """Run a warp in machine code until it ends, waits, or must stop."""
    machine = w.machine.ctypes.data
    stack = w.stacks[warp].ctypes.data
    while True:
        code = advance(w, warp)
        if code != STOP.none:
            return code
        item = w.items[warp, w.depth[warp] - 1]
        enter(w, warp, item)
        reason = call_program(w.addresses[item[ITEM.function]], machine, stack + 8 * item[ITEM.start])
        code = suspended(w, warp, reason)
        if code != STOP.none:
            return code


@entry_point
def run_ctas(
    w: Warps, progress: np.ndarray, warps: np.ndarray, tids: np.ndarray, shared: np.ndarray, starts: np.ndarray
) -> int:
    """Run CTAs in machine code up to LAST_CTA: LAUNCH_DONE, FULL, or an error."""
    w = borrow(w)
    progress, warps, tids = borrowed(progress), borrowed(warps), borrowed(tids)
    shared, starts = borrowed(shared), borrowed(starts)
    while progress[PROGRESS.next_cta] < progress[PROGRESS.last_cta]:
        if progress[PROGRESS.in_cta] == 0:
            begin_cta(w, progress, warps, shared)
        while progress[PROGRESS.next_warp] < warps.shape[0]:
            if warps[progress[PROGRESS.next_warp], WARP.state] != words.WARP_READY:
                progress[PROGRESS.next_warp] += 1
                continue
            code = begin_run(w, progress, warps, tids)
            if code == STOP.none:
                code = run_warp(w, progress[PROGRESS.next_warp])
                end_run(w, progress, warps, starts)
                code = note_stop(w, progress, warps, code)
            if code != STOP.none:
                return code
        code = end_round(w, progress, warps)
        if code != STOP.none:
            return code
    return STOP.launch_done
