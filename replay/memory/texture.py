"""Texture accesses of an SM that are no loads: a texture unit before the L1, or a texture cache.

Texture unit, peak rate: ``quads_per_cycle`` quads, one result per cycle. It takes texture instructions in order. The
lanes of ``quads_per_request`` quads are a request, of arrays, cubes and volumes ``quads_per_wide_request``, since a
coordinate more does not fit: their texels merge into 32 B sectors, which enter the L1's banks as
the LSU's do, but before them. A result is written back ``latency_cycles`` after the last texel of its instruction.
Source: ``docs/sources/crisp.md#textures``.

Texture cache, peak rate: one line looked up, one sector asked for, one result per cycle. Lines count as there once they
are asked for, and results keep the accesses' order. A texture instruction looks up its different lines, one per cycle,
the highest first, whatever its lanes want of them. A line that is not there takes the place of the one used longest ago
at once, and the sectors of the line are asked for; what follows finds it there. Every access enters the fragment queue,
which it leaves in order: a hit as soon as it is the first, a miss when its line has come.
Source: ``docs/sources/vulkan-sim.md#textures``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import FAR, inlined
from rayplay.replay.jit.rows import FixedRows, ring_size, wrap
from rayplay.replay.memory.cache import fill as cache_fill
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache import tags as cache_lines
from rayplay.replay.memory.cache.state import Cache, Policy
from rayplay.replay.memory.port import READ, TEXTURE, Port, may_send, send
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, count_for, make_shares

PATHS = ("l1", "unit", "cache")
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
# Of the texture unit:
QUEUE_HEAD = 9  # of the instructions
QUEUE_TAIL = 10
NEXT_REQUEST = 11  # first cycle in which a request may begin
BEGUN = 12  # cycle after the one in which the request began that has not entered the banks whole; 0: none
TAKEN = 13  # banks that it has entered in the last cycle that it ran
UNIT_COLUMNS = 14
HITS, MISSES, INSTRUCTIONS, REQUESTS, SECTORS = range(5)  # columns of stats
HIT = -1  # in place of a line under way


@dataclass(frozen=True)
class Spec:
    """Texture cache of an SM, and what goes there."""

    path: str = value(
        "word", "Where the texture accesses of PTX go: the SM's L1 as loads do, its texture unit, or its texture cache",
        choices=PATHS,
    )  # fmt: skip
    latency_cycles: int = value("cycles", "Of the texture unit: from the last texel to the result", 1)
    quads_per_cycle: int = value("quads", "Quads whose texels the texture unit asks for in a cycle", 1)
    quads_per_request: int = value("quads", "Neighbouring quads whose texels merge into sectors: 1, 2, 4 or 8", 1)
    quads_per_wide_request: int = value(
        "quads", "The same of textures with a third coordinate: arrays, cubes, volumes", 1
    )  # fmt: skip
    queue_entries: int = value("instructions", "Texture instructions that may wait in the texture unit", 1)
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
        for name in ("quads_per_request", "quads_per_wide_request"):
            law(getattr(self, name) in (1, 2, 4, 8), f"{name} must be 1, 2, 4 or 8, not {getattr(self, name)}")
        law(self.sets & (self.sets - 1) == 0, f"sets must be a power of two, not {self.sets}")

    @property
    def request_cycles(self) -> int:
        """Cycles from one request of the texture unit to the next: quads_per_request / quads_per_cycle, rounded up."""
        return -(-self.quads_per_request // self.quads_per_cycle)

    @property
    def wide_request_cycles(self) -> int:
        """The same after a request of a texture with a third coordinate."""
        return -(-self.quads_per_wide_request // self.quads_per_cycle)


class Texture(NamedTuple):
    """All SMs' texture units and caches; queue place p of SM s is row s * ring + wrap(p, ring)."""

    tags: Cache
    fragment: np.ndarray  # int64[sms * ring, 2]: operation of the LSU, place of its line under way or HIT
    request: np.ndarray  # int64[sms * ring, 3]: line number, its place among the lines under way, stream
    missing: np.ndarray  # int64[sms * ring]: sectors of a line under way that are still to come
    result: np.ndarray  # int64[sms * ring, 2]: operation, first cycle in which it may be written back
    queue: np.ndarray  # int64[sms * ring]: operations in the texture unit
    unit: np.ndarray  # int64[sms, UNIT_COLUMNS]
    stats: FixedRows  # int64[sms, 5]
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
    is_unit: bool  # a texture unit takes the place of the cache
    latency: int
    request_cycles: int
    wide_request_cycles: int
    queue_entries: int
    queue_ring: int


def make_state(spec: Spec, sms: int, operations: int, streams: int = 1) -> Texture:
    """Empty units. operations: memory instructions of an SM that may be under way."""
    is_unit = spec.path == "unit"
    policy = Policy(
        spec.line_bytes, spec.ways, "linear", "through", "on_miss", "none", 0, 1, 1, 1, SECTOR_BYTES, "lru", "reserve"
    )
    queues = (spec.fragments, spec.requests, spec.lines, operations if is_unit else spec.results)
    fragments, requests, lines, results = map(ring_size, queues)
    queue, stats = ring_size(spec.queue_entries), np.zeros((sms, SECTORS + 1), np.int64)
    return Texture(
        cache_state.make_state(policy, spec.sets, sms, spec.ways, 1),
        np.zeros((sms * fragments, 2), np.int64),
        np.zeros((sms * requests, 3), np.int64),
        np.zeros(sms * lines, np.int64),
        np.zeros((sms * results, 2), np.int64),
        np.zeros(sms * queue, np.int64),
        np.zeros((sms, UNIT_COLUMNS), np.int64),
        stats,
        make_shares(stats, streams),
        *queues, fragments, requests, lines, results, spec.line_bytes // SECTOR_BYTES,
        is_unit, spec.latency_cycles, spec.request_cycles, spec.wide_request_cycles, spec.queue_entries, queue,
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
        add_result(state, sm, state.fragment[at, 0], now)


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
def add_result(state: Texture, sm: int, operation: int, ready: int) -> None:
    """Append the result of an access, or of an instruction of the texture unit; later ones are ready no earlier."""
    at = sm * state.result_ring + wrap(state.unit[sm, RESULT_TAIL], state.result_ring)
    state.result[at, 0], state.result[at, 1] = operation, ready
    state.unit[sm, RESULT_TAIL] += 1


@inlined
def next_ready(state: Texture, sm: int) -> int:
    """First cycle in which a result may be written back."""
    if state.unit[sm, RESULT_HEAD] == state.unit[sm, RESULT_TAIL]:
        return FAR
    return int(state.result[sm * state.result_ring + wrap(state.unit[sm, RESULT_HEAD], state.result_ring), 1])


@inlined
def next_result(state: Texture, sm: int) -> int:
    """Take the oldest result: the operation whose access it ends."""
    at = sm * state.result_ring + wrap(state.unit[sm, RESULT_HEAD], state.result_ring)
    state.unit[sm, RESULT_HEAD] += 1
    return int(state.result[at, 0])


@inlined
def next_event(state: Texture, sm: int, now: int) -> int:
    """The next cycle that may do something without a response."""
    if state.is_unit:
        is_idle = state.unit[sm, QUEUE_HEAD] == state.unit[sm, QUEUE_TAIL]
        return min(next_ready(state, sm), FAR if is_idle else state.unit[sm, NEXT_REQUEST])
    asks = state.unit[sm, REQUEST_HEAD] != state.unit[sm, REQUEST_TAIL]
    return now + 1 if asks or is_first_there(state, sm) else next_ready(state, sm)


@inlined
def enter_unit(state: Texture, sm: int, operation: int) -> bool:
    """An instruction enters the texture unit; False where that is full."""
    unit = state.unit
    if unit[sm, QUEUE_TAIL] - unit[sm, QUEUE_HEAD] == state.queue_entries:
        return False
    state.queue[sm * state.queue_ring + wrap(unit[sm, QUEUE_TAIL], state.queue_ring)] = operation
    unit[sm, QUEUE_TAIL] += 1
    state.stats[sm, INSTRUCTIONS] += 1
    return True


@inlined
def next_instruction(state: Texture, sm: int, now: int) -> int:
    """The instruction with a request for the banks, or -1."""
    unit = state.unit
    if unit[sm, QUEUE_HEAD] == unit[sm, QUEUE_TAIL] or unit[sm, NEXT_REQUEST] > now:
        return -1
    return int(state.queue[sm * state.queue_ring + wrap(unit[sm, QUEUE_HEAD], state.queue_ring)])
