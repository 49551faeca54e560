"""The cache core driven alone: every answer, request, waiter and counter against its slow twin."""

import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rayplay.replay.jit.bits import entry_point
from rayplay.replay.memory.cache import access as cache
from rayplay.replay.memory.cache import fill as cache_fill
from rayplay.replay.memory.cache import mshr as cache_mshr
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache import tags as cache_lines
from rayplay.replay.memory.cache.state import Cache, Policy
from tests.reference.cache_slow import SlowCache, ipoly

READ, WRITE, FILL, NEXT, DRAIN, WARM, INVALIDATE = range(7)
ANSWERS = ("hit", "hit_reserved", "miss", "sector_miss", "fail")
KINDS = ("read", "write", "write_back")
AT = 1  # of two instances: the other one must stay untouched
ORDINARY = Policy(128, 4, "linear", "back", "on_miss", "lazy_fetch_on_read", 0, 6, 3, 8, 32, "lru", "reserve")


@entry_point
def drive(state: Cache, at: int, script: np.ndarray, answer: np.ndarray, sent: np.ndarray) -> int:
    """Do the operations of ``script`` (rows: operation, cycle, sector, index, mask, flag, waiter); count the requests.

    answer  int64[n, 3]: what the operation gave, first cycle the data port is free, whether a write is parked.
    sent    int64[requests, 4]: rows of the miss queue.
    """
    total = 0
    for step in range(script.shape[0]):
        operation, now, sector, index, mask, flag, waiter = script[step]
        queued = state.unit[at, cache_state.QUEUE_TAIL] - state.unit[at, cache_state.QUEUE_HEAD]
        before = state.unit[at, cache_state.QUEUE_TAIL]
        if operation == READ:
            answer[step, 0] = cache.read(state, at, now, sector, index, mask, flag, waiter, queued)
        elif operation == WRITE:
            answer[step, 0] = cache.write(state, at, now, sector, index, mask, flag, waiter, queued)
            answer[step, 2] = state.unit[at, cache_state.PARKED]
        elif operation == FILL:
            cache_fill.fill(state, at, now, cache_mshr.find_entry(state, at, sector))
        elif operation == NEXT:
            answer[step, 0] = cache_mshr.next_ready(state, at) if cache_mshr.has_ready(state, at) else -2
        elif operation == DRAIN:
            state.unit[at, cache_state.QUEUE_HEAD] += 1
        elif operation == WARM:
            cache_fill.warm(state, at, now, sector, index)
        else:
            cache_lines.invalidate(state, at)
        answer[step, 1] = state.unit[at, cache_state.DATA_FREE_AT]
        for place in range(before, state.unit[at, cache_state.QUEUE_TAIL]):
            for column in range(4):
                sent[total, column] = state.queue[at * state.ring + (place & (state.ring - 1)), column]
            total += 1
    return total


class Step(NamedTuple):
    """One operation of a script; a fill is of the missing sector that ``pick`` chooses."""

    after: int  # cycles since the operation before
    sector: int
    mask: int
    flag: bool
    operation: int
    pick: Callable[[list[int]], int]


MASKS = (0xFFFFFFFF, 0xFFFF, 0xFFFF0000, 0xF0)
MIX = (DRAIN,) * 36 + (READ,) * 36 + (WRITE,) * 22 + (NEXT,) * 18 + (FILL,) * 13 + (WARM,) * 2 + (INVALIDATE,)


def random_steps(seed: int, steps: int, sectors: int) -> Iterator[Step]:
    """Steps of a seed, which draws a fill's sector while the twin runs."""
    rng = random.Random(seed)
    for _ in range(steps):
        after, sector = rng.choice((0, 0, 1, 1, 3)), min(rng.randrange(sectors), rng.randrange(sectors))
        mask, flag = rng.choice(MASKS), rng.random() < 0.2
        operation = rng.choices((READ, WRITE, FILL, NEXT, DRAIN, WARM, INVALIDATE), (40, 25, 15, 20, 40, 2, 0.3))[0]
        yield Step(after, sector, mask, flag, operation, rng.choice)


def drawn_steps(codes: list[tuple[int, int]], sectors: int) -> Iterator[Step]:
    """Steps of drawn numbers; (0, 0) drains an empty queue, which does nothing."""
    for first, second in codes:
        operation, after, pick = MIX[first % 128], (0, 0, 1, 1, 3)[first // 128 % 5], first // 640
        sector = min(second % sectors, second // 300 % sectors)
        mask, flag = MASKS[second // 90_000 % 4], second // 360_000 == 4
        yield Step(after, sector, mask, flag, operation, lambda missing, pick=pick: missing[pick % len(missing)])


def run_twin(twin: SlowCache, steps: Iterator[Step]) -> tuple[list[Any], list[Any]]:
    """The operations that the twin could do, numbered by their waiters, and its answers."""
    script, found, now, drained = [], [], 0, 0
    for number, (after, sector, mask, flag, operation, pick) in enumerate(steps):
        now += after
        index = sector // twin.per_line * 3
        waiting = [entry for entry in twin.missing if entry not in twin.ready]
        queued = len(twin.sent) - drained
        if operation == FILL and waiting:
            sector = pick(waiting[:3])
        elif operation == FILL or (operation == DRAIN and not queued):
            continue
        answer = 0
        if operation == READ:
            answer = ANSWERS.index(twin.read(sector, index, mask, flag, number, now, queued))
        elif operation == WRITE:
            answer = ANSWERS.index(twin.write(sector, index, mask, flag, number, now, queued))
        elif operation == FILL:
            twin.fill(sector, now)
        elif operation == NEXT:
            answer = twin.next_ready() if twin.ready else -2
        elif operation == WARM:
            line = twin.settle(sector, index, now)
            if line is not None:
                twin.arrive(line, sector, 0)
        elif operation == INVALIDATE:
            twin.invalidate()
        drained += operation == DRAIN
        script.append((operation, now, sector, index, mask, flag, number))
        found.append((answer, twin.data_free_at, operation == WRITE and twin.parked))
    return script, found


def check(policy: Policy, sets: int, chosen: int | list[tuple[int, int]], steps: int = 1500) -> SlowCache:
    """Run one script, of a seed or of drawn numbers, through both; returns the twin."""
    twin, sectors = SlowCache(policy, sets), 4 * sets * policy.ways * policy.line_bytes // 64
    made = random_steps(chosen, steps, sectors) if isinstance(chosen, int) else drawn_steps(chosen, sectors)
    script, expected = run_twin(twin, made)
    state = cache_state.make_state(policy, sets, 2, policy.ways + 1, policy.mshr_entries)
    answer, sent = np.zeros((len(script), 3), np.int64), np.zeros((len(twin.sent) + 8, 4), np.int64)
    total = drive(state, AT, np.array(script, np.int64).reshape(-1, 7), answer, sent)
    assert answer.tolist() == [list(map(int, row)) for row in expected]
    requests = [(KINDS[kind], sector, mask, -1 if kind == 0 else payload) for kind, sector, mask, payload in sent]
    assert requests[:total] == twin.sent
    assert {
        name: int(value)
        for name, value in zip(cache_state.COUNTERS, state.stats[AT, : cache_state.TEXTURE], strict=True)
    } == {name: twin.count[name] for name in cache_state.COUNTERS}
    assert state.unit[AT, cache_state.DIRTY_LINES] == twin.dirty_lines
    assert not state.stats[0].any()
    assert (state.order[: 2 * sets] == -1).all()
    return twin


POLICIES = {
    "L2 of an RTX 2060": ORDINARY,
    "L1 of an RTX 2060": dataclasses.replace(ORDINARY, write_policy="through", dirty_percent=25),
    "streaming L1": dataclasses.replace(
        ORDINARY, write_policy="evict_global", allocate="on_fill", write_allocate="none"
    ),
    "naive": dataclasses.replace(ORDINARY, write_policy="through", write_allocate="naive"),
    "whole sectors": dataclasses.replace(ORDINARY, write_allocate="lazy_whole_sectors"),
    "fetch on write": dataclasses.replace(ORDINARY, write_allocate="fetch_on_write", dirty_percent=40),
    "evict": dataclasses.replace(ORDINARY, write_policy="evict", write_allocate="none"),
    "lines of one sector": dataclasses.replace(ORDINARY, line_bytes=32, set_hash="xor", mshr_merges=2),
    "first in, first out": dataclasses.replace(ORDINARY, replacement="fifo", dirty_percent=10),
    "late reads pass": dataclasses.replace(ORDINARY, late_reads="pass"),
    "narrow port": dataclasses.replace(ORDINARY, port_bytes=16, miss_queue=4),
}

# Impossible: pending hits without reserved lines, write-backs of what the next level has.
NEVER = {
    "L1 of an RTX 2060": {"write_backs"},
    "streaming L1": {"write_backs", "read_pending_hits", "write_pending_hits"},
    "naive": {"write_backs"},
    "lines of one sector": {"write_sector_misses"},
}


@pytest.mark.parametrize("name", POLICIES)
def test_every_answer_request_and_counter_is_the_slow_twins(name: str) -> None:
    counted: dict[str, int] = {}
    for seed in range(4):
        for counter, value in check(POLICIES[name], 4, seed).count.items():
            counted[counter] = counted.get(counter, 0) + value
    assert {counter for counter in cache_state.COUNTERS if not counted.get(counter)} == NEVER.get(name, set())


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Up to 250 operations, as ``drawn_steps`` reads them."""
    code = st.tuples(st.integers(0, 128 * 5 * 3 - 1), st.integers(0, 300 * 300 * 4 * 5 - 1))
    return [draw(code) for _ in range(draw(st.integers(1, 400)))]


@example(
    32, 9, "through", ("on_miss", "none"), 0, 3, 1, 9, 3, 35401, "lru", "reserve"
)  # forgotten, brought back, forgotten again
@example(
    32, 1, "evict", ("on_miss", "fetch_on_write"), 0, 1, 1, 4, 1, 468, "lru", "reserve"
)  # dirty on a fill after it was dropped
@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from((32, 64, 128)), st.integers(1, 70), st.sampled_from(cache_state.WRITE_POLICIES),
    st.sampled_from((("on_miss", "none"), ("on_miss", "naive"), ("on_miss", "fetch_on_write"),
                     ("on_miss", "lazy_fetch_on_read"), ("on_miss", "lazy_whole_sectors"), ("on_fill", "none"))),
    st.integers(0, 100), st.integers(1, 9), st.integers(1, 4), st.integers(4, 9), st.integers(1, 3),
    scripts(), st.sampled_from(cache_state.REPLACEMENTS), st.sampled_from(cache_state.LATE_READS),
)  # fmt: skip
def test_any_policy_behaves_as_the_slow_twins(
    line_bytes: int, ways: int, write_policy: str, allocate: tuple[str, str], dirty_percent: int, entries: int,
    merges: int, miss_queue: int, sets: int, script: int | list[tuple[int, int]],
    replacement: str, late_reads: str,
) -> None:  # fmt: skip
    if allocate[0] == "on_fill" and write_policy == "back":
        write_policy = "through"
    policy = Policy(
        line_bytes,
        ways,
        "linear",
        write_policy,
        *allocate,
        dirty_percent,
        entries,
        merges,
        miss_queue,
        32,
        replacement,
        late_reads if allocate[1] in ("none", "lazy_fetch_on_read", "lazy_whole_sectors") else "reserve",
    )
    check(policy, sets, script, 250)


@entry_point
def sets_of(state: Cache, lines: np.ndarray, found: np.ndarray) -> None:
    for place in range(lines.size):
        found[place] = cache_state.set_of(state, lines[place])


# Address bits above the index that each bit of an IPOLY set number depends on, as Accel-Sim's equations list them.
EQUATIONS = {
    16: [(0, 3, 4, 6, 8, 9, 10, 11), (0, 1, 3, 5, 6, 7, 8, 12), (1, 2, 4, 6, 7, 8, 9), (2, 3, 5, 7, 8, 9, 10)],
    32: [
        (0, 3, 5, 6, 9, 10, 11, 12, 13), (1, 4, 6, 7, 10, 11, 12, 13, 14), (0, 2, 3, 6, 7, 8, 9, 10, 14),
        (1, 3, 4, 7, 8, 9, 10, 11), (2, 4, 5, 8, 9, 10, 11, 12),
    ],
    64: [
        (0, 5, 6, 10, 12, 15, 16, 17, 18), (0, 1, 5, 7, 10, 11, 12, 13, 15), (1, 2, 6, 8, 11, 12, 13, 14, 16),
        (2, 3, 7, 9, 12, 13, 14, 15, 17), (3, 4, 8, 10, 13, 14, 15, 16, 18), (4, 5, 9, 11, 14, 15, 16, 17),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("sets", "line_bytes"), [(32, 128), (64, 128), (64, 64), (4, 128)])
def test_fermis_hash_takes_five_bits_and_adds_five_others(sets: int, line_bytes: int) -> None:
    """Address bits 13, 14, 15, 17 and 19 change one bit each; of 64 sets bit 12 is the highest. Else set 0 is used."""
    changes = {bit: 1 << bit - 7 if line_bytes == 128 else 1 << bit - 6 for bit in range(7, 11)}
    changes |= {11: 16 if line_bytes == 128 else 0, 12: 32, 13: 1, 14: 2, 15: 4, 16: 0, 17: 8, 18: 0, 19: 16, 20: 0}
    addresses = np.array([0, *(1 << bit for bit in changes)])
    policy, found = dataclasses.replace(ORDINARY, set_hash="fermi", line_bytes=line_bytes), np.zeros_like(addresses)
    sets_of(cache_state.make_state(policy, sets, 1, 4, 6), addresses // line_bytes, found)
    assert found.tolist() == [0, *(change % sets if sets > 4 else 0 for change in changes.values())]


@pytest.mark.parametrize("sets", EQUATIONS)
def test_ipoly_is_the_references_equations(sets: int) -> None:
    width = sets.bit_length() - 1
    state = cache_state.make_state(dataclasses.replace(ORDINARY, set_hash="ipoly"), sets, 1, 4, 6)
    lines = np.random.default_rng(1).integers(0, 1 << 40, 2000)
    found = np.zeros_like(lines)
    sets_of(state, lines, found)
    expected = lines * 0
    for bit, places in enumerate(EQUATIONS[sets]):
        parity = lines >> bit & 1
        for place in places:
            parity ^= lines >> width + place & 1
        expected |= parity << bit
    assert found.tolist() == expected.tolist() == [ipoly(line, sets) for line in lines.tolist()]


def test_any_number_of_sets_is_used_evenly_by_the_multiplicative_hash() -> None:
    state = cache_state.make_state(dataclasses.replace(ORDINARY, set_hash="multiplicative"), 384, 1, 4, 6)
    lines = np.arange(0, 384 * 4096, 16)
    found = np.zeros_like(lines)
    sets_of(state, lines, found)
    used = np.bincount(found, minlength=384)
    assert used.min() > 0
    assert used.max() < 1.2 * used.mean()
