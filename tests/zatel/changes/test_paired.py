"""Intervals of changes between two replays of one sample."""

import numpy as np
import pytest

from rayplay.zatel.changes.paired import change_intervals, equal_work, paired_errors, satterthwaite
from rayplay.zatel.sample.replay import COUNTED, Replayed


def replayed(cycles: np.ndarray, work: np.ndarray) -> Replayed:
    """A timeline with these cycles and this work in each row; all else is in proportion to the work."""
    rows = {name: work.astype(float) for name in COUNTED} | {"cycles": cycles.astype(float)}
    return Replayed({}, rows, {}, 0.0)


def test_stretches_of_equal_work_are_the_same_whatever_the_rows() -> None:
    random = np.random.default_rng(1)
    work = random.uniform(1.0, 2.0, 960)
    coarse = {name: values.reshape(-1, 4).sum(axis=1) for name, values in replayed(3 * work, work).intervals.items()}
    for found in (equal_work(replayed(3 * work, work).intervals), equal_work(coarse)):
        assert found["cycles"] == pytest.approx(np.full(24, 3 * work.sum() / 24))


def test_an_error_that_both_replays_share_cancels() -> None:
    random = np.random.default_rng(2)
    work, uneven = np.ones(240), random.lognormal(0.0, 0.5, 240)
    base, faster = replayed(uneven, work), replayed(0.7 * uneven, work)
    assert paired_errors(base, faster, 0.1)["gpu_cycles"] == pytest.approx(0.0, abs=1e-12)
    other = paired_errors(base, replayed(random.permutation(uneven), work), 0.1)["gpu_cycles"]
    assert other > 0.03
    assert paired_errors(base, replayed(random.permutation(uneven), work), 1.0)["gpu_cycles"] == 0.0


def test_the_sampling_error_of_a_change_is_its_scatter_over_samples() -> None:
    """Each of 24 stretches of a sample is faster by its own factor; the standard error is the estimates' deviation."""
    random = np.random.default_rng(3)
    changes, errors = [], []
    for _ in range(400):
        uneven = random.lognormal(0.0, 0.5, 24)
        new = uneven * random.lognormal(-0.2, 0.2, 24)
        changes.append(np.log(new.sum() / uneven.sum()))
        errors.append(paired_errors(replayed(uneven, np.ones(24)), replayed(new, np.ones(24)), 0.0)["gpu_cycles"])
    assert np.mean(errors) == pytest.approx(np.std(changes), rel=0.15)


def test_intervals_by_hand() -> None:
    twins = [{"a": 99.0}, {"a": 101.0}, {"a": 100.0}]  # standard deviation 1; of a difference from the mean sqrt(4/3)
    (found,) = change_intervals({"a": 0.0}, {"a": 0.0}, twins, 1.0).values()
    assert found == pytest.approx((-4.3027 * (4 / 3) ** 0.5 / 100, 4.3027 * (4 / 3) ** 0.5 / 100), rel=1e-4)
    wide, narrow = (change_intervals({"a": -0.5}, {"a": 0.0}, twins, left)["a"] for left in (1.0, 0.0))
    assert wide.low < narrow.low < -0.5 < narrow.high < wide.high
    assert change_intervals({"a": None}, {"a": 0.0}, twins, 1.0) == {"a": None}
    assert change_intervals({"a": 0.1}, {"a": float("nan")}, twins, 1.0) == {"a": None}


def test_degrees_of_freedom_lie_between_the_least_and_the_sum() -> None:
    assert satterthwaite([1.0, 0.0], [5, 20]) == 5
    assert satterthwaite([1.0, 1.0], [8, 8]) == 16
    assert satterthwaite([0.0, 0.0], [5, 20]) == 5
