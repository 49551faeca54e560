"""Ticks of one clock by another: exact, however late and whatever the ratio, and as sums in doubles have them."""

import numpy as np
import pytest

from rayplay.replay.jit.bits import entry_point
from rayplay.replay.unit import clocks
from rayplay.replay.unit.clocks import Ratio

LATE = {  # core and DRAM of a GPU -> the first coincidences at which sums in doubles have the DRAM after the core
    (1_365_000, 3_500_500): [1, 2, 6, 7, 8, 9],
    (1_132_000, 3_500_500): [1, 2, 6, 7, 8, 9],
    (1_132_000, 850_000): [1, 5, 6, 7, 8, 21],
}


@entry_point
def count(clock: Ratio, number: np.ndarray, found: np.ndarray) -> None:
    """``quotient`` of every number."""
    for row in range(number.size):
        found[row] = clocks.quotient(clock, number[row])


@entry_point
def convert(clock: Ratio, number: np.ndarray, last: np.ndarray, first: np.ndarray) -> None:
    """``at_or_before`` and ``at_or_after`` of every tick."""
    for row in range(number.size):
        last[row] = clocks.at_or_before(clock, number[row])
        first[row] = clocks.at_or_after(clock, number[row])


def added(khz: int, ticks: int) -> np.ndarray:
    """The sums of 0 to ``ticks`` periods, one addition after the other."""
    return np.concatenate([[0.0], np.cumsum(np.full(ticks, 1 / (khz / 1000 * 1e6)))])


@pytest.mark.parametrize(("first_khz", "second_khz"), list(LATE))
def test_coincident_ticks_come_apart_where_accel_sim_adds_doubles(first_khz: int, second_khz: int) -> None:
    clock = clocks.ratio(first_khz, second_khz, summed=True)
    ties = np.arange(1, 200) * clock.down
    last, first = np.zeros_like(ties), np.zeros_like(ties)
    convert(clock, ties, last, first)
    tied = np.arange(1, 200) * clock.up
    assert (np.flatnonzero(last < tied)[:6] + 1).tolist() == LATE[first_khz, second_khz]
    convert(clocks.ratio(first_khz, second_khz), ties, last, first)
    assert (last == tied).all()
    assert (first == tied).all()


@pytest.mark.parametrize("seed", range(12))
def test_summed_ticks_are_those_of_the_additions(seed: int) -> None:
    """Three million additions, after which ticks have changed places that no fraction has together."""
    rng, pairs = np.random.default_rng(seed), list(LATE)
    clock_pair = [*pairs[seed % 3]] if seed < 6 else rng.integers(1_000, 4_000_000, 2).tolist()
    first_khz, second_khz = sorted(clock_pair, reverse=bool(seed % 2))
    clock = clocks.ratio(first_khz, second_khz, summed=True)
    ticks = 3_000_000
    mine, other = added(first_khz, ticks), added(second_khz, ticks)
    number = np.unique(np.concatenate([np.arange(3000), rng.integers(0, ticks, 300_000), [ticks - 1]]))
    number = number[mine[number] < other[-1]]
    last, first = np.zeros_like(number), np.zeros_like(number)
    convert(clock, number, last, first)
    assert (last == np.searchsorted(other, mine[number], "right") - 1).all()
    assert (first == np.searchsorted(other, mine[number], "left")).all()


@pytest.mark.parametrize("khz", [1_365_000, 3_500_500, 850_000, 1_000_000, 1, 2_147_483])
def test_a_stretch_of_sums_continues_as_the_additions_do(khz: int) -> None:
    """At the ends of stretches up to 2^52 ticks, and from places inside them."""
    period = 1 / (khz / 1000 * 1e6)
    period *= 2.0 ** -np.floor(np.log2(period))
    table = clocks.sums(period)
    table = table[np.isfinite(table[:, clocks.TICK])]
    assert table[-1, clocks.TICK] > 1 << 50
    rng = np.random.default_rng(khz)
    for row, (tick, time, step) in enumerate(table[:-1, : clocks.STEP + 1].tolist()):
        length = table[row + 1, clocks.TICK] - tick
        for place in {0, length - 1, *rng.integers(0, length, 3)} if length > 1 else {0}:
            assert time + place * step + period == time + (place + 1) * step
        assert time + length * step == table[row + 1, clocks.TIME]


@pytest.mark.parametrize("seed", range(20))
def test_a_quotient_is_that_of_a_division(seed: int) -> None:
    rng = np.random.default_rng(seed)
    down = int(rng.integers(1, 1 << int(rng.integers(1, 33)))) if seed else 1
    clock = clocks.ratio(down, down + 1)  # no common divisor
    places = rng.integers(0, (1 << 62) // down, 2000) * down
    number = np.concatenate([places, places + down - 1, rng.integers(0, 1 << 62, 2000), np.arange(50)])
    number = number[number < 1 << 62]
    found = np.zeros_like(number)
    count(clock, number, found)
    assert (found == number // down).all()
