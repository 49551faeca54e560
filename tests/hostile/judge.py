"""Judgement of one run: refused by one line, or served; within the limits; and nothing half-written."""

import re
from pathlib import Path
from typing import Any

from tests.hostile.verbs import Case
from tests.hostile.warm import CPU_SECONDS, MOST_BYTES

LISTED = {"check": 1, "verify": 2, "doctor": 1}
"""Verbs that print what is wrong of a file, and the code with which they then exit."""
LONGEST_LINE = 1200
NO_DEVICE = "no CUDA device"
"""How ``time`` ends, without a GPU, for input that it has found right."""


def fault(case: Case, verb: str, run: dict[str, Any], before: set[str], folder: Path) -> str:
    """Faults of a run; "" when it is as the case wants it."""
    try:
        found = judged(verb, run, before, folder)
    except AssertionError as error:
        return str(error)
    said = run["err"] or run["out"]
    if found == "served":
        return "" if verb in case.served else f"{verb}: served, and must be refused: {said[:300]}"
    return "" if re.search(case.says, said) else f"{verb}: must say {case.says!r}: {said}"


def judged(verb: str, run: dict[str, Any], before: set[str], folder: Path) -> str:
    """``refused`` or ``served``; ``AssertionError`` for anything else."""
    shown = f"{verb}: {run}"
    assert "Traceback" not in run["err"], f"{verb}: {run['err']}"
    assert run["code"] >= 0, shown
    assert run["cpu_seconds"] < CPU_SECONDS, shown
    assert run["peak_bytes"] < MOST_BYTES, shown
    assert all(letter.isprintable() or letter in "\n\t" for letter in run["out"]), shown
    left = names(folder) - before
    lines = [line for line in run["err"].splitlines() if not line.startswith(("compiling ", "compiled "))]
    if run["code"] == 2 and NO_DEVICE in run["err"]:
        assert len(lines) == 1, shown
        assert left == set(), shown
        return "served"
    if run["code"] == 2 and lines:
        assert len(lines) == 1, shown
        assert ": error: " in lines[0], shown
        assert lines[0].isprintable(), shown
        assert len(lines[0]) <= LONGEST_LINE, shown
        assert left == set(), shown
        return "refused"
    if verb in LISTED and run["code"] == LISTED[verb]:
        assert len(run["out"].splitlines()) >= 2, shown
        return "refused"
    assert run["code"] == (1 if verb == "diff" and run["code"] else 0), shown
    assert not [name for name in left if name.rpartition("/")[2].startswith(".")], shown
    return "served"


def names(folder: Path) -> set[str]:
    """Paths of everything in a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
