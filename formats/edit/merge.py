"""Merge traces as the streams of one: launches of different streams may run side by side in its replay."""

from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.joined import PIXEL_TABLES, JoinedSource
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.laws.expect import expect_valid
from rayplay.formats.parquet.arrow import row_count
from rayplay.formats.place.location import location


def merge(traces: Sequence[Trace], out: Path | str) -> None:
    """Write one trace with the launches of all, trace after trace; each trace keeps streams of its own.

    Streams are renumbered without gaps: a trace with streams 0 and 3 takes two numbers. Addresses stay as they are, so
    traces with equal addresses share memory. Pixels (``threads`` and ``image``) can belong to one image launch only.
    Tables that one of the traces lacks and cannot do without are refused: a characterisation must be in all traces or
    in none, and what ``--record`` adds in all with rays or in none.
    Streams: memory does not grow with the traces. Raises ``UserError`` for traces that do not go together.
    """
    _check(traces, location(out))
    for trace in traces:
        expect_valid(trace)
    joined = Trace(JoinedSource(traces), traces[0].layout)
    inputs = [{"name": trace.path.name, "provenance": trace.manifest.provenance} for trace in traces]
    rows = sum(joined.rows(name) for name in joined.tables)
    with (
        tqdm(total=rows, desc="merge", unit="row", unit_scale=True, disable=None, leave=False) as progress,
        TraceWriter(out, {"command": "formats merge", "inputs": inputs}, joined.image_size) as writer,
    ):
        for table in joined.tables:
            writer.declare(table)
            for batch in joined.batches(table):
                writer.put(table, batch)
                progress.update(row_count(joined.layout.table(table).columns, batch))


def _check(traces: Sequence[Trace], out: Path) -> None:
    if len(traces) < 2:
        raise UserError(f"{out}: must be merged from two traces or more, not {len(traces)}")
    for trace in traces:
        if out.resolve() == trace.path.resolve():
            raise FormatError(f"{out}: must be another path than the traces that are read")
    pictures = [trace for trace in traces if not _has_no_pixels(trace)]
    if len(pictures) > 1:
        names = " and ".join(str(trace.path) for trace in pictures[:2])
        raise UserError(f"{names}: at most one of the traces may be of an image launch, for a trace has one image")
    for name, owner in (("characterisation", None), ("parents", "nodes"), ("distances", "rays"), ("culled", "rays")):
        concerned = [trace for trace in traces if owner is None or trace.rows(owner)]
        has = [name in trace.tables for trace in concerned]
        if any(has) and not all(has):
            without = concerned[has.index(False)]
            raise UserError(f"{without.path}: must have a table {name}, since another of the traces has one")


def _has_no_pixels(trace: Trace) -> bool:
    return not any(name in trace.tables for name in PIXEL_TABLES)
