"""The findings of the verbs as records: flat, of equal names, for ``--json`` and ``--csv``."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rayplay.formats.dataset.reader import Dataset
from rayplay.formats.dataset.result import Result
from rayplay.formats.guard.answer import Record
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.problem import Problem
from rayplay.formats.look.compare import change
from rayplay.formats.look.show import notes, open_any, type_name
from rayplay.formats.look.statistics import Statistics
from rayplay.formats.schema.trace import OPERATION_CLASSES


def description(dataset: Dataset) -> Iterator[Record]:
    """The metrics of a result; a record per column of anything else."""
    if isinstance(dataset, Result):
        yield from metrics(dataset.summary)
        return
    for name in dataset.tables:
        size = {"table": name, "rows": dataset.rows(name), "bytes": dataset.manifest.bytes(name)}
        for column in dataset.layout.table(name).columns:
            meaning = column.doc + notes(column)
            yield size | {"column": column.name, "type": type_name(column), "unit": column.unit, "meaning": meaning}


def metrics(summary: dict[str, Any]) -> Iterator[Record]:
    """A record per metric of ``summary.json``."""
    for name, entry in summary.items():
        yield {"metric": name, "value": entry["value"], "unit": entry["unit"], "kind": entry["kind"]}


def problems(found: Iterable[Problem]) -> Iterator[Record]:
    """A record per broken law."""
    for problem in found:
        place = {"law": problem.law, "table": problem.table, "row": problem.row}
        yield place | {"value": str(problem.value), "message": problem.message}


def damages(found: Iterable[FormatError]) -> Iterator[Record]:
    """A record per damaged place."""
    for one in found:
        place = {"file": one.file, "table": one.table, "row_group": one.row_group, "column": one.column}
        yield place | {"reason": one.reason}


def statistics(found: Statistics) -> Iterator[Record]:
    """A record per count, named by the field of ``Statistics`` and what it is counted for."""
    for number, name in enumerate(OPERATION_CLASSES):
        for measure in ("warp_instructions", "thread_instructions"):
            yield {"measure": measure, "of": name, "value": int(getattr(found, measure)[number])}
    for lanes, count in enumerate(found.active_lanes.tolist()):
        yield {"measure": "active_lanes", "of": str(lanes), "value": count}
    for measure in ("visits", "accesses", "addresses", "rays", "records"):
        yield {"measure": measure, "of": "all", "value": getattr(found, measure)}
    for space, sectors in found.sectors.items():
        yield {"measure": "sectors", "of": space, "value": len(sectors)}
    yield {"measure": "nodes", "of": "all", "value": len(found.nodes)}


def comparison(left: Result, right: Result) -> Iterator[Record]:
    """A record per metric that both results have; ``change`` is A - B for a share (unit 1), else A / B - 1."""
    one, other = left.summary, right.summary
    for name in (metric for metric in one if metric in other):
        unit, a, b = one[name]["unit"], one[name]["value"], other[name]["value"]
        yield {"metric": name, "a": a, "b": b, "change": change(a, b, unit), "unit": unit}


def rows(dataset: Dataset, table: str) -> Iterator[Record]:
    """The rows of a table without ragged columns, in bounded memory."""
    for batch in dataset.batches(table):
        columns = {name: values.tolist() for name, values in batch.items()}
        for row in zip(*columns.values(), strict=True):
            yield dict(zip(columns, row, strict=True))


def written(path: Path) -> Iterator[Record]:
    """One record of a file that a verb wrote."""
    dataset = open_any(path)
    rows = sum(dataset.rows(table) for table in dataset.tables)
    size = sum(dataset.manifest.bytes(table) for table in dataset.tables)
    yield {"out": str(path), "format": dataset.manifest.format, "rows": rows, "bytes": size}
