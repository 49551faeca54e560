"""Model error of an interval: known answers, and coverage of new scenes."""

import numpy as np
import pytest

from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.model_error import ModelError, Spread, bounds, model_errors, pooled_share, read_table


def row(
    scene: str,
    error: float,
    spread: float,
    sampling: float,
    warps: int = 51,
    trials: int = 5,
    rounds: float = 2.0,
    steps: float = 2000.0,
) -> Spread:
    return Spread(scene, "x", 0.1, warps, rounds, steps, trials, "m", error, spread, sampling)


def test_a_model_error_by_hand() -> None:
    rows = [row("a", 0.05, 0.03, 0.06), row("b", 0.02, 0.02, 0.02), row("c", 0.05, 0.04, 0.05)]
    share = np.sqrt((0.25 + 1 + 0.64) / 3)
    # squared effects 16, 4 / 5 (the mean's of five trials), 9; factor 4 / 3 for one more than three
    assert model_errors(rows, 40, 2.0, 2000.0)["m"] == pytest.approx((share, np.sqrt(25.8 / 3 * 4 / 3) / 100, 2))
    one = row("d", 0.05, 0.0, 0.05, warps=820, trials=1)  # of it the other scenes' share is sampling error
    assert model_errors([*rows, one], 900, 2.0, 2000.0)["m"] == pytest.approx((share, 0.05 * share * np.sqrt(2), 1))
    assert model_errors([one], 900, 2.0, 2000.0)["m"] == pytest.approx((1.0, 0.05 * np.sqrt(2), 1))


@pytest.mark.parametrize("trials", [2, 3, 6])
def test_the_share_of_many_scenes_is_that_of_one_known_ratio(trials: int) -> None:
    draws = np.random.default_rng(7).normal(0.0, 0.5, (4000, trials))
    rows = [row(f"scene{k}", 0.05, float(one.std(ddof=1)), 1.0, trials=trials) for k, one in enumerate(draws)]
    assert pooled_share(rows) == pytest.approx(0.5, rel=0.03)


def test_a_share_is_at_most_the_whole() -> None:
    assert model_errors([row("a", 0.05, 0.05, 0.01)], 51, 2.0, 2000.0)["m"].share == 1.0


def test_scenes_of_like_rounds_teach() -> None:
    full, empty = row("a", 0.05, 0.03, 0.06, rounds=2.0), row("a", 0.2, 0.03, 0.06, rounds=0.5)
    for rounds, error in ((2.0, 0.05), (3.9, 0.05), (30.0, 0.05), (0.9, 0.2), (0.01, 0.2)):
        found = model_errors([full, empty], 51, rounds, 2000.0)["m"].effect
        assert found == pytest.approx(np.sqrt(2 * (error**2 - 0.03**2)))


def test_scenes_with_warps_as_long_teach() -> None:
    path, shadows = row("a", 0.05, 0.03, 0.06), row("a-shadows", 0.2, 0.03, 0.06, steps=200.0)
    for steps, error in ((5000.0, 0.05), (512.0, 0.05), (511.0, 0.2), (1.0, 0.2)):
        found = model_errors([path, shadows], 51, 2.0, steps)["m"]
        assert found.effect == pytest.approx(np.sqrt(2 * (error**2 - 0.03**2)))


def test_two_workloads_of_a_scene_are_one_scene() -> None:
    rows = [row("a-ao", 0.05, 0.03, 0.06), row("a-shadows", 0.05, 0.03, 0.06)]
    assert model_errors(rows, 51, 2.0, 2000.0)["m"].effect == pytest.approx(np.sqrt(2) * 0.04)


def test_an_interval_with_a_model_error_by_hand() -> None:
    # hypot(0.06 / 2, 0.08 / 2) = 0.05, Student's t of 10 degrees at 97.5 %: 2.2281
    low, high = bounds(100.0, 0.06, 23, ModelError(0.5, 0.08, 10), 0.5)
    assert (low, high) == pytest.approx((100 - 11.1407, 100 + 11.1407), rel=1e-4)
    assert bounds(100.0, 0.06, 10, ModelError(0.5, 0.08, 23), 0.5) == pytest.approx((low, high))
    assert bounds(100.0, 0.0, 23, ModelError(0.5, 0.08, 7), 0.0) == (100.0, 100.0)


def test_a_scene_that_was_not_seen_is_covered_in_95_of_100_cases() -> None:
    """The effect learned from seven scenes covers the eighth; a scene's effect is common to all its samples."""
    random, covered, cases = np.random.default_rng(3), 0, 2000
    for _ in range(cases):
        own = random.normal(0.0, 0.08, 8)
        samples = own[:, None] + random.normal(0.0, 0.02, (8, 15))
        rows = [
            row(str(scene), np.sqrt(np.mean(off**2)), np.std(off, ddof=1), 0.04, trials=15)
            for scene, off in enumerate(samples[:7])
        ]
        low, high = bounds(1.0, 0.04, 23, model_errors(rows, 51, 2.0, 2000.0)["m"], 1.0)
        covered += low <= 1.0 + samples[7, 0] <= high
    assert 0.94 <= covered / cases <= 0.98


def test_the_table_of_errors_has_every_metric_and_many_scenes() -> None:
    rows = read_table()
    sizes = (51, 0.5, 2000.0), (51, 2.0, 2000.0), (819, 32.0, 2000.0), (204, 2.0, 200.0)
    few, filled, many, short = (model_errors(rows, *size) for size in sizes)
    for known in (few, filled, many, short):
        assert set(known) == set(RULES)
        assert all(0.0 <= one.effect < 0.5 and 0.0 < one.share <= 1.0 for one in known.values())
        assert all(one.degrees >= 4 for one in known.values())
    assert 0.0 < many["gpu_cycles"].effect < filled["gpu_cycles"].effect < few["gpu_cycles"].effect
    assert {row.gpu for row in rows} == {"mobile", "rtx2060"}
