"""Host prefetch of a memory partition: its queues, MSHRs and the cache lines its requests will use.

The state of a GPU is larger than the caches of a host core, so a partition's lines have left them when its next quantum
begins. One batch of prefetches costs less than the misses one by one.
"""

from rayplay.replay.jit.bits import bucket, compiled, inlined
from rayplay.replay.jit.rows import host_prefetch, host_prefetch_rows, wrap
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.dram import spec as limits
from rayplay.replay.memory.dram import state as dram
from rayplay.replay.memory.l2 import state as l2


@compiled
def host_prefetch_partition(cache: l2.L2, memory: dram.Dram, controller: int, waiting: int) -> None:
    """The queues and MSHRs of a controller, and the lines that the requests taken out of the crossbar will use.

    waiting  those requests. Places of queues and MSHRs are used again first that were free last, so that few are hot.
    """
    tags, first = cache.tags, controller * cache.slices_per_controller
    last = first + cache.slices_per_controller
    host_prefetch_rows(tags.order, 2 * first * tags.sets, 2 * last * tags.sets)
    host_prefetch_rows(tags.mshr_head, first * tags.mshr_buckets, last * tags.mshr_buckets)
    host_prefetch_rows(tags.bucket_head, first * tags.buckets, last * tags.buckets)
    queued = min(memory.channel[controller, dram.UNDER_WAY] + waiting, memory.capacity)
    host_prefetch_rows(memory.request, controller * memory.capacity, controller * memory.capacity + queued)
    host_prefetch_rows(memory.bank, controller * memory.gap[limits.BANKS], (controller + 1) * memory.gap[limits.BANKS])
    for part in range(first, last):
        look_through(cache, part)


@inlined
def look_through(cache: l2.L2, part: int) -> None:
    """The lines that the requests of a slice will find, and the next to be replaced in their sets."""
    tags, own, before = cache.tags, cache.slice, -1
    first = part * tags.pitch
    free = tags.unit[part, cache_state.MSHR_FREE] - (own[part, l2.POPPED] - own[part, l2.HEAD])
    host_prefetch_rows(tags.mshr, first + max(free, 0), first + tags.entries)
    for place in range(own[part, l2.HEAD], own[part, l2.POPPED]):
        row = part * cache.ring + wrap(place, cache.ring)
        line = cache.input[row, 1] >> 2
        if line == before:
            continue
        before = line
        group = 2 * (part * tags.sets + cache_state.chosen_set(tags, cache.input[row, 4]))
        host_prefetch(tags.line, tags.bucket_head[part * tags.buckets + bucket(line, tags.buckets)])
        host_prefetch(tags.line, tags.order[group, cache_state.NEWEST])
        victim = tags.order[group, cache_state.OLDEST]
        if victim >= 0:
            host_prefetch(tags.line, tags.line[victim, cache_state.NEWER])
