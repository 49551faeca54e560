"""Fixtures of the front door's tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rayplay.door.main import main
from rayplay.formats.guard.command import run

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command line in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def called(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()  # what the test itself had printed, such as the note of a first use
        with pytest.raises(SystemExit) as ended:
            run("rayplay", lambda: main(words))
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return called


@pytest.fixture
def records(call: Call) -> Callable[..., list[dict[str, Any]]]:
    """The records that a command line prints with ``--json``."""

    def called(*words: str) -> list[dict[str, Any]]:
        code, out, error = call(*words, "--json")
        assert code == 0, error
        found: list[dict[str, Any]] = json.loads(out)
        return found

    return called
