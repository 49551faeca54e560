"""Texture cache of an SM: lines that count as there once they are asked for, and results in the accesses' order.

Peak rate: one line looked up, one sector asked for, one result per cycle. A texture instruction looks up its different
lines, one per cycle, the highest first, whatever its lanes want of them. A line that is not there takes the place of
the one used longest ago at once, and the sectors of the line are asked for; what follows finds it there. Every access
enters the fragment queue, which it leaves in order: a hit as soon as it is the first, a miss when its line has come.
Source: ``docs/sources/vulkan-sim.md#textures``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import inlined
from rayplay.replay.jit.rows import FixedRows, ring_size, wrap
from rayplay.replay.memory.cache import fill as cache_fill
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache import tags as cache_lines
from rayplay.replay.memory.cache.state import Cache, Policy
from rayplay.replay.memory.port import READ, TEXTURE, Port, may_send, send
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, count_for, make_shares

PATHS = ("l1", "cache")
# Columns of ``unit``.
FRAGMENT_HEAD = 0  # of the accesses in order
FRAGMENT_TAIL = 1
REQUEST_HEAD = 2  # of the lines to be asked for
REQUEST_TAIL = 3
LINE_HEAD = 4  # of the lines under way
LINE_TAIL = 5
RESULT_HEAD = 6
RESULT_TAIL = 7
ASKED = 8  # sectors of the first line that were asked for
UNIT_COLUMNS = 9
HITS, MISSES = range(2)  # columns of stats
HIT = -1  # in place of a line under way


@dataclass(frozen=True)
class Spec:
    """Texture cache of an SM, and what goes there."""

    path: str = value("word", "Where the texture accesses of PTX go: the SM's L1, or its texture cache", choices=PATHS)
    sass_accesses: bool = value(
        "switch", "Whether texture instructions of SASS access memory, as those of PTX do, or have a latency alone"
    )
    sets: int = value("sets", "Sets of the cache, a power of two", 1)
    ways: int = value("lines", "Lines of a set", 1)
    line_bytes: int = value("bytes", "Bytes of a line", SECTOR_BYTES)
    fragments: int = value("accesses", "Accesses whose results are still to come", 1)
    requests: int = value("lines", "Lines that may wait to be asked for", 1)
    lines: int = value("lines", "Lines that may be under way", 1)
    results: int = value("accesses", "Results that may wait for the write-back", 1)

    def __post_init__(self) -> None:
        law(self.line_bytes in (32, 64, 128), f"line_bytes must be 32, 64 or 128, not {self.line_bytes}")
        law(self.sets & (self.sets - 1) == 0, f"sets must be a power of two, not {self.sets}")


class Texture(NamedTuple):
    """All SMs' texture caches; queue place p of SM s is row s * ring + wrap(p, ring)."""

    tags: Cache
    fragment: np.ndarray  # int64[sms * ring, 2]: operation of the LSU, place of its line under way or HIT
    request: np.ndarray  # int64[sms * ring, 3]: line number, its place among the lines under way, stream
    missing: np.ndarray  # int64[sms * ring]: sectors of a line under way that are still to come
    result: np.ndarray  # int64[sms * ring]: operations
    unit: np.ndarray  # int64[sms, UNIT_COLUMNS]
    stats: FixedRows  # int64[sms, 2]
    shares: Shares
    fragments: int
    requests: int
    lines: int
    results: int
    fragment_ring: int
    request_ring: int
    line_ring: int
    result_ring: int
    sectors: int  # of a line


def make_state(spec: Spec, sms: int, streams: int = 1) -> Texture:
    """Empty caches."""
    policy = Policy(spec.line_bytes, spec.ways, "linear", "through", "on_miss", "none", 0, 1, 1, 1, SECTOR_BYTES, "lru")
    queues = (spec.fragments, spec.requests, spec.lines, spec.results)
    fragments, requests, lines, results = map(ring_size, queues)
    stats = np.zeros((sms, 2), np.int64)
    return Texture(
        cache_state.make_state(policy, spec.sets, sms, spec.ways, 1),
        np.zeros((sms * fragments, 2), np.int64),
        np.zeros((sms * requests, 3), np.int64),
        np.zeros(sms * lines, np.int64),
        np.zeros(sms * results, np.int64),
        np.zeros((sms, UNIT_COLUMNS), np.int64),
        stats,
        make_shares(stats, streams),
        *queues, fragments, requests, lines, results, spec.line_bytes // SECTOR_BYTES,
    )  # fmt: skip


@inlined
def line_of(state: Texture, sector: int) -> int:
    """Number of the line that holds a sector."""
    return sector >> state.tags.sector_shift


@inlined
def look_up(state: Texture, sm: int, now: int, operation: int, line: int) -> bool:
    """One access of an operation; False where a queue is full, and it has to try again."""
    unit, tags = state.unit, state.tags
    if (
        unit[sm, FRAGMENT_TAIL] - unit[sm, FRAGMENT_HEAD] == state.fragments
        or unit[sm, REQUEST_TAIL] - unit[sm, REQUEST_HEAD] == state.requests
        or unit[sm, LINE_TAIL] - unit[sm, LINE_HEAD] == state.lines
    ):
        return False
    at = sm * state.fragment_ring + wrap(unit[sm, FRAGMENT_TAIL], state.fragment_ring)
    unit[sm, FRAGMENT_TAIL] += 1
    state.fragment[at, 0], state.fragment[at, 1] = operation, HIT
    row = cache_lines.find(tags, sm, line)
    if row >= 0:
        cache_lines.touch(tags, row, now)
        state.stats[sm, HITS] += 1
        return True
    cache_fill.warm(tags, sm, now, line << tags.sector_shift, line)
    place = wrap(unit[sm, LINE_TAIL], state.line_ring)
    unit[sm, LINE_TAIL] += 1
    state.fragment[at, 1] = place
    state.missing[sm * state.line_ring + place] = state.sectors
    at = sm * state.request_ring + wrap(unit[sm, REQUEST_TAIL], state.request_ring)
    unit[sm, REQUEST_TAIL] += 1
    state.request[at, 0], state.request[at, 1] = line, place
    state.request[at, 2] = state.shares.stream[sm]
    state.stats[sm, MISSES] += 1
    return True


@inlined
def cycle(state: Texture, port: Port, sm: int, now: int, first_tag: int) -> None:
    """Ask for one sector, and pass on the oldest access if its line is there.

    first_tag  of the tags of its responses: sector requests of line place p carry ``first_tag + 4 * p``.
    """
    unit = state.unit
    if unit[sm, REQUEST_HEAD] != unit[sm, REQUEST_TAIL] and may_send(port, sm, now):
        at = sm * state.request_ring + wrap(unit[sm, REQUEST_HEAD], state.request_ring)
        sector = (state.request[at, 0] << state.tags.sector_shift) + unit[sm, ASKED]
        count_for(port, sm, state.request[at, 2])
        send(port, sm, now, sector, READ + TEXTURE, cache_state.FULL, first_tag + 4 * state.request[at, 1])
        unit[sm, ASKED] += 1
        if unit[sm, ASKED] == state.sectors:
            unit[sm, ASKED] = 0
            unit[sm, REQUEST_HEAD] += 1
    if is_first_there(state, sm):
        at = sm * state.fragment_ring + wrap(unit[sm, FRAGMENT_HEAD], state.fragment_ring)
        unit[sm, FRAGMENT_HEAD] += 1
        if state.fragment[at, 1] != HIT:
            unit[sm, LINE_HEAD] += 1
        place = sm * state.result_ring + wrap(unit[sm, RESULT_TAIL], state.result_ring)
        state.result[place] = state.fragment[at, 0]
        unit[sm, RESULT_TAIL] += 1


@inlined
def is_first_there(state: Texture, sm: int) -> bool:
    """Whether the oldest access may become a result: its line has come, and there is room."""
    unit = state.unit
    full = unit[sm, RESULT_TAIL] - unit[sm, RESULT_HEAD] == state.results
    if unit[sm, FRAGMENT_HEAD] == unit[sm, FRAGMENT_TAIL] or full:
        return False
    at = sm * state.fragment_ring + wrap(unit[sm, FRAGMENT_HEAD], state.fragment_ring)
    line = state.fragment[at, 1]
    return bool(line == HIT or state.missing[sm * state.line_ring + line] == 0)


@inlined
def receive(state: Texture, sm: int, place: int) -> None:
    """A sector of a line under way has come."""
    state.missing[sm * state.line_ring + place] -= 1


@inlined
def has_result(state: Texture, sm: int) -> bool:
    """Whether a result waits for the write-back."""
    return bool(state.unit[sm, RESULT_HEAD] != state.unit[sm, RESULT_TAIL])


@inlined
def next_result(state: Texture, sm: int) -> int:
    """Take the oldest result: the operation whose access it ends."""
    at = sm * state.result_ring + wrap(state.unit[sm, RESULT_HEAD], state.result_ring)
    state.unit[sm, RESULT_HEAD] += 1
    return int(state.result[at])


@inlined
def is_busy(state: Texture, sm: int) -> bool:
    """Whether the next cycle may do something without a response."""
    asks = state.unit[sm, REQUEST_HEAD] != state.unit[sm, REQUEST_TAIL]
    return bool(asks or has_result(state, sm) or is_first_there(state, sm))
