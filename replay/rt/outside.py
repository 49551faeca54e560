"""The RT units as the rest of the machine sees them, outside compiled code."""

from typing import NamedTuple

import numpy as np

from rayplay.replay.input.window_arrays import Moved
from rayplay.replay.input.work import LANES
from rayplay.replay.rt import state as rt
from rayplay.replay.rt.state import RtUnit


def move_cursors(state: RtUnit, moved: Moved) -> None:
    """Move every cursor of the units by what the window forgot."""
    first = state.slot[:, rt.FIRST_RECORD]
    first -= moved.of_rows("node", first)
    for name, columns in (
        ("node", [rt.CURSOR, rt.END]),
        ("store", [rt.TABLE_STORE, rt.TABLE_END]),
        ("lane", [rt.RAY]),
    ):
        state.lane[columns] -= moved.of_rows(name, state.lane[columns[0]])
    state.waiting[:] -= moved.of_rows("trace_visit", state.waiting >> 8) << 8


def work_done(state: RtUnit) -> int:
    """A number that grows with every record that a lane gets."""
    return int(state.stats[:, rt.RECORDS].sum())


def uncounted_busy_cycles(state: RtUnit, cycle: int) -> np.ndarray:
    """int64[SMs]: busy cycles before ``cycle`` of units with a warp inside, which are counted when the last leaves."""
    busy = np.where(state.unit[:, rt.RESIDENT] > 0, np.maximum(cycle - state.unit[:, rt.BUSY_SINCE], 0), 0)
    found: np.ndarray = busy.reshape(len(state.stats), -1).sum(axis=1)
    return found


class Waiting(NamedTuple):
    """The slot of a warp of an SM, and the records that it waits for.

    slot       that it has, -1 for none; ``taken``: the warps of the SM in each of ``places`` slots.
    addresses  of the records that its lanes wait for, one for each lane.
    """

    slot: int
    taken: list[int]
    places: int
    addresses: list[int]


def waits_for(state: RtUnit, sm: int, warp: int) -> Waiting:
    """The slot and the records of a warp whose rays are traced."""
    first, places = sm * state.cores * state.warps, state.cores * state.warps
    at = int(state.place[sm * rt.WARPS_PER_SM + warp])
    taken = state.slot[first : first + places, rt.WARP]
    if at < 0 or state.slot[at, rt.WARP] != warp:
        return Waiting(-1, taken[taken >= 0].tolist(), places, [])
    open_lanes = int(state.slot[at, rt.OPEN])
    base = state.lane[rt.BASE, at * LANES : (at + 1) * LANES].tolist()
    return Waiting(at, taken[taken >= 0].tolist(), places, [base[k] for k in range(LANES) if open_lanes >> k & 1])


class Residents(NamedTuple):
    """Copies of who is in the units: the slot of each warp of each SM; of each slot a key of its warp, -1 for none;
    warps in each unit."""

    place: np.ndarray
    key: np.ndarray
    resident: np.ndarray


def residents(state: RtUnit) -> Residents:
    """Who is in the units."""
    key = np.where(state.slot[:, rt.WARP] >= 0, state.slot[:, rt.AGE], -1)
    return Residents(state.place.copy(), key, state.unit[:, rt.RESIDENT].copy())


class Entered(NamedTuple):
    """Warps in slots: int64[n] SM, warp of the SM, first cycle; bool[n, LANES] lanes with a ray, records left."""

    sm: np.ndarray
    warp: np.ndarray
    start: np.ndarray
    active: np.ndarray
    left: np.ndarray


def entered_in(state: RtUnit, slots: np.ndarray) -> Entered:
    """The warps in some slots."""
    own, lane = state.slot[slots], state.lane.reshape(rt.LANE_COLUMNS, -1, LANES)[:, slots]
    active = own[:, rt.ACTIVE, None] >> np.arange(LANES) & 1
    left = lane[rt.END] - lane[rt.CURSOR]
    return Entered(slots // (state.warps * state.cores), own[:, rt.WARP], own[:, rt.START], active, left)


def asking_lane(state: RtUnit, sm: int, sector: int, waiter: int) -> tuple[int, int]:
    """Slot and lane, or -1, of the record whose ``sector`` a waiter of the SM's L1 asked for."""
    slot = int(state.place[sm * rt.WARPS_PER_SM + (waiter >> 9 & 255)])
    if slot < 0:
        return -1, -1
    base = state.lane[rt.BASE, slot * LANES : (slot + 1) * LANES]
    asking = np.flatnonzero(base == (sector - (waiter >> 6 & 7) << 5 | waiter >> 1 & 31))
    return slot, int(asking[0]) if len(asking) else -1
