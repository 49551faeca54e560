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


def test_an_animation_stands_alone(call: Call, tmp_path: Path) -> None:
    rayplay.trace("cornell", size=(16, 8), samples=1, out=tmp_path / "walk" / "0000.trace")
    (tmp_path / "walk" / "frames.csv").write_text("frame,trace,rays,records_per_ray\n0,0000.trace,512,4.5\n")
    code, said, _ = call("report", "--animation", "walk")
    assert code == 0
    assert "512 rays" in said
    assert 'alt="Frame 0"' in (tmp_path / "walk.html").read_text()
    for words in ((), ("sample-mobile", "--animation", "walk")):
        code, _, error = call("report", *words)
        assert (code, "needs one of results and --animation" in error or "sample-mobile" in error) == (2, True)
