"""Confidence intervals: by hand, and how often they cover what they should."""

import numpy as np
import pytest

from rayplay.zatel.model.traffic import Traffic
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.extrapolate import correct
from rayplay.zatel.sample.intervals import (
    GROUPS,
    equal_work,
    half_width,
    of_metrics,
    ratios,
    replicates,
    satterthwaite,
    standard_error,
)
from rayplay.zatel.sample.machine import Matched

NAMES = (
    "instructions", "records", "cycles", "l1d_misses", "l1d_hits", "l2_misses", "l2_hits", "rt_efficiency_sum",
    "rt_warps", "data_ticks", "active_ticks",
)  # fmt: skip


def test_replicates_by_hand() -> None:
    above, below = np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)  # ratio 2.5; without the first: 3, 3, 2, 4 of 4
    np.testing.assert_allclose(replicates(above, below), np.log([12 / 10, 12 / 10]))
    assert np.isnan(replicates(above, np.zeros(4))).all()
    assert standard_error(np.array([0.3, -0.4]), 0.75) == pytest.approx(0.25)


def test_replicates_are_groups_of_strata() -> None:
    above = np.random.default_rng(1).uniform(1, 2, 4 * GROUPS)
    found, strata = replicates(above, np.ones(len(above))), above.reshape(-1, 2)
    first = strata[[0, GROUPS]]
    assert len(found) == GROUPS
    assert found[0] == pytest.approx(np.log(1 + (first[:, 1] - first[:, 0]).sum() / above.sum()))


def test_the_jackknife_is_the_variance_of_stratified_ratios() -> None:
    """48 strata of ten CTAs with a trend from top to bottom, two drawn of each: standard errors as samples scatter."""
    random = np.random.default_rng(7)
    size = random.uniform(90, 110, (48, 10))
    cycles = size * np.linspace(0.1, 0.5, 48)[:, None] + random.normal(0, 4, size.shape)
    truth, covered, estimates, errors = cycles.sum() / size.sum(), 0, [], []
    for _ in range(400):
        drawn = np.argsort(random.random(size.shape), axis=1)[:, :2]
        above, below = (np.take_along_axis(of, drawn, 1).ravel() for of in (cycles, size))
        found, error = above.sum() / below.sum(), standard_error(replicates(above, below), 0.2)
        covered += abs(found - truth) <= half_width([error], [GROUPS]) * found
        estimates.append(found)
        errors.append(error)
    assert 0.92 <= covered / 400 <= 0.98
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(estimates) / truth, rel=0.1)


def test_a_half_width_by_hand() -> None:
    # hypot 0.05, Student's t of 10 degrees at 97.5 %: 2.2281
    assert half_width((0.05, 0.0), (10, 3)) == pytest.approx(0.111407, rel=1e-4)


def test_degrees_of_freedom_by_hand() -> None:
    assert satterthwaite([1.0, 1.0], [10, 10]) == 20
    assert satterthwaite([1.0, 2.0], [10, 4]) == 6  # (1 + 4)^2 / (1 / 10 + 16 / 4)
    assert satterthwaite([0.0, 0.0], [10, 4]) == 4


def test_stretches_of_equal_work() -> None:
    counted = {"instructions": np.array([1.0, 3.0]), "records": np.array([1.0, 3.0]), "cycles": np.array([1.0, 1.0])}
    found = equal_work(counted)
    np.testing.assert_allclose(found["instructions"], 4 / (2 * GROUPS))
    np.testing.assert_allclose(found["cycles"][: GROUPS // 2], 4 / (2 * GROUPS))  # a quarter of the work, half the time
    np.testing.assert_allclose(found["cycles"].sum(), 2.0)


def test_every_metric_has_its_ratio_and_cycles_follow_warps() -> None:
    found = ratios({name: np.array([1.0, 2.0]) for name in NAMES[:7]} | {name: np.ones(2) for name in NAMES[7:]})
    assert found["l2_miss_rate"][1].tolist() == [2.0, 4.0]
    assert found["gpu_cycles"][1].tolist() == pytest.approx([2 / 3, 4 / 3])
    counted = {name: np.random.default_rng(3).uniform(1, 2, 48) for name in NAMES}
    warps = np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)
    by_time, by_warp = of_metrics(counted, None), of_metrics(counted, warps)
    assert by_time.keys() == by_warp.keys() == RULES.keys()
    for name in RULES:
        same = by_time[name] if name not in ("gpu_cycles", "gpu_ipc") else replicates(*warps)
        np.testing.assert_array_equal(by_warp[name], same)


def test_traffic_is_corrected_by_hand() -> None:
    whole = Traffic(1000.0, 300.0, 500.0, 100.0, 90.0)
    part = Traffic(100.0, 20.0, 50.0, 10.0, 5.0)
    counted = Traffic(110.0, 21.0, 45.0, 8.0, 6.0)
    found = correct(Matched(1.0, whole, part), counted, 10.0)
    assert found[:5] == pytest.approx((1100.0, 310.0, 450.0, 80.0, 100.0))
    assert correct(Matched(1.0, part, part), counted, 1.0)[:7] == pytest.approx(counted[:7])
