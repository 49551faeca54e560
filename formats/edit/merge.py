"""Merge traces as the streams of one: launches of different streams may run side by side in its replay."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.renumber import Renumbering, renumber, shifted_rows
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.laws.expect import expect_valid
from rayplay.formats.parquet.arrow import Columns, row_count
from rayplay.formats.place.location import location
from rayplay.formats.schema.column import Table

PIXEL_TABLES = ("threads", "image")


def merge(traces: Sequence[Trace], out: Path | str) -> None:
    """Write one trace with the launches of all, trace after trace; each trace keeps streams of its own.

    Streams are renumbered without gaps: a trace with streams 0 and 3 takes two numbers. Addresses stay as they are, so
    traces with equal addresses share memory. Pixels (``threads`` and ``image``) can belong to one image launch only.
    Tables that one of the traces lacks and cannot do without are refused: a characterisation must be in all traces or
    in none.
    Streams: memory does not grow with the traces. Raises ``UserError`` for traces that do not go together.
    """
    _check(traces, location(out))
    for trace in traces:
        expect_valid(trace)
    pictured = sorted(traces, key=_has_no_pixels)  # the size of the picture, where there is one
    image = next((trace.image_size for trace in pictured if trace.image_size is not None), None)
    inputs = [{"name": trace.path.name, "provenance": trace.manifest.provenance} for trace in traces]
    streams = _first_streams(traces)
    rows = sum(trace.rows(name) for trace in traces for name in trace.tables)
    with (
        tqdm(total=rows, desc="merge", unit="row", unit_scale=True, disable=None, leave=False) as progress,
        TraceWriter(out, {"command": "formats merge", "inputs": inputs}, image) as writer,
    ):
        for table in traces[0].layout.tables:
            for number, trace in enumerate(traces):
                if table.name not in trace.tables:
                    continue
                numbers = _numbers(traces[:number], table)
                writer.declare(table.name)
                for batch in trace.batches(table.name):
                    moved = renumber(table, batch, numbers)
                    writer.put(table.name, _place(table, moved, traces[:number], streams[number]))
                    progress.update(row_count(table.columns, batch))


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
    characterised = ["characterisation" in trace.tables for trace in traces]
    if any(characterised) and not all(characterised):
        without = traces[characterised.index(False)]
        raise UserError(f"{without.path}: must have a table characterisation, since another of the traces has one")


def _has_no_pixels(trace: Trace) -> bool:
    return not any(name in trace.tables for name in PIXEL_TABLES)


def _first_streams(traces: Sequence[Trace]) -> list[dict[int, int]]:
    """For each trace the new number of each of its streams."""
    numbers, used = [], 0
    for trace in traces:
        own = np.unique(trace.read("kernels", ["stream"])["stream"]).tolist()
        numbers.append({stream: used + place for place, stream in enumerate(own)})
        used += len(own)
    return numbers


def _numbers(before: Sequence[Trace], table: Table) -> dict[str, Renumbering]:
    """Renumbering of rows that follow the rows of the traces ``before``."""
    numbered = [other for other in before[0].layout.tables if other.row_number] if before else []
    return {other.name: shifted_rows(sum(trace.rows(other.name) for trace in before)) for other in numbered}


def _place(table: Table, columns: Columns, before: Sequence[Trace], streams: dict[int, int]) -> Columns:
    """Renumber the two columns that the schema does not mark as row numbers: streams, and the launch after a copy."""
    if table.name == "kernels":
        return {**columns, "stream": np.array([streams[stream] for stream in columns["stream"].tolist()], np.uint32)}
    if table.name == "copies":
        launches = sum(trace.rows("kernels") for trace in before)
        return {**columns, "kernel_id": (columns["kernel_id"].astype(np.int64) + launches).astype(np.uint32)}
    return columns
