"""Special instructions of GATSim's timing model: units that are occupied, and what memory takes (GATSim II-D, II-E).

Load/store and special-function units of an SM are each occupied for the whole latency of their instruction. A memory
instruction takes the sum of the latencies of its different cache lines: hits all of them (``perfect``), or as an L1
that is tags alone says (``behavioural``). Peak rate: units / latency instructions per cycle and SM.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.sm import warps
from rayplay.replay.unit.schema import law, value

CACHES = ("perfect", "behavioural")
PLACES = 64  # CTAs an SM holds, units of a kind
REGULAR, SFU, RT = 0, 3, 5  # what FUFree() tells apart besides LSU, at their places in formats.trace.UNITS
READ_HITS, READ_MISSES, WRITE_HITS, WRITE_MISSES = range(4)  # columns of lines
COUNTERS = ("read_hits", "read_misses", "write_hits", "write_misses")


@dataclass(frozen=True)
class Spec:
    """Parameters that the model ``gatsim`` alone reads."""

    caches: str = value("name", "Perfect: every line hits; behavioural: an L1 of tags alone", choices=CACHES)
    load_store_units: int = value("count", "Memory instructions an SM executes at a time", 1)
    special_units: int = value("count", "Special-function instructions an SM executes at a time", 1)
    hit_cycles: int = value("cycles", "A line of a memory instruction that hits", 1)
    miss_cycles: int = value("cycles", "A line of a memory instruction that misses", 1)
    shared_cycles: int = value("cycles", "A shared-memory instruction without bank conflicts", 1)
    record_cycles: int = value("cycles", "A BVH record of a trace operation's longest lane; 0 refuses rays", 0)
    trace_units: int = value("count", "Trace operations an SM executes at a time", 1)

    def __post_init__(self) -> None:
        for name in ("load_store_units", "special_units", "trace_units"):
            law(getattr(self, name) <= PLACES, f"{name} must be at most {PLACES}, not {getattr(self, name)}")


class Gatsim(NamedTuple):
    """Threadblocks, units and tags of all SMs; their warps and schedulers are a ``scheduler.Warps``."""

    clock: np.ndarray  # int64[sms]: T_s
    next_cta: np.ndarray  # int64[sms]: the SM's next CTA, a row of bounds
    free_places: np.ndarray  # int64[sms]: places without a CTA, as a mask
    bounds: np.ndarray  # int64[CTAs, 2]: first warp and end
    busy: np.ndarray  # int64[sms * UNITS, PLACES]: cycle at which each unit of a kind becomes free
    free_at: np.ndarray  # int64[sms * UNITS]: the least of them
    units: np.ndarray  # int64[UNITS]: units of a kind
    local: np.ndarray  # bool[instructions]: accesses local memory
    tag: np.ndarray  # int64[sms * sets, ways]: lines, the most recently used first; -1 for none
    lines: np.ndarray  # int64[sms, 4]
    warps_per_cta: int
    hit_cycles: int
    miss_cycles: int
    shared_cycles: int
    record_cycles: int
    line_shift: int  # log2 of the sectors of a line
    perfect: bool


def make_state(
    spec: Spec, sms: int, places: int, warps_per_cta: int, bounds: np.ndarray, cache: tuple[int, int, int],
    local: np.ndarray, start: int,
) -> Gatsim:  # fmt: skip
    """SMs at cycle ``start`` before their first CTA; ``cache`` is the L1's sets, ways and bytes of a line."""
    count = np.full(warps.UNITS, 1)
    count[[op.LSU, SFU, RT]] = spec.load_store_units, spec.special_units, spec.trace_units
    sets, ways, line_bytes = cache
    return Gatsim(
        np.full(sms, start),
        np.arange(sms),
        np.full(sms, (1 << places) - 1 if places < PLACES else -1),
        bounds,
        np.zeros((sms * warps.UNITS, PLACES), np.int64),
        np.zeros(sms * warps.UNITS, np.int64),
        count,
        local,
        np.full((sms * sets, ways), -1),
        np.zeros((sms, len(COUNTERS)), np.int64),
        warps_per_cta, spec.hit_cycles, spec.miss_cycles, spec.shared_cycles, spec.record_cycles,
        (line_bytes // op.SECTOR_BYTES).bit_length() - 1, spec.caches == "perfect",
    )  # fmt: skip


@inlined
def special_cycles(state: Gatsim, work: op.Work, longest: np.ndarray, sm: int, warp: np.ndarray, code: int) -> int:
    """HandleSpecial(): cycles a memory, special-function or trace instruction takes in its unit."""
    if code & 15 == SFU:
        return max((((code >> op.INITIATION_SHIFT) & 0xFFFF) * warp[warps.THREADS] + 31) // 32, 1)
    if code & 15 == RT:
        return max(state.record_cycles * longest[warp[warps.TRACE]], 1)
    warp[warps.ACCESS] += 1
    is_load, is_local = (code >> op.KIND_SHIFT) & 15 == op.LOAD, state.local[warp[warps.INSTRUCTION]]
    return memory_cycles(state, work, sm, warp[warps.ACCESS] - 1, is_load, is_local)


@inlined
def occupy(state: Gatsim, kind: int, count: int, now: int, until: int) -> None:
    """Occupy a free unit of a kind; ``free_at`` is when the next one is free."""
    busy, taken, soonest = state.busy[kind], False, FAR
    for unit in range(count):
        if busy[unit] <= now and not taken:
            busy[unit], taken = until, True
        soonest = min(soonest, busy[unit])
    state.free_at[kind] = soonest


@compiled
def memory_cycles(state: Gatsim, work: op.Work, sm: int, access: int, is_load: bool, is_local: bool) -> int:
    """Sum of the hit and miss latencies of the different lines of an access, or a shared access with its conflicts."""
    if work.conflict[access]:
        return state.shared_cycles + work.conflict[access] - 1
    cycles, last = 0, -1
    for at in range(work.access_first[access], work.access_first[access + 1]):
        line = work.sector[at] >> state.line_shift
        if line != last:
            hit = state.perfect or look_up(state, sm, line, is_load, is_local)
            state.lines[sm, (READ_HITS if is_load else WRITE_HITS) + (not hit)] += 1
            cycles += state.hit_cycles if hit else state.miss_cycles
            last = line
    return max(cycles, 1)


@compiled
def look_up(state: Gatsim, sm: int, line: int, is_load: bool, is_local: bool) -> bool:
    """Whether the L1 has a line. Loads allocate, stores to local memory do not, and a global store that hits evicts."""
    sets = state.tag.shape[0] // state.clock.shape[0]
    ways = state.tag[sm * sets + line % sets]
    place = 0
    while place < ways.size - 1 and ways[place] != line:
        place += 1
    hit = ways[place] == line
    if hit and not is_load and not is_local:
        for at in range(place, ways.size - 1):
            ways[at] = ways[at + 1]
        ways[ways.size - 1] = -1
    elif hit or is_load:
        for at in range(place, 0, -1):
            ways[at] = ways[at - 1]
        ways[0] = line
    return hit


def stats(state: Gatsim) -> dict[str, np.ndarray]:
    """Lines of memory instructions per SM."""
    return {name: state.lines[:, index] for index, name in enumerate(COUNTERS)}
