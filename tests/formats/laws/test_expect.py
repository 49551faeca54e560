"""Every user of a trace stops at the first broken law."""

from pathlib import Path

import pytest

from rayplay.formats import TraceWriter, open_trace
from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.convert import convert
from rayplay.formats.edit.merge import PIXEL_TABLES, merge
from rayplay.formats.edit.select import select
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.execution import WARPS_TABLES
from rayplay.formats.laws.expect import Guard, expect_program, expect_valid
from rayplay.formats.look.statistics import measure
from rayplay.formats.testing.generate import make_trace
from tests.formats.laws.test_laws import BROKEN, Tables, fresh_tables

NOT_REPLAYED = "hits_are_whole"


def replay(trace: Trace) -> None:
    """Read as a replay does."""
    expect_program(trace)
    guard = Guard(trace)
    for first, last, rows in trace.warp_batches(7, WARPS_TABLES):
        guard.expect(first, last, rows)


def write(path: Path, tables: Tables) -> Trace:
    """The tables as a trace, of an image where they have its pixels."""
    with TraceWriter(path, image_size=(40, 6) if "threads" in tables else None) as writer:
        for name, columns in tables.items():
            writer.put(name, columns)
    return open_trace(path)


def without_pixels() -> Tables:
    """A valid trace that goes together with one of an image."""
    return {name: columns for name, columns in fresh_tables().items() if name not in PIXEL_TABLES}


@pytest.mark.parametrize(("law", "table", "breaking"), BROKEN, ids=[f"{law}-{k}" for k, (law, *_) in enumerate(BROKEN)])
def test_a_broken_law_stops_every_user(tmp_path: Path, law, table, breaking) -> None:
    tables = fresh_tables()
    breaking(tables)
    trace, other = write(tmp_path / "a.trace", tables), write(tmp_path / "c.trace", without_pixels())
    with pytest.raises(FormatError, match=str(trace.path)):
        expect_valid(trace)
    with pytest.raises(FormatError):
        measure(trace)
    with pytest.raises(FormatError):
        convert(trace, tmp_path / "b.trace")
    with pytest.raises(FormatError):
        select(trace, tmp_path / "b.trace", kernels="0")
    with pytest.raises(FormatError, match=str(trace.path)):
        merge([other, trace], tmp_path / "b.trace")
    assert not (tmp_path / "b.trace").exists()
    if law != NOT_REPLAYED:
        with pytest.raises(FormatError, match=str(trace.path)):
            replay(trace)


def test_a_valid_trace_is_expected(tmp_path: Path) -> None:
    trace = open_trace(make_trace(tmp_path / "a.trace"))
    expect_valid(trace)
    replay(trace)
    guard = Guard(trace)
    for first, last, rows in trace.warp_batches(7, WARPS_TABLES):
        guard.expect(first, last, {name: columns for name, columns in rows.items() if len(columns["warp_id"])})
    assert guard.batches.rows == {name: trace.rows(name) for name in WARPS_TABLES}
    merge([write(tmp_path / "c.trace", without_pixels()), trace], tmp_path / "b.trace")
    expect_valid(open_trace(tmp_path / "b.trace"))
