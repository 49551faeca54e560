"""L1 data cache of an SM: the cache core, and a miss queue from which one request per cycle leaves for the crossbar.

Peak rate: ``banks`` sectors per cycle from the LSU (4 x 32 B x clock) and one from the RT unit, which does not pass
the LSU's pipeline; one request per cycle to the L2. Where L1 and shared memory are one memory, a kernel's shared memory
decides how many ways remain.
Sources: ``docs/sources/accel-sim.md#l1-front-end, #l1-and-shared-memory``, ``docs/sources/vulkan-sim.md#hits, #l1``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.jit.rows import host_prefetch, wrap
from rayplay.replay.memory.cache import access as cache
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache import tags as cache_lines
from rayplay.replay.memory.cache.mshr import label_of
from rayplay.replay.memory.cache.prefetch import bring, prefetch, prefetched, prefetches
from rayplay.replay.memory.hashes import parities, parity_masks
from rayplay.replay.memory.port import (
    LINE_SECTORS,
    READ,
    TEXTURE,
    WRITE,
    Port,
    may_send,
    send,
    send_line,
    send_write_back,
)
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import count_for

FILL_TAG = 0  # low two bits of a request's tag: what its response is
TAG_BITS = 40  # of a write in the miss queue, its stream above
STREAMING_MERGES = 64


@dataclass(frozen=True)
class Spec(cache_state.Policy):
    """L1 data cache of one SM."""

    allocate: str = value(
        "word", "When a missing line gets its place; streaming: on_fill, with as many MSHRs as lines have sectors",
        choices=("on_miss", "on_fill", "streaming"),
    )  # fmt: skip
    bytes: int = value("bytes", "Capacity for data while kernels use little shared memory", 128)
    banks: int = value("count", "Sectors the LSU may look up per cycle, in different banks", 1)
    bank_hash: str = value("word", "How the address in units of bank_bytes chooses the bank", choices=("linear", "xor"))
    bank_bytes: int = value("bytes", "Neighbouring bytes of one bank, a power of two", 1)
    latency_cycles: int = value("cycles", "From the LSU's bank access to the tag check and the data", 1)
    unified_bytes: int = value("bytes", "Size of the memory shared with shared memory; 0: they are separate", 0)
    shared_options: tuple[int, ...] = value("bytes", "Sizes of shared memory that the unified memory can be split at")
    whole_lines: bool = value(
        "switch", "Whether a line is asked for in one packet, and valid or dropped as a whole, in place of its sectors"
    )
    invalidate_idle: bool = value("switch", "Whether an SM without a live warp forgets its lines, as at a kernel's end")

    def __post_init__(self) -> None:
        super().__post_init__()
        law(
            self.bytes % (self.line_bytes * self.ways) == 0,
            f"bytes ({self.bytes}) must be a multiple of line_bytes x ways ({self.line_bytes * self.ways})",
        )
        for name in ("banks", "bank_bytes"):
            number = getattr(self, name)
            law(number & (number - 1) == 0, f"{name} must be a power of two, not {number}")
        sends = self.write_allocate in ("none", "naive") or self.write_policy in ("through", "back")
        law(
            self.write_policy == "back" or (sends and self.write_allocate != "fetch_on_write"),
            f"write_allocate {self.write_allocate} does not send every write on with write_policy {self.write_policy}",
        )
        law(
            not self.whole_lines or (self.line_bytes == LINE_SECTORS * SECTOR_BYTES and self.port_bytes >= 128),
            f"whole_lines needs line_bytes and port_bytes of 128, not {self.line_bytes} and {self.port_bytes}",
        )
        law(
            not self.whole_lines or (self.write_allocate in ("none", "naive") and self.allocate != "streaming"),
            "whole_lines needs write_allocate none or naive, and allocate on_miss or on_fill, not"
            f" {self.write_allocate} and {self.allocate}",
        )
        options = self.shared_options
        law(
            self.unified_bytes == 0
            or (len(self.shared_options) > 0 and max(self.shared_options) <= self.unified_bytes),
            f"shared_options must be sizes up to unified_bytes ({self.unified_bytes}), not {list(options)}",
        )
        self.check_sets(self.sets)

    @property
    def sets(self) -> int:
        """bytes / (line_bytes x ways)."""
        return self.bytes // (self.line_bytes * self.ways)

    @property
    def most_ways(self) -> int:
        """Ways without any shared memory: unified_bytes / (line_bytes x sets), or ways."""
        return max(self.ways, self.unified_bytes // (self.line_bytes * self.sets))

    @property
    def entries(self) -> int:
        """MSHR entries: mshr_entries; for a streaming L1 lines x sectors of a line x 4."""
        streaming = self.sets * self.ways * (self.line_bytes // SECTOR_BYTES) * 4
        return streaming if self.allocate == "streaming" else self.mshr_entries

    @property
    def merges(self) -> int:
        """Requests an MSHR entry holds: mshr_merges; for a streaming L1 64."""
        return STREAMING_MERGES if self.allocate == "streaming" else self.mshr_merges

    @property
    def keeps_dirty(self) -> bool:
        """Whether dirty lines are written back: write_policy back, or evict_global with allocate on_miss."""
        return self.write_policy == "back" or (self.write_policy == "evict_global" and self.allocate == "on_miss")

    @property
    def is_emptied(self) -> bool:
        """Whether a kernel begins with an empty L1: invalidate_idle, or the memory may have been split again."""
        return self.invalidate_idle or self.unified_bytes > 0

    def ways_beside(self, shared_bytes: int) -> int:
        """Ways that remain while the CTAs of an SM use so much shared memory."""
        if self.unified_bytes == 0:
            return self.ways
        share = min((size for size in self.shared_options if size >= shared_bytes), default=max(self.shared_options))
        return max(int(self.most_ways * (1 - share / self.unified_bytes) + 0.5), 1)


class L1(NamedTuple):
    """All SMs' caches."""

    cache: cache_state.Cache
    missing: np.ndarray  # int64[sms, entries]: sectors of a whole line that have not come
    leaves_at: np.ndarray  # int64[sms]: first cycle in which one more request could leave the miss queue
    bank_mask: np.ndarray  # int64[bits of the bank]: bits of the sector number whose parity is the bit
    bank_bits: int  # those bits where they are the bank itself; else 0
    invalidate_idle: bool


def make_state(spec: Spec, sms: int, packets_in_flight: int, streams: int = 1) -> L1:
    """Empty caches. No more entries are made than requests may be in flight, since each entry is one of them."""
    policy = cache_state.Policy(
        spec.line_bytes, spec.ways, spec.set_hash, spec.write_policy,
        "on_miss" if spec.allocate == "on_miss" else "on_fill", spec.write_allocate, spec.dirty_percent, spec.entries,
        spec.merges, spec.miss_queue, spec.port_bytes, spec.replacement, spec.late_reads,
    )  # fmt: skip
    entries = min(spec.entries, packets_in_flight)
    masks = parity_masks(spec.bank_hash, spec.banks) * spec.bank_bytes // SECTOR_BYTES
    return L1(
        cache_state.make_state(
            policy, spec.sets, sms, spec.most_ways, entries, streams=streams, whole_lines=spec.whole_lines
        ),
        np.zeros((sms, entries), np.int64),
        np.zeros(sms, np.int64),
        masks,
        spec.banks - 1 if spec.bank_hash == "linear" and spec.bank_bytes == SECTOR_BYTES else 0,
        spec.invalidate_idle,
    )


def split(state: L1, spec: Spec, shared_bytes: int) -> L1:
    """The caches with the ways that a kernel's shared memory per SM leaves; emptied, unless idle SMs have done that."""
    ways = spec.ways_beside(shared_bytes)
    if spec.invalidate_idle and ways == state.cache.ways:
        return state
    state = state._replace(cache=state.cache._replace(ways=ways))
    cache_state.clear(state.cache)
    return state


@inlined
def forget_idle(state: L1, sm: int) -> None:
    """An SM was without live warps: forget its lines, if it is one that does."""
    if state.invalidate_idle:
        cache_lines.invalidate(state.cache, sm)


@inlined
def first_waiter(state: L1, sm: int, entry: int) -> int:
    """Who waits longest for the sector of an MSHR entry."""
    return state.cache.mshr[sm * state.cache.pitch + entry, cache_state.WAITER]


@inlined
def first_result(state: L1, sm: int) -> int:
    """Who has the data that came first, of an SM with such."""
    return first_waiter(state, sm, int(state.cache.ready[sm, wrap(
        state.cache.unit[sm, cache_state.READY_HEAD], state.cache.ready.shape[1])]))  # fmt: skip


@inlined
def host_prefetch_entry(state: L1, sm: int, entry: int) -> None:
    """Prefetch an MSHR entry; any number does no harm."""
    host_prefetch(state.cache.mshr, sm * state.cache.pitch + entry)


@inlined
def bank_of(state: L1, sector: int) -> int:
    """Bank of a sector."""
    return sector & state.bank_bits if state.bank_bits else parities(state.bank_mask, sector)


@inlined
def queued(state: L1, port: Port, sm: int, now: int) -> int:
    """Requests in the miss queue; no room where the crossbar takes none (in lockstep they wait in the queue)."""
    if port.lockstep:
        return state.cache.unit[sm, cache_state.QUEUE_TAIL] - state.cache.unit[sm, cache_state.QUEUE_HEAD]
    if not may_send(port, sm, now):
        return FAR
    return max(state.leaves_at[sm] - now - 1, 0)


@compiled
def drain(state: L1, port: Port, sm: int, now: int, tag: int) -> None:
    """Date the requests that an access queued: they leave from the next cycle on, one per cycle."""
    if port.lockstep:
        return
    unit, queue = state.cache.unit, state.cache.queue
    first = sm * state.cache.ring
    count_for(port, sm, state.cache.shares.stream[sm])
    for row in range(first, first + unit[sm, cache_state.QUEUE_TAIL]):
        leaves = max(state.leaves_at[sm], now + 1)
        state.leaves_at[sm] = leaves + 1
        if queue[row, 0] == cache_state.READ_SECTOR:
            kind = READ + TEXTURE * (label_of(state.cache, sm, queue[row, 3]) & 1)
            send(port, sm, leaves, queue[row, 1], kind, queue[row, 2], queue[row, 3] * 4 + FILL_TAG)
        else:
            send(port, sm, leaves, queue[row, 1], WRITE, queue[row, 2], tag)
    unit[sm, cache_state.QUEUE_TAIL] = 0


@inlined
def has_queued(state: L1, sm: int) -> bool:
    """In lockstep: whether requests wait in the miss queue."""
    return state.cache.unit[sm, cache_state.QUEUE_HEAD] != state.cache.unit[sm, cache_state.QUEUE_TAIL]


@compiled
def send_next(state: L1, port: Port, sm: int, now: int) -> None:
    """In lockstep: the oldest request of the miss queue leaves if the port takes it."""
    unit, queue = state.cache.unit, state.cache.queue
    if not has_queued(state, sm) or not may_send(port, sm, now):
        return
    row = sm * state.cache.ring + wrap(unit[sm, cache_state.QUEUE_HEAD], state.cache.ring)
    unit[sm, cache_state.QUEUE_HEAD] += 1
    if queue[row, 0] == cache_state.READ_SECTOR:
        entry, label = queue[row, 3], label_of(state.cache, sm, queue[row, 3])
        count_for(port, sm, label >> 1)
        if state.cache.whole_lines:
            state.missing[sm, entry] = LINE_SECTORS
            send_line(port, sm, now, queue[row, 1], entry * 4 + FILL_TAG, TEXTURE * (label & 1), queue[row, 2])
        else:
            send(port, sm, now, queue[row, 1], READ + TEXTURE * (label & 1), queue[row, 2], entry * 4 + FILL_TAG)
    elif queue[row, 0] == cache_state.WRITE_BACK:
        count_for(port, sm, queue[row, 3])
        send_write_back(port, sm, now, queue, row)
    else:
        count_for(port, sm, queue[row, 3] >> TAG_BITS)
        send(port, sm, now, queue[row, 1], WRITE, queue[row, 2], queue[row, 3] & ((1 << TAG_BITS) - 1))


@inlined
def is_partial(state: L1, sm: int, entry: int) -> bool:
    """Take a sector that came for an MSHR entry; whether others of its line are still missing."""
    state.missing[sm, entry] -= state.cache.whole_lines
    return state.missing[sm, entry] > 0


@compiled
def load(
    state: L1, port: Port, sm: int, now: int, sector: int, byte_mask: int, waiter: int, is_texture: int = 0
) -> int:  # fmt: skip
    """Look bytes of a sector up for ``waiter``: HIT; FAIL (try again); else ``waiter`` is called when it is there."""
    answer = look_up(state, port, sm, now, sector, byte_mask, waiter, is_texture)
    state.cache.stats[sm, cache_state.TEXTURE + answer] += is_texture
    return answer


@inlined
def look_up(
    state: L1, port: Port, sm: int, now: int, sector: int, byte_mask: int, waiter: int, is_texture: int
) -> int:  # fmt: skip
    """``load`` without the counters of textures."""
    state.cache.owners.label[sm] = is_texture
    line = sector >> state.cache.sector_shift
    row = cache_lines.find(state.cache, sm, line)
    if cache.may_read(state.cache, row, sector):
        cache.read_hit(state.cache, sm, now, row)
        if prefetches(state.cache):
            follow(state, port, sm, now, sector, cache_state.HIT, waiter)
        return cache_state.HIT
    waiting = queued(state, port, sm, now)
    answer = cache.read_miss(state.cache, sm, now, sector, line, byte_mask, 0, waiter, waiting, row)
    if answer != cache_state.FAIL:
        drain(state, port, sm, now, 0)
        if prefetches(state.cache):
            follow(state, port, sm, now, sector, answer, waiter)
    return answer


@inlined
def follow(state: L1, port: Port, sm: int, now: int, sector: int, answer: int, waiter: int) -> None:
    """Prefetch what a policy wants after a read of a sector."""
    wanted = prefetch(state.cache, sm, now, sector, answer, waiter)
    if wanted >= 0:
        prefetched(state.cache, sm, wanted, fetch_for_nobody(state, port, sm, now, wanted))


@compiled
def fetch_for_nobody(state: L1, port: Port, sm: int, now: int, sector: int) -> int:
    """Prefetch a sector (``prefetch.bring``)."""
    line = sector >> state.cache.sector_shift
    answer = bring(state.cache, sm, now, sector, line, queued(state, port, sm, now))
    if answer in (cache_state.MISS, cache_state.SECTOR_MISS):
        drain(state, port, sm, now, 0)
    return answer


@compiled
def read(state: L1, port: Port, sm: int, now: int, sector: int, waiter: int) -> int:
    """Look a whole sector up for ``waiter``: HIT; FAIL (try again); MISS where a request leaves, else HIT_RESERVED."""
    merges = state.cache.stats[sm, cache_state.MERGES]
    answer = load(state, port, sm, now, sector, cache_state.FULL, waiter)
    if answer in (cache_state.HIT, cache_state.FAIL):
        return answer
    return cache_state.MISS if state.cache.stats[sm, cache_state.MERGES] == merges else cache_state.HIT_RESERVED


@compiled
def store(state: L1, port: Port, sm: int, now: int, sector: int, byte_mask: int, is_local: int, tag: int) -> int:
    """Write bytes of a sector: FAIL (try again), else what the write met. ``tag`` comes back with the acknowledgement.

    A write that stays in the L1 (``keeps``) has no request and no acknowledgement.
    """
    index = sector >> state.cache.sector_shift
    state.cache.owners.label[sm] = 0
    waiting = queued(state, port, sm, now)
    payload = tag | state.cache.shares.stream[sm] << TAG_BITS
    if state.cache.write_allocate == cache_state.FETCH_ON_WRITE:  # a partial write is never acknowledged, as there
        payload = cache.FETCHER
    answer = cache.write(state.cache, sm, now, sector, index, byte_mask, is_local, payload, waiting)
    if answer != cache_state.FAIL:
        drain(state, port, sm, now, tag)
    return answer


@inlined
def keeps(state: L1, sm: int, answer: int, is_local: int) -> bool:
    """Whether a write with this answer stays here: nothing is sent, and nothing acknowledges it."""
    local_hit = answer == cache_state.HIT and state.cache.write_policy == cache_state.EVICT_GLOBAL and is_local == 1
    stays = answer == cache_state.HIT or state.cache.write_allocate > cache_state.NAIVE
    stays = stays and answer != cache_state.FAIL and state.cache.unit[sm, cache_state.PARKED] == 0
    return bool(local_hit or (stays and state.cache.write_policy == cache_state.BACK))
