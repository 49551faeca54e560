"""GPUs listed, explained, and written as new descriptions."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rayplay
from rayplay.door.gpu import value_records
from rayplay.replay.gpu.description import explain, load, shipped
from rayplay.silicon.simulate import simulate_suite

Records = Callable[..., list[dict[str, Any]]]
NAMES = list(shipped())


def test_the_list_says_what_the_descriptions_say(records: Records) -> None:
    found = records("gpu", "list")
    assert [record["gpu"] for record in found] == NAMES
    assert [record["sms"] for record in found] == [load(name).sm.count for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_explained(name: str) -> None:
    gpu, text = load(name), "\n".join(explain(name))
    for record in value_records(gpu, ""):
        assert f"  {record['key']:34} = " in text
        assert record["meaning"] in text


def test_parameters_of_a_policy_are_explained(records: Records) -> None:
    policy = Path(__file__).parents[2] / "examples" / "policies" / "next_line.py"
    found = records("gpu", "show", "mobile", "--plugin", str(policy), "--set", "policy.next_line.degree=3")
    assert {record["key"]: record["value"] for record in found}["policy.next_line.degree"] == 3
    assert not any("policy.next_line" in record["key"] for record in records("gpu", "show", "mobile"))


@pytest.mark.parametrize("base", NAMES)
def test_a_new_description_is_the_base_with_the_values(base: str, records: Records, tmp_path: Path) -> None:
    records("gpu", "new", "mine.toml", "--base", base, "--set", "rt.warps=8", "--set", "scheduler.policy=lrr")
    expected = load(base, ["rt.warps=8", "scheduler.policy=lrr", "name=mine"])
    assert rayplay.Gpu.load(tmp_path / "mine.toml") == expected
    assert dataclasses.replace(expected, name=base) != load(base)
    assert f'like = "{base}"' in (tmp_path / "mine.toml").read_text()


def test_like_is_the_word_of_files_and_of_fit_for_the_base(records: Records, tmp_path: Path) -> None:
    records("gpu", "new", "mine.toml", "--like", "card-rtx3060")
    assert rayplay.Gpu.load(tmp_path / "mine.toml") == load("card-rtx3060", ["name=mine"])


def test_a_description_is_never_replaced(call: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("precious")
    code, _, error = call("gpu", "new", "mine.toml")
    assert code == 2
    assert "exists already" in error
    assert (tmp_path / "mine.toml").read_text() == "precious"


def test_a_fit_finds_changed_values_again_and_says_what_stays(
    call: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    changed = {"l1.latency_cycles": 35, "lsu.shared_latency_cycles": 21, "l2.latency_cycles": 247}
    gpu = load("card-rtx3060", [f"{key}={number}" for key, number in changed.items()])
    (made,) = simulate_suite([gpu], ("l1_hit", "shared_load", "l2_hit")).values()
    rows = [(each.quantity, each.value, each.unit) for each in made]
    rows += [("ptx:ex2.approx", 32, "cycles"), ("dram", 9000, "cycles")]  # not fitted; not for calibration
    lines = [f"RTX 3060,{quantity},{value},{unit}" for quantity, value, unit in rows]
    (tmp_path / "measured.csv").write_text("\n".join(["gpu,quantity,value,unit", *lines]) + "\n")
    code, out, error = call("gpu", "fit", "measured.csv", "--like", "card-rtx3060", "--out", "mine.toml")
    assert code == 0, error
    assert f"{'l2.latency_cycles':<28}{209:>8}{247:>8}  1 to 1000" in out
    assert "unexplained, more than 2% off or not compared: ptx:ex2.approx\n" in out
    assert "rows that only check, not read: dram\n" in out
    fitted = rayplay.Gpu.load(tmp_path / "mine.toml")
    assert fitted == dataclasses.replace(gpu, name="mine")
