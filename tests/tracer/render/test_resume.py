"""A render that was killed goes on and leaves the bytes of one that was not; nothing else stays behind."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from rayplay.formats.dataset import resume
from rayplay.formats.dataset.resume import ResumableTraceWriter
from rayplay.formats.parquet.shards import HashingFile
from rayplay.formats.place.checkpoint import Checkpoints
from rayplay.formats.schema.manifest import MANIFEST
from rayplay.tracer import run
from rayplay.tracer.__main__ import main
from rayplay.tracer.record import buffers
from rayplay.tracer.render import Summary
from tests.formats.schema_strategies import tree_bytes

RENDER = ("render", "cornell", "--size", "64x16", "--samples", "1")


@pytest.fixture(autouse=True)
def many_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every two CTAs of the 32, and files of few row groups."""
    monkeypatch.setattr(run, "CTAS_PER_STEP", 2)
    monkeypatch.setattr(resume, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The trace of a run without an interruption."""
    out = tmp_path_factory.mktemp("whole") / "a.trace"
    assert main([*RENDER, "--out", str(out)]) == 0
    return tree_bytes(out)


def render_in_child(out: Path, *more: str) -> int:
    """Process id of a child that renders."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            os._exit(main([*RENDER, *more, "--out", str(out)]))
        except BaseException:
            os._exit(70)
    return child


def kill_at(monkeypatch: pytest.MonkeyPatch, owner: type, method: str, number: int) -> None:
    """SIGKILL for the process that calls ``method`` for the ``number``-th time."""
    plain, count = getattr(owner, method), [0]

    def killing(*arguments, **named):
        count[0] += 1
        if count[0] == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(*arguments, **named)

    monkeypatch.setattr(owner, method, killing)


PLACES = {
    "first checkpoint": (Checkpoints, "save", 1),
    "later checkpoint": (Checkpoints, "save", 6),
    "rows": (ResumableTraceWriter, "put", 20),
    "a file's first bytes": (HashingFile, "_write_some", 4),
    "the last bytes": (ResumableTraceWriter, "_finish", 1),
    "publication": (ResumableTraceWriter, "_clean_up", 1),
}


def test_full_buffers_do_not_put_off_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: dict) -> None:
    """Buffers of visits that hold less than a step, more than one, and less than one that would never end."""
    noted = []
    for visits, ctas in ((64, 2), (1 << 16, 2), (64, 1 << 20)):
        monkeypatch.setattr(buffers, "VISITS", visits)
        monkeypatch.setattr(run, "CTAS_PER_STEP", ctas)
        count = [0]
        save = Checkpoints.save

        def counting(*arguments, count: list[int] = count, save=save, **named) -> None:
            count[0] += 1
            save(*arguments, **named)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Checkpoints, "save", counting)
            assert main([*RENDER, "--out", str(tmp_path / "a.trace")]) == 0
        noted.append(count[0])
        assert tree_bytes(tmp_path / "a.trace") == whole
    assert min(noted) >= 16


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("place", PLACES)
def test_killed_and_gone_on_with(whole: dict[str, bytes], tmp_path: Path, place: str, capsys) -> None:
    out = tmp_path / "a.trace"
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, *PLACES[place])
        assert os.waitpid(render_in_child(out), 0)[1] == signal.SIGKILL
    if place == "publication":
        assert tree_bytes(out) == whole
    else:
        assert not out.exists()
    assert main([*RENDER, "--resume", "--out", str(out)]) == 0
    goes_on = place not in ("first checkpoint", "publication")
    assert ("going on after" in capsys.readouterr().err) == goes_on
    assert tree_bytes(out) == whole
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.png", "a.trace"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_killed_again_and_again(whole: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "a.trace"
    ends = []
    for attempt in range(40):
        child = render_in_child(out, "--resume")
        time.sleep(0.02 * attempt)
        os.kill(child, signal.SIGKILL)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if (out / MANIFEST).exists():
            break
    assert set(ends) <= {0, -signal.SIGKILL}
    assert main([*RENDER, "--resume", "--out", str(out)]) == 0
    assert tree_bytes(out) == whole
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.png", "a.trace"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_rates_are_of_this_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"rays": 5_000_000, "thread_instructions": 50_000_000}
    before = {"rays_before": 2_000_000, "thread_instructions_before": 47_000_000}
    text = Summary(**counts, **before, seconds={"run": 1.0}).text()
    assert "5,000,000  3.000 M/s" in text
    assert "50,000,000  3.0 M/s" in text
    told: list[Summary] = []
    monkeypatch.setattr(Summary, "text", lambda self: told.append(self) or "")
    out = tmp_path / "a.trace"
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, *PLACES["later checkpoint"])
        os.waitpid(render_in_child(out), 0)
    assert main([*RENDER, "--resume", "--out", str(out)]) == 0
    assert 0 < told[0].rays_before < told[0].rays
    assert 0 < told[0].thread_instructions_before < told[0].thread_instructions


def test_other_arguments_begin_anew(whole: dict[str, bytes], tmp_path: Path, capsys) -> None:
    out = tmp_path / "a.trace"
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, *PLACES["later checkpoint"])
        os.waitpid(render_in_child(out), 0)
    assert main([*RENDER, "--seed", "2", "--resume", "--out", str(out)]) == 0
    assert "beginning at the beginning" in capsys.readouterr().err
    assert tree_bytes(out) != whole
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.png", "a.trace"]


def test_ctrl_c_keeps_what_a_checkpoint_knows(whole: dict[str, bytes], tmp_path: Path, capsys) -> None:
    out = tmp_path / "a.trace"
    plain, count = ResumableTraceWriter.checkpoint, [0]

    def interrupted(self: ResumableTraceWriter, facts, arrays) -> None:
        plain(self, facts, arrays)
        count[0] += 1
        if count[0] == 5:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ResumableTraceWriter, "checkpoint", interrupted)
        with pytest.raises(KeyboardInterrupt):
            main([*RENDER, "--out", str(out)])
    assert "--resume goes on from the last checkpoint" in capsys.readouterr().err
    assert len(list(tmp_path.glob(".a.trace.*"))) == 2
    assert main([*RENDER, "--resume", "--out", str(out)]) == 0
    assert tree_bytes(out) == whole
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.png", "a.trace"]
