"""Instruction cache of an SM: lines that are asked for as a whole, and answered sector by sector.

Peak rate: ``pipeline.fetches`` look-ups and as many requests per cycle. A line gets its place when its last sector has
come; the warps that wait for it then fetch one by one, before all others. A miss that finds no place in the miss queue
or no MSHR is tried again after the other warps. The code of every kernel begins at the same address. GPUs with such a
cache run in lockstep (``engine.lockstep``). Source: ``docs/sources/accel-sim.md#instruction-cache``.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.exchange.accelsim.sass_classes import program_counters
from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.memory.cache import access as cache_access
from rayplay.replay.memory.cache import fill as cache_fill
from rayplay.replay.memory.cache import mshr
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.state import Cache, Policy
from rayplay.replay.memory.port import LINE_SECTORS, LINE_TAGS, Port, may_send, send_line
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import count_for

LINE_BYTES = LINE_SECTORS * SECTOR_BYTES
FIRST_ADDRESS = 0xF0000000
COUNTERS = {"hits": cache_state.HIT, "misses": cache_state.MISS, "fails": cache_state.FAIL,
            "merges": cache_state.MERGES, "fills": cache_state.FILLS, "evictions": cache_state.EVICTIONS}  # fmt: skip


@dataclass(frozen=True)
class Spec:
    """Instruction cache of an SM, in the model ``pipeline``."""

    perfect: bool = value("switch", "Whether every fetch finds its instructions; the other values then do nothing")
    bytes: int = value("bytes", "Capacity", LINE_BYTES)
    ways: int = value("lines", "Lines of 128 B of a set", 1)
    mshr_entries: int = value("count", "Lines that may be missing at a time", 1)
    mshr_merges: int = value("count", "Warps that may wait for one line", 1)
    miss_queue: int = value("lines", "Lines that may wait to be asked for", 1)

    def __post_init__(self) -> None:
        sets = self.sets
        law(
            sets * self.ways * LINE_BYTES == self.bytes and sets & (sets - 1) == 0,
            f"bytes ({self.bytes}) must be a power of two of sets of {self.ways} ways of {LINE_BYTES} B",
        )

    @property
    def sets(self) -> int:
        """bytes / (128 x ways)."""
        return self.bytes // (self.ways * LINE_BYTES)


class InstructionCache(NamedTuple):
    """All SMs' caches. The tags' sectors are whole lines, and what waits for one is the number of a warp."""

    tags: Cache
    missing: np.ndarray  # int64[sms * pitch of the tags]: sectors of a line under way that are still to come
    line: np.ndarray  # int64[instructions]: number of the line that holds it
    perfect: bool


def make_state(spec: Spec, sms: int, instructions: dict[str, Any], streams: int = 1) -> InstructionCache:
    """Empty caches. instructions: columns of the trace's table."""
    sets, ways, entries = (1, 1, 1) if spec.perfect else (spec.sets, spec.ways, spec.mshr_entries)
    policy = Policy(
        SECTOR_BYTES, ways, "linear", "through", "on_fill", "none", 0, entries, spec.mshr_merges, spec.miss_queue,
        SECTOR_BYTES, "lru", "reserve",
    )  # fmt: skip
    tags = cache_state.make_state(policy, sets, sms, ways, entries, streams=streams)
    line = (FIRST_ADDRESS + program_counters(instructions)) // LINE_BYTES
    return InstructionCache(tags, np.zeros(sms * tags.pitch, np.int64), line, spec.perfect)


@inlined
def is_busy(state: InstructionCache, sm: int) -> bool:
    """Whether a line waits to be asked for, or a warp may fetch from one that has come."""
    unit = state.tags.unit
    return bool(mshr.has_ready(state.tags, sm) | (unit[sm, cache_state.QUEUE_HEAD] != unit[sm, cache_state.QUEUE_TAIL]))


@inlined
def look_up(state: InstructionCache, sm: int, now: int, line: int, stream: int, warp: int) -> int:
    """HIT; FAIL (try again); MISS: ``next_warp`` will name the warp."""
    tags = state.tags
    count_for(tags, sm, stream)
    queued = tags.unit[sm, cache_state.QUEUE_TAIL] - tags.unit[sm, cache_state.QUEUE_HEAD]
    # a cache that is only read needs one place in the queue, where a data cache needs two
    return cache_access.read(tags, sm, now, line, line, 0, 0, warp, queued - 1)


@inlined
def send_next(state: InstructionCache, port: Port, sm: int, now: int) -> None:
    """The oldest line of the miss queue is asked for if the port takes the request."""
    tags, unit = state.tags, state.tags.unit
    if unit[sm, cache_state.QUEUE_HEAD] == unit[sm, cache_state.QUEUE_TAIL] or not may_send(port, sm, now):
        return
    row = sm * tags.ring + wrap(unit[sm, cache_state.QUEUE_HEAD], tags.ring)
    unit[sm, cache_state.QUEUE_HEAD] += 1
    entry = tags.queue[row, 3]
    state.missing[sm * tags.pitch + entry] = LINE_SECTORS
    count_for(port, sm, mshr.stream_of(tags, sm, entry))
    send_line(port, sm, now, tags.queue[row, 1] * LINE_SECTORS, LINE_TAGS + entry, 0, 0)


@compiled
def fill(state: InstructionCache, sm: int, now: int, entry: int) -> None:
    """A sector of the line of an MSHR entry has come."""
    here = sm * state.tags.pitch + entry
    state.missing[here] -= 1
    if state.missing[here] == 0:
        cache_fill.fill(state.tags, sm, now, entry)


def stats(state: InstructionCache) -> dict[str, np.ndarray]:
    """Look-ups by outcome, and lines that joined, came and went, per SM."""
    return {name: state.tags.stats[:, column] for name, column in COUNTERS.items()}
