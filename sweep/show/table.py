"""A sweep as one table: a row per point with every parameter and metric; missing points stand in the same table."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rayplay.sweep.plan.plan import Plan

FIRST = ("point", "status", "reason", "key", "twin")  # columns before parameters and metrics
Row = dict[str, Any]


def rows(plan: Plan) -> list[Row]:
    """A row per point, in the order of the file: status, parameters, and the metrics of a complete result.

    status  ``done``, ``failed`` with its reason, ``missing``, ``skipped``, or ``unrendered``.
    twin    whether the point is the base with a latency off by a cycle, for the noise floor.
    """
    entries = {key: plan.store.get(key) for key, status in plan.status.items() if status == "done"}
    reasons = {
        key: plan.store.failure(key).get("reason") for key, status in plan.status.items() if status == "failed"
    }  # fmt: skip
    found, twins_from = [], len(plan.planned) - plan.space.twins
    for number, each in enumerate(plan.planned):
        entry = entries.get(each.key) if each.key else None
        status = "unrendered" if each.key is None else plan.status[each.key]
        if status == "done" and entry is None:  # it went while we read
            status = "missing"
        row = {"point": number, "status": status, "reason": reasons.get(each.key), "key": each.key}  # type: ignore[arg-type]
        row |= {"twin": number >= twins_from} | plan.about(each.point)
        found.append(row | (entry.metrics if entry else {}))
    return found


def parameters(plan: Plan) -> list[str]:
    """Columns that are parameters: trace, gpu, plugin, model, method, seed, and the keys of the designs."""
    keys = dict.fromkeys(key for design in plan.space.designs for key in design)
    return ["trace", "gpu", "plugin", "model", "method", "seed", *keys]


def metrics(plan: Plan, found: Iterable[Row]) -> list[str]:
    """Columns that are metrics, sorted."""
    known = {*FIRST, *parameters(plan)}
    return sorted({name for row in found for name in row} - known)


def write_table(plan: Plan, found: list[Row], out: Path) -> None:
    """Write the rows as Parquet; equal rows give equal bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rayplay.formats.place.publish import atomic_file

    names = [*FIRST, *parameters(plan), *metrics(plan, found)]
    columns = {name: column([row.get(name) for row in found]) for name in names}
    table = pa.table(columns).replace_schema_metadata({"rayplay.format": "rayplay sweep table", "rayplay.version": "1"})
    with atomic_file(out) as partial:
        pq.write_table(table, partial)


def column(values: list[Any]) -> Any:
    """An Arrow array of one type: numbers as they are, mixed values as text, no value as null."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds:
        return pa.array(values, pa.float64() if float in kinds else pa.int64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    return pa.array([None if value is None else str(value) for value in values], pa.string())
