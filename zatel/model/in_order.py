"""Compiled choice of the requests that pass the functional caches, with the final number of each line."""

from typing import NamedTuple

import numpy as np

from rayplay.replay.geometry import TABLE_BYTES, WARPS_PER_SM
from rayplay.zatel.model.accesses import FULL_SHIFT, LOCAL_LINES
from rayplay.zatel.model.follow import inner, is_followed
from rayplay.zatel.model.walk import HIT_LINES, TABLE_LINES

TABLE_OF_SLOT = TABLE_BYTES // 128  # lines


class Slots(NamedTuple):
    """Warp slots of a machine, and what belongs to them.

    place   int64[warps], of each warp; the SM is the place modulo ``sms``.
    places  slots of an SM.
    interleaved, tables  as of ``traffic.in_order``.
    """

    place: np.ndarray
    sms: int
    places: int
    interleaved: bool
    tables: bool


class Followed(NamedTuple):
    """Requests that set sampling follows: time, line, sectors (as in a stream) and SM of each."""

    time: np.ndarray
    line: np.ndarray
    sectors: np.ndarray
    sm: np.ndarray


class Entered(NamedTuple):
    """All requests for intersection tables, int64: line, window and number of stores.

    Set sampling skips them: few lines get most of the stores, so a sample of lines would not represent them.
    """

    line: np.ndarray
    window: np.ndarray
    stores: np.ndarray


@inner
def follow(
    requests: np.ndarray, line: np.ndarray, sectors: np.ndarray, time: np.ndarray, warps: np.ndarray, slots: Slots,
    only: int, bounds: np.ndarray, out: Followed, entered: Entered, fills: bool,
) -> tuple[int, int]:  # fmt: skip
    """Fill ``out`` and ``entered`` with the requests of the ``warps``, warp after warp; return their numbers.

    time    float64, of the requests of the ``warps`` alone; the other columns as in a stream.
    only    mask of ``is_followed``.
    bounds  from ``window_bounds``.
    fills   otherwise they are counted alone.
    """
    rows = entries = row = at = 0
    for warp in range(requests.size):
        if not warps[warp]:
            row += requests[warp]
            continue
        place, own = slots.place[warp], 0
        holders, holder = (slots.sms * slots.places, place) if slots.interleaved else (requests.size, warp)
        for _ in range(requests[warp]):
            own = line[row]
            if own >= TABLE_LINES:
                own += table_line(place, slots.sms)
                if slots.tables:
                    if fills:
                        entered.line[entries], entered.stores[entries] = own, sectors[row] >> FULL_SHIFT
                        entered.window[entries] = np.searchsorted(bounds, time[at], side="right")
                    entries += 1
            elif LOCAL_LINES <= own < HIT_LINES:
                own = LOCAL_LINES + (own - LOCAL_LINES) * holders + holder
            if (own < TABLE_LINES or slots.tables) and is_followed(own, only):
                if fills:
                    out.time[rows], out.line[rows], out.sectors[rows] = time[at], own, sectors[row]
                    out.sm[rows] = place % slots.sms
                rows += 1
            row += 1
            at += 1
    return rows, entries


@inner
def table_line(place: int, sms: int) -> int:
    """First line of the intersection table of a warp slot, relative to the first slot's."""
    return (place % sms * WARPS_PER_SM + place // sms) * TABLE_OF_SLOT
