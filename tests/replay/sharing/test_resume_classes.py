"""A replay of classes of work that goes on from a checkpoint ends with the same bytes, wherever it was interrupted."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rayplay.formats.place.checkpoint import Checkpoints, load_checkpoint
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.launch.classes import join, parse
from rayplay.replay.run.together import How, grant_lines, replay_together
from rayplay.replay.sharing.rules import read_partition
from tests.formats.schema_strategies import tree_bytes
from tests.replay.launches import Kernel, write_kernels
from tests.replay.run.test_resume import Noting, killed_at

__all__ = ["killed_at"]
GPU = ("sm.count=6", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=50", "sm.concurrent_kernels=4")
PARTITIONS = {
    "greedy": (),
    "mig": (),
    "tap": ("partition.period_cycles=700",),
    "slicer": ("partition.sample_cycles=500",),
}


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """A picture, and short kernels in two streams that are repeated."""
    plain = [Kernel((4, 9) * 12, 0), Kernel((30,), 3), Kernel((2,) * 9, 0)]
    picture, net = make_trace(tmp_path / "picture.trace", 1, (40, 16), ctas=12), tmp_path / "net.trace"
    return [f"frame={picture}", str(write_kernels(net, plain))]


@pytest.mark.parametrize("partition", PARTITIONS)
def test_resume_points(texts: list[str], tmp_path: Path, partition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rayplay.replay.input.window.ROWS_PER_BATCH", 20_000)
    how = How(read_partition(partition, PARTITIONS[partition]), alone=False, interval=200)

    def run(out: str, notes: Checkpoints) -> dict[str, bytes]:
        result = replay_together(join([parse(text) for text in texts]), load("mobile", GPU), how, notes=notes)
        result.write(tmp_path / out, {"command": "test"})
        assert result.by_class["classes"][0]["passes"].max() > 1
        files = {name: content for name, content in tree_bytes(tmp_path / out).items() if name != "host.json"}
        return files | {"terminal": "\n".join(grant_lines(result)).encode()}

    counting = Noting(tmp_path, 1 << 60)
    whole = run("whole.result", counting)
    noting = Noting(tmp_path / "notes", max((counting.number - 1) // 7, 1))
    assert run("noted.result", noting) == whole
    assert len(noting.kept) >= 7
    for partial in noting.kept:
        was = load_checkpoint(partial)
        assert was is not None
        notes = Noting(tmp_path, 1, was)
        assert run("again.result", notes) == whole
        assert notes.number < counting.number


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_command_goes_on(
    texts: list[str], tmp_path: Path, killed_at: Callable[[int], None], run_replay: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Draw and rays of one trace are two classes."""
    arguments = [texts[0].removeprefix("frame="), "--gpu", "mobile", "--partition", "tap", "--interval", "500"]
    arguments += [option for value in GPU for option in ("--set", value)]
    assert run_replay(*arguments, "--out", tmp_path / "whole.result") == 0
    out = tmp_path / "mine.result"
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        killed_at(5)
        os._exit(run_replay(*arguments, "--out", out))
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    capsys.readouterr()
    assert run_replay(*arguments, "--out", out, "--resume") == 0
    assert f"{out}: going on from cycle" in capsys.readouterr().err
    for name, content in tree_bytes(tmp_path / "whole.result").items():
        assert name == "host.json" or (out / name).read_bytes() == content, name
    assert run_replay(*arguments[:-1], "sm.kernel_launch_cycles=60", "--out", out, "--resume") == 0
    assert "beginning at the beginning" in capsys.readouterr().err
