"""docs/foreign.md: every command of the page runs, one after the other, in one empty folder."""

import re
import shlex
from pathlib import Path

from tests.rayplay.conftest import Call

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "foreign.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def test_the_commands_of_the_page_work(call: Call) -> None:
    assert len(COMMANDS) == 8
    for line in COMMANDS:
        program, *words = shlex.split(line)
        assert program == "rayplay"
        code, _, error = call(*words)
        assert code == 0, f"{line}: {error}"


def test_a_capacity_without_its_ways_is_refused_as_the_page_says(call: Call) -> None:
    code, _, error = call("gpu", "new", "big.toml", "--base", "accelsim-rtx2060", "--set", "l2.bytes=6291456")
    assert code == 2
    assert "needs 16, 32 or 64 sets, not 128" in error
