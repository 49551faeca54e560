"""Energy of design changes: of whole replays, with a sign that holds anywhere in the RT units' range or does not."""

import json
from pathlib import Path

import pytest

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.energy.difference import Charge, charged
from rayplay.replay.gpu.description import load
from rayplay.zatel.__main__ import parser
from rayplay.zatel.changes.energy import energy_changes
from rayplay.zatel.changes.whatif import changed
from rayplay.zatel.verbs.whatif import whatif_verb

TABLE = "accelwattch-sass"
NOTHING = {"box": (0.0, 0.0, 0.0), "triangle": (0.0, 0.0, 0.0), "record": (0.0, 0.0, 0.0)}


def test_a_sign_survives_where_no_choice_of_the_range_turns_it() -> None:
    """Two joules more of the rest; boxes cost one less or, at their most, three less."""
    base, one = Charge(10.0, 1.0, NOTHING), Charge(11.0, 1.0, NOTHING | {"box": (-0.5, -1.0, -3.0)})
    assert one.less(base) == (-1.0, 1.0, 1.5)
    assert not one.less(base).survives
    assert Charge(14.0, 1.0, one.rt).less(base).survives
    assert base.less(one) == (-1.5, -1.0, 1.0)


def test_changes_are_of_whole_replays(trace: Trace) -> None:
    gpu = load("mobile")
    base, found = energy_changes(trace, gpu, ["rt.warps=1", "memory.count/2"], TABLE)
    assert base == charged(trace.path, gpu, TABLE)
    for each in found:
        assert each.charge == charged(trace.path, changed(gpu, each.name), TABLE)
        assert each.less.default == pytest.approx(each.charge.joules - base.joules)
    assert found[0].charge.seconds > base.seconds
    assert found[0].less.low > 0  # the same boxes and triangles, for longer
    assert found[0].less.survives


def test_the_verb_says_whether_the_sign_survives(
    trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "changes.json"
    given = ["whatif", str(trace.path), "--gpu", "mobile", "--fraction", "1", "--change", "rt.warps=1", "--energy"]
    assert whatif_verb(parser().parse_args([*given, "--workers", "1", "--out", str(out)])) == 0
    said = capsys.readouterr().out
    assert "the sign of the energy is the same anywhere in the range" in said
    told = json.loads(out.read_text())["energy"]
    assert told["table"] == TABLE
    assert told["designs"][0]["sign_survives"] is True
    low, default, high = told["designs"][0]["less"]
    assert 0 < low <= default <= high
    assert told["designs"][0]["joules"] == pytest.approx(told["joules"] + default)
