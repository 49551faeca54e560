"""A full disk and Ctrl-C: one line, exit code 2, and the old result as it was."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.guard.command import run
from rayplay.formats.testing.generate import make_trace
from rayplay.replay import __main__ as command
from rayplay.replay.run import driver
from rayplay.replay.run.progress import Standing

simulate = driver.simulate
fsync = os.fsync
INTERRUPTED = "replay: error: interrupted; nothing incomplete stands under a final name"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_trace(tmp_path_factory.mktemp("survival") / "small.trace", 1, (64, 8))
    simulate(made, "mobile")  # an engine that is compiled now, and kept, would sync files of its own
    return made


@pytest.fixture
def ends(small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Exit code and standard error of ``python -m replay small.trace ARGUMENTS``."""

    def ends(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["replay", str(small), *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            run("replay", command.main)
        return int(caught.value.code or 0), capsys.readouterr().err

    return ends


@pytest.fixture(params=["absent", "present"])
def out(request: pytest.FixtureRequest, tmp_path: Path, ends: Callable[..., Any]) -> Iterator[Path]:
    """A result's path with or without an earlier one, which must be as before when the test ends."""
    path = tmp_path / "small.result"
    if request.param == "present":
        assert ends("--out", path)[0] == 0
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    yield path
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert {entry.name for entry in tmp_path.iterdir()} == ({"small.result"} if before else set())


@pytest.mark.parametrize("number", [1, 3])
def test_a_full_disk(out: Path, ends: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    calls = [0]

    def full(handle: int) -> None:
        calls[0] += 1
        if calls[0] == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr("os.fsync", full)
    code, error = ends("--gpu", "mobile", "--out", out)
    assert code == 2
    assert error.startswith(f"replay: error: {out.parent}")
    assert error.endswith("No space left on device\n")
    assert error.count("\n") == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_in_the_replay(
    out: Path, ends: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    def interrupted(*arguments: Any, **named: Any) -> Any:
        def progress(standing: Standing) -> None:
            raise KeyboardInterrupt

        return simulate(*arguments[:-2], progress, **named)

    monkeypatch.setattr(driver, "simulate", interrupted)
    code, error = ends("--gpu", "mobile", "--threads", threads, "--out", out)
    assert code == 130
    assert error.splitlines()[-1] == INTERRUPTED


def test_ctrl_c_while_writing(out: Path, ends: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupted)
    assert ends("--gpu", "mobile", "--out", out) == (130, f"{INTERRUPTED}\n")
