"""Replacement of a cache's lines, and the hooks of a policy that replaces otherwise.

A way without a valid sector is taken before any line is replaced (``tags.victim``).
"""

from rayplay.replay.jit.bits import FAR, bucket, compiled, inlined
from rayplay.replay.jit.hooks import hook, is_replaced
from rayplay.replay.jit.rows import host_prefetch
from rayplay.replay.memory.cache import state as cache


@compiled
def oldest(state: cache.Cache, at: int, group: int) -> int:
    """The row of a list used longest ago among rows that wait for nothing, the lowest of several; or -1."""
    line = state.line
    row = state.order[group, cache.OLDEST]
    while row >= 0 and line[row, cache.STATUS] & cache.ALL_RESERVED:
        row = line[row, cache.NEWER]
    if row < 0:
        return -1
    best, following = row, line[row, cache.NEWER]
    if following >= 0:  # it is the next to be replaced after this
        host_prefetch(line, line[following, cache.NEWER])
        host_prefetch(state.bucket_head, at * state.buckets + bucket(line[following, cache.TAG], state.buckets))
    while following >= 0 and line[following, cache.USED_AT] == line[row, cache.USED_AT]:
        if following < best and not line[following, cache.STATUS] & cache.ALL_RESERVED:
            best = following
        following = line[following, cache.NEWER]
    return best


@hook("cache.replace")
def replace(state: cache.Cache, at: int, group: int) -> int:
    """Choose the line of a full set that gives its way to a new one: its row, or -1 where all wait for data.

    Asked again in each cycle in which the access is tried; a row of the set (``group``) without a reserved sector.
    The rows of a set are ``group << state.way_shift`` and the ``state.ways - 1`` after it. Any other row stands for -1.
    """
    row = oldest(state, at, 2 * group)
    if 100 * state.unit[at, cache.DIRTY_LINES] >= state.dirty_percent * state.sets * state.ways:
        dirty = oldest(state, at, 2 * group + 1)
        clean_at = state.line[row, cache.USED_AT] if row >= 0 else FAR
        if dirty >= 0 and (state.line[dirty, cache.USED_AT], dirty) < (clean_at, row):
            row = dirty
    return row


chooses = is_replaced("cache.replace")


@inlined
def can_go(state: cache.Cache, group: int, row: int) -> bool:
    """Whether a row is a line of the set that waits for no data; a policy's mistake must not end in other memory."""
    first = group << state.way_shift
    return first <= row < first + state.ways and state.line[row, cache.STATUS] & cache.ALL_RESERVED == 0


@hook("cache.used")
def used(state: cache.Cache, row: int, now: int) -> None:
    """Told of a use of a line: a hit, or an access that joins or adds a fetch of one of its sectors."""


@hook("cache.allocated")
def allocated(state: cache.Cache, at: int, row: int, line: int, now: int) -> None:
    """Told that a way (``row``) has been given to a new line, by its number; its first sector is still to come.

    Several lines of a set may be allocated in one cycle.
    """
