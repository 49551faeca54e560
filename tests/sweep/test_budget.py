"""The budgeted run: the surrogate against the textbook's formula, the front's odds, whole runs against full ones."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.sweep.drive.run import How, run
from rayplay.sweep.explore.budget import WRONG, budgeted
from rayplay.sweep.explore.front import most_telling, opinion
from rayplay.sweep.explore.parameters import axes_of, spread
from rayplay.sweep.explore.surrogate import LEVEL, TINY, TRUST, Draw, Surprise, Surrogate
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.plan.verdict import judged
from rayplay.sweep.show.compare import compare, pareto
from rayplay.sweep.show.page import page
from rayplay.sweep.show.table import rows
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store
from tests.sweep.conftest import tables

GRID = [{"a": a, "b": b, "c": name} for a in (1, 2, 4, 8) for b in (10, 20, 30) for name in ("x", "y")]
COST = np.array([[np.log2(row["a"]) + row["b"] / 10] for row in GRID])


def truth(chaos: float = 0.0) -> np.ndarray:
    """Made-up log cycles, float64[designs, 3 traces]: effects of a and b, an interaction, and chaos."""
    chance, found = np.random.default_rng(7), []
    for row in GRID:
        effect = -0.4 * np.sqrt(np.log2(row["a"])) - 0.01 * row["b"] - 0.05 * np.log2(row["a"]) * (row["b"] > 10)
        found.append([weight * effect + level for weight, level in ((1.0, 5.0), (0.5, 7.0), (1.3, 6.0))])
    return np.array(found) + chaos * chance.standard_normal((len(GRID), 3))


def test_axes_are_the_parameters_that_vary_alone() -> None:
    axes = axes_of([row | {"twice": 2 * row["b"], "same": 3} for row in GRID])
    assert [axis.is_number for axis in axes] == [True, True, False]
    assert sorted(set(axes[0].at.round(9))) == pytest.approx([0, 1 / 3, 2 / 3, 1])  # a log scale: 1 to 8
    assert sorted(set(axes[1].at)) == [0, 0.5, 1]
    chosen = spread(axes, 0, 4)
    assert len(set(chosen)) == 4
    assert GRID[chosen[1]] == {"a": 8, "b": 30, "c": "y"}


def test_the_surrogate_is_the_formula_of_conditional_normals() -> None:
    """C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, (2.23) and (2.24)."""
    replays, chance = truth(0.01), np.random.default_rng(1)
    values = np.column_stack([replays, 0.9 * replays[:, 1] + 0.02 * chance.standard_normal(len(GRID))])  # and a sample
    known = np.where(chance.random(values.shape) < 0.4, values, np.nan)
    known[0] = values[0]
    made = Surrogate(axes_of(GRID), len(GRID), np.array([0, 1, 2, 1]), 3, 1)
    draw = made.draws(known, 1, 20)[0]
    effect, column, chaos = made._kernels(made.state, made.gaps)
    assert chaos[3] > chaos[0] == chaos[1] == chaos[2]
    levels = np.kron(np.ones((len(GRID),) * 2), LEVEL * np.eye(4))
    whole = np.kron(effect, column) + levels + np.diag(np.tile(chaos, len(GRID)))
    place = np.flatnonzero(~np.isnan(known.ravel()))
    level = np.nanmean(known, axis=0)
    seen = (known - level).ravel()[place]
    scale = np.sqrt(np.mean(seen**2))
    gain = whole[:, place] @ np.linalg.inv(whole[np.ix_(place, place)] + TINY * np.eye(len(place)))
    mean = (gain @ (seen / scale) * scale).reshape(-1, 4) + level
    cov = (whole - gain @ whole[place]) * scale**2
    average = np.kron(np.eye(len(GRID)), np.array([[1, 1, 1, 0]]) / 3)
    assert draw.mean == pytest.approx(mean[:, :3].mean(axis=1), abs=1e-6)
    assert draw.cov == pytest.approx(average @ cov @ average.T, abs=1e-6)
    free = np.setdiff1d(np.arange(whole.shape[0]), place)
    assert draw.points[free] == pytest.approx(mean.ravel()[free], abs=1e-6)
    assert draw.reach[:, free] == pytest.approx((average @ cov)[:, free], abs=1e-6)
    assert draw.spread[free] == pytest.approx(np.diag(cov)[free], rel=1e-4, abs=1e-6)


def test_errors_of_predictions_widen_the_next_ones() -> None:
    """By the root of their mean square, however wide the last ones were; small errors narrow none."""
    nothing = np.zeros((1, 1))
    draw = Draw(np.zeros(1), nothing, nothing, np.array([1.0, 2.0, 3.0]), np.array([0.25, 4.0, 1.0]))
    surprise = Surprise()
    surprise.add([draw], np.array([np.nan, 2.0 + 3 * 2.0, 3.0 - 3 * 1.0]), [1, 2])  # three standard deviations each
    first = np.sqrt((TRUST + 2 * 9) / (TRUST + 2))
    assert surprise.factor == pytest.approx(first)
    surprise.add([draw.widened(surprise.factor)], np.array([1.0 + 3 * 0.5, np.nan, np.nan]), [0])
    assert surprise.factor == pytest.approx(np.sqrt((TRUST + 3 * 9) / (TRUST + 3)))
    calm = Surprise()
    calm.add([draw], draw.points, [0, 1, 2])
    assert calm.factor == 1.0


def test_odds_of_a_front_are_the_share_of_normals_that_are_less() -> None:
    """Two designs, one cheaper: the other is on the front as often as its cycles are fewer."""
    nothing = np.full((2, 1), np.nan)
    draw = Draw(
        np.array([0.0, -1.0]),
        np.diag([1.0, 3.0]),
        np.array([[1.0, 0.0], [0.0, 3.0]]),
        np.zeros(2),
        np.array([1.0, 3.0]),
    )
    found = opinion([[draw] * 60], nothing, np.array([[1.0], [2.0]]), np.random.default_rng(1))
    assert found.on_front[0] == 1.0
    assert found.on_front[1] == pytest.approx(0.6915, abs=0.02)  # the standard normal below 1 / 2
    assert (found.rival[1], found.doubt[0]) == (0, 0.0)
    free = np.ones((2, 1), bool)
    assert most_telling([[draw]], found, free, np.array([[1.0], [1.0]]), 1) == [1]  # three quarters of the variance
    assert most_telling([[draw]], found, free, np.array([[1.0], [4.0]]), 1) == [0]  # but not at four times the cost


def test_what_is_known_whole_is_judged_as_it_is() -> None:
    exact = np.array([[1.0], [1.0], [0.9], [0.9]])
    draw = Draw(exact[:, 0], np.zeros((4, 4)), np.zeros((4, 4)), np.zeros(4), np.ones(4))
    found = opinion([[draw]], exact, np.array([[1.0], [2.0], [2.0], [2.0]]), np.random.default_rng(1))
    assert found.on_front.tolist() == [1.0, 0.0, 1.0, 1.0]  # a tie at a higher cost is dominated, a whole tie is not
    assert found.doubt.sum() == 0.0


@pytest.mark.parametrize("chaos", [0.0, 0.003])
def test_a_race_finds_the_front_with_few_points(chaos: float) -> None:
    values = truth(chaos)
    axes = axes_of(GRID)
    model, chance = Surrogate(axes, len(GRID), np.arange(3), 3, 1), np.random.default_rng(1)
    known = np.full(values.shape, np.nan)
    known[0] = values[0]
    for number in spread(axes, 0, 6):
        known[number, 0] = values[number, 0]
    while True:
        draws = [model.draws(known, 12, 3)]
        found = opinion(draws, known.mean(axis=1)[:, None], COST, chance)
        missing = np.isnan(known)
        if found.doubt.sum() <= 0.05 or not missing.any():
            break
        for place in most_telling(draws, found, missing, np.ones(values.shape), 2):
            known[divmod(place, 3)] = values[divmod(place, 3)]
    whole = pareto(
        [{"y": float(y), "c": float(c)} for y, c in zip(values.mean(axis=1), COST[:, 0], strict=True)],
        {"y": "min", "c": "min"},
    )
    assert np.flatnonzero(found.on_front > 0.5).tolist() == whole
    assert (~np.isnan(known)).mean() < (0.7 if chaos else 1.0)  # without chaos c decides nothing, so that all tie


COMPARED = {"objectives": {"gpu_cycles": "min", "cost": "min"}, "cost": {"rt.warps": 1.0}}


def study(**more: Any) -> dict[str, Any]:
    """Two tiny scenes, twelve designs."""
    grid = {"rt.warps": [1, 2, 4, 8], "l1.latency_cycles": [20, 30, 40]}
    scenes = [{"scene": name, "size": "16x16"} for name in ("cornell", "wknd")]
    return {"scenes": scenes, "gpus": ["mobile"], "design": {"grid": grid}, "compare": COMPARED} | more


def test_a_budgeted_sweep_has_the_front_of_the_whole_one(tmp_path: Path) -> None:
    found, store = space(given(study())), Store(str(tmp_path / "s"))
    few, spent = budgeted("study", found, store, How(workers=2))
    counts = few.plan.counts()
    assert counts.keys() == {"done", "skipped"}
    assert 0 < spent.seconds < spent.full_seconds
    assert spent.wrong <= WRONG
    front = compare(few.plan, rows(few.plan))
    assert spent.on_front == len(front.front)
    assert all(front.designs[number].missing == 0 for number in front.front)  # replayed on every trace
    bounds = {str(each.name): each.bounds["gpu_cycles"] for each in front.designs if each.bounds}
    assert bounds
    made = page(few.plan, rows(few.plan))
    assert f"A budgeted run skipped {counts['skipped']} of 24 points" in made
    assert "Partial" not in made
    assert "gpu_cycles low" in made
    whole = run("study", found, store, How(workers=2))
    assert whole.plan.counts().keys() == {"done"}
    assert judged("study", store) == {}
    after = compare(whole.plan, rows(whole.plan))
    assert [front.designs[n].name for n in front.front] == [after.designs[n].name for n in after.front]
    for each in after.designs:  # a design that was not replayed whole is near the truth
        if str(each.name) in bounds:
            judged_value = next(one for one in front.designs if one.name == each.name).values["gpu_cycles"]
            assert judged_value == pytest.approx(each.values["gpu_cycles"], rel=0.1)


def test_designs_that_a_hasty_opinion_puts_on_the_front_are_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rayplay.sweep.explore import budget

    monkeypatch.setattr(budget, "WRONG", 99.0)  # the first two opinions decide, from few points
    found, store = space(given(study())), Store(str(tmp_path / "s"))
    plan = budgeted("study", found, store, How(workers=2))[0].plan
    front = compare(plan, rows(plan))
    assert plan.counts()["skipped"] > 0
    assert all(not front.designs[number].missing and not front.designs[number].bounds for number in front.front)


def test_samples_of_large_traces_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rayplay.sweep.explore import budget

    monkeypatch.setattr(budget, "LEAST_MILLION_ROWS", 0.0)  # every trace counts as large
    monkeypatch.setattr(budget, "MOST_PART", 1.0)
    scenes = [{"scene": "cornell", "size": "32x16"}, {"scene": "wknd", "size": "16x16"}]
    found = space(given(study(scenes=scenes, design={"grid": {"rt.warps": [1, 2, 4]}})))
    store = Store(str(tmp_path / "s"))
    few, _ = budgeted("study", found, store, How(workers=2))
    kept = [entry for key in store.done() if (entry := store.get(key))]
    samples = [entry for entry in kept if entry.identity["method"] == "sample"]
    assert len(samples) == 6
    assert {entry.identity["options"]["fraction"] for entry in samples} == {0.5}  # eight of 16 CTAs
    whole = run("study", found, store, How(workers=2)).plan
    assert compare(few.plan, rows(few.plan)).front == compare(whole, rows(whole)).front


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["estimate"]}, "--budget: methods must be replay alone"),
        ({"compare": {"objectives": {"dram_bytes": "min"}}}, "objective dram_bytes must be one of gpu_ipc"),
        ({"compare": {"objectives": {"cost": "min"}, "cost": {"rt.warps": 1.0}}}, "a cost alone needs no replay"),
        ({"design": {"grid": {"l1.latency_cycles": list(range(1, 10_002))}}}, "at most 10,000 points, not 10,001"),
    ],
)
def test_what_has_no_front_to_decide_is_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        budgeted("study", space(given(tables() | change)), Store(str(tmp_path / "s")), How())


def test_a_verdict_on_other_designs_is_not_used(tmp_path: Path) -> None:
    """A design that joins the file later is missing, not judged."""
    store = Store(str(tmp_path / "s"))
    budgeted("study", space(given(study())), store, How(workers=2))
    grid = {"rt.warps": [1, 2, 4, 6, 8], "l1.latency_cycles": [20, 30, 40]}
    plan = make_plan("study", space(given(study(design={"grid": grid}))), store)
    found = compare(plan, rows(plan))
    new = [number for number, each in enumerate(found.designs) if 6 in each.name]
    assert len(new) == 3
    assert all(found.designs[number].values["gpu_cycles"] is None for number in new)
    assert not set(new) & set(found.front)
