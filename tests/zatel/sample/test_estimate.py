"""The whole estimator: its limit of all pixels, its files, its command line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.simulate import simulate_all
from rayplay.zatel.sample.estimate import estimate, read_work
from rayplay.zatel.sample.report import KEYS, as_json, table_text
from rayplay.zatel.sample.trace import copies, write_sample
from rayplay.zatel.verbs.estimate import percentage

GPU = ["sm.kernel_launch_cycles=100"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace(tmp_path_factory.mktemp("estimate") / "small.trace", 2, (128, 24), 0)


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


def test_a_sample_is_a_valid_trace_of_its_warps(path: Path, tmp_path: Path) -> None:
    trace = open_trace(path)
    warps = np.arange(trace.rows("warps")) % 3 == 0
    held = np.array([trace.read("nodes", ["address"])["address"][0] // 128], np.int64), np.array([3], np.uint8)
    write_sample(trace, warps, *held, tmp_path / "part.trace")
    part = open_trace(tmp_path / "part.trace")
    assert not validate(part)
    for name in ("visits", "accesses", "rays"):
        whole, rows = trace.read(name, ["warp_id"])["warp_id"], part.read(name, ["warp_id"])["warp_id"]
        assert rows.tolist() == whole[warps[whole]].tolist()
    assert part.read("copies")["address"].tolist() == [held[0][0] * 128]
    assert part.read("copies")["bytes"].tolist() == [64]


def test_copies_are_sectors_side_by_side() -> None:
    rows = copies(np.array([2, 1, 7, 5]), np.array([0b1001, 0b0110, 0b1111, 0b1101], np.uint8))
    assert rows["address"].tolist() == [256, 256 + 96, 128 + 32, 896, 640, 640 + 64]
    assert rows["bytes"].tolist() == [32, 32, 64, 128, 32, 64]


def test_a_sample_of_a_part_has_intervals_and_is_repeatable(path: Path) -> None:
    trace, gpu = open_trace(path), load("mobile", GPU)
    work = read_work(trace)
    found = estimate(trace, gpu, 0.25, 4, work)
    assert found.warps.sum() == len(found.warps) // 4
    assert (found.machine.sms, found.machine.controllers) == (1, 2)
    for name in RULES:
        interval = found.intervals[name]
        assert interval is None or interval.low < (found.metrics[name] or 0) < interval.high
    again = estimate(trace, gpu, 0.25, 4, work)
    assert as_json([found], "t", "g", 4, None) == as_json([again], "t", "g", 4, None)
    assert as_json([found], "t", "g", 4, None).keys() == KEYS
    json.dumps(as_json([found], "t", "g", 4, None))


@pytest.mark.parametrize("text", ["2", "0%", "100%", "-1%", "two%", "nan%"])
def test_a_target_must_be_a_percentage(text: str) -> None:
    with pytest.raises(UserError, match="--target-error must be a percentage such as 2%"):
        percentage(text)
    assert percentage("2%") == 0.02


def test_bad_requests_are_one_line(path: Path) -> None:
    for options, said in (
        (["--fraction", "0"], "--fraction must be greater than 0 and at most 1, not 0"),
        (["--fraction", "0.001"], "--fraction must give at least 8 of the 96 CTAs, 0.083, not 0.001"),
        (["--fraction", "0.1", "--target-error", "2%"], "must not be given together"),
    ):
        command = [sys.executable, "-m", "zatel", "estimate", str(path), "--gpu", "mobile", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
