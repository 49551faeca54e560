"""Next-line prefetch: a read that misses in the L1 brings the same sector of the next lines as well.

Smith, Sequential program prefetching in memory hierarchies (Computer, 1978). ``degree`` lines ahead are asked for, one
for each read that misses; ``rays_only`` leaves the loads of the program alone.
"""

from rayplay.policy import cache, hook, parameter

PARAMETERS = {
    "degree": parameter(1, "lines", "How far ahead of the missing line the prefetched one is", minimum=1),
    "readers": parameter("all", "word", "Whose misses prefetch", choices=("all", "rays")),
}
COUNTERS = ("sent", "known", "dropped")
SENT, KNOWN, DROPPED = range(3)
RAYS = 1


@hook("l1.prefetch")
def prefetch(state, own, at, now, sector, answer, waiter):
    """Choose the sector ``degree`` lines further after a miss; an odd waiter is the RT unit."""
    misses = answer == cache.MISS or answer == cache.SECTOR_MISS
    if not misses or (own.readers == RAYS and waiter & 1 == 0):
        return -1
    return sector + (own.degree << state.sector_shift)


@hook("l1.prefetched")
def count(state, own, at, sector, answer):
    """Count how prefetches went."""
    if answer == cache.FAIL:
        own.counters[at, DROPPED] += 1
    elif answer == cache.HIT or answer == cache.HIT_RESERVED:
        own.counters[at, KNOWN] += 1
    else:
        own.counters[at, SENT] += 1
