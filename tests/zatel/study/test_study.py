"""The paper's evaluation: its points, its sums by hand, and the folder that the verb writes."""

import argparse
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from rayplay.formats.dataset.reader import Dataset, open_source
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.schema.study import STUDY
from rayplay.formats.testing.generate import make_trace
from rayplay.zatel.paper.options import Options
from rayplay.zatel.replays import runs
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.study import command, join, summaries
from rayplay.zatel.study.execute import Row
from rayplay.zatel.study.figures import draw_all
from rayplay.zatel.study.findings import uniform_best
from rayplay.zatel.study.points import BLOCKS, QUICK, STUDIES, WHOLE, Extent, Point, points_of

SMALL = Extent((0.1, 0.4), (2,), ("one",), ("one",), (0.2,), 1)


def row(options: Options, predicted: float, full: float = 100.0, scene: str = "park", study: str = "tuning") -> Row:
    values = dict.fromkeys(RULES, predicted), dict.fromkeys(RULES, full)
    return Row(scene, Point(study, "rtx2060", options), 0.5, 1, options.fraction or 0.5, *values, (2.0, 1.0, 8.0))


def test_the_whole_study_is_the_papers() -> None:
    points = points_of("wknd", WHOLE)
    count = {name: sum(point.study == name for point in points) for name in {point.study for point in points}}
    # two GPUs; 10 to 90 % on each; K = 2 to 6 twice; 3 distributions, 4 blocks, 3 fractions, 5 seeds
    assert count == {"whole": 4, "fractions": 18, "regression": 2, "downscaling": 10, "tuning": 3 * 4 * 3 * 5}
    assert all(point.study != "tuning" for point in points_of("park", WHOLE))
    assert {point.options.block for point in points if point.study == "tuning"} == set(BLOCKS)
    assert {0.1, 0.4} <= set(QUICK.fractions)  # Fig. 10 and Fig. 20 need them


def test_errors_and_speedups_worked_by_hand() -> None:
    rows = [row(Options(fraction=0.1), 110.0), row(Options(fraction=0.1), 70.0, scene="bunny")]
    assert [summaries.error(one, "gpu_ipc") for one in rows] == pytest.approx([0.1, -0.3])
    assert summaries.mean_error(rows) == pytest.approx(0.2)
    assert summaries.spread([0.1, -0.3, float("nan")]) == pytest.approx((0.2, 0.1, 0.3))
    assert (summaries.speedup(rows[0]), summaries.parallel_speedup(rows[0])) == (4.0, 8.0)
    missing = rows[0]._replace(predicted={**rows[0].predicted, "gpu_ipc": None})
    assert np.isnan(summaries.error(missing, "gpu_ipc"))
    assert summaries.curves(rows, lambda one: one.seconds[0]) == {"park": ([10.0], [2.0]), "bunny": ([10.0], [2.0])}


def test_the_best_choice_is_named_only_where_it_is_clear() -> None:
    errors = {"uniform": (1.0, 2.0), "lintmp": (10.0, 20.0), "exptmp": (10.0, 20.0)}  # per cent, for two block sizes
    rows = [
        row(Options(fraction=0.1, distribution=name, block=block), 100.0 + error)
        for name, pair in errors.items()
        for block, error in zip(((32, 2), (32, 16)), pair, strict=True)
    ]
    assert summaries.best_choice(rows, "gpu_ipc") == ("uniform", "32x2", pytest.approx(0.01))
    assert uniform_best(rows).holds
    alike = [one._replace(predicted=dict.fromkeys(RULES, 105.0 + 0.01 * number)) for number, one in enumerate(rows)]
    assert summaries.best_choice(alike, "gpu_ipc")[:2] == ("any", "any")


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> argparse.Namespace:
    folder = tmp_path_factory.mktemp("study")
    traces = [make_trace(folder / f"{name}.trace", seed, (64, 12), 0) for name, seed in (("one", 2), ("two", 5))]
    return argparse.Namespace(
        traces=traces, out=folder / "found", store=folder / "store", quick=True, only=STUDIES, workers=2, estimate=False
    )


@pytest.fixture(scope="module")
def study(arguments: argparse.Namespace) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "QUICK", SMALL)
        command.paper_verb(arguments)
    return arguments.out


def test_the_folder_holds_tables_figures_and_findings(study: Path) -> None:
    figures = [f"figure-{number}.png" for number in (10, 11, 13, 14, 15, 16, 17, 18, 19, 20)]
    assert {"README.md", "tables.md", "scenes.png", *figures} <= {path.name for path in study.iterdir()}
    page = (study / "README.md").read_text()
    assert all(f"({name})" in page for name in figures)
    assert "| Uniform is the best distribution over all metrics |" in page
    tables = Dataset(open_source(study, STUDY), STUDY)
    count = sum(len(points_of(scene, SMALL)) for scene in ("one", "two"))
    assert tables.rows("times") == count
    found = tables.read("predictions")
    assert len(found["metric"]) == count * len(RULES)
    known = np.isfinite(found["error"])
    expected = (found["predicted"] - found["full"]) / np.abs(found["full"])
    np.testing.assert_allclose(found["error"][known], expected[known])
    everything = found["study"] == "downscaling"
    np.testing.assert_array_equal(found["fraction"][everything], 1.0)


def test_an_interrupted_study_goes_on_where_it_was(
    study: Path, arguments: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is replayed twice, and one lost entry is one replay; the predictions are the same, byte for byte."""
    monkeypatch.setattr(command, "QUICK", SMALL)
    monkeypatch.setattr(command, "draw_all", lambda *_: [])
    monkeypatch.setattr(command, "draw_scenes", lambda *_: None)
    again = argparse.Namespace(**{**vars(arguments), "out": study.with_name("again")})
    [lost, *_] = sorted(arguments.store.glob("*/*.json"))
    lost.unlink()
    command.paper_verb(again)
    assert capsys.readouterr().out.startswith("1 replays to do")
    monkeypatch.setattr(runs, "simulate_all", None)
    command.paper_verb(again)
    assert capsys.readouterr().out.startswith("0 replays to do")
    name = "predictions-00000.parquet"
    assert (again.out / name).read_bytes() == (study / name).read_bytes()


def test_an_estimate_does_nothing(arguments: argparse.Namespace, tmp_path: Path) -> None:
    asked = argparse.Namespace(**{**vars(arguments), "estimate": True, "store": tmp_path / "s", "out": tmp_path / "o"})
    assert command.paper_verb(asked) == 0
    assert not (tmp_path / "o").exists()
    studies = command.open_studies(arguments.traces, SMALL)
    replays, seconds = studies[0].estimate(Store(tmp_path / "s"))
    assert 0 < replays < len(studies[0].runs())  # the regression's 40 % on each GPU is there already
    assert seconds > 0


def test_a_part_of_the_study_has_its_own_figures_and_findings(
    study: Path, arguments: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One scene is predicted as a whole only; no replay is repeated, the rows equal the complete study's."""
    monkeypatch.setattr(command, "QUICK", dataclasses.replace(SMALL, only_whole=("one",)))
    monkeypatch.setattr(runs, "simulate_all", None)
    part = argparse.Namespace(**{**vars(arguments), "out": study.with_name("part"), "only": ("fractions",)})
    command.paper_verb(part)
    figures = [f"figure-{number}.png" for number in (13, 14, 15, 16)]
    assert sorted(path.name for path in part.out.glob("*.png")) == figures
    page = (part.out / "README.md").read_text()
    assert "Errors fall exponentially" in page
    assert "Uniform is the best" not in page
    found = Dataset(open_source(part.out, STUDY), STUDY).read("predictions")
    assert {*found["study"]} == {"fractions"}
    assert {*found["scene"]} == {"two"}


def test_two_scenes_of_one_name_are_refused(arguments: argparse.Namespace) -> None:
    with pytest.raises(UserError, match="traces must have different names, not one, one"):
        command.open_studies([arguments.traces[0]] * 2, SMALL)


@pytest.fixture(scope="module")
def parts(study: Path, arguments: argparse.Namespace) -> dict[str, Path]:
    """The study once more from its store, and in three parts: all but Figures 10 and 11 of each scene, and those."""
    but_whole = [name for name in STUDIES if name != "whole"]
    asked = [
        ("all", arguments.traces, STUDIES),
        ("first", arguments.traces[:1], but_whole),
        ("second", arguments.traces[1:], but_whole),
        ("whole", arguments.traces, ["whole"]),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "QUICK", SMALL)
        for name, traces, studies in asked:
            changed = {"out": study.with_name(name), "traces": traces, "only": studies}
            command.paper_verb(argparse.Namespace(**{**vars(arguments), **changed}))
    return {name: study.with_name(name) for name, *_ in asked}


def test_joined_parts_are_the_whole_study(parts: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, except for the commands that made them, also when joined in two steps."""
    monkeypatch.setattr(join, "SATURATING", SMALL.subset)
    whole = parts["all"]
    two, out = whole.with_name("two"), whole.with_name("joined")
    join.join_verb(argparse.Namespace(studies=[parts["first"], parts["second"]], out=two))
    join.join_verb(argparse.Namespace(studies=[two, parts["whole"]], out=out))
    same = {path.name for path in whole.iterdir()} - {"README.md", "manifest.json"}
    assert {"times-00000.parquet", "figure-19.png", "scenes.png", "tables.md"} < same
    for name in same:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    findings = [(folder / "README.md").read_text().partition("## What")[2] for folder in (out, whole)]
    assert findings[0] == findings[1]
    made = Dataset(open_source(out, STUDY), STUDY).manifest.provenance["parts"]
    traces = [made_by.removeprefix("python -m zatel paper ").partition(" --")[0] for made_by in made]
    assert traces == ["one.trace", "two.trace", "one.trace two.trace"]


def test_parts_that_do_not_fit_are_refused(parts: dict[str, Path], tmp_path: Path) -> None:
    for twice in ([parts["all"], parts["first"]], [parts["first"], parts["first"]]):
        with pytest.raises(UserError, match="but both have fractions of one"):
            join.join_verb(argparse.Namespace(studies=twice, out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    one, two = (join.read_rows(Dataset(open_source(parts[name], STUDY), STUDY)) for name in ("first", "second"))
    other = [row._replace(full={**row.full, "gpu_cycles": 1.0}) for row in one if row.point.study == "tuning"]
    mine = [row for row in one if row.point.study == "fractions"]
    with pytest.raises(
        UserError, match=r"b: the full replay of one on rtx2060 must have the gpu_cycles .*, but has 1.0"
    ):
        join.join_rows([(Path("a"), mine), (Path("b"), other)])
    fewer = [row for row in two if row.point.options.fraction != 0.1]
    with pytest.raises(UserError, match=r"b: must have the predictions of fractions .* those of two differ"):
        join.join_rows([(Path("a"), one), (Path("b"), fewer)])
    alone = [row for row in two if row.point.study == "regression"]
    with pytest.raises(UserError, match="b: regression of two needs its fractions"):
        join.join_rows([(Path("a"), one), (Path("b"), alone)])


def test_figures_10_and_11_are_of_a_scene_that_has_the_whole_method(parts: dict[str, Path], tmp_path: Path) -> None:
    """PARK with other studies alone does not stand for the paper's PARK."""
    one, whole = (join.read_rows(Dataset(open_source(parts[name], STUDY), STUDY)) for name in ("first", "whole"))
    park = [row._replace(scene="park") for row in one]
    assert summaries.hardest([*park, *whole]) in ("one", "two")
    assert "figure-10.png" in draw_all([*park, *whole], SMALL.subset, tmp_path)
    assert summaries.hardest([row._replace(scene="park") for row in whole]) == "park"


def test_the_regression_alone_has_its_table(
    study: Path, arguments: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "QUICK", SMALL)
    alone = argparse.Namespace(**{**vars(arguments), "out": study.with_name("alone"), "only": ("regression",)})
    command.paper_verb(alone)
    page = (alone.out / "tables.md").read_text()
    assert "| one | mobile | regression |" in page
    assert "40 % directly" not in page


def test_pictures_of_scenes_are_stacked(study: Path, tmp_path: Path) -> None:
    picture = study / "scenes.png"
    join.stack_pictures([picture, picture], tmp_path / "two.png")
    one, two = image.imread(picture), image.imread(tmp_path / "two.png")
    np.testing.assert_array_equal(two, np.concatenate([one, one]))
    image.imsave(tmp_path / "narrow.png", one[:, :5])
    with pytest.raises(UserError, match=r"narrow.png: must have one width"):
        join.stack_pictures([picture, tmp_path / "narrow.png"], tmp_path / "three.png")


def test_a_study_whose_rows_are_not_whole_is_refused(study: Path) -> None:
    damaged = Dataset(open_source(study, STUDY), STUDY)
    table = damaged.read("predictions")
    table["metric"][:2] = table["metric"][1::-1]
    damaged.read = {"predictions": table, "times": damaged.read("times")}.get  # type: ignore[method-assign,assignment]
    with pytest.raises(FormatError, match="every prediction must have its times and gpu_ipc"):
        join.read_rows(damaged)
    table["metric"][:2] = table["metric"][1::-1]
    for column, message in (
        ("distribution", r"predictions, row 7: --distribution: unknown name 'even'"),
        ("study", r"predictions, row 7: study and GPU must be of .*, not even and mobile"),
    ):
        kept, table[column][7] = table[column][7], "even"
        with pytest.raises(FormatError, match=message):
            join.read_rows(damaged)
        table[column][7] = kept
    damaged.manifest.provenance.pop("versions")
    with pytest.raises(UserError, match=r"manifest.json: provenance: needs the key 'versions'"):
        join.join_requests([damaged], Path("out"))
