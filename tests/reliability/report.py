"""``docs/reliability.md`` from the outcomes that the suites left."""

import importlib.metadata
import json
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.reliability.suite import Suite

LIBRARIES = ("numpy", "pyarrow", "h5py", "trimesh", "Pillow")
HEAD = """\
# Damage, and its outcomes

`make reliability` runs the suites below and writes this page; `COUNT=` and `SEED=` choose. CI runs a short form of
each (`tests/test_reliability.py`), `make fuzz` 20,000 mutations of every kind of file. A failing case is repeated by
its seed, subject and number. Suites may run in parts (`python -m tests.reliability --only SUITE --subject NAME`): the
outcomes stay in `build/reliability`, and each row below is of the last run of its subject.
"""


def page(suites: Sequence[Suite], outcomes: Path) -> str:
    """The page: a section per suite that has an outcome."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    lines = [HEAD, f"Last run with Python {platform.python_version()}, {versions}.\n"]
    for suite in suites:
        rows = [(subject, read(outcomes, suite, subject)) for subject in suite.subjects]
        found = [(subject, row) for subject, row in rows if row is not None]
        if found:
            lines += section(suite, found)
    return "\n".join(lines)


def read(outcomes: Path, suite: Suite, subject: str) -> dict[str, Any] | None:
    """The outcome of a subject, or None when it was not run."""
    path = outcomes / suite.name / f"{subject.replace('/', '-')}.json"
    return json.loads(path.read_text()) if path.is_file() else None


def section(suite: Suite, rows: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    """Heading, rule and table of a suite."""
    yield f"## {suite.name}\n\n{suite.what}\n\nMust come out: {suite.rule}\n"
    yield "| subject | cases | seed | outcome | failures | measured |\n|---|---|---|---|---|---|"
    for subject, row in rows:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(row["outcomes"].items()))
        yield f"| {subject} | {row['cases']:,} | {row['seed']} | {counts} | {len(row['failures'])} | {row['note']} |"
    total = sum(row["cases"] for _, row in rows)
    yield f"\n{total:,} cases, {sum(len(row['failures']) for _, row in rows)} failures.\n"
