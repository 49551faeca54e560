"""The cycle stack of each stream, where kernels of several share the GPU: the slots that its warps account for.

A slot in which a warp issues is its stream's; of any other a stream has as many parts as it has live warps, and they go
to what these wait for. Slots without a live warp are no stream's. A stream's accounts have a row for each scheduler,
with the columns of ``stack``'s ``slot``, of which two mean something else: its parts until the number of its live warps
last changed, and the virtual time of that change. Every function here does nothing where there is one stream.
"""

from typing import Any

import numpy as np

from rayplay.replay.jit.bits import inlined
from rayplay.replay.unit import cycle_stack as stack

ENTITLED, ENTITLED_AT = stack.BASE, stack.SINCE  # columns of an account


def make_accounts(schedulers: int, streams: int) -> np.ndarray:
    """int64[streams * schedulers, COLUMNS], of all SMs' schedulers; no rows for one stream."""
    return np.zeros((streams * schedulers if streams > 1 else 0, stack.COLUMNS), np.int64)


@inlined
def issued(state: Any, row: int, stream: int) -> None:
    """A warp of the stream issues."""
    if state.shares.streams > 1:
        state.account[stream * state.slot.shape[0] + row, stack.ISSUED] += 1


@inlined
def change_live(state: Any, row: int, now: int, change: int, stream: int) -> None:
    """As ``stack.change_live``, of warps of a stream."""
    if state.shares.streams > 1:
        own, account, time = stream * state.slot.shape[0] + row, state.account, stack.virtual_time(state, row, now)
        account[own, ENTITLED] += account[own, stack.LIVE] * (time - account[own, ENTITLED_AT])
        account[own, ENTITLED_AT] = time
        account[own, stack.WARP_CYCLES] += account[own, stack.LIVE] * (now - account[own, stack.CHANGED])
        account[own, stack.CHANGED] = now
        account[own, stack.LIVE] += change


@inlined
def end_wait(state: Any, row: int, here: int, now: int, stream: int) -> None:
    """Account for a warp of the stream whose wait ``stack.end_wait`` is about to end."""
    reason = state.wait[here, stack.REASON]
    if state.shares.streams > 1 and reason:
        own = stream * state.slot.shape[0] + row
        state.account[own, stack.PARTS + reason] += (
            stack.virtual_time(state, row, now) - state.wait[here, stack.ENTERED]
        )


@inlined
def observe(state: Any, row: int, now: int, seen: int, stream: int) -> None:
    """As ``stack.observe``, of the stream's warps."""
    stack.charge_seen(state.account, stream * state.slot.shape[0] + row, stack.virtual_time(state, row, now), seen)


@inlined
def forget_one(state: Any, row: int, now: int, stream: int) -> None:
    """A warp of the stream that was observed waiting for memory leaves."""
    if state.shares.streams > 1:
        observe(
            state,
            row,
            now,
            state.account[stream * state.slot.shape[0] + row, stack.SEEN] - stack.ONE_FOR_MEMORY,
            stream,
        )


def parts_until(state: Any, warps: int, schedulers: int, now: int, stream: int, column: int) -> np.ndarray:
    """As ``stack.parts_until``, of one stream. column: of the stream in ``state.warp``."""
    rows = len(state.slot)
    account = state.account[stream * rows : (stream + 1) * rows]
    parts, virtual = account[:, stack.PARTS : stack.PARTS + len(stack.REASONS)].copy(), stack.virtual_times(state, now)
    here = np.flatnonzero((state.wait[:, stack.REASON] > 0) & (state.warp[:, column] == stream))
    row = here // warps * schedulers + here % warps % schedulers
    np.add.at(parts, (row, state.wait[here, stack.REASON]), virtual[row] - state.wait[here, stack.ENTERED])
    for index, reason in enumerate(stack.OBSERVED):
        parts[:, reason] += (virtual - account[:, stack.SEEN_SINCE]) * ((account[:, stack.SEEN] >> (8 * index)) & 255)
    entitled = account[:, ENTITLED] + account[:, stack.LIVE] * (virtual - account[:, ENTITLED_AT])
    parts[:, stack.DATA] = entitled - parts.sum(axis=1)
    parts[:, stack.ISSUE] = account[:, stack.ISSUED] * stack.UNIT
    found: np.ndarray = parts.reshape(-1, schedulers, len(stack.REASONS)).sum(axis=1)
    return found


def warp_cycles_until(state: Any, schedulers: int, now: int, stream: int) -> np.ndarray:
    """As ``stack.warp_cycles_until``, of one stream."""
    rows = len(state.slot)
    account = state.account[stream * rows : (stream + 1) * rows]
    total = account[:, stack.WARP_CYCLES] + account[:, stack.LIVE] * (now - account[:, stack.CHANGED])
    return total.reshape(-1, schedulers).sum(axis=1)
