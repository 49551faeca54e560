"""Confidence intervals: by hand, and how often they cover what they should."""

import numpy as np
import pytest
from scipy.special import stdtrit

from rayplay.zatel.model.traffic import Traffic
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.extrapolate import correct, rescale_efficiency
from rayplay.zatel.sample.intervals import (
    interval,
    quantile,
    ratios,
    relative_error_of_ratio,
    sampling_errors,
    strata_in_time,
)
from rayplay.zatel.sample.machine import Modelled


def test_strata_in_time_keep_the_sum() -> None:
    assert strata_in_time(np.arange(10.0), 3).tolist() == [3.0, 12.0, 30.0]
    assert strata_in_time(np.arange(2.0), 24).tolist() == [0.0, 1.0]


def test_relative_error_by_hand() -> None:
    above, below = np.array([1.0, 3.0, 2.0]), np.ones(3)  # ratio 2, residuals -1 1 0, differences 2 -1
    error, degrees = relative_error_of_ratio(above, below)
    assert degrees == 2
    assert error == pytest.approx(np.sqrt(3 / 4 * 5) / 6)
    assert np.isnan(relative_error_of_ratio(above[:2], below[:2])[0])


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.95 ** (1 / 13), 0.9999])
def test_quantiles_are_students(confidence: float) -> None:
    degrees = [*range(1, 61), 500]
    known = [stdtrit(of, 0.5 + confidence / 2) for of in degrees]
    assert [quantile(of, confidence) for of in degrees] == pytest.approx(known, rel=2e-11)


def test_an_interval_by_hand() -> None:
    low, high = interval(100.0, 0.03, 10, 0.04)  # hypot 0.05, Student's t of 10 degrees at 97.5 %: 2.2281
    assert (low, high) == pytest.approx((100 - 11.1407, 100 + 11.1407), rel=1e-4)


def test_ratios_cover_the_truth_in_95_of_100_trials() -> None:
    """Stretches of a trend with noise: what the trend adds must not widen the interval, nor the noise narrow it."""
    random, covered, widths = np.random.default_rng(7), 0, []
    for _ in range(400):
        below = random.uniform(90, 110, 24)
        above = below * np.linspace(0.1, 0.5, 24) + random.normal(0, 2, 24)
        truth = (100 * np.linspace(0.1, 0.5, 24)).sum() / 2400
        error, degrees = relative_error_of_ratio(above, below)
        low, high = interval(above.sum() / below.sum(), error, degrees, 0.0)
        covered += low <= truth <= high
        widths.append(high - low)
    assert 0.90 <= covered / 400 <= 0.99
    assert np.mean(widths) < 0.05


def test_every_metric_has_its_ratio() -> None:
    names = ("instructions", "records", "cycles", "l1d_misses", "l1d_hits", "l2_misses", "l2_hits")
    counted = {name: np.array([1.0, 2.0]) for name in names}
    counted |= {name: np.ones(2) for name in ("rt_efficiency_sum", "rt_warps", "data_ticks", "active_ticks")}
    found = ratios(counted)
    assert len(found) == 7
    assert found["l2_miss_rate"][1].tolist() == [2.0, 4.0]
    assert found["gpu_cycles"][1].tolist() == pytest.approx([2 / 3, 4 / 3])


def test_dram_efficiency_rises_with_use_and_stays_where_use_does() -> None:
    assert rescale_efficiency(0.4, 0.1, 0.1) == pytest.approx(0.4)
    # idle 3 of 4 ticks; twice the requests: idle 9 of 16, 0.2 of 7/16 used
    assert rescale_efficiency(0.4, 0.1, 0.2) == pytest.approx(0.2 / (7 / 16))
    assert rescale_efficiency(0.0, 0.0, 0.0) == 0.0


def test_sampling_errors_shrink_with_the_fraction() -> None:
    names = ("instructions", "records", "cycles", "l1d_misses", "l1d_hits", "l2_misses", "l2_hits")
    names = (*names, "rt_efficiency_sum", "rt_warps", "data_ticks", "active_ticks")
    counted = {name: np.random.default_rng(3).uniform(1, 2, 48) for name in names}
    few, many, every = (sampling_errors(counted, fraction) for fraction in (0.0, 0.75, 1.0))
    for name in RULES:
        assert many[name][0] == pytest.approx(few[name][0] / 2)
        assert every[name][0] == 0.0


def test_traffic_is_corrected_by_hand() -> None:
    whole = Traffic(1000.0, 300.0, 500.0, 100.0, 90.0)
    part = Traffic(100.0, 20.0, 50.0, 10.0, 5.0)
    counted = Traffic(110.0, 21.0, 45.0, 8.0, 6.0)
    found = correct(Modelled(whole, part), counted, 10.0)
    assert found[:5] == pytest.approx((1100.0, 310.0, 450.0, 80.0, 100.0))
    assert correct(Modelled(part, part), counted, 1.0)[:7] == pytest.approx(counted[:7])
