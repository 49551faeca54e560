"""``rayplay energy`` and ``rayplay replay --energy``: the same numbers, and one line for each mistake."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., tuple[int, str, str]]


def test_energy_of_a_replay_and_of_its_result_are_the_same(call: Call) -> None:
    code, out, error = call("replay", "sample", "--gpu", "mobile", "--energy")
    assert code == 0, error
    assert "Energy by accelwattch-sass: " in out
    folder = Path("results/sample-mobile.energy")
    written = {file.name: file.read_bytes() for file in folder.iterdir()}
    code, again, error = call("energy", "sample-mobile")
    assert code == 0, error
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == written
    shown = [line for line in out.splitlines() if line.endswith("%") and "," in line]
    assert len(shown) > 10
    assert all(line in again for line in shown)


def test_records_and_the_sign_of_a_difference(call: Call) -> None:
    assert call("replay", "sample", "--gpu", "mobile", "--quiet")[0] == 0
    assert call("replay", "sample", "--set", "rt.warps=1", "--gpu", "mobile", "--out", "one.result", "--quiet")[0] == 0
    code, out, error = call("energy", "one", "sample-mobile", "--json")
    assert code == 0, error
    records = json.loads(out)
    energies = {row["result"]: row for row in records if row["metric"] == "energy"}
    apart = records[-1]
    assert apart["metric"] == "less sample-mobile.result"
    first, base = energies["one.result"], energies["sample-mobile.result"]
    assert apart["value"] == pytest.approx(first["value"] - base["value"])
    assert 0 < apart["low"] <= apart["value"] <= apart["high"]
    code, out, _ = call("energy", "one", "sample-mobile")
    assert code == 0
    assert "The sign of the difference is the same anywhere in the range" in out
    Path("free.toml").write_text('like = "accelwattch-sass"\nname = "free"\n[scale]\nconstant = 0.0\n')
    code, out, _ = call("energy", "one", "--table", "free.toml", "--out", "other.energy")
    assert code == 0
    assert "Energy by free: " in out
    assert Path("other.energy/manifest.json").is_file()
    for wrong, said in (
        (("energy", "one", "sample-mobile", "--out", "a.energy"), "--out: takes one result, not 2"),
        (("energy", "one", "--out", "a.result"), "--out a.result: must end in .energy"),
        (("energy", "one", "--table", "accelwatch"), "must be a .toml file or one of accelwattch-hw"),
        (("energy", "one", "--table", "none.toml"), "none.toml: no such energy table"),
        (("replay", "sample", "--energy", "--model", "gatsim"), "--energy: cannot be used with --model gatsim"),
        (("replay", "sample", "--energy", "none.toml"), "none.toml: no such energy table"),
        (("replay", "sample", "--energy", "mine"), "--energy: mine must be a .toml file"),
        (("replay", "--energy", "sample"), "--energy: sample must be a .toml file or one of accelwattch-hw"),
        (("replay", "--energy", "sample", "--gpu", "mobile"), "TRACE stands before --energy"),
    ):
        code, out, error = call(*wrong)
        assert (code, out) == (2, "")
        assert said in error
        assert error.count("\n") == 1
