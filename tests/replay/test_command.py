"""``python -m replay``: its examples work, and what would do nothing or cannot be written is said before any work."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from rayplay.formats.dataset.result import ResultWriter
from rayplay.replay.arguments import EXAMPLE
from tests.replay.launches import Kernel, write_kernels

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("line", [line for line in EXAMPLE.splitlines() if "-m replay" in line])
def test_examples_of_the_help_work(
    line: str, tmp_path: Path, run_replay: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)
    assert run_replay(*words[words.index("replay") + 1 :]) == 0
    if "--picture" in words:
        assert (tmp_path / words[words.index("--picture") + 1]).stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--picture", "x.pdf", "--out", "x.result"], "--picture x.pdf: must end in .png or .svg"),
        (["--model", "gatsim", "--out", "x.result", "--picture", "x.png"], "the model gatsim keeps no cycle stacks"),
        (["--timeline", "x.json"], "--timeline x.json: must end in .pftrace"),
        (["--timeline-cycles", "1:2"], "--timeline-cycles: needs --timeline"),
        (["--timeline", "x.pftrace", "--timeline-cycles", "2:1"], "the end must be after the first cycle"),
        (["--timeline", "x.pftrace", "--model", "gatsim"], "--timeline x.pftrace: cannot be used with --model gatsim"),
        (["--out", "other.result"], "other.result: must be absent or an earlier rayplay result"),
        (["--out", "kept.result"], "holds cycles.png, which is not of a rayplay result: not replaced"),
        (["--model", "pipeline", "--characterisation", "x.parquet"], "the model pipeline takes its latencies from"),
        (["--threads", "257"], "threads must be 1 to 256, not 257"),
        (["--interval", "10000000000000000"], "interval must be 1 to 1,000,000,000,000,000 cycles, not 1000000000000"),
        (["--explain", "mobile"], "--explain: takes no trace, for nothing is replayed"),
    ],
)
def test_what_cannot_be_is_said_before_any_work(
    arguments: list[str], message: str, tmp_path: Path, run_replay: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write_kernels(tmp_path / "x.trace", [Kernel((1,))])
    (tmp_path / "other.result").mkdir()
    with ResultWriter(tmp_path / "kept.result") as writer:
        writer.summary({})
    (tmp_path / "kept.result" / "cycles.png").write_text("mine")
    assert run_replay("x.trace", "--gpu", "mobile", *arguments) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.out == ""
    assert not (tmp_path / "x.result").exists()
    assert (tmp_path / "kept.result" / "cycles.png").read_text() == "mine"


@pytest.mark.parametrize(
    "option", ["--set rt.warps=1", "--resume", "--gpu mobile", "--kernel-name x", "--threads 2", "--scale 2"]
)
def test_a_result_is_drawn_and_nothing_else(
    option: str, tmp_path: Path, run_replay: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_replay("x.result", "--picture", tmp_path / "x.png", *option.split()) == 2
    message = f"a picture of a result: takes no {option.split()[0]}, for nothing is replayed"
    assert message in capsys.readouterr().err


def test_kernels_may_be_named_one_by_one(
    tmp_path: Path, run_replay: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    trace = write_kernels(tmp_path / "x.trace", [Kernel((1,)), Kernel((2,)), Kernel((4,))])
    assert run_replay(trace, "--gpu", "mobile", "--kernel", 0, "--kernel", 2, "--all") == 0
    assert "warp_instructions                           5" in capsys.readouterr().out


def test_units_that_do_not_fit_are_one_clear_line(
    tmp_path: Path, run_replay: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = write_kernels(tmp_path / "x.trace", [Kernel((1,))])
    monkeypatch.setenv("RAYPLAY_MAX_GPU_BYTES", "1000000")
    assert run_replay(trace, "--gpu", "mobile") == 2
    message = "GPU mobile: its units must fit 1000000 bytes; --limit gpu-bytes=N or RAYPLAY_MAX_GPU_BYTES raises"
    assert message in capsys.readouterr().err
