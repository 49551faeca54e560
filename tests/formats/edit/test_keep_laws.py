"""Whatever a verb writes of a trace that keeps every law keeps every law, however odd that trace is."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.edit.filter import filter_to_many, filter_trace
from rayplay.formats.edit.merge import merge
from rayplay.formats.edit.select import select
from rayplay.formats.exchange.accelsim.export import export_accelsim
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.parquet.groups import checked
from rayplay.formats.schema.trace import TRACE
from rayplay.formats.testing.generate import make_tables

SHAPES: list[tuple[tuple[int, int] | None, int]] = [((40, 3), 2), ((33, 2), 0), (None, 2)]
CHANGES = 12
pytestmark = pytest.mark.filterwarnings("ignore:.*no instruction filter_shader")


def changed(tables: dict[str, Columns], rng: np.random.Generator) -> dict[str, Columns]:
    """The tables with a cell or a few that hold the value of another row, or a number that few would write."""
    tables = {name: {key: values.copy() for key, values in columns.items()} for name, columns in tables.items()}
    for _ in range(int(rng.integers(1, 4))):
        name = str(rng.choice(list(tables)))
        columns = [column.name for column in TRACE.table(name).columns if len(tables[name][column.name])]
        if not columns:
            continue
        values = tables[name][str(rng.choice(columns))]
        row, other = (int(each) for each in rng.integers(0, len(values), 2))
        odd = [values[other]]
        if values.dtype.kind in "iu":
            limits = np.iinfo(values.dtype)
            odd += [values.dtype.type(each) for each in (0, 1, limits.max, limits.min)]
        values[row] = odd[int(rng.integers(len(odd)))]
    if rng.random() < 0.3:
        name = str(rng.choice(["threads", "image", "characterisation", "predicates", "rays", "copies"]))
        tables.pop(name, None)
    return tables


def odd_traces(folder: Path, seed: int) -> Iterator[Trace]:
    """Traces that keep every law, made by changing cells of one that does."""
    image, ctas = SHAPES[seed % len(SHAPES)]
    tables = {name: checked(TRACE.table(name), columns) for name, columns in make_tables(seed, image, ctas).items()}
    rng = np.random.default_rng(seed)
    for number in range(CHANGES):
        path = folder / f"odd-{number}.trace"
        with TraceWriter(path, image_size=None if rng.random() < 0.1 else image) as writer:
            for name, columns in changed(tables, rng).items():
                writer.put(name, columns)
        trace = open_trace(path)
        if not validate(trace):
            yield trace


def written(trace: Trace, out: Path, rng: np.random.Generator) -> Iterator[Path]:
    """Outputs of each verb for the trace."""
    half = rng.random((trace.image_size or (1, 1))[::-1]) < 0.5
    warps = ",".join(str(warp) for warp in np.flatnonzero(rng.random(trace.rows("warps")) < 0.5))
    for name, act in {
        "filter.trace": lambda path: filter_trace(trace.path, half, path),
        "many.trace": lambda path: filter_to_many(trace, [half], [path]),
        "warps.trace": lambda path: select(trace, path, warps=warps),
        "kernels.trace": lambda path: select(trace, path, kernels="0"),
        "convert.trace.h5": lambda path: convert(trace, path),
        "merge.trace": lambda path: merge([trace, trace], path),
        "export": lambda path: (export_accelsim(trace, path), import_accelsim(path / "kernelslist.g", out / "i.trace")),
    }.items():
        try:
            act(out / name)
        except UserError:
            assert not (out / name).exists()
            continue
        yield out / ("i.trace" if name == "export" else name)


@pytest.mark.parametrize("seed", range(6))
def test_what_the_verbs_write_keeps_every_law(tmp_path: Path, seed: int) -> None:
    rng, made = np.random.default_rng(1000 + seed), 0
    for number, trace in enumerate(odd_traces(tmp_path, seed)):
        out = tmp_path / f"out-{number}"
        out.mkdir()
        for path in written(trace, out, rng):
            assert [str(problem) for problem in validate(open_trace(path))] == [], (trace.path, path)
            made += 1
    assert made >= 8
