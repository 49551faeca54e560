"""``run --trials``: successive halving by Optuna, against a made-up replay whose best design is known."""

from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.sweep.drive import run as drives
from rayplay.sweep.drive.driver import Report
from rayplay.sweep.drive.run import How, Ran
from rayplay.sweep.explore import halving
from rayplay.sweep.explore.halving import Trial, halve, lines_of
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.space.file import given, read_sweep
from rayplay.sweep.space.points import Space
from rayplay.sweep.store.store import Store
from tests.sweep.conftest import SAMPLE, command, counted, tables

pytest.importorskip("optuna", reason="the extra search is not installed")
RANGES = {"l1.latency_cycles": {"low": 10, "high": 60}, "rt.warps": {"choices": [1, 2, 4]}}


def searched(**more: Any) -> dict[str, Any]:
    """A space to search, on the sample trace."""
    return tables() | {"design": {"random": {"count": 1, "ranges": RANGES}}} | more


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Runs that put 1000 x |latency - 37| + 10 / warps in place of a replay; (designs, traces) of each."""
    asked: list[tuple[int, int]] = []

    def run(name: str, found: Space, store: Store, how: How) -> Ran:
        plan = make_plan(name, found, store)
        asked.append((len(found.designs), len(found.inputs)))
        for each in plan.planned:
            values = found.designs[each.point.design]
            cycles = 1000.0 * abs(values["l1.latency_cycles"] - 37) + 10.0 / values["rt.warps"] + 1.0
            if each.key and store.get(each.key) is None:
                store.put(each.key, each.identity, {}, {"gpu_cycles": cycles, "rt_efficiency": 1 / cycles}, {})
        return Ran(make_plan(name, found, store), Report([], [], {}, []))

    monkeypatch.setattr(halving, "run", run)
    return asked


def test_half_of_the_designs_go_on_to_twice_the_traces(tmp_path: Path, made_up: list[tuple[int, int]]) -> None:
    """K. Jamieson, A. Talwalkar, 2016, algorithm 1: 8 on one trace, 4 on two, 2 on four; and again for each eight."""
    sweep = given(searched(traces=[str(SAMPLE)] * 4))
    found = halve("study", sweep, Store(str(tmp_path / "s")), How("inline"), 16)
    assert made_up == [(8, 1), (4, 2), (2, 4)] * 2
    assert [trial.traces for trial in found] == sorted((trial.traces for trial in found), reverse=True)
    assert len(found) == 16
    best = found[0]
    assert best.traces == 4
    assert best.value == min(trial.value for trial in found)
    assert set(best.values) == set(RANGES)
    assert all(10 <= trial.values["l1.latency_cycles"] <= 60 for trial in found)


def test_the_sampler_learns(tmp_path: Path, made_up: list[tuple[int, int]]) -> None:
    """Later trials lie nearer to the best latency than the first eight, which are drawn at random."""
    found = halve("study", given(searched()), Store(str(tmp_path / "s")), How("inline"), 48)
    assert abs(found[0].values["l1.latency_cycles"] - 37) <= 2
    again = halve("study", given(searched()), Store(str(tmp_path / "t")), How("inline"), 48)
    assert found == again  # the same seed proposes the same designs


def test_more_of_a_share_is_better_where_the_file_says_so(tmp_path: Path, made_up: list[tuple[int, int]]) -> None:
    sweep = given(searched(compare={"objectives": {"rt_efficiency": "max"}}))
    found = halve("study", sweep, Store(str(tmp_path / "s")), How("inline"), 24)
    assert found[0].value == min(trial.value for trial in found) < 0
    assert abs(found[0].values["l1.latency_cycles"] - 37) <= 10


def test_the_answer_is_a_design_list(tmp_path: Path) -> None:
    sweep = given(searched())
    lines = lines_of(
        [Trial({"l1.latency_cycles": 37, "scheduler.policy": "gto", "rt.perfect_memory": True}, 0.0, 2)], sweep
    )
    (tmp_path / "best.toml").write_text("\n".join([f'traces = ["{SAMPLE}"]', *lines]))
    assert read_sweep(tmp_path / "best.toml").design.list == (
        {"l1.latency_cycles": 37, "scheduler.policy": "gto", "rt.perfect_memory": True},
    )
    assert "gpu_cycles 1 on 2 traces" in lines[2]


def test_what_cannot_be_searched_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"--trials: design\.random must have the ranges to search"):
        halve("study", given(tables()), Store(str(tmp_path / "s")), How("inline"), 2)
    assert drives.run is halving.run  # not made up here
    failed = Report([], [], {"k": "its memory limit was too little"}, [])
    monkeypatch.setattr(halving, "run", lambda name, found, store, how: Ran(make_plan(name, found, store), failed))
    with pytest.raises(UserError, match="a point failed: its memory limit was too little"):
        halve("study", given(searched()), Store(str(tmp_path / "s")), How("inline"), 2)


def test_the_command_searches_with_replays(study: Path, steps: Path) -> None:
    """Points of earlier searches are not replayed again."""
    text = f'traces = ["{SAMPLE}"]\ngpus = ["mobile"]\n[design.random]\ncount = 1\n'
    (study / "study.toml").write_text(text + '[design.random.ranges]\n"rt.warps" = {low = 1, high = 3}\n')
    ended = command(study, "run", "study.toml", "--trials", "4", "--executor", "inline", steps=steps)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("[design]\nlist = [\n")
    assert 1 <= len(counted(steps)) <= 3  # of four trials, at most three different designs
    again = command(study, "run", "study.toml", "--trials", "4", "--executor", "inline", steps=steps)
    assert again.stdout == ended.stdout
    assert len(counted(steps)) <= 3
