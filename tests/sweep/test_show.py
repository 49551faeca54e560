"""The table, the comparison and the page: missing points, the front, effects, escaping."""

import argparse
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.sweep.plan.plan import Plan, make_plan
from rayplay.sweep.show.compare import compare, dominates, pareto
from rayplay.sweep.show.effects import effects
from rayplay.sweep.show.page import page
from rayplay.sweep.show.table import rows, write_table
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store
from rayplay.sweep.verbs.showing import target
from tests.sweep.conftest import tables

COMPARED = {"objectives": {"gpu_cycles": "min", "cost": "min"}, "cost": {"rt.warps": 1.0}, "noise": True}


def filled(place: str, cycles: Any, **more: Any) -> Plan:
    """A plan whose points have made-up results: ``cycles`` of a point's values; None leaves it missing."""
    sweep = given(tables() | {"design": {"grid": {"rt.warps": [1, 2, 4], "l1.ways": [256, 512]}}} | more)
    plan = make_plan("study", space(sweep), Store(place))
    for each in plan.planned:
        found = cycles(plan.about(each.point))
        if found is not None and each.key and plan.store.get(each.key) is None:
            plan.store.put(each.key, each.identity, {}, {"gpu_cycles": found, "l2_miss_rate": 0.25}, {})
    return make_plan("study", space(sweep), plan.store)


@drawn(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=20))
def test_the_front_is_what_nothing_dominates(values: list[tuple[int, int, int]]) -> None:
    names = {"a": "min", "b": "max", "c": "min"}
    found = pareto([dict(zip(names, map(float, each), strict=True)) for each in values], names)
    turned = [(float(a), float(-b), float(c)) for a, b, c in values]
    slow = []
    for number, mine in enumerate(turned):
        others = [other for other in turned if other != mine]
        if not any(x <= mine[0] and y <= mine[1] and z <= mine[2] for x, y, z in others):
            slow.append(number)
    assert found == slow
    assert not any(dominates(each, each) for each in turned)


def test_missing_points_stand_in_the_table_and_on_no_front(tmp_path: Path) -> None:
    def cycles(about: dict[str, Any]) -> float | None:
        return None if about["rt.warps"] == 4 and about["l1.ways"] == 512 else 1000.0 / about["rt.warps"]

    plan = filled(str(tmp_path / "s"), cycles)
    key = next(key for key, status in plan.status.items() if status == "missing")
    plan.store.fail(key, {}, "its process died of signal <b>SIGSEGV</b>", "log", 3)
    plan = filled(str(tmp_path / "s"), cycles)
    found = rows(plan)
    assert [row["status"] for row in found].count("failed") == 1
    write_table(plan, found, tmp_path / "t.parquet")
    written = pq.ParquetFile(tmp_path / "t.parquet").read().to_pylist()
    assert [row["gpu_cycles"] for row in written].count(None) == 1
    assert {row["reason"] for row in written} == {None, "its process died of signal <b>SIGSEGV</b>"}
    compared = compare(plan, found)
    missing = next(number for number, each in enumerate(compared.designs) if each.missing)
    assert compared.designs[missing].values["gpu_cycles"] is None
    assert missing not in compared.front
    made = page(plan, found)
    assert "Partial: 5 of 6 points have a result" in made
    assert "&lt;b&gt;SIGSEGV" in made
    assert "<b>SIGSEGV" not in made


def test_a_table_has_the_same_bytes_whatever_ran_first(tmp_path: Path) -> None:
    made = []
    for number in range(2):
        plan = filled(str(tmp_path / str(number)), lambda about: 7.0 * about["rt.warps"])
        write_table(plan, rows(plan), tmp_path / f"{number}.parquet")
        made.append((tmp_path / f"{number}.parquet").read_bytes())
    assert made[0] == made[1]


def test_effects_of_a_product_have_no_interaction(tmp_path: Path) -> None:
    plan = filled(str(tmp_path / "s"), lambda about: 100.0 * about["rt.warps"] * about["l1.ways"])
    singles, pairs = effects(rows(plan), ["rt.warps", "l1.ways"], "gpu_cycles")
    assert [each.name for each in singles] == ["rt.warps", "l1.ways"]
    assert sum(each.share for each in singles) == pytest.approx(1.0)
    assert pairs[0].share == pytest.approx(0.0, abs=1e-12)
    assert singles[1].changes == pytest.approx([2**-0.5 - 1, 2**0.5 - 1])


def test_an_interaction_is_found(tmp_path: Path) -> None:
    plan = filled(
        str(tmp_path / "s"), lambda about: 100.0 if (about["rt.warps"] == 1) == (about["l1.ways"] == 256) else 200.0
    )
    _, pairs = effects(rows(plan), ["rt.warps", "l1.ways"], "gpu_cycles")
    assert pairs[0].share > 0.5


def test_an_unknown_objective_is_one_line(tmp_path: Path) -> None:
    plan = filled(str(tmp_path / "s"), lambda about: 1.0, compare={"objectives": {"gpu_cycle": "min"}})
    with pytest.raises(UserError, match="unknown metric 'gpu_cycle'; did you mean 'gpu_cycles'"):
        compare(plan, rows(plan))


def test_what_a_page_would_replace_is_read_no_further_than_its_head(tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    out.symlink_to("/dev/zero")
    with pytest.raises(UserError, match="so that no other file is lost"):
        target(argparse.Namespace(out=out), ".html", b"<!doctype html>")
