"""A replay that goes on from a checkpoint ends with the same bytes, wherever it was interrupted."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.place.checkpoint import Checkpoint, Checkpoints, load_checkpoint, save_checkpoint
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.run.driver import simulate
from tests.formats.schema_strategies import tree_bytes

SMALL = ("sm.count=3", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=100")
CONFIGURATIONS = {
    "mobile": ("mobile", "characterised", SMALL),
    "pipeline": ("rtx2060", "pipeline", (*SMALL, "l2.bytes=131072")),
    "kernels together": ("mobile", "characterised", (*SMALL, "sm.concurrent_kernels=2")),
}
INTERVAL = 50


class Noting(Checkpoints):
    """Keeps every ``every``-th checkpoint as bytes on the disk; or goes on from one."""

    def __init__(self, folder: Path, every: int = 1, resumed: Checkpoint | None = None) -> None:
        self.kept: list[Path] = []
        self.resumed, self.number, self.every, self.where = resumed, 0, every, folder

    @property
    def are_due(self) -> bool:
        self.number += 1
        return self.resumed is None and self.number % self.every == 0

    def save(self, facts, arrays) -> None:
        partial = self.where / f"{self.number}.partial"
        partial.mkdir(parents=True)
        save_checkpoint(partial, facts, arrays)
        self.kept.append(partial)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that checkpoints fall between any two loads of warps."""
    monkeypatch.setattr("rayplay.replay.input.window.ROWS_PER_BATCH", 20_000)


def run(trace: Path, gpu: Gpu, model: str, out: Path, notes: Checkpoints | None) -> dict[str, bytes]:
    """The bytes of a result except the host's own."""
    result = simulate(open_trace(trace), gpu, model=model, interval=INTERVAL, notes=notes)
    result.write(out, {"command": "test"})
    return {name: content for name, content in tree_bytes(out).items() if name != "host.json"}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_resume_points(generated: Path, tmp_path: Path, name: str) -> None:
    gpu_name, model, assignments = CONFIGURATIONS[name]
    gpu = load(gpu_name, assignments)
    points = int(os.environ.get("RAYPLAY_RESUME_POINTS", "7"))
    counting = Noting(tmp_path, 1 << 60)
    whole = run(generated, gpu, model, tmp_path / "whole.result", counting)
    assert counting.number > 2 * points
    noting = Noting(tmp_path / "notes", (counting.number - 1) // points)  # the last one is asked for when all is done
    assert run(generated, gpu, model, tmp_path / "noted.result", noting) == whole
    assert len(noting.kept) >= points
    for partial in noting.kept:
        was = load_checkpoint(partial)
        assert was is not None
        notes = Noting(tmp_path, 1, was)
        assert run(generated, gpu, model, tmp_path / "again.result", notes) == whole
        assert notes.number < counting.number


@pytest.fixture
def killed_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """``killed_at(n)``: this process gets SIGKILL after its n-th checkpoint."""
    save, count = Checkpoints.save, [0]

    def start(number: int) -> None:
        def saving(self: Checkpoints, facts, arrays) -> None:
            save(self, facts, arrays)
            count[0] += 1
            if count[0] == number:
                os.kill(os.getpid(), signal.SIGKILL)

        monkeypatch.setattr(Checkpoints, "save", saving)
        monkeypatch.setattr("rayplay.replay.run.checkpoint.SECONDS_BETWEEN_CHECKPOINTS", 0.0)

    return start


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_command_goes_on(
    generated: Path, tmp_path: Path, run_replay: Callable[..., int], killed_at, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (generated, "--gpu", "mobile", "--set", "sm.count=3", "--set", "memory.count=2", "--interval", "500")
    assert run_replay(*arguments, "--out", tmp_path / "whole.result") == 0
    out = tmp_path / "mine.result"
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        killed_at(5)
        os._exit(run_replay(*arguments, "--out", out))
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".checkpoint", ".partial", ".result"]
    capsys.readouterr()
    assert run_replay(*arguments, "--out", out, "--resume") == 0
    assert f"{out}: going on from cycle" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.result", "whole.result"]
    for name, content in tree_bytes(tmp_path / "whole.result").items():
        assert name == "host.json" or (out / name).read_bytes() == content, name
    assert run_replay(*arguments, "--out", out, "--resume") == 0
    assert "beginning at the beginning" in capsys.readouterr().err


def test_resume_needs_a_result(generated: Path, run_replay: Callable[..., int], capsys) -> None:
    assert run_replay(generated, "--resume") == 2
    assert "--resume: needs --out NAME.result" in capsys.readouterr().err


def test_a_checkpoint_of_other_inputs_or_a_damaged_one_is_not_used(tmp_path: Path) -> None:
    final = tmp_path / "a.result"
    for same, damage, goes_on in (("x", 0, True), ("y", 0, False), ("x", 1, False)):
        with Checkpoints(final, "x", False, 0.0) as notes:
            notes.save({"cycle": 1}, {"numbers": np.arange(1000), "names": np.array(["a", "bc"], object)})
            path = next(tmp_path.glob(".*.checkpoint"))
            content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= damage
        (tmp_path / ".a.result.abcdefgh.partial").mkdir()
        (tmp_path / ".a.result.abcdefgh.checkpoint").write_bytes(content)
        with Checkpoints(final, same, True, 0.0) as notes:
            assert (notes.resumed is not None) == goes_on
            if notes.resumed:
                assert notes.resumed.facts["cycle"] == 1
                assert notes.resumed.arrays["names"].tolist() == ["a", "bc"]
                np.testing.assert_array_equal(notes.resumed.arrays["numbers"], np.arange(1000))
            assert len(list(tmp_path.glob(".*.partial"))) == 1
        assert not list(tmp_path.iterdir())
