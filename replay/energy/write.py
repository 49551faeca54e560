"""The energy of a result as a file beside it, and as lines for a reader."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.energy import ENERGY_FORMAT
from rayplay.formats.dataset.writer import FolderWriter
from rayplay.formats.guard.answer import Record
from rayplay.formats.guard.digest import file_digest
from rayplay.replay.energy.account import Account
from rayplay.replay.energy.events import chip_of
from rayplay.replay.energy.law import KINDS
from rayplay.replay.energy.power import power
from rayplay.replay.energy.table import UNIT_OF

SUFFIX = ".energy"
MANIFEST = "manifest.json"
CAVEAT = "constant and static power are the fitted chip's, not this one's"
COLUMN = 32


def beside(result: Path) -> Path:
    """``NAME.energy`` of ``NAME.result``."""
    return result.with_name(result.name.removesuffix(".result") + SUFFIX)


def write(account: Account, out: Path) -> None:
    """Write ``NAME.energy``; the old one stays until the new one is complete."""
    made = {
        "command": "energy", "result": account.result.path.name, "trace": account.trace,
        "result_digest": file_digest(account.result.path / MANIFEST), "table": dataclasses.asdict(account.table),
    }  # fmt: skip
    with FolderWriter(out, ENERGY_FORMAT, made) as writer:
        rows = list(account.totals())
        columns: dict[str, Any] = {"metric": [row[0] for row in rows], "unit": [row[2] for row in rows]}
        for at, name in enumerate(("low", "value", "high")):
            columns[name] = np.array([row[1][at] for row in rows])
        writer.put("totals", columns)
        writer.put("energy", energy_columns(account))
        if (over_time := power_columns(account)) is not None:
            writer.put("power", over_time)
        writer.put("events", event_columns(account))
        launches = account.launches
        writer.put("launches", {
            "kernel_id": np.array([each.kernel_id for each in launches], np.int32),
            "seconds": np.array([each.activity.seconds for each in launches], np.float64),
            "idle_sms": np.array([each.activity.idle_sms for each in launches], np.float64),
            "active_threads": np.array([each.activity.active_threads for each in launches], np.float64),
            "category": [each.category for each in launches],
        })  # fmt: skip


def energy_columns(account: Account) -> dict[str, Any]:
    """Columns of ``energy``."""
    rows: list[tuple[int, str, str, str, float, float, float]] = []
    for launch in account.launches:
        low, high = (sum(row[at] - row[1] for row in launch.rt.values()) for at in (0, 2))
        for kind in KINDS:
            for component, joules in getattr(launch.joules, kind).items():
                less, more = (low, high) if component == "RTP" else (0.0, 0.0)
                name = UNIT_OF[component]
                rows.append((launch.kernel_id, component, name, kind, joules, joules + less, joules + more))
    names = ("kernel_id", "component", "unit", "kind", "joules", "low_joules", "high_joules")
    return _columns(names, rows, {"kernel_id": np.int32})


def event_columns(account: Account) -> dict[str, Any]:
    """Columns of ``events``."""
    rows = [
        (launch.kernel_id, event, float(count), launch.origin[event])
        for launch in account.launches for event, count in launch.activity.events.items()
    ]  # fmt: skip
    return _columns(("kernel_id", "event", "count", "origin"), rows, {"kernel_id": np.int32})


def power_columns(account: Account) -> dict[str, Any] | None:
    """Columns of ``power``; None without a timeline."""
    found = power(account)
    if found is None:
        return None
    hertz = chip_of(account.result.manifest.provenance.get("gpu"), str(account.result.path)).hertz
    rows = [
        (int(start), int(cycles), unit, kind, float(joules[at] * hertz / cycles))
        for at, (start, cycles) in enumerate(zip(found.start, found.cycles, strict=True))
        for (unit, kind), joules in found.joules.items()
    ]  # fmt: skip
    return _columns(("start_cycle", "cycles", "unit", "kind", "watts"), rows, {})


def _columns(names: tuple[str, ...], rows: list[Any], dtypes: dict[str, Any]) -> dict[str, Any]:
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: np.array(column, dtypes[name]) if name in dtypes else list(column)
            for name, column in zip(names, columns, strict=True)}  # fmt: skip


def by_unit(account: Account) -> dict[tuple[str, str], float]:
    """(Unit, kind) -> joules, the most first."""
    found: dict[tuple[str, str], float] = {}
    for launch in account.launches:
        for kind in KINDS:
            for component, joules in getattr(launch.joules, kind).items():
                key = UNIT_OF[component], kind
                found[key] = found.get(key, 0.0) + joules
    return dict(sorted(((key, joules) for key, joules in found.items() if joules), key=lambda row: (-row[1], row[0])))


def lines(account: Account) -> Iterator[str]:
    """The energy for a reader."""
    low, default, high = account.joules
    whole = default or 1.0  # a table may count nothing
    yield f"Energy by {account.table.name}: {quantity(default, 'J')} ({quantity(low, 'J')} to {quantity(high, 'J')})"
    for kind in KINDS:
        yield f"{kind:<{COLUMN}}{quantity(account.kind(kind), 'J'):>12}{account.kind(kind) / whole:>8.1%}"
    for name, values, unit in account.totals():
        if name in ("power", "energy_per_ray", "energy_per_pixel", "edp") and values[1] == values[1]:
            yield f"{name.replace('_', ' '):<{COLUMN}}{quantity(values[1], unit):>12}"
    yield "unit"
    for (unit, kind), joules in by_unit(account).items():
        yield f"  {unit + ', ' + kind:<{COLUMN - 2}}{quantity(joules, 'J'):>12}{joules / whole:>8.1%}"
    yield f"Note: {account.table.fitted_on}; {CAVEAT}."
    if account.trace is None:
        better = "" if "classes" in account.result.manifest.provenance else "; --trace TRACE counts them"
        yield f"Note: operations and operands are estimates from the counters{better}."


def quantity(value: float, unit: str) -> str:
    """A value with the SI prefix that fits, such as ``2.44 mJ``."""
    for factor, prefix in ((1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p")):
        if abs(value) >= factor:
            return f"{value / factor:,.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def records(account: Account) -> Iterator[Record]:
    """A record per quantity of the whole replay and per unit."""
    name = account.result.path.name
    for metric, (low, value, high), unit in account.totals():
        yield {"result": name, "metric": metric, "value": value, "low": low, "high": high, "unit": unit}
    for (unit, kind), joules in by_unit(account).items():
        low, default, high = account.joules if unit == UNIT_OF["RTP"] else (0.0, 0.0, 0.0)
        metric = f"{kind}.{unit.replace(' ', '_')}"
        yield {
            "result": name, "metric": metric, "value": joules, "low": joules + low - default,
            "high": joules + high - default, "unit": "J",
        }  # fmt: skip
