"""The page docs/replay.md follows from the code."""

from pathlib import Path

from rayplay.replay.page import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_current() -> None:
    written = (ROOT / "docs" / "replay.md").read_text()
    assert written == page(), "docs/replay.md is old: run make docs"


def test_every_value_of_a_description_has_a_source() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| `") and line.count("|") > 6]
    assert len(rows) > 100
    assert [row.split("`")[1] for row in rows if row.endswith("|  |")] == []
