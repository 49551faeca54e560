"""Intervals of changes between two replays of one sample."""

import numpy as np
import pytest

from rayplay.zatel.changes.paired import change_intervals, paired_errors
from rayplay.zatel.sample.intervals import GROUPS, replicates


def paired(base: np.ndarray, new: np.ndarray, fraction: float) -> float:
    """``paired_errors`` of a metric with these values in two units of each stratum, of equal work."""
    found = ({"m": replicates(values, np.ones(2 * GROUPS))} for values in (base, new))
    return paired_errors(*found, fraction)["m"]


def test_an_error_that_both_replays_share_cancels() -> None:
    random = np.random.default_rng(2)
    uneven = random.lognormal(0.0, 0.5, 2 * GROUPS)
    assert paired(uneven, 0.7 * uneven, 0.1) == pytest.approx(0.0, abs=1e-12)
    assert paired(uneven, random.permutation(uneven), 0.1) > 0.03
    assert paired(uneven, random.permutation(uneven), 1.0) == 0.0


def test_the_sampling_error_of_a_change_is_its_scatter_over_samples() -> None:
    """Each unit of a sample is faster by its own factor; the standard error is the estimates' deviation."""
    random = np.random.default_rng(3)
    changes, errors = [], []
    for _ in range(400):
        uneven = random.lognormal(0.0, 0.5, 2 * GROUPS)
        new = uneven * random.lognormal(-0.2, 0.2, 2 * GROUPS)
        changes.append(np.log(new.sum() / uneven.sum()))
        errors.append(paired(uneven, new, 0.0))
    assert np.mean(errors) == pytest.approx(np.std(changes), rel=0.15)


def test_intervals_by_hand() -> None:
    twins = [{"a": 99.0}, {"a": 101.0}, {"a": 100.0}]  # standard deviation 1; of a difference from the mean sqrt(4/3)
    (found,) = change_intervals({"a": 0.0}, {"a": 0.0}, twins, 1.0).values()
    assert found == pytest.approx((-4.3027 * (4 / 3) ** 0.5 / 100, 4.3027 * (4 / 3) ** 0.5 / 100), rel=1e-4)
    wide, narrow = (change_intervals({"a": -0.5}, {"a": 0.0}, twins, left)["a"] for left in (1.0, 0.0))
    assert wide.low < narrow.low < -0.5 < narrow.high < wide.high
    assert change_intervals({"a": None}, {"a": 0.0}, twins, 1.0) == {"a": None}
    assert change_intervals({"a": 0.1}, {"a": float("nan")}, twins, 1.0) == {"a": None}
