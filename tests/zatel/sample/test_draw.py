"""Stratified samples of CTAs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.zatel.sample.draw import LEAST_CTAS, draw, imbalance


@given(st.integers(LEAST_CTAS, 400), st.floats(0.02, 1.0), st.integers(0, 99))
def test_one_of_each_stratum_and_strata_cover_the_launch(count: int, fraction: float, seed: int) -> None:
    wanted = min(count, round(fraction * count))
    controls = np.random.default_rng(seed).random((count, 2))
    if wanted < LEAST_CTAS:
        with pytest.raises(UserError, match=f"must give at least {LEAST_CTAS} of the {count} CTAs"):
            draw(controls, fraction, seed)
        return
    chosen, bounds = np.flatnonzero(draw(controls, fraction, seed)), -(-np.arange(wanted + 1) * count // wanted)
    assert np.diff(bounds).max() - np.diff(bounds).min() <= 1
    assert (np.searchsorted(bounds, chosen, side="right") - 1).tolist() == list(range(wanted))


def test_a_seed_is_a_sample() -> None:
    controls = np.random.default_rng(1).random((200, 1))
    assert (draw(controls, 0.2, 5) == draw(controls, 0.2, 5)).all()
    assert (draw(controls, 0.2, 5) != draw(controls, 0.2, 6)).any()


def test_draws_are_balanced_better_than_single_ones() -> None:
    work = np.random.default_rng(2).lognormal(size=(640, 1))
    off = [abs(work[draw(work, 0.05, seed)].mean() / work.mean() - 1) for seed in range(20)]
    single = [abs(work[seed::20].mean() / work.mean() - 1) for seed in range(20)]
    assert np.mean(off) < np.mean(single) / 4


def test_imbalance_by_hand() -> None:
    controls = np.array([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0], [6.0, 7.0]])  # mean 3, variance 5; 7 says nothing
    np.testing.assert_allclose(imbalance(controls, np.array([[0, 3], [0, 1]])), [0.0, 4.0 / 5.0])
