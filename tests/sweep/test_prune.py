"""``sweep prune``: what no sweep file asks for goes, and nothing else does."""

import json
from pathlib import Path

from rayplay.sweep.store.claims import Claims, Driver
from rayplay.sweep.store.store import Store
from rayplay.sweep.verbs.keeping import useless
from tests.sweep.conftest import command, planned, toml


def filled(folder: Path, points: int) -> Store:
    """The store of ``study.toml`` with a result for each of some points."""
    plan = planned(str(folder / "study.sweep"), points=points)
    for each in plan.planned:
        plan.store.put(each.key or "", each.identity, {}, {"gpu_cycles": 1.0}, {})
    return plan.store


def test_results_of_the_file_and_of_others_that_are_named_stay(study: Path) -> None:
    store = filled(study, 8)
    (study / "other.toml").write_text(toml(6))
    store.fail("f" * 64, {}, "of another sweep", "", 1)
    words = ["prune", "study.toml", "--also", "other.toml"]
    said = command(study, *words)
    assert said.returncode == 0, said.stderr
    assert "would remove 2 results that no sweep file asks for" in said.stdout
    assert "would remove 1 failures of such points" in said.stdout
    assert len(store.done()) == 8  # nothing goes without --remove
    said = command(study, *words, "--remove")
    assert "removed 2 results that no sweep file asks for" in said.stdout
    assert store.done() == {each.key for each in planned(store.place, points=6).planned}
    assert store.failed() == set()
    assert command(study, "prune", "study.toml", "--remove").returncode == 0
    assert store.done() == {each.key for each in planned(store.place, points=4).planned}
    assert command(study, "status", "study.toml").returncode == 0


def test_what_a_living_driver_holds_stays(study: Path) -> None:
    store = filled(study, 5)
    extra = planned(store.place, points=5).planned[4].key or ""
    (study / "study.sweep" / "tmp").mkdir(exist_ok=True)
    (study / "study.sweep" / "tmp" / "half").write_text("x")
    wanted = {each.key or "" for each in planned(store.place, points=4).planned}
    with Claims(store.medium) as mine:
        assert mine.take(extra)
        store.medium.write("claims/gone", json.dumps(Driver("gone", "elsewhere", 1, "1")._asdict()).encode())
        found = {folder: names for _, folder, names in useless(store, wanted)}
        assert found == {"results": [], "failed": [], "claims": ["gone"]}  # and no partial result: it may be ours
    found = {folder: names for _, folder, names in useless(store, wanted)}
    assert (found["results"], found["tmp"]) == ([extra], ["half"])


def test_scenes_that_are_not_rendered_keep_everything(study: Path) -> None:
    """Without their traces no one knows their keys."""
    store = filled(study, 4)
    (study / "study.toml").write_text('gpus = ["mobile"]\n[[scenes]]\nscene = "cornell"\nsize = "8x8"\n')
    said = command(study, "prune", "study.toml", "--remove")
    assert said.returncode == 2
    assert "its scenes must be rendered before prune can tell" in said.stderr
    assert len(store.done()) == 4
