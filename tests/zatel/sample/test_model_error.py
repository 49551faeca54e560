"""What is added to an interval: by hand, and how often new scenes are covered."""

import numpy as np
import pytest

from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.model_error import Doubt, Spread, bounds, doubts, read_table


def row(
    scene: str, error: float, spread: float, sampling: float, warps: int = 51, trials: int = 5, rounds: float = 2.0
) -> Spread:
    return Spread(scene, "x", 0.1, warps, rounds, trials, "m", error, spread, sampling)


def test_doubt_by_hand() -> None:
    rows = [row("a", 0.05, 0.03, 0.06), row("b", 0.02, 0.02, 0.02), row("c", 0.05, 0.04, 0.05)]
    # shares 0.5, 1, 0.8; squares that are left: 16, 0, 9, and 4 / 3 for one more than three scenes
    assert doubts(rows, 40, 2.0)["m"] == pytest.approx((0.8, np.sqrt(25 / 3 * 4 / 3) / 100, 2))
    one = row("d", 0.05, 0.0, 0.05, warps=820, trials=1)  # the share is that of the others: 0.04 is the sampling's
    assert doubts([*rows, one], 900, 2.0)["m"] == pytest.approx((0.8, 0.03 * np.sqrt(2), 1))
    assert doubts([one], 900, 2.0)["m"] == pytest.approx((1.0, 0.0, 1))


def test_a_share_is_at_most_the_whole() -> None:
    assert doubts([row("a", 0.05, 0.05, 0.01)], 51, 2.0)["m"].share == 1.0


def test_scenes_of_like_rounds_teach() -> None:
    full, empty = row("a", 0.05, 0.03, 0.06, rounds=2.0), row("a", 0.2, 0.03, 0.06, rounds=0.5)
    for rounds, error in ((2.0, 0.05), (3.9, 0.05), (30.0, 0.05), (0.9, 0.2), (0.01, 0.2)):
        found = doubts([full, empty], 51, rounds)["m"].machine
        assert found == pytest.approx(np.sqrt(2 * (error**2 - 0.03**2)))


def test_an_interval_with_doubt_by_hand() -> None:
    # hypot(0.06 / 2, 0.08 / 2) = 0.05, Student's t of 10 degrees at 97.5 %: 2.2281
    low, high = bounds(100.0, 0.06, 23, Doubt(0.5, 0.08, 10), 0.5)
    assert (low, high) == pytest.approx((100 - 11.1407, 100 + 11.1407), rel=1e-4)
    assert bounds(100.0, 0.06, 10, Doubt(0.5, 0.08, 23), 0.5) == pytest.approx((low, high))
    assert bounds(100.0, 0.0, 23, Doubt(0.5, 0.08, 7), 0.0) == (100.0, 100.0)


def test_a_scene_that_was_not_seen_is_covered_in_95_of_100_cases() -> None:
    """Seven scenes teach what the eighth may be off by; every scene has an error of its own for all its samples."""
    random, covered, cases = np.random.default_rng(3), 0, 2000
    for _ in range(cases):
        own = random.normal(0.0, 0.08, 8)
        samples = own[:, None] + random.normal(0.0, 0.02, (8, 15))
        rows = [
            row(str(scene), np.sqrt(np.mean(off**2)), np.std(off, ddof=1), 0.04, trials=15)
            for scene, off in enumerate(samples[:7])
        ]
        low, high = bounds(1.0, 0.04, 23, doubts(rows, 51, 2.0)["m"], 1.0)
        covered += low <= 1.0 + samples[7, 0] <= high
    assert 0.94 <= covered / cases <= 0.98


def test_the_table_of_errors_has_every_metric_and_many_scenes() -> None:
    rows = read_table()
    few, filled, many = doubts(rows, 51, 0.5), doubts(rows, 51, 2.0), doubts(rows, 819, 32.0)
    for known in (few, filled, many):
        assert set(known) == set(RULES)
        assert all(0.0 <= doubt.machine < 0.5 and 0.0 < doubt.share <= 1.0 for doubt in known.values())
        assert all(doubt.degrees >= 4 for doubt in known.values())
    assert 0.0 < many["gpu_cycles"].machine < filled["gpu_cycles"].machine < few["gpu_cycles"].machine
    assert {row.gpu for row in rows} == {"mobile", "rtx2060"}
