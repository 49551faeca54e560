"""Hooks of the ray-tracing unit: what a policy may decide, and what it is told of.

Slots are rows of ``state.slot`` and lanes columns of ``state.lane`` (``rt.state``); ``core`` is a unit, ``sm`` its SM.
"""

from rayplay.replay.input import rays
from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import FAR, inlined, lowest_bit
from rayplay.replay.jit.hooks import hook, is_replaced
from rayplay.replay.rt import spec as rules
from rayplay.replay.rt import state as rt
from rayplay.replay.rt.count import asks


@hook("rt.choose_warp")
def choose_warp(state: rt.RtUnit, core: int) -> int:
    """Choose the slot whose next record is sent, among those with ``asks(state, at)``; -1 for none.

    By default the oldest. Also asked about cycles that were skipped, so that it must follow from states that only
    other hooks change. -1 while a slot asks lets the unit sleep until something else wakes it. So does another slot.
    """
    best, age, slot = -1, FAR, state.slot
    for at in range(core * state.warps, (core + 1) * state.warps):
        if slot[at, rt.WARP] >= 0 and slot[at, rt.AGE] < age and asks(state, at):
            best, age = at, slot[at, rt.AGE]
    return best


chooses_warp = is_replaced("rt.choose_warp")


@inlined
def can_send(state: rt.RtUnit, core: int, at: int) -> bool:
    """Whether a slot is the unit's and asks; a policy's mistake must not end in other memory."""
    first = core * state.warps
    return first <= at < first + state.warps and state.slot[at, rt.WARP] >= 0 and asks(state, at)


@hook("rt.choose_lane")
def choose_lane(state: rt.RtUnit, records: rays.Records, at: int, rest: int) -> int:
    """Choose the lane whose record the slot requests next: the number of a set bit of ``rest``, by default the lowest.

    ``rest`` is a mask of lanes, never 0. -1, or another number, ends it: the other lanes go on asking. Where the slot
    has nothing else to request, the lowest is taken then.
    """
    return lowest_bit(rest)


chooses_lane = is_replaced("rt.choose_lane")


@hook("rt.may_complete")
def may_complete(state: rt.RtUnit, sm: int, at: int) -> bool:
    """Choose whether a slot without records, delays and stores left may complete. By default it may.

    Asked in every cycle in which the unit runs. A veto must end with an event that wakes the unit.
    """
    return True


@hook("rt.prefetch")
def prefetch(state: rt.RtUnit, records: rays.Records, sm: int, core: int, now: int) -> int:
    """Choose a sector (address / 32) to prefetch in a cycle in which the unit sends nothing, or -1.

    Asked in the cycles in which the unit runs, and in the next one after a request or a prefetch was sent, until the
    answer is -1. ``prefetched`` says how each went.
    """
    return -1


@hook("rt.prefetched")
def prefetched(state: rt.RtUnit, sm: int, core: int, sector: int, answer: int) -> None:
    """Told how a prefetch went: HIT and HIT_RESERVED (there, or on its way), FAIL (no room), or that it was sent."""


@hook("rt.entered")
def entered(state: rt.RtUnit, records: rays.Records, sm: int, at: int, now: int) -> None:
    """Told that a warp has taken a slot, its lanes at their first records."""


@hook("rt.completed")
def completed(state: rt.RtUnit, sm: int, at: int, now: int) -> None:
    """Told that a slot's warp completes, before the slot is free."""


@hook("rt.emptied")
def emptied(state: rt.RtUnit, sm: int, core: int, now: int) -> None:
    """Told that the unit's last warp has left."""


@hook("rt.requested")
def requested(state: rt.RtUnit, sm: int, core: int, at: int, record: int, chunk: int, answer: int, now: int) -> None:
    """Told of a request for 32 B (``chunk``) of a record (as in ``Records.info``), and its answer; FAIL: refused."""


@hook("rt.responded")
def responded(state: rt.RtUnit, records: rays.Records, sm: int, core: int, base: int, chunk: int, now: int) -> None:
    """Told that a missing chunk of the record at the address ``base`` has come, before lanes get it."""


@hook("rt.record_completed")
def record_completed(state: rt.RtUnit, records: rays.Records, sm: int, at: int, lane: int, kind: int, now: int) -> None:
    """Told that a lane has its whole front record, of a ``kind``; its cursor is at the next one."""


@hook("rt.next_record")
def next_record(state: rt.RtUnit, records: rays.Records, sm: int, at: int, lane: int, record: int, now: int) -> int:
    """Choose the record that a lane reads after ``record``, -1 for none. By default the next one of its ray.

    Asked once for each record that a lane completes, and with -1 for the first record of a lane that ``start_lane``
    chose. Of one warp alone; each record of its rays is read once, unless the policy leaves it out. A number that is no
    record stands for -1.
    """
    return record + 1 if record + 1 < state.lane[rt.END, at * LANES + lane] else -1


chooses_record = is_replaced("rt.next_record")


@inlined
def record_after(state: rt.RtUnit, records: rays.Records, sm: int, at: int, lane: int, record: int, now: int) -> int:
    """As ``next_record`` says; a policy's mistake must not end in other memory."""
    following = next_record(state, records, sm, at, lane, record, now)
    return -1 if chooses_record(state) and following >= records.node.shape[0] else following


@hook("rt.start_lane")
def start_lane(state: rt.RtUnit, records: rays.Records, sm: int, at: int, idle: int, now: int) -> int:
    """Choose a lane that is to begin a record, the number of a set bit of ``idle``; -1, or another number, for none.

    ``idle`` is the mask of lanes without record and delay.
    Asked for each warp with an idle lane, in each cycle in which the unit runs and in the next one after a lane began.
    """
    return -1


@hook("rt.serves_all")
def serves_all(state: rt.RtUnit) -> bool:
    """Choose whether a response serves the lanes of all warps of the unit. By default as ``rt.coalescing`` says."""
    return state.coalescing == rules.PER_UNIT


@hook("rt.began")
def began(state: rt.RtUnit, records: rays.Records, sm: int, core: int, now: int) -> None:
    """Told of each cycle in which the unit runs, after responses and before it sends."""


@hook("rt.wakes_at")
def wakes_at(state: rt.RtUnit, core: int, now: int) -> int:
    """Choose a later cycle in which the unit is to run though nothing else wakes it. By default ``FAR``: none."""
    return FAR


@hook("rt.pushed")
def pushed(state: rt.RtUnit, records: rays.Records, sm: int, at: int, lane: int, number: int, now: int) -> None:
    """Told that a lane's completed record led to ``number`` others, of which the first is its front record now."""


@hook("rt.popped")
def popped(state: rt.RtUnit, records: rays.Records, sm: int, at: int, lane: int, now: int) -> None:
    """Told that a lane's completed record led to none: its front record comes from the lane's stack."""


@inlined
def follows_stack(state: rt.RtUnit) -> bool:
    """Whether a policy is told of pushes or pops."""
    return is_told_of_push(state) or is_told_of_pop(state)


prefetches = is_replaced("rt.prefetch")
gives_work = is_replaced("rt.start_lane")
is_told_of_push, is_told_of_pop = is_replaced("rt.pushed"), is_replaced("rt.popped")
