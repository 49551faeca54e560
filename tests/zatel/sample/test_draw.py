"""Stratified samples of CTAs."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.zatel.model.traffic import Traffic
from rayplay.zatel.sample.draw import LEAST_CTAS, OF_STRATUM, draw
from rayplay.zatel.sample.extrapolate import correct
from rayplay.zatel.sample.machine import Matched


@given(st.integers(LEAST_CTAS, 400), st.floats(0.02, 1.0), st.integers(0, 99))
def test_two_of_each_stratum_and_strata_cover_the_launch(count: int, fraction: float, seed: int) -> None:
    wanted = min(count, round(fraction * count))
    if wanted < LEAST_CTAS:
        with pytest.raises(UserError, match=f"must give at least {LEAST_CTAS} of the {count} CTAs"):
            draw(count, fraction, seed)
        return
    found = draw(count, fraction, seed)
    if wanted == count:
        assert found.all()
        return
    strata = wanted // OF_STRATUM
    assert found.sum() == OF_STRATUM * strata
    assert (np.bincount(np.arange(count) * strata // count, found) == OF_STRATUM).all()


def test_a_seed_is_a_sample() -> None:
    assert (draw(200, 0.2, 5) == draw(200, 0.2, 5)).all()
    assert (draw(200, 0.2, 5) != draw(200, 0.2, 6)).any()


def test_every_sample_is_drawn_as_often_as_any_other() -> None:
    """16 CTAs, four strata of four, so 6 pairs each: 6,000 seeds draw each pair of each stratum 1,000 times."""
    seen = np.zeros((4, 4, 4))
    for seed in range(6000):
        pairs = np.flatnonzero(draw(16, 0.5, seed)).reshape(4, 2)
        seen[np.arange(4), pairs[:, 0] % 4, pairs[:, 1] % 4] += 1
    drawn = seen[:, *np.triu_indices(4, 1)]
    assert (((drawn - 1000.0) ** 2 / 1000.0).sum(axis=1) < 20.5).all()  # chi-square of 5 degrees, 0.1 %


def test_corrected_counts_are_unbiased_over_all_samples_of_a_frame() -> None:
    """12 CTAs in three strata of four: 6^3 samples. Each CTA has its counts, in the replay and in the model."""
    random = np.random.default_rng(4)
    replayed, modelled = random.integers(0, 99, (2, 12, 7)).astype(float)
    truth, whole = replayed.sum(axis=0), Traffic(*modelled.sum(axis=0))
    found = []
    for pairs in product(*(combinations(range(first, first + 4), 2) for first in (0, 4, 8))):
        chosen = [one for pair in pairs for one in pair]
        part, counted = (Traffic(*of[chosen].sum(axis=0)) for of in (modelled, replayed))
        found.append(correct(Matched(1.0, whole, part), counted, 12 / 6)[:7])
    differences = [1, 3, 4, 5, 6]  # misses, write-backs and the L1s; the others are ratios
    np.testing.assert_allclose(np.mean(found, axis=0)[differences], truth[differences])
    assert np.std(found, axis=0).min() > 1.0
