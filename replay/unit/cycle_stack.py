"""Cycle stack: what the issue slots of every warp scheduler went to.

``RULE`` says how a slot is divided.

The division costs nothing per instruction. Each scheduler keeps a virtual time that advances by ``UNIT`` / live warps
in every slot without an issue, and a wait is charged the virtual time that passes during it. ``data`` (the latency of
the warp's last instruction, and its register dependences) is what the other reasons leave.

The arrays stand in the state of the core that keeps the stack, which hands itself in as ``state``. ``now`` is the cycle
under way: slots before it count. Row q of ``slot`` is scheduler q, counted over all SMs.
"""

from typing import Any

import numpy as np

from rayplay.replay.jit.bits import inlined

RULE = (
    "A slot is one scheduler in one cycle. A slot in which an instruction issues is `issue`, one without a live warp"
    " `idle`. Any other is divided evenly among the scheduler's live warps, and each warp's part goes to what that warp"
    " waits for: so concurrent stalls share a slot, and the parts sum to the slots exactly."
)
UNIT = 720720  # parts of a slot: divisible by every number of warps up to 16
REASONS = ("issue", "data", "unit", "lsu", "rt_unit", "memory", "barrier", "fetch", "idle")
ISSUE, DATA, BUSY_UNIT, BUSY_LSU, RT_UNIT, MEMORY, BARRIER, FETCH, IDLE = range(9)
MEANINGS = {
    "issue": "an instruction issues",
    "data": "results of fixed latency: the stall of the warp's last instruction, registers of arithmetic in flight",
    "unit": "ready, but the execution unit (or its collector) accepts nothing in this cycle; with the model pipeline"
    " also since memory instructions hold the collectors, so that bank conflicts of shared memory appear here, too",
    "lsu": "ready, but the load/store unit has no room, as during bank conflicts of shared memory",
    "rt_unit": "the warp's rays are in the RT unit",
    "memory": "data of loads and atomics, shared memory included; acknowledgements of stores; with the model pipeline"
    " also, after its last instruction, what is still in flight",
    "barrier": "the other warps of the CTA at a barrier",
    "fetch": "its instruction buffer is empty",
    "idle": "no live warp on the scheduler, launch latency and the tail of a kernel included",
}
# Columns of ``slot``.
ISSUED = 0  # instructions issued
LAST_ISSUE = 1  # cycle of the last one
SEEN = 2  # warps observed waiting, 8 bits for each of OBSERVED
BASE = 3  # virtual time when the number of live warps last changed
SINCE = 4  # slots without an issue then
RATE = 5  # UNIT / live warps, 0: none
IDLE_SLOTS = 6
LIVE = 7  # live warps
CHANGED = 8  # cycle of that change
WARP_CYCLES = 9  # until then
SEEN_SINCE = 10  # virtual time since which warps were observed
OBSERVED = (BUSY_UNIT, BUSY_LSU, FETCH, MEMORY)
ONE_FOR_MEMORY = 1 << 24  # a warp among the observed ones
PARTS = 16  # then, by reason, the parts of UNIT that waits which have ended were charged
COLUMNS = 32
# Columns of ``wait``.
ENTERED = 0  # virtual time at which the wait began
REASON = 1  # 0: the warp does not wait


def make_arrays(schedulers: int, warps: int) -> tuple[np.ndarray, np.ndarray]:
    """``slot`` and ``wait`` of idle schedulers; ``schedulers`` and ``warps`` count all SMs.

    slot    int64[schedulers, COLUMNS]
    wait    int64[warps, 2]
    """
    slot = np.zeros((schedulers, COLUMNS), np.int64)
    slot[:, LAST_ISSUE] = -1
    return slot, np.zeros((warps, 2), np.int64)


@inlined
def issued(state: Any, row: int, now: int) -> None:
    """The scheduler issues in this cycle."""
    state.slot[row, ISSUED] += 1
    state.slot[row, LAST_ISSUE] = now


@inlined
def missed_slots(state: Any, row: int, now: int) -> int:
    """Slots without an issue before ``now``."""
    return now - state.slot[row, ISSUED] + (state.slot[row, LAST_ISSUE] == now)


@inlined
def virtual_time(state: Any, row: int, now: int) -> int:
    """The scheduler's virtual time at the beginning of cycle ``now``."""
    slot = state.slot
    return slot[row, BASE] + (missed_slots(state, row, now) - slot[row, SINCE]) * slot[row, RATE]


@inlined
def change_live(state: Any, row: int, now: int, change: int) -> None:
    """``change`` warps join the scheduler (or leave it, below 0); slot ``now`` is already divided among those left."""
    slot = state.slot
    missed = missed_slots(state, row, now)
    slot[row, BASE] += (missed - slot[row, SINCE]) * slot[row, RATE]
    if slot[row, LIVE] == 0:
        slot[row, IDLE_SLOTS] += missed - slot[row, SINCE]
    slot[row, SINCE] = missed
    slot[row, WARP_CYCLES] += slot[row, LIVE] * (now - slot[row, CHANGED])
    slot[row, CHANGED] = now
    slot[row, LIVE] += change
    slot[row, RATE] = UNIT // slot[row, LIVE] if slot[row, LIVE] else 0


@inlined
def begin_wait(state: Any, row: int, here: int, now: int, reason: int) -> None:
    """Warp ``here`` of the scheduler begins to wait."""
    state.wait[here, ENTERED] = virtual_time(state, row, now)
    state.wait[here, REASON] = reason


@inlined
def end_wait(state: Any, row: int, here: int, now: int) -> None:
    """The warp waits no more; a warp that did not wait is left alone."""
    reason = state.wait[here, REASON]
    if reason:
        state.slot[row, PARTS + reason] += virtual_time(state, row, now) - state.wait[here, ENTERED]
        state.wait[here, REASON] = 0


@inlined
def observe(state: Any, row: int, now: int, seen: int) -> None:
    """From cycle ``now`` on, until told otherwise, ``seen`` warps wait for each of ``OBSERVED``, 8 bits each."""
    if seen != state.slot[row, SEEN]:
        charge_seen(state.slot, row, virtual_time(state, row, now), seen)


@inlined
def charge_seen(slot: np.ndarray, row: int, time: int, seen: int) -> None:
    """Charge the virtual time up to ``time`` to the observed waits; from there on observe ``seen``."""
    before = slot[row, SEEN]
    if before:
        passed = time - slot[row, SEEN_SINCE]
        slot[row, PARTS + BUSY_UNIT] += passed * (before & 255)
        slot[row, PARTS + BUSY_LSU] += passed * ((before >> 8) & 255)
        slot[row, PARTS + FETCH] += passed * ((before >> 16) & 255)
        slot[row, PARTS + MEMORY] += passed * (before >> 24)
    slot[row, SEEN] = seen
    slot[row, SEEN_SINCE] = time


def virtual_times(state: Any, now: int) -> np.ndarray:
    """The virtual time of every scheduler at the beginning of cycle ``now``, before which it did all it has done."""
    slot = state.slot
    times: np.ndarray = slot[:, BASE] + (now - slot[:, ISSUED] - slot[:, SINCE]) * slot[:, RATE]
    return times


def parts_until(state: Any, warps: int, schedulers: int, now: int) -> np.ndarray:
    """Slots before cycle ``now`` by reason, in parts of ``UNIT``: int64[SMs, len(REASONS)].

    ``warps`` and ``schedulers`` count one SM. Every SM's parts sum to ``now`` x schedulers x ``UNIT``. Waits
    that last are charged until ``now``; nothing that the core does later may lie before it.
    """
    slot, parts = state.slot, state.slot[:, PARTS : PARTS + len(REASONS)].copy()
    missed, virtual = now - slot[:, ISSUED], virtual_times(state, now)
    here = np.flatnonzero(state.wait[:, REASON])
    row = here // warps * schedulers + here % warps % schedulers
    np.add.at(parts, (row, state.wait[here, REASON]), virtual[row] - state.wait[here, ENTERED])
    for index, reason in enumerate(OBSERVED):
        parts[:, reason] += (virtual - slot[:, SEEN_SINCE]) * ((slot[:, SEEN] >> (8 * index)) & 255)
    parts[:, ISSUE] = slot[:, ISSUED] * UNIT
    parts[:, IDLE] = (slot[:, IDLE_SLOTS] + np.where(slot[:, LIVE] == 0, missed - slot[:, SINCE], 0)) * UNIT
    parts[:, DATA] = now * UNIT - parts.sum(axis=1)
    return parts.reshape(-1, schedulers, len(REASONS)).sum(axis=1)


def warp_cycles_until(state: Any, schedulers: int, now: int) -> np.ndarray:
    """Live warps, summed over the cycles before ``now``: int64[SMs]."""
    slot = state.slot
    total = slot[:, WARP_CYCLES] + slot[:, LIVE] * (now - slot[:, CHANGED])
    return total.reshape(-1, schedulers).sum(axis=1)


def whole_slots(parts: np.ndarray) -> np.ndarray:
    """Parts of ``UNIT`` in whole slots: int64, each row rounded by largest remainders so that its sum stays exact."""
    slots, rest = parts // UNIT, parts % UNIT
    missing = (parts.sum(axis=1) - slots.sum(axis=1) * UNIT) // UNIT
    order = np.argsort(-rest, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    return slots + (rank < missing[:, None])
