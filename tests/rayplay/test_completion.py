"""Completion by the shell, as argcomplete asks for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def completions(line: str, folder: Path) -> set[str]:
    """The words that a shell is offered for the last word of ``line``."""
    answer = folder / "answer"
    asked = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
    }  # fmt: skip
    subprocess.run([sys.executable, "-m", "rayplay"], cwd=folder, env=os.environ | asked, check=True)
    return set(answer.read_text().split("\n"))


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("rayplay rep", {"replay", "report"}),
        ("rayplay data s", {"select", "stats"}),
        ("rayplay replay sa", {"sample"}),
        ("rayplay replay sample --gpu mo", {"mobile"}),
        ("rayplay replay sample --mod", {"--model"}),
        ("rayplay replay sample --model pip", {"pipeline"}),
        ("rayplay trace corn", {"cornell"}),
        ("rayplay trace vec", {"vector_add"}),
        ("rayplay gpu s", {"show"}),
        ("rayplay gpu show mo", {"mobile"}),
        ("rayplay completion f", {"fish"}),
    ],
)
def test_words_are_completed(line: str, offered: set[str], tmp_path: Path) -> None:
    assert completions(line, tmp_path) == offered
