"""Views of results, traces and studies in a notebook: tables with their values, every text escaped."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rayplay
from rayplay.formats.dataset.frames import html_table
from rayplay.formats.dataset.result import ResultWriter, open_result
from rayplay.zatel.changes.whatif import Design, WhatIf
from rayplay.zatel.sample.intervals import Interval

SAMPLE = Path(__file__).parents[3] / "traces/sample.trace"


class Cells(HTMLParser):
    """Texts of the cells by row; any element that a table has not is an error."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.caption = ""
        self.inside = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("table", "caption", "thead", "tbody", "tr", "th", "td")
        assert all(name == "style" for name, _ in attrs)
        self.inside = tag
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.inside == "caption":
            self.caption += data
        else:
            self.rows[-1][-1] += data


def shown(thing: Any) -> list[list[str]]:
    """Rows of the table that a notebook shows, the head first."""
    return Cells(thing._repr_html_()).rows


def test_a_trace_shows_its_tables() -> None:
    trace = rayplay.open(SAMPLE)
    assert [row[:2] for row in shown(trace)[1:]] == [[name, f"{trace.rows(name):,}"] for name in trace.tables]
    assert trace.to_pandas()["rows"].to_dict() == {name: trace.rows(name) for name in trace.tables}


@pytest.mark.parametrize("is_open", [True, False])
def test_a_result_shows_its_metrics(is_open: bool, tmp_path: Path) -> None:
    result = rayplay.replay("sample", "mobile", out=tmp_path / "x.result")
    rows = shown(open_result(tmp_path / "x.result") if is_open else result)
    assert [row[0] for row in rows[1:]] == list(result.summary)
    assert dict(row[:2] for row in rows[1:])["gpu_cycles"] == f"{result.summary['gpu_cycles']['value']:,}"


def test_an_estimate_shows_its_intervals() -> None:
    found = rayplay.estimate("sample", "mobile", fraction=0.5)
    frame = found.to_pandas()
    rows = shown(found)
    assert rows[0] == ["metric", "estimate", "low", "high"]
    for name, *values in rows[1:]:
        assert values == ["" if np.isnan(value) else f"{value:,.6g}" for value in frame.loc[name].astype(float)]


def test_changes_are_shown_beside_the_noise_floor() -> None:
    bounds = {"gpu_cycles": Interval(-0.3, -0.2)}
    study = WhatIf({}, [Design("l1 <b>", {"gpu_cycles": -0.25}, bounds, None, {})], {"gpu_cycles": 0.01}, None)
    assert shown(study)[1:] == [["l1 <b>", "gpu_cycles", "-0.25", "-0.3", "-0.2", "0.01"]]
    assert study.to_pandas()["predicted"].tolist() == [-0.25]


def test_no_text_becomes_markup(tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>&amp;\""
    cells = Cells(html_table(evil, [{evil: evil, "b": None, "c": 1234567, "d": 0.5}]))
    assert cells.caption == evil
    assert cells.rows == [[evil, "b", "c", "d"], [evil, "", "1,234,567", "0.5"]]
    with ResultWriter(tmp_path / "<i>.result") as writer:
        writer.summary({evil: {"value": None, "unit": evil, "kind": "sum", "definition": evil}})
    assert shown(open_result(tmp_path / "<i>.result"))[1:] == [[evil, "", evil]]
