"""Ticks of one clock by another: exact, however late and whatever the ratio."""

import numpy as np
import pytest

from rayplay.replay.jit.bits import entry_point
from rayplay.replay.unit import clocks
from rayplay.replay.unit.clocks import Ratio


@entry_point
def count(clock: Ratio, number: np.ndarray, found: np.ndarray) -> None:
    """``quotient`` of every number."""
    for row in range(number.size):
        found[row] = clocks.quotient(clock, number[row])


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
