"""Next-line prefetch that finds its sector, counts it and sends nothing: the cost of the hook with work held equal.

python -m bench.plugins.slowdown TRACE... --plugin bench/plugins/asked_prefetch.py
"""

from rayplay.policy import cache, hook

COUNTERS = ("found",)


@hook("l1.prefetch")
def prefetch(state, own, at, now, sector, answer, waiter):
    """Find the same sector of the next line after a miss, and ask for none."""
    if answer == cache.MISS or answer == cache.SECTOR_MISS:
        own.counters[at, 0] += sector + (1 << state.sector_shift) > sector  # else the compiler would drop the search
    return -1
