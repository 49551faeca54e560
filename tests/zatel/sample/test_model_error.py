"""Model error of an interval: known answers, and coverage of new scenes."""

import numpy as np
import pytest

from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.intervals import GROUPS
from rayplay.zatel.sample.model_error import (
    LEAST_SCENES,
    ModelError,
    Spread,
    bounds,
    like,
    model_errors,
    read_table,
    unbiased,
)


def row(
    scene: str, error: float, spread: float = 0.0, sampling: float = 0.02, warps: int = 51, trials: int = 5,
    rounds: float = 2.0, steps: float = 2000.0,
) -> Spread:  # fmt: skip
    return Spread(scene, "x", 0.1, warps, rounds, steps, trials, "m", error, spread, sampling)


def test_a_model_error_by_hand() -> None:
    rows = [row("a", 0.05), row("b", 0.05), row("c", 0.11)]  # mean 0.07, variance between scenes 0.0012, of it 0.0004
    kept = 1 - 0.0004 / 0.07**2
    found = model_errors(rows, 40, 2.0, 2000.0)["m"]
    assert found.bias == pytest.approx(0.07 * kept)
    variance = 0.0008 * 3 / 2 + (0.07 * (1 - kept)) ** 2
    assert found.effect == pytest.approx(np.sqrt(variance * 4 / 3))
    assert found.degrees == 2


def test_a_bias_that_chance_explains_is_not_subtracted() -> None:
    found = model_errors([row("a", 0.05), row("b", -0.05), row("c", 0.01)], 51, 2.0, 2000.0)["m"]
    assert found.bias == 0.0


def test_sampling_variance_of_the_rows_is_no_effect() -> None:
    some = [row(name, error, 0.05) for name, error in (("a", 0.02), ("b", -0.02), ("c", 0.03))]
    more = model_errors([one._replace(spread=0.0) for one in some], 51, 2.0, 2000.0)["m"].effect
    assert model_errors(some, 51, 2.0, 2000.0)["m"].effect < more


def test_the_design_effect_is_the_scatter_of_samples_beside_their_standard_errors() -> None:
    rows = [row("a", 0.0, 0.03, 0.06), row("b", 0.0, 0.04, 0.08), row("c", 0.0, 9.0, 0.01, trials=1)]
    assert model_errors(rows, 51, 2.0, 2000.0)["m"].design == pytest.approx(0.5)


def test_scenes_of_the_same_class_teach_and_else_the_widest_without_a_bias() -> None:
    full = [row(name, error, rounds=2.0) for name, error in (("a", 0.05), ("b", 0.06), ("c", 0.07))]
    empty = [one._replace(rounds=0.5, error=0.2) for one in full]
    short = [one._replace(steps=200.0, error=0.3) for one in full]
    rows = [*full, *empty, *short]
    for rounds, steps, bias in ((2.0, 512.0, 0.06), (3.9, 9e4, 0.06), (0.9, 2000.0, 0.2), (2.0, 511.0, 0.3)):
        assert model_errors(rows, 51, rounds, steps)["m"].bias == pytest.approx(bias, rel=0.01)
        assert like(rows, 51, rounds, steps)
    for warps, rounds, steps in ((51, 30.0, 2000.0), (5000, 2.0, 2000.0), (51, 0.5, 200.0)):
        unknown = model_errors(rows, warps, rounds, steps)["m"]
        assert not like(rows, warps, rounds, steps)
        assert unknown.bias == 0.0
        assert unknown.effect > 0.3  # as wide as the class that errs most, with its bias


def test_two_workloads_of_a_scene_are_one_scene() -> None:
    rows = [row("a-ao", 0.05), row("a-shadows", 0.06), row("b", 0.07)]
    assert len(rows) == LEAST_SCENES
    assert not like(rows, 51, 2.0, 2000.0)


def test_an_interval_by_hand() -> None:
    # hypot(0.06 / 2, 0.08 / 2) = 0.05; degrees (9 + 16)^2 / (81 / 24 + 256 / 10) = 21, Student's t 2.0796
    low, high = bounds(100.0, 0.06, ModelError(0.1, 0.08, 10, 0.5), 0.5)
    assert GROUPS == 24
    assert (low, high) == pytest.approx((100 - 10.398, 100 + 10.398), rel=1e-4)
    assert bounds(100.0, 0.0, ModelError(0.1, 0.08, 7, 1.0), 0.0) == (100.0, 100.0)
    assert unbiased(100.0, ModelError(0.1, 0.08, 7, 1.0), 0.5) == pytest.approx(105.0)
    assert unbiased(None, ModelError(0.1, 0.08, 7, 1.0), 0.5) is None


def test_intervals_of_new_scenes_hold_95_of_100() -> None:
    random, held = np.random.default_rng(5), 0
    for _ in range(300):
        effects = 0.05 + random.normal(0, 0.04, 9)
        rows = [row(f"s{number}", float(effect), 0.0) for number, effect in enumerate(effects[:8])]
        known = model_errors(rows, 51, 2.0, 2000.0)["m"]
        low, high = bounds(unbiased(1.0, known, 1.0) or 0.0, 0.0, known, 1.0)
        held += low <= 1.0 + effects[8] <= high
    assert 0.92 <= held / 300 <= 0.99


def test_the_table_knows_every_metric() -> None:
    rows = read_table()
    assert {one.metric for one in rows} == set(RULES)
    assert len({one.scene for one in rows}) >= LEAST_SCENES
