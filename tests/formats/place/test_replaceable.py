"""A new trace or result takes the place of an earlier one, and of nothing else: what others keep there is not lost."""

import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest

from rayplay.formats.dataset.profile import PROFILE, ProfileWriter
from rayplay.formats.dataset.result import RESULT, ResultWriter
from rayplay.formats.dataset.resume import ResumableTraceWriter
from rayplay.formats.dataset.writer import FolderWriter, TraceWriter
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.place.replaceable import check_replaceable
from rayplay.formats.schema.column import Format
from rayplay.formats.schema.manifest import MANIFEST
from rayplay.formats.schema.prediction import PREDICTION
from rayplay.formats.schema.study import STUDY
from rayplay.formats.schema.trace import TRACE
from rayplay.formats.testing.generate import make_trace

SAMPLES = Path(__file__).resolve().parents[2] / "data"


def test_nothing_but_a_trace_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(FormatError, match="must be absent or an earlier rayplay trace"):
        make_trace(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"
    with ResultWriter(make_trace(tmp_path / "a.trace").with_name("a.result")) as writer:
        writer.summary({})
    with pytest.raises(FormatError, match="must be absent or an earlier rayplay trace"):
        make_trace(tmp_path / "a.result")
    (tmp_path / "file").write_text("x")
    with pytest.raises(FormatError, match="must be absent or an earlier rayplay trace"):
        make_trace(tmp_path / "file")


@pytest.mark.parametrize(("names", "said"), [
    (["NOTES.md"], "holds NOTES.md, which is not of a rayplay trace: not replaced"),
    (["b", "a", "c/x", "d"], "holds a, b, c and 1 more, which are not of a rayplay trace: not replaced"),
    (["visits-00001.parquet"], "holds visits-00001.parquet, which is not of a rayplay trace: not replaced"),
])  # fmt: skip
@pytest.mark.parametrize("writer", [TraceWriter, partial(ResumableTraceWriter, provenance={}, resume=True)])
def test_what_a_user_keeps_in_a_trace_is_not_lost(tmp_path: Path, names: list[str], said: str, writer) -> None:
    path = make_trace(tmp_path / "a.trace")
    for name in names:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("mine")
    with pytest.raises(FormatError, match=re.escape(f"{path}: {said}")):
        writer(path)
    assert all((path / name).read_text() == "mine" for name in names)


def test_what_a_user_keeps_in_a_result_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.result"
    for _ in range(2):  # the second one also replaces host.json
        with ResultWriter(path) as writer:
            writer.summary({})
    (path / "cycles.png").write_text("mine")
    said = "holds cycles.png, which is not of a rayplay result: not replaced"
    with pytest.raises(FormatError, match=said):
        ResultWriter(path)


@pytest.mark.parametrize("old", sorted(path.name for path in SAMPLES.iterdir() if path.is_dir()))
def test_folders_of_every_version_can_be_replaced(tmp_path: Path, old: str) -> None:
    path = Path(shutil.copytree(SAMPLES / old, tmp_path / old))
    layout = next(each for each in (TRACE, RESULT, PREDICTION, PROFILE) if each.name.endswith(path.suffix[1:]))
    check_replaceable(path, layout, ProfileWriter.TIMES)


@pytest.mark.parametrize("layout", [PREDICTION, PROFILE, STUDY], ids=lambda layout: layout.name)
def test_folders_with_pictures_and_times_replace_one_another(tmp_path: Path, layout: Format) -> None:
    for text in ("old", "new"):
        with ProfileWriter(tmp_path / "a") if layout is PROFILE else FolderWriter(tmp_path / "a", layout) as writer:
            for name in ("README.md", "picture.png", "host.json"):
                (writer.folder / name).write_text(text)
    assert (tmp_path / "a" / "picture.png").read_text() == "new"


def test_a_manifest_that_lists_nothing_sensible_gives_nothing_away(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "a.trace")
    listed = {"format": "rayplay trace", "tables": {"visits": [None, {"file": ["x"]}], "rays": 3}, "files": []}
    (path / MANIFEST).write_text(json.dumps(listed))
    with pytest.raises(FormatError, match=r"holds accesses-00000\.parquet, .* and \d+ more"):
        make_trace(path)


@pytest.mark.parametrize(("name", "writer", "kind"), [
    ("a.result", TraceWriter, "trace"), ("a.h5", TraceWriter, "trace"), ("a.trace", ResultWriter, "result"),
    ("a.prediction", ProfileWriter, "profile"),
])  # fmt: skip
def test_names_of_other_formats_are_refused(tmp_path: Path, name: str, writer, kind: str) -> None:
    said = f"{name}: must be a name of a {kind}, such as a.{kind}, but ends in {Path(name).suffix}"
    with pytest.raises(FormatError, match=re.escape(said)):
        writer(tmp_path / name)


@pytest.mark.parametrize("name", ["a", "a.trace", "a.mine", "a.result.old"])
def test_any_other_name_is_taken(tmp_path: Path, name: str) -> None:
    assert make_trace(tmp_path / name) == tmp_path / name
