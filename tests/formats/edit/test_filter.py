"""The trace filter: what it keeps, the laws it obeys, and the errors it gives."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.edit.filter import filter_to_many, filter_trace
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.laws.check import validate
from rayplay.formats.testing.generate import make_trace
from tests.reference.filter_twin import filter_rows, rows_of

WIDTH, HEIGHT = 70, 6
PROLOGUE, EXIT = 0, 7  # blocks of the generated image launch


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace(tmp_path_factory.mktemp("filter") / "whole.trace", 3, (WIDTH, HEIGHT), hints=True)


def some_pixels(seed: int, share: float) -> np.ndarray:
    return np.random.default_rng(seed).random((HEIGHT, WIDTH)) < share


def files(path: Path) -> dict[str, str]:
    """SHA-256 of every table file: equal digests are equal bytes."""
    tables = open_trace(path).manifest.tables
    return {entry.file: entry.sha256 for entries in tables.values() for entry in entries}


@pytest.mark.parametrize(("seed", "share"), [(1, 0.5), (2, 0.05), (3, 0.97)])
def test_filter_equals_the_slow_twin(trace: Path, tmp_path: Path, seed: int, share: float) -> None:
    selected = some_pixels(seed, share)
    filter_trace(trace, selected, tmp_path / "part.trace")
    before, after = open_trace(trace), open_trace(tmp_path / "part.trace")
    wanted = {(int(x), int(y)) for y, x in np.argwhere(selected)}
    tables = [rows_of(before.read(name)) for name in ("threads", "visits", "accesses", "rays")]
    expected = filter_rows(*tables, wanted, {PROLOGUE, EXIT})
    for name, rows in zip(("visits", "accesses", "rays"), expected, strict=True):
        assert rows_of(after.read(name)) == rows, name
    assert 0 < len(expected[2]) < before.rows("rays")


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_what_is_left_obeys_every_law_of_the_format(trace: Path, tmp_path: Path, share: float) -> None:
    filter_trace(trace, some_pixels(13, share), tmp_path / "part.trace")
    assert validate(open_trace(tmp_path / "part.trace")) == []


def test_hdf5_is_filtered_as_parquet_is(trace: Path, tmp_path: Path) -> None:
    selected = some_pixels(14, 0.3)
    convert(open_trace(trace), tmp_path / "whole.trace.h5")
    filter_trace(trace, selected, tmp_path / "parquet.trace")
    filter_trace(tmp_path / "whole.trace.h5", selected, tmp_path / "hdf5.trace")
    assert files(tmp_path / "parquet.trace") == files(tmp_path / "hdf5.trace")


def test_keeping_every_pixel_changes_no_byte(trace: Path, tmp_path: Path) -> None:
    filter_trace(trace, np.ones((HEIGHT, WIDTH), bool), tmp_path / "all.trace")
    assert files(tmp_path / "all.trace") == files(trace)


def test_filtering_twice_with_the_same_pixels_is_filtering_once(trace: Path, tmp_path: Path) -> None:
    selected = some_pixels(4, 0.3)
    filter_trace(trace, selected, tmp_path / "once.trace")
    filter_trace(tmp_path / "once.trace", selected, tmp_path / "twice.trace")
    assert files(tmp_path / "once.trace") == files(tmp_path / "twice.trace")


def test_filters_compose_by_intersection(trace: Path, tmp_path: Path) -> None:
    first, second = some_pixels(5, 0.6), some_pixels(6, 0.6)
    filter_trace(trace, first, tmp_path / "a.trace")
    filter_trace(tmp_path / "a.trace", second, tmp_path / "ab.trace")
    filter_trace(trace, first & second, tmp_path / "and.trace")
    assert files(tmp_path / "ab.trace") == files(tmp_path / "and.trace")


def test_one_pass_for_several_selections_gives_what_each_gives_alone(trace: Path, tmp_path: Path) -> None:
    selections = [some_pixels(7, 0.2), some_pixels(8, 0.7)]
    paths = [tmp_path / "0.trace", tmp_path / "1.trace"]
    filter_to_many(open_trace(trace), selections, paths)
    for selected, path in zip(selections, paths, strict=True):
        filter_trace(trace, selected, tmp_path / "alone.trace")
        assert files(path) == files(tmp_path / "alone.trace")


def test_the_batch_of_warps_does_not_matter(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    selected = some_pixels(9, 0.4)
    filter_trace(trace, selected, tmp_path / "large.trace")
    monkeypatch.setattr("rayplay.formats.dataset.reader.BATCH_VALUES", 1)
    filter_trace(trace, selected, tmp_path / "small.trace")
    assert files(tmp_path / "large.trace") == files(tmp_path / "small.trace")


def test_without_pixels_every_warp_still_asks_and_leaves(trace: Path, tmp_path: Path) -> None:
    filter_trace(trace, np.zeros((HEIGHT, WIDTH), bool), tmp_path / "none.trace")
    empty = open_trace(tmp_path / "none.trace")
    warps, visits = empty.read("warps"), empty.read("visits")
    image = visits["warp_id"] < 3 * HEIGHT
    assert visits["block_id"][image].tolist() == [PROLOGUE, EXIT] * 3 * HEIGHT
    assert (visits["active_mask"][image] == np.repeat(warps["launched_mask"][: 3 * HEIGHT], 2)).all()
    assert empty.rows("rays") == 0
    assert not any(empty.read("image")[name].any() for name in ("red", "green", "blue"))


def test_unselected_pixels_are_black_and_the_others_stay(trace: Path, tmp_path: Path) -> None:
    selected = some_pixels(10, 0.5)
    filter_trace(trace, selected, tmp_path / "part.trace")
    before, after = open_trace(trace).read("image"), open_trace(tmp_path / "part.trace").read("image")
    stays = selected[before["pixel_y"], before["pixel_x"]]
    for name in ("red", "green", "blue"):
        assert (after[name] == np.where(stays, before[name], 0)).all()


def test_provenance_names_the_input_and_counts_the_pixels(trace: Path, tmp_path: Path) -> None:
    selected = some_pixels(11, 0.5)
    filter_trace(trace, selected, tmp_path / "part.trace")
    provenance = open_trace(tmp_path / "part.trace").manifest.provenance
    assert provenance["pixels"] == selected.sum()
    assert provenance["input"]["provenance"] == {"command": "formats.generate", "seed": 3}


def test_other_launches_are_untouched(trace: Path, tmp_path: Path) -> None:
    filter_trace(trace, np.zeros((HEIGHT, WIDTH), bool), tmp_path / "none.trace")
    for name in ("visits", "accesses"):
        rows = [[row for row in rows_of(open_trace(path).read(name)) if row["warp_id"] >= 3 * HEIGHT]
                for path in (trace, tmp_path / "none.trace")]  # fmt: skip
        assert rows[0] == rows[1] != []
    for name in ("stages", "fills", "copies"):
        rows = [rows_of(open_trace(path).read(name)) for path in (trace, tmp_path / "none.trace")]
        assert rows[0] == rows[1] != [], "filtered pixels are lanes of an image launch, a draw is whole"


def make_foreign(trace: Path, path: Path) -> Path:
    """The trace as if its program had never asked ``filter_shader``."""
    source = open_trace(trace)
    with TraceWriter(path, image_size=source.image_size) as writer:
        for name in source.tables:
            columns = source.read(name)
            if name == "instructions":
                columns["opcode"] = np.array(
                    ["mov.u32" if o == "filter_shader" else o for o in columns["opcode"]], object
                )
            writer.put(name, columns)
    return path


def test_a_foreign_trace_loses_the_lanes_everywhere_with_one_warning(trace: Path, tmp_path: Path) -> None:
    path = make_foreign(trace, tmp_path / "foreign.trace")
    selected = some_pixels(12, 0.3)
    with pytest.warns(UserWarning, match="no instruction filter_shader") as caught:
        filter_trace(path, selected, tmp_path / "part.trace")
    assert len(caught) == 1
    before, after = open_trace(path), open_trace(tmp_path / "part.trace")
    wanted = {(int(x), int(y)) for y, x in np.argwhere(selected)}
    tables = [rows_of(before.read(name)) for name in ("threads", "visits", "accesses", "rays")]
    for name, rows in zip(("visits", "accesses", "rays"), filter_rows(*tables, wanted, set()), strict=True):
        assert rows_of(after.read(name)) == rows, name


def test_a_selection_of_another_size_is_refused_and_nothing_is_written(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the selection must be 70x6 pixels, found 8x8"):
        filter_trace(trace, np.ones((8, 8), bool), tmp_path / "part.trace")
    assert not list(tmp_path.iterdir())


def damaged(trace: Path, path: Path, table: str, column: str, row: int, value: int) -> Path:
    """A copy of the trace with one value changed."""
    source = open_trace(trace)
    with TraceWriter(path, image_size=source.image_size) as writer:
        for name in source.tables:
            columns = source.read(name)
            if name == table:
                columns[column] = columns[column].copy()
                columns[column][row] = value
            writer.put(name, columns)
    return path


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("accesses", "visit", 1000, "table accesses, visit must be below .*, the visits of warp 0, not 1000"),
        ("rays", "visit", 1000, "table rays, visit must be below .*, the visits of warp 0, not 1000"),
        ("accesses", "lane_mask", 1, "table accesses, warp 0, visit .*: must have 1 addresses, one per lane"),
        ("hints", "lane_mask", 1, "table hints, warp .*, visit .*: must have 1 hints, one per lane"),
        ("threads", "pixel_x", 99, "threads row 0: pixels must lie inside 70x6, found 99 0"),
    ],
)
def test_rows_that_contradict_each_other_are_named(
    trace: Path, tmp_path: Path, table: str, column: str, value: int, message: str
) -> None:
    path = damaged(trace, tmp_path / "damaged.trace", table, column, 0, value)
    with pytest.raises(UserError, match=message):
        filter_to_many(open_trace(path), [some_pixels(1, 0.5)], [tmp_path / "part.trace"])
    with pytest.raises(FormatError, match=f"table {table}, row"):
        filter_trace(path, some_pixels(1, 0.5), tmp_path / "part.trace")
    assert not (tmp_path / "part.trace").exists()
    assert not (tmp_path / "part.trace").exists()


def test_a_missing_trace_is_a_format_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such folder"):
        filter_trace(tmp_path / "missing.trace", np.ones((1, 1), bool), tmp_path / "part.trace")
