"""``rayplay report``: the page is written, and no other file is lost."""

import json
from collections.abc import Callable
from pathlib import Path

import rayplay

Call = Callable[..., tuple[int, str, str]]


def test_the_page_is_written_and_other_files_are_kept(call: Call, tmp_path: Path) -> None:
    rayplay.replay("sample", "mobile", out=tmp_path / "sample-mobile.result")
    out = tmp_path / "x.html"
    out.write_text("mine")
    code, _, error = call("report", "sample-mobile", "--out", "x.html")
    assert (code, out.read_text(), error.count("\n")) == (2, "mine", 1)
    out.unlink()
    for _ in range(2):
        code, said, _ = call("report", "sample-mobile", "--out", "x.html", "--json")
        assert (code, json.loads(said)[0]["bytes"]) == (0, out.stat().st_size)
    assert call("report", "sample-mobile", "--out", "x.png")[0] == 2
