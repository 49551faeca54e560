"""The study as a command: its folder, resumption, and refused options."""

from pathlib import Path

import pytest

from rayplay.crisp import __main__ as front
from rayplay.crisp import command
from rayplay.crisp.suite import suite
from rayplay.crisp.values import Case
from rayplay.formats.dataset.reader import Dataset, open_source
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.study import CRISP_STUDY

SMALL = ["--procedural", "--quick", "--size", "24x16", "--only", "batches", "quads", "frames", "composition"]


def made(out: Path, store: Path, *words: str) -> int:
    """Run the command."""
    return command.perform(front.parser().parse_args([*SMALL, "--out", str(out), "--store", str(store), *words]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("crisp")
    made(found / "one", found / "store", "--workers", "2")
    return found


def test_a_study_holds_values_figures_and_verdicts(folder: Path) -> None:
    names = {path.name for path in (folder / "one").iterdir()}
    assert {"README.md", "pictures.png", "batches.png", "quads.png", "frames.png", "composition.png"} <= names
    values = Dataset(open_source(folder / "one", CRISP_STUDY), CRISP_STUDY).read("values")
    assert set(values["experiment"]) == {"batches", "quads", "frames", "composition"}
    assert (values["value"] >= 0).all()
    text = (folder / "one" / "README.md").read_text()
    assert "--procedural" in text
    assert "procedural, without textures" in text
    assert "Pairs" not in text, "no experiment needs a partner"


def test_what_is_done_is_not_done_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rayplay.crisp.study.processes", None)  # no process is started
    made(folder / "two", folder / "store", "--workers", "1")
    assert "0 traces to make, 0 tasks to do" in capsys.readouterr().out
    for path in (folder / "two").iterdir():
        written = path.read_bytes().replace(b"--out two", b"--out one")
        if path.name != "manifest.json":  # it has the digest of the page
            assert written == (folder / "one" / path.name).read_bytes(), path.name


def test_an_interrupted_study_resumes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = sorted((folder / "store" / "found").rglob("*.json"))
    entries[0].unlink()
    made(folder / "three", folder / "store", "--estimate")
    assert capsys.readouterr().out == "0 traces to make, 1 tasks to do\n"
    assert not (folder / "three").exists()
    made(folder / "three", folder / "store")
    values = [folder / name / "values-00000.parquet" for name in ("one", "three")]
    assert values[0].read_bytes() == values[1].read_bytes()


def test_pairs_need_textures_or_not_as_the_suite_has_them() -> None:
    procedural = suite(quick=True, procedural=True)
    by_name = {one.name: one for one in command.EXPERIMENTS}
    assert not by_name["detail"].tasks(procedural)
    tasks = by_name["slicer"].tasks(procedural)
    assert Case("Orin", "128x72", "forest", "NN", "even") in tasks
    assert len(tasks) == 3 * 4


def test_chosen_pairs_have_a_part_of_each_partner() -> None:
    whole, some = suite(False, procedural=True), suite(False, procedural=True, pairs=["terrain+NN"])
    assert (some.size, some.pairs, some.traced) == (whole.size, (("terrain", "NN"),), "terrain")
    assert (some.workloads, some.partners) == (whole.workloads, suite(True, procedural=True).partners)
    assert set(whole.partners.values()) == {None}
    assert len(set(whole.pairs)) == len(whole.workloads) * len(whole.partners)
    by_name = {one.name: one for one in command.EXPERIMENTS}
    assert {case.partner for case in by_name["ways"].tasks(some)} == {"NN"}
    assert not by_name["ratio"].tasks(some)


@pytest.mark.parametrize("words", [("--size", "24"), ("--size", "0x4"), ("--workers", "0"), ("--pairs", "cornell+HOL")])
def test_bad_options_are_one_line(tmp_path: Path, words: tuple[str, str]) -> None:
    with pytest.raises(UserError, match=words[0]):
        made(tmp_path / "out", tmp_path / "store", *words)
    assert not (tmp_path / "out").exists()
