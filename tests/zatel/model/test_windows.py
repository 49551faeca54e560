"""Bounds of windows, held against a sorted copy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rayplay.zatel.model import windows
from rayplay.zatel.model.windows import WINDOWS, window_bounds

TIMES = arrays(np.float64, st.integers(0, 700), elements=st.floats(0, 1e12, allow_subnormal=False))


def sorted_bounds(time: np.ndarray) -> np.ndarray:
    """The slow way."""
    if not len(time):
        return np.zeros(0)
    first = -(-np.arange(1, WINDOWS) * len(time) // WINDOWS)
    return np.sort(time)[np.minimum(first, len(time) - 1)]


@given(TIMES, st.sampled_from([1, 2, 7, windows.BINS]))
def test_bounds_are_those_of_sorted_times(time: np.ndarray, bins: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "BINS", bins)
        assert np.array_equal(window_bounds(time), sorted_bounds(time))


def test_times_that_are_all_equal() -> None:
    assert np.array_equal(window_bounds(np.full(1000, 3.5)), np.full(WINDOWS - 1, 3.5))
