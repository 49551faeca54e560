"""Predictions and estimates on the page: each metric with its interval, beside the full replay."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.formats.look.compare import change
from rayplay.report.markup import Markup, tag
from rayplay.report.run import Run
from rayplay.report.tables import section, table

LARGEST = sys.float_info.max
NOTE = (
    "Intervals have 95 % confidence; predict gives none. Errors are relative to the full replay. Marked are errors"
    " whose interval does not hold the full replay; without an interval, those beyond the noise floor."
)
HEADS = ("metric", "predicted", "interval from", "interval to", "full replay", "error in %", "interval holds it")


@dataclass(frozen=True)
class Forecast:
    """A prediction or an estimate.

    name     of its file.
    trace    name of the trace, as the file has it.
    gpu      name of the GPU, as the file has it.
    metrics  metric -> value and the ends of its 95 % interval; None where the file has none.
    """

    name: str
    trace: str
    gpu: str
    metrics: dict[str, tuple[float | None, float | None, float | None]]


def read_forecast(path: Path) -> Forecast:
    """A folder of ``rayplay predict`` or a file of ``rayplay estimate --out``; ``UserError`` for anything else."""
    file = path / "prediction.json" if path.is_dir() else path
    raw = parse_json(read_text(file, "prediction", LIST_BYTES), file)
    if not isinstance(raw, dict) or not isinstance(raw.get("metrics"), dict):
        raise UserError(f"--prediction {file}: must be what rayplay predict or rayplay estimate wrote; has no metrics")
    metrics = {str(name): forecast_metric(file, name, found) for name, found in raw["metrics"].items()}
    return Forecast(path.name, str(raw.get("trace", "unknown")), str(raw.get("gpu", "unknown")), metrics)


def forecast_metric(file: Path, name: str, found: Any) -> tuple[float | None, float | None, float | None]:
    """Value and interval of one metric of the file."""
    place = f"--prediction {file}: metrics.{name}"
    key = next((key for key in ("predicted", "estimate") if isinstance(found, dict) and key in found), None)
    if key is None:
        raise UserError(f"{place}: must hold predicted or estimate, found {str(found)[:60]!r}")
    interval = found.get("interval") or [None, None]
    if not isinstance(interval, list) or len(interval) != 2:
        raise UserError(f"{place}.interval: must be two numbers, found {str(interval)[:60]!r}")
    value, low, high = (number(place, each) for each in (found[key], *interval))
    return value, low, high


def number(place: str, given: Any) -> float | None:
    """``given``, a number or None."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float))):
        raise UserError(f"{place}: must be a number or null, found {str(given)[:60]!r}")
    if given is not None and not abs(given) <= LARGEST:
        raise UserError(f"{place}: must be a finite number, found one above {LARGEST:.2g}")
    return None if given is None else float(given)


def forecasts(found: Sequence[Forecast], full: Run, floor: Mapping[str, float] | None = None) -> Markup:
    """The section of ``found``, a table for each; errors are relative to ``full``, beyond the noise ``floor`` marked.

    Raises ``UserError`` for a prediction of another trace or GPU.
    """
    for each in found:
        expect_same(f"--prediction {each.name}", each.trace, each.gpu, full)
    tables = [
        table(HEADS, [marked(row, full, floor or {}) for row in rows(each, full)],
              f"{each.name}: {each.trace} on {each.gpu}, beside {full.name}")
        for each in found
    ]  # fmt: skip
    return section("Predictions", *tables, note=NOTE)


def marked(row: tuple[Any, ...], full: Run, floor: Mapping[str, float]) -> tuple[Any, ...]:
    """The row, its error with a colour where it says something."""
    metric, value, _, _, truth, error, holds = row
    if error is None:
        return row
    moved = change(value, truth, full.summary[metric]["unit"])
    beyond = holds == "no" if holds else metric in floor and moved is not None and abs(moved) > floor[metric]
    if not beyond:
        return row
    arrow, class_ = (" \u25b2", "more") if value > truth else (" \u25bc", "less")
    shown = tag("td", f"{error:,.6g}{arrow}", class_=f"number {class_}", data_value=repr(error))
    return (*row[:5], shown, holds)


def expect_same(place: str, trace: str, gpu: str, full: Run) -> None:
    """Refuse a file of another trace or GPU than ``full`` replays; a path of a GPU's description says nothing."""
    made = full.result.manifest.provenance
    known = {"trace": made.get("trace", trace), "gpu": made.get("gpu", gpu)}
    if isinstance(known["gpu"], dict):
        known["gpu"] = known["gpu"].get("name")
    for (name, wanted), found in zip(known.items(), (trace, gpu), strict=True):
        if found != wanted and not (name == "gpu" and found.endswith(".toml")):
            raise UserError(f"{place}: {name} must be {wanted}, as of {full.name}, found {found}")


def rows(each: Forecast, full: Run) -> list[tuple[Any, ...]]:
    """A row for each metric, in the order of the file."""
    made = []
    for metric, (value, low, high) in each.metrics.items():
        truth = full.summary[metric]["value"] if metric in full.summary else None
        error = None if value is None or not truth else 100 * abs(value - truth) / abs(truth)
        holds = "" if low is None or high is None or truth is None else "yes" if low <= truth <= high else "no"
        made.append((metric, value, low, high, truth, error, holds))
    return made
