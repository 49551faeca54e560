"""The whole estimator: its limit of all pixels, its files, its command line."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.edit.select import take
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.expect import REPLAYED_COLUMNS
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.zatel.model.traffic import read_stream, unseen
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.simulate import simulate_all
from rayplay.zatel.sample.estimate import estimate, read_work
from rayplay.zatel.sample.report import KEYS, as_json, table_text
from rayplay.zatel.sample.rows import Held, as_source, copies, read_rows
from rayplay.zatel.sample.whole import is_small
from rayplay.zatel.verbs.estimate import percentage

GPU = ["sm.kernel_launch_cycles=100"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace(tmp_path_factory.mktemp("estimate") / "small.trace", 2, (128, 24), 0, hints=True)


def test_all_ctas_are_the_full_replay_without_an_interval(path: Path) -> None:
    gpu = load("mobile", GPU)
    found = estimate(open_trace(path), gpu, 1.0)
    full = simulate_all([(path, gpu)])[0].metrics
    assert found.share == 1.0
    for name in RULES:
        assert found.metrics[name] == pytest.approx(full[name], rel=1e-9)
        interval = found.intervals[name]
        assert interval is None or interval.high - interval.low == 0.0
    text = table_text([found], full)
    assert text.count("    0.0 %") == 7


@pytest.mark.parametrize("most", [0, 1 << 30])
@pytest.mark.parametrize("drawn", [False, True])
def test_a_sample_is_a_trace_of_its_warps(path: Path, monkeypatch: pytest.MonkeyPatch, most: int, drawn: bool) -> None:
    monkeypatch.setattr("rayplay.zatel.sample.rows.SAMPLE_BYTES", most)
    trace = open_trace(path)
    warps = np.arange(trace.rows("warps")) % 3 == 0
    held = Held(trace, warps) if drawn else None
    rows = read_rows(trace, held, warps, read_stream(trace, held.add if held else unseen))
    line = np.array([trace.read("nodes", ["address"])["address"][0] // 128], np.int64)
    assert bool(rows.left) == (most == 0)
    source = as_source(trace, rows._replace(line=line, sectors=np.array([3], np.uint8)), warps)
    part = Trace(source, trace.layout)
    for name, columns in REPLAYED_COLUMNS.items():
        table, whole, found = trace.layout.table(name), trace.read(name, columns), part.read(name, columns)
        expected = take(table, whole, warps[whole["warp_id"]])
        assert {key: values.tolist() for key, values in found.items()} == {
            key: values.tolist() for key, values in expected.items()
        }
        assert part.rows(name) == len(found["warp_id"])
    assert part.read("copies")["address"].tolist() == [line[0] * 128]
    assert part.read("copies")["bytes"].tolist() == [64]
    assert not {"image", "hints"} & set(part.tables)
    again = Trace(pickle.loads(pickle.dumps(source)), trace.layout)
    assert again.read("warps")["cta_id"].tolist() == trace.read("warps")["cta_id"].tolist()
    assert again.read("rays", ["node"])["node"].tolist() == part.read("rays", ["node"])["node"].tolist()


def test_a_sample_that_is_read_again_gives_the_same_estimate(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, gpu = open_trace(path), load("mobile", GPU)
    held = estimate(trace, gpu, 0.25, 1, read_work(trace, keep=False, drawn=(0.25, 1)))
    monkeypatch.setattr("rayplay.zatel.sample.rows.SAMPLE_BYTES", 0)
    again = estimate(trace, gpu, 0.25, 1, read_work(trace, keep=False))
    assert (again.metrics, again.intervals) == (held.metrics, held.intervals)
    assert again.replayed.totals == held.replayed.totals


def test_copies_are_sectors_side_by_side() -> None:
    rows = copies(np.array([2, 1, 7, 5]), np.array([0b1001, 0b0110, 0b1111, 0b1101], np.uint8))
    assert rows["address"].tolist() == [256, 256 + 96, 128 + 32, 896, 640, 640 + 64]
    assert rows["bytes"].tolist() == [32, 32, 64, 128, 32, 64]


def test_a_sample_of_a_part_has_intervals_and_is_repeatable(path: Path) -> None:
    trace, gpu = open_trace(path), load("mobile", GPU)
    work = read_work(trace)
    found = estimate(trace, gpu, 0.25, 4, work)
    assert found.warps.sum() == len(found.warps) // 4
    assert (found.machine.sms, found.machine.controllers) == (2, 1)
    for name in RULES:
        interval = found.intervals[name]
        assert interval is None or interval.low < (found.metrics[name] or 0) < interval.high
    again = estimate(trace, gpu, 0.25, 4, work)
    assert as_json([found], "t", "g", 4, None) == as_json([again], "t", "g", 4, None)
    assert as_json([found], "t", "g", 4, None).keys() == KEYS
    json.dumps(as_json([found], "t", "g", 4, None))


def test_too_few_ctas_are_refused(path: Path) -> None:
    with pytest.raises(UserError, match=r"--fraction must give at least 8 of the 96 CTAs, 0\.083, not 0\.001"):
        estimate(open_trace(path), load("mobile", GPU), 0.001)


def test_a_small_trace_is_replayed_whole(path: Path, tmp_path: Path) -> None:
    """The answer of the verb is exact, whatever the fraction or the target."""
    full = simulate_all([(path, load("mobile"))])[0].metrics
    for number, options in enumerate((["--fraction", "0.3"], ["--target-error", "5%"])):
        out = tmp_path / f"{number}.json"
        command = [sys.executable, "-m", "zatel", "estimate", str(path), "--gpu", "mobile", *options, "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "that is the full replay: its metrics are exact" in done.stdout
        found = json.loads(out.read_text())
        assert {name: metric["estimate"] for name, metric in found["metrics"].items()} == full
        assert all(metric["interval"] == [full[name]] * 2 for name, metric in found["metrics"].items())
        (sample,) = found["samples"]
        assert (sample["warps"], sample["share"]) == (open_trace(path).rows("warps"), 1.0)


def test_a_trace_is_small_by_its_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = open_trace(path)
    rows = trace.rows("accesses") + trace.rows("rays")
    for few, small in ((rows + 1, True), (rows, False)):
        monkeypatch.setattr("rayplay.zatel.sample.whole.FEW_ROWS", few)
        assert is_small(trace) == small


@pytest.mark.parametrize("text", ["2", "0%", "100%", "-1%", "two%", "nan%"])
def test_a_target_must_be_a_percentage(text: str) -> None:
    with pytest.raises(UserError, match="--target-error must be a percentage such as 2%"):
        percentage(text)
    assert percentage("2%") == 0.02


def test_bad_requests_are_one_line(path: Path) -> None:
    for options, said in (
        (["--fraction", "0"], "--fraction must be greater than 0 and at most 1, not 0"),
        (["--fraction", "0.1", "--target-error", "2%"], "must not be given together"),
    ):
        command = [sys.executable, "-m", "zatel", "estimate", str(path), "--gpu", "mobile", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
