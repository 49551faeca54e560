"""Ctrl-C: exit code 130, and the line that goes on."""

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from rayplay.door import replay as replay_verb

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Replays that do nothing, and an interruption of the third; the list names the replays before it."""
    done: list[tuple[str, str]] = []

    def replay(arguments: argparse.Namespace) -> None:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append((arguments.trace.name, arguments.gpu))

    monkeypatch.setattr(replay_verb, "replay_and_draw", replay)
    return done


def line_that_goes_on(error: str) -> list[str]:
    """The words of the command after ``continue with:``."""
    assert len(error.splitlines()) == 1
    return shlex.split(error.partition("continue with: ")[2])


def test_finished_traces_are_left_out(interrupted: list[tuple[str, str]], call: Call, tmp_path: Path) -> None:
    (tmp_path / "mobile.trace").symlink_to(Path(__file__).parents[2] / "traces" / "sample.trace")
    code, _, error = call("replay", "sample", "mobile", "--gpu", "mobile,rtx2060", "--scale", "2")
    assert interrupted == [("sample.trace", "mobile"), ("sample.trace", "rtx2060")]
    assert code == 130
    assert line_that_goes_on(error) == [
        "rayplay", "replay", "mobile", "--gpu", "mobile,rtx2060", "--scale", "2", "--resume",
    ]  # fmt: skip


def test_a_name_that_is_an_options_value_stays(interrupted: list[tuple[str, str]], call: Call, tmp_path: Path) -> None:
    (tmp_path / "mobile.trace").symlink_to(Path(__file__).parents[2] / "traces" / "sample.trace")
    words = ("replay", "--gpu", "mobile", "mobile", "--gpu", "rtx2060", "sample", "--resume")
    code, _, error = call(*words)
    assert code == 130
    assert line_that_goes_on(error) == [
        "rayplay", "replay", "--gpu", "mobile", "--gpu", "rtx2060", "sample", "--resume",
    ]  # fmt: skip


def test_a_store_goes_on_by_the_same_command(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rayplay.zatel.changes.whatif.what_if", stop)
    words = ("whatif", "sample", "--gpu", "mobile", "--full", "--store", "kept replays")
    code, out, error = call(*words)
    assert (code, out) == (130, "")
    assert line_that_goes_on(error) == ["rayplay", *words]


def test_what_cannot_go_on_says_so(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rayplay.formats.look.statistics.measure", stop)
    code, _, error = call("data", "stats", "sample", "--json")
    assert (code, error) == (130, "rayplay: interrupted; nothing incomplete stands under a final name\n")
