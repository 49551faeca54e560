"""Which stream's kernels a unit's events belong to, where kernels of several streams share the GPU.

A unit counts events of all streams together, in the array ``stats`` of its state. Before it counts an event it says
whose it is: when the stream changes, the counts since the last change are added to the
last one's share. So a run of one stream pays one comparison, and the shares sum to the counters. What a unit counts of
itself, such as the cycles in which it is busy, belongs to no stream (``NOT_SHARED``). A stream here is its place among
those told apart (``streams.Streams.take_place``), not its number in the trace.
"""

from typing import Any, NamedTuple

import numpy as np

from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.jit.rows import FixedRows

PLACES = 16  # streams that are told apart at a time, unless more run at a time
# unit -> counters that belong to no stream; of the cycle stack (``stack_shares``) that is where no warp is live
NOT_SHARED = {
    "sm": ("issue_cycles",), "lsu": ("blocked_cycles",), "rt_unit": ("busy_cycles", "store_queue_cycles"),
    "port": ("responses",), "l2": ("longest_reply_wait_cycles", "request_wait_cycles"), "dram": ("active_ticks",),
}  # fmt: skip


class Shares(NamedTuple):
    """The shares of a unit's instances: stream s of instance i is row s * instances + i of ``added``."""

    stream: np.ndarray  # int64[instances]: stream whose events are counted now
    seen: FixedRows  # int64[instances, counters]: the counters when they began to be
    added: FixedRows  # int64[streams * instances, counters]: counts of each before
    streams: int


def make_shares(stats: np.ndarray, streams: int) -> Shares:
    """Nothing counted; stats: int64[instances, counters]."""
    instances, counters = stats.shape
    return Shares(
        np.zeros(instances, np.int64), np.zeros((instances, counters), np.int64),
        np.zeros((streams * instances, counters), np.int64), streams,
    )  # fmt: skip


@inlined
def count_for(state: Any, at: int, stream: int) -> None:
    """From here on, until told otherwise, instance ``at`` of a unit counts events of ``stream``."""
    if state.shares.streams > 1 and state.shares.stream[at] != stream:
        turn_to(state.shares, state.stats, at, stream)


@compiled
def turn_to(shares: Shares, stats: np.ndarray, at: int, stream: int) -> None:
    """End the turn of the stream whose events an instance counted, and begin another's."""
    row = shares.stream[at] * stats.shape[0] + at
    for counter in range(stats.shape[1]):
        shares.added[row, counter] += stats[at, counter] - shares.seen[at, counter]
        shares.seen[at, counter] = stats[at, counter]
    shares.stream[at] = stream


def share_of(state: Any, stream: int) -> Any:
    """A unit's state whose ``stats`` count one stream alone."""
    shares, instances = state.shares, len(state.stats)
    found = shares.added[stream * instances : (stream + 1) * instances].copy()
    now = shares.stream == stream
    found[now] += state.stats[now] - shares.seen[now]
    return state._replace(stats=found)
