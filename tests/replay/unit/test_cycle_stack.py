"""The cycle stack against a slot-by-slot division in exact fractions, on random lives of one SM's warps."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from rayplay.replay.jit.bits import entry_point
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit.cycle_stack import (
    BARRIER,
    BUSY_LSU,
    BUSY_UNIT,
    DATA,
    IDLE,
    ISSUE,
    MEMORY,
    REASONS,
    RT_UNIT,
    UNIT,
)

SCHEDULERS, WARPS, CYCLES = 2, 24, 400
JOIN, LEAVE, BEGIN, END, OBSERVE, ISSUE_NOW = range(6)


class Core(NamedTuple):
    slot: np.ndarray
    wait: np.ndarray


@entry_point
def play(state: Core, events: np.ndarray) -> None:
    """Events are rows: cycle, kind, warp or scheduler, reason or warps refused by a unit, by the LSU."""
    for index in range(events.shape[0]):
        now, kind, which, more, lsu = events[index]
        if kind == JOIN:
            stack.change_live(state, which % SCHEDULERS, now, 1)
        elif kind == LEAVE:
            stack.change_live(state, which % SCHEDULERS, now, -1)
        elif kind == BEGIN:
            stack.begin_wait(state, which % SCHEDULERS, which, now, more)
        elif kind == END:
            stack.end_wait(state, which % SCHEDULERS, which, now)
        elif kind == OBSERVE:
            stack.observe(state, which, now, more | lsu << 8)
        else:
            stack.issued(state, which, now)


def random_life(seed: int, warps: int) -> tuple[np.ndarray, np.ndarray]:
    """Events, and what the slots went to: Fraction[CYCLES, SCHEDULERS, reasons] as an object array."""
    rng = np.random.default_rng(seed)
    events, live, waits = [], set(), {}
    truth = np.full((CYCLES, SCHEDULERS, len(REASONS)), Fraction(0), object)
    for now in range(CYCLES):
        for warp in rng.permutation(warps).tolist():
            if warp not in live and rng.random() < 0.05:
                live.add(warp)
                events.append((now, JOIN, warp, 0, 0))
            elif warp in live and warp not in waits and rng.random() < 0.2:
                waits[warp] = int(rng.choice([RT_UNIT, MEMORY, BARRIER]))
                events.append((now, BEGIN, warp, waits[warp], 0))
            elif warp in waits and rng.random() < 0.1:
                del waits[warp]
                events.append((now, END, warp, 0, 0))
            elif warp in live and warp not in waits and rng.random() < 0.03:
                live.discard(warp)
                events.append((now, LEAVE, warp, 0, 0))
        for row in range(SCHEDULERS):
            here = sorted(warp for warp in live if warp % SCHEDULERS == row)
            free = [warp for warp in here if warp not in waits]
            ready = free[: int(rng.integers(0, len(free) + 1))]
            if ready and rng.random() < 0.5:
                events.append((now, OBSERVE, row, 0, 0))
                events.append((now, ISSUE_NOW, row, 0, 0))
                truth[now, row, ISSUE] += 1
                continue
            by_unit = int(rng.integers(0, len(ready) + 1))
            events.append((now, OBSERVE, row, by_unit, len(ready) - by_unit))
            divide(truth[now, row], here, waits, ready, by_unit)
    return np.array(events, np.int64), truth


def divide(slot: np.ndarray, here: list[int], waits: dict[int, int], ready: list[int], by_unit: int) -> None:
    """Divide one slot without an issue among the live warps."""
    if not here:
        slot[IDLE] += 1
    for warp in here:
        reason = waits.get(warp, DATA)
        if warp in ready:
            reason = BUSY_UNIT if ready.index(warp) < by_unit else BUSY_LSU
        slot[reason] += Fraction(1, len(here))


@pytest.mark.parametrize("seed", range(10))
def test_a_slot_is_divided_among_the_live_warps(seed: int) -> None:
    events, truth = random_life(seed, WARPS)
    for until in (CYCLES, CYCLES // 2, 1):
        state = Core(*stack.make_arrays(SCHEDULERS, WARPS))
        play(state, events[events[:, 0] < until])
        found = stack.parts_until(state, WARPS, SCHEDULERS, until)
        expected = truth[:until].sum(axis=(0, 1)) * UNIT
        assert found.tolist() == [expected.tolist()]
        assert found.sum() == until * SCHEDULERS * UNIT


def test_more_warps_than_the_unit_divides_still_sum_to_the_slots() -> None:
    events, truth = random_life(3, 120)
    state = Core(*stack.make_arrays(SCHEDULERS, 120))
    play(state, events)
    found = stack.parts_until(state, 120, SCHEDULERS, CYCLES)
    assert found.sum() == CYCLES * SCHEDULERS * UNIT
    assert np.abs(found - truth.sum(axis=(0, 1)).astype(float) * UNIT).max() < 1e-4 * found.sum()


def test_the_integral_of_live_warps() -> None:
    events, _ = random_life(5, WARPS)
    state = Core(*stack.make_arrays(SCHEDULERS, WARPS))
    play(state, events)
    joined = events[events[:, 1] == JOIN, 0]
    left = events[events[:, 1] == LEAVE, 0]
    assert stack.warp_cycles_until(state, SCHEDULERS, CYCLES) == (CYCLES - joined).sum() - (CYCLES - left).sum()


def test_parts_become_whole_slots_with_the_same_sum() -> None:
    rng = np.random.default_rng(1)
    parts = rng.integers(0, 50 * UNIT, (40, len(REASONS)))
    parts[:, DATA] += -parts.sum(axis=1) % UNIT
    slots = stack.whole_slots(parts)
    assert (slots.sum(axis=1) * UNIT == parts.sum(axis=1)).all()
    assert (np.abs(slots * UNIT - parts) < UNIT).all()
