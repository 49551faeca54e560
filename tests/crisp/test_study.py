"""The study as a command: its folder, resumption, and refused options."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rayplay.crisp import __main__ as front
from rayplay.crisp import command
from rayplay.crisp.check import points, words_of
from rayplay.crisp.suite import suite
from rayplay.crisp.values import Case, Value, stored_values
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
    made(found / "first", found / "store", "--workers", "1", "--only", "frames")  # compiles, if need be, once
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


def checked(folder: Path, name: str, *words: str) -> int:
    """Compare a study of the folder, with its own store."""
    arguments = ["--check", str(folder / name), "--store", str(folder / "store"), *words]
    return command.compare(front.parser().parse_args(arguments), front.made_with(folder / name))


def rewritten(folder: Path, values: list[Value], **request: object) -> None:
    """Write a study without figures that has these values, by the provenance of another with some of it replaced."""
    provenance = dict(open_source(folder.parent / "one", CRISP_STUDY).manifest.provenance)
    command.write(folder, [], values, provenance | {"is_drawn": False} | request, {})


def test_a_study_is_compared_with_this_engine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every point, two of them, and one number that is off by its last bit."""
    assert checked(folder, "one") == 0
    said = capsys.readouterr().out
    assert "frames cornell: 4 of 4 numbers are equal\n" in said
    assert said.endswith(f"{folder / 'one'}: none of the numbers of 12 points differ\n")
    assert checked(folder, "one", "--points", "2", "--only", "frames", "batches") == 0
    assert capsys.readouterr().out.count("numbers are equal") == 2

    values = stored_values(folder / "one")
    [row] = [row for row, one in enumerate(values) if (one.case.graphics, one.case.size, one.quantity) ==
             ("cornell", "24x16", "cycles")]  # fmt: skip
    values[row] = values[row]._replace(value=np.nextafter(values[row].value, 0).item())
    rewritten(folder / "off", values)
    assert checked(folder, "off") == 1
    said = capsys.readouterr().out
    assert "frames cornell: 3 of 4 numbers are equal\n  RTX 3070 24x16 cornell, cycles: " in said
    assert said.endswith("1 of the numbers of 12 points differs\n")


def test_a_number_that_is_not_made_now_differs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a point; of no point, which only a comparison of the whole study can say."""
    values = stored_values(folder / "one")
    [cycles] = [one for one in values if (one.experiment, one.case.graphics, one.case.size, one.quantity) ==
                ("frames", "cornell", "24x16", "cycles")]  # fmt: skip
    rewritten(folder / "more", [*values, cycles._replace(quantity="bogus")])
    assert checked(folder, "more") == 1
    said = capsys.readouterr().out
    assert "frames cornell: 4 of 5 numbers are equal\n  RTX 3070 24x16 cornell, bogus: is not made now\n" in said
    assert said.endswith("1 of the numbers of 12 points differs\n")
    rewritten(folder / "stray", [*values, cycles._replace(case=cycles.case._replace(graphics="bunny"))])
    assert checked(folder, "stray") == 1
    assert "of no point: 0 of 1 numbers are equal\n  RTX 3070 24x16 bunny, cycles: is" in capsys.readouterr().out
    assert checked(folder, "stray", "--only", "frames") == 0


def test_the_suite_is_the_studys(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that leaves it to the data folder means what the folder had then."""
    words = " ".join(SMALL).replace("--procedural ", "")
    said = f"python -m crisp {words} --out 'it\\'s mine'"
    rewritten(folder / "silent", stored_values(folder / "one"), command=said)
    monkeypatch.setattr("rayplay.crisp.suite.textured_file", lambda scene: Path(scene))
    assert checked(folder, "silent") == 0
    arguments = front.parser().parse_args([*words.split(), "--out", str(folder / "silent"), "--store", "none"])
    asked = command.request(arguments, suite(True, (24, 16)), ["frames"])
    with pytest.raises(UserError, match="--keep needs its suite, is_procedural True, found False"):
        command.kept_of(folder / "silent", ["frames"], asked)
    rewritten(folder / "textured", stored_values(folder / "one"), command=said, is_procedural=False)
    monkeypatch.setattr("rayplay.crisp.suite.textured_file", lambda scene: None)
    with pytest.raises(UserError, match=r"must have the scenes that .*textured is of"):
        checked(folder, "textured")


@pytest.mark.parametrize("name", ["it's", "my study", "-x", "a --out b"])
def test_a_folder_of_any_name_is_compared(folder: Path, name: str) -> None:
    words = ["--quick", "--size", "24x16", "--procedural", "--only", "batches"]
    command.perform(front.parser().parse_args([*words, "--out", str(folder / name), "--store", str(folder / "store")]))
    assert words_of(folder / name) == words
    assert checked(folder, name) == 0


@pytest.mark.parametrize("said", ["--only gone --out one", "--new --out one", "--help --out one", "--size"])
def test_a_command_of_another_version_is_one_line(folder: Path, said: str) -> None:
    rewritten(folder / "other", stored_values(folder / "one"), command=f"python -m crisp {said}")
    with pytest.raises(UserError, match=r"other: the command that made it must be one of this version, but "):
        checked(folder, "other")


def test_a_study_keeps_what_is_not_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Values, the options for a later check, and the engine of each experiment."""
    shutil.copytree(folder / "one", folder / "kept")
    monkeypatch.setattr(command, "engine_identity", lambda: "another")
    made(folder / "kept", folder / "store", "--keep", "--only", "frames", "batches")
    tables = [(folder / name / "values-00000.parquet").read_bytes() for name in ("kept", "one")]
    assert tables[0] == tables[1]
    ours, theirs = (open_source(folder / name, CRISP_STUDY).manifest.provenance for name in ("kept", "one"))
    assert ours["command"] == theirs["command"].replace("--out one", "--out kept")
    assert ours["engines"] == dict.fromkeys(("quads", "composition"), theirs["versions"]["engine"])
    text = (folder / "kept" / "README.md").read_text()
    assert f"\n\nOf another engine, {theirs['versions']['engine']}: quads, composition" in text
    assert "another" in text
    assert (folder / "kept" / "pictures.png").read_bytes() == (folder / "one" / "pictures.png").read_bytes()
    shutil.copytree(folder / "kept", folder / "lacking")
    [gone] = (folder / "store" / "traces").glob("cornell-24x16-*.png")
    gone.rename(folder / "gone.png")
    (folder / "lacking" / "pictures.png").write_bytes(b"as it was")
    made(folder / "lacking", folder / "store", "--keep", "--only", "batches")
    assert (folder / "lacking" / "pictures.png").read_bytes() == b"as it was"
    assert "pictures.png stays as it was: the store has not cornell" in capsys.readouterr().err
    (folder / "gone.png").rename(gone)
    made(folder / "lacking", folder / "store", "--keep", "--only", "batches")
    assert (folder / "lacking" / "pictures.png").read_bytes() == (folder / "one" / "pictures.png").read_bytes()
    with pytest.raises(UserError, match="--keep needs the options that made it, `python -m crisp --quick --size 24x16"):
        made(folder / "kept", folder / "store", "--keep", "--size", "8x8")


def test_points_are_spread_over_the_experiments() -> None:
    chosen = suite(quick=True, procedural=True)
    work = {one: tasks for one in command.EXPERIMENTS if (tasks := one.tasks(chosen))}
    every = points(work, None)
    assert sum(len(one.tasks) for one in every) == sum(map(len, work.values()))
    for count in (1, 5, len(every), 99):
        some = points(work, count)
        assert len({one.name for one in some}) == min(count, len(every))
    assert [one.name for one in points(work, 3)] == ["quads forest", "composition terrain", "ways forest+VIO"]


def test_a_study_that_is_not_compared_is_one_line(folder: Path) -> None:
    for words, message in (
        (("--points", "0"), "--points"), (("--quick",), "leave out"), (("--keep",), "leave out"),
        (("--pictures", "cornel"), "--pictures"), (("--only", "detail"), "--only"),
        (("--only", "quads", "three"), "--only"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            checked(folder, "one", *words)


@pytest.mark.parametrize(
    "words",
    [("--size", "24"), ("--size", "0x4"), ("--workers", "0"), ("--pairs", "cornell+HOL"), ("--points", "1"),
     ("--pictures", "cornell"), ("--keep", "--only", *(one.name for one in command.EXPERIMENTS))],
)  # fmt: skip
def test_bad_options_are_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match=words[0]):
        made(tmp_path / "out", tmp_path / "store", *words)
    assert not (tmp_path / "out").exists()
