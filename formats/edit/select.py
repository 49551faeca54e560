"""Select a part of a trace: some launches, CTAs or warps, renumbered, or some pixels of the image.

Launches, CTAs and warps that are not chosen are dropped with all their rows; the rest keeps its order. Pixels are
dropped by lanes (``formats.edit.filter``): their warps stay.
"""

from pathlib import Path

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.renumber import kept_rows, renumber
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.laws.expect import expect_valid
from rayplay.formats.parquet.arrow import Columns, list_lengths, offset_name, row_count
from rayplay.formats.place.location import location
from rayplay.formats.schema.column import Table

Part = dict[str, np.ndarray]  # bool[rows] of kernels, blocks, instructions and warps: the rows that stay


def select(
    trace: Trace, out: Path | str, kernels: str | None = None, ctas: str | None = None, warps: str | None = None
) -> Part:
    """Write the part of ``trace`` that is in all the given sets to ``out``; a set is text such as ``0,4-7``.

    kernels  launches by ``kernel_id``. ctas  CTAs by ``cta_id``, in each chosen launch. warps  by ``warp_id``.

    Streams: memory does not grow with the trace. Raises ``UserError`` for a malformed set, an unknown number or an
    empty selection.
    """
    expect_valid(trace)
    part = choose(trace, kernels, ctas, warps)
    if location(out).resolve() == trace.path.resolve():
        raise FormatError(f"{out}: must be another path than the trace that is read")
    numbers = {name: kept_rows(stay) for name, stay in part.items()}
    given = {"name": trace.path.name, "provenance": trace.manifest.provenance}
    sets = {"kernels": kernels, "ctas": ctas, "warps": warps}
    rows = sum(trace.rows(name) for name in trace.tables)
    with (
        tqdm(total=rows, desc="select", unit="row", unit_scale=True, disable=None, leave=False) as progress,
        TraceWriter(out, {"command": "formats select", "input": given, **sets}, trace.image_size) as writer,
    ):
        for name in trace.tables:
            table = trace.layout.table(name)
            writer.declare(name)
            for batch in trace.batches(name):
                writer.put(name, renumber(table, _stay(table, batch, part), numbers))
                progress.update(row_count(table.columns, batch))
    return part


def choose(trace: Trace, kernels: str | None, ctas: str | None, warps: str | None) -> Part:
    """The rows that stay; see ``select``."""
    table = trace.read("warps", ["kernel_id", "cta_id"])
    count = trace.rows("kernels")
    launches = members(kernels, count, "--kernels") if kernels is not None else np.ones(count, bool)
    stay = launches[table["kernel_id"]]
    if ctas is not None:
        stay &= members(ctas, int(table["cta_id"].max(initial=0)) + 1, "--ctas")[table["cta_id"]]
    if warps is not None:
        stay &= members(warps, len(stay), "--warps")
    if not stay.any() and (ctas is not None or warps is not None):  # a launch without warps is one
        raise UserError(f"{trace.path}: the selection must leave a warp, but no warp is in all of the given sets")
    of_launch = {name: launches[trace.read(name, ["kernel_id"])["kernel_id"]] for name in ("blocks", "instructions")}
    return {"kernels": launches, "warps": stay, **of_launch}


def members(text: str, count: int, place: str) -> np.ndarray:
    """bool[count]: the numbers below ``count`` that ``text`` names, as in ``0,4-7``; ``UserError`` for others."""
    chosen = np.zeros(count, bool)
    for item in text.split(","):
        bounds = item.strip().split("-")
        if len(bounds) > 2 or not all(b.isascii() and b.isdigit() and len(b) < 19 for b in bounds):
            raise UserError(f"{place}: must be numbers and ranges such as 0,4-7, not {text!r}")
        first, last = int(bounds[0]), int(bounds[-1])
        if first > last or last >= count:
            raise UserError(f"{place}: must be numbers below {count} in growing ranges, not {item.strip()}")
        chosen[first : last + 1] = True
    return chosen


def _stay(table: Table, batch: Columns, part: Part) -> Columns:
    """Rows of a batch whose owner stays. A copy stays, before the launch that now follows."""
    if table.name == "copies":
        before = np.concatenate([[0], np.cumsum(part["kernels"])])
        return {**batch, "kernel_id": before[batch["kernel_id"]].astype(np.uint32)}
    for owner, column in (("warps", "warp_id"), ("instructions", "instruction_id"), ("kernels", "kernel_id")):
        if column in batch:
            return take(table, batch, part[owner][batch[column]])
    return batch


def take(table: Table, batch: Columns, stay: np.ndarray) -> Columns:
    """The rows of ``batch``, some columns of ``table``, that are True in ``stay``, bool[rows]."""
    rows: Columns = {}
    for column in table.columns:
        if column.name not in batch:
            continue
        values = batch[column.name]
        if not column.ragged:
            rows[column.name] = values[stay]
            continue
        lengths = list_lengths(column, batch)
        rows[column.name] = values[np.repeat(stay, lengths)]
        rows[offset_name(column)] = np.concatenate([[0], np.cumsum(lengths[stay])]).astype(np.uint64)
    return rows
