"""Trace, result or prediction as text: its kind, its columns with units and meaning, and its first rows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.energy import ENERGY_FORMAT
from rayplay.formats.dataset.profile import PROFILE
from rayplay.formats.dataset.reader import HDF5_SUFFIXES, Dataset, open_source, open_trace
from rayplay.formats.dataset.result import RESULT, Result, open_result
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.parquet.arrow import Columns, offset_name
from rayplay.formats.place.location import location, reached
from rayplay.formats.schema.column import STRING, Column, Table
from rayplay.formats.schema.manifest import MANIFEST, format_of, without_manifest
from rayplay.formats.schema.prediction import PREDICTION

CELL_WIDTH = 28
LIST_ITEMS = 3


def open_any(path: Path | str) -> Dataset:
    """Open a trace, result, prediction, profile or energy, by its manifest; ``FormatError`` for anything else."""
    path = location(path)
    if path.suffix in HDF5_SUFFIXES:
        return open_trace(path)
    with reached(path):
        if not (path / MANIFEST).is_file():
            reason = f"must be a trace, result, prediction, profile or energy, but {without_manifest(path)}"
            raise FormatError(reason, file=path)
        name = format_of(path)
    if name == RESULT.name:
        return open_result(path)
    if name == PROFILE.name:
        return Dataset(open_source(path, PROFILE), PROFILE)
    if name == PREDICTION.name:
        return Dataset(open_source(path, PREDICTION), PREDICTION)
    if name == ENERGY_FORMAT.name:
        return Dataset(open_source(path, ENERGY_FORMAT), ENERGY_FORMAT)
    return open_trace(path)


def counted(number: int, thing: str) -> str:
    """``1 problem``, ``2 problems``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def extent(dataset: Dataset) -> str:
    """Numbers of rows and tables of a dataset."""
    rows = sum(dataset.rows(table) for table in dataset.tables)
    return f"{counted(rows, 'row')} in {counted(len(dataset.tables), 'table')}"


def written(path: Path | str) -> str:
    """Line about a verb's output."""
    dataset = open_any(path)
    metrics = f"{counted(len(dataset.summary), 'metric')}, " if isinstance(dataset, Result) else ""
    return f"{path}: {dataset.manifest.format}, {metrics}{extent(dataset)}"


def describe(dataset: Dataset, rows: int) -> Iterator[str]:
    """Lines of text about everything in ``dataset``, with the first ``rows`` rows of each table."""
    manifest = dataset.manifest
    major, minor = manifest.version
    yield f"{dataset.path}: {manifest.format} {major}.{minor}"
    if manifest.image_size:
        yield f"image: {manifest.image_size[0]} x {manifest.image_size[1]} pixels"
    for number, launch in enumerate(manifest.launches[:8]):
        yield f"launch {number}: {_json(launch)}"
    if len(manifest.launches) > 8:
        yield f"and {len(manifest.launches) - 8} launches more"
    for key, value in sorted(manifest.provenance.items()):
        yield f"{_printable(key)}: {_shortened(_json(value), 100)}"
    if isinstance(dataset, Result):
        gpu = manifest.provenance.get("gpu")
        policies = gpu.get("policy") if isinstance(gpu, dict) else None
        for name in policies if isinstance(policies, dict) else ():
            yield f"plug-in: {_printable(name)}"
        yield ""
        yield from metric_lines(dataset.summary)
    for name in dataset.tables:
        yield ""
        yield from _table_lines(dataset, dataset.layout.table(name), rows)


def metric_lines(summary: dict[str, Any]) -> Iterator[str]:
    """The metrics of a result: value, unit, definition."""
    width = max(map(len, summary), default=0)
    for metric, entry in summary.items():
        value = entry["value"]
        text = "not defined" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
        yield f"{metric:<{width}}  {text:>14} {entry['unit']:<20} {entry['definition']}"


def _table_lines(dataset: Dataset, table: Table, rows: int) -> Iterator[str]:
    count, length = dataset.rows(table.name), dataset.manifest.bytes(table.name)
    density = f", {length / count:.2f} bytes per row on disk" if count else ""
    yield f"{table.name}: {count:,} rows{density}; one row per {table.per_row}"
    width = max(len(column.name) for column in table.columns)
    for column in table.columns:
        yield f"  {column.name:<{width}}  {type_name(column):<10} {column.unit:<17} {column.doc}{notes(column)}"
    if not (count and rows):
        return
    batch = next(dataset.batches(table.name))
    shown = [[c.name for c in table.columns]]
    shown += [[_cell(c, batch, row) for c in table.columns] for row in range(min(rows, count))]
    widths = [max(len(line[k]) for line in shown) for k in range(len(table.columns))]
    for line in shown:
        yield "    " + "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))


def type_name(column: Column) -> str:
    """``uint32``, ``string``, or ``uint32[]`` for a ragged column."""
    return f"{column.dtype}[]" if column.ragged else column.dtype


def notes(column: Column) -> str:
    """Notes on a column: sorting, references and values, in words."""
    facts = []
    if column.sorted:
        facts.append("Never decreases.")
    if column.points_to:
        facts.append(f"Row of {column.points_to}.")
    if column.values and column.dtype == STRING:
        facts.append(f"One of {', '.join(column.values)}.")
    elif column.values:
        facts.append(", ".join(f"{code} {name}" for code, name in enumerate(column.values)) + ".")
    return "".join(f" {fact}" for fact in facts)


def _cell(column: Column, batch: Columns, row: int) -> str:
    values = batch[column.name]
    if not column.ragged:
        return _value(column, values[row])
    start, end = (int(offset) for offset in batch[offset_name(column)][row : row + 2])
    items = [_value(column, value) for value in values[start : min(end, start + LIST_ITEMS)]]
    return f"[{', '.join(items)}{', ...' * (end - start > LIST_ITEMS)}]"


def _value(column: Column, value: Any) -> str:
    if column.dtype == STRING:
        return _shortened(value, CELL_WIDTH)
    if column.unit == "mask":
        return f"0x{int(value):08x}"
    if column.values and int(value) < len(column.values):
        return column.values[int(value)]
    return f"{value:.6g}" if np.dtype(column.dtype).kind == "f" else str(value)


def _json(value: Any) -> str:
    """JSON for eyes: letters of any language as they are."""
    return _printable(json.dumps(value, ensure_ascii=False))


def _printable(text: str) -> str:
    """Characters that would steer a terminal, or cannot be written, are escaped."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _shortened(text: str, width: int) -> str:
    text = _printable(" ".join(text[: 4 * width].split()))
    return text if len(text) <= width else f"{text[: width - 3]}..."
