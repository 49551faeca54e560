"""Measured rows beside what a GPU description makes of them: errors of every row, and of all together.

A row is compared where the suite (or a trace, for kernel times) has its quantity in its unit; every other one is kept
with the reason. With h measured and s simulated: error = (s - h) / h; MAE its mean absolute value; weighted error =
sum |s - h| / sum h; RPD = mean 2 |s - h| / (s + h); correlation of logarithms = Pearson's r of log h, log s.
Source: docs/sources/measurements.md#correlation-with-hardware.
"""

import csv
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_text
from rayplay.silicon.simulate import Simulated

SPLIT = Path(__file__).with_name("split.toml")
PER_CYCLE, BYTES_PER_SECOND = "B/clk", {"GB/s": 1e9, "GiB/s": float(1 << 30)}
CALIBRATION, CHECK = "calibration", "check"
MOST_CHARACTERS = 200  # of a value
QUANTITY_COLUMNS, TIME_COLUMNS = ("gpu", "quantity", "value", "unit"), ("gpu", "kernel", "launch", "grid", "warm_us")


@dataclass(frozen=True)
class Row:
    """One measured value. A row that was not compared has no ``simulated`` value, and ``reason`` says why."""

    card: str
    quantity: str
    unit: str
    measured: float
    simulated: float | None
    split: str
    reason: str = ""
    source: str = ""

    @property
    def error(self) -> float | None:
        """(simulated - measured) / measured; None where it was not compared."""
        return None if self.simulated is None else (self.simulated - self.measured) / self.measured


@dataclass(frozen=True)
class Errors:
    """Errors of the compared rows; ``log_correlation`` is nan for fewer than three rows."""

    rows: int
    mean: float
    worst: float
    median: float
    weighted: float
    rpd: float
    log_correlation: float


def read_measured(path: Path) -> list[dict[str, str]]:
    """Rows of a file of measurements; lines that begin with # are how it was made.

    Raises ``UserError`` for a file that has neither the columns of quantities nor the columns of ``rayplay time``, and
    for one that is no CSV or too long, or has a row of another length or values that are no short printable text.
    """
    text = enumerate(read_text(path, "CSV file of measurements", LIST_BYTES).splitlines(), start=1)
    lines = [(number, line) for number, line in text if line.strip() and not line.startswith("#")]
    reader = csv.reader([line for _, line in lines], strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        rows.extend((lines[reader.line_num - 1][0], row) for row in reader)
    except csv.Error as error:
        raise UserError(f"{path}: line {lines[reader.line_num - 1][0]}: must be CSV: {error}") from None
    columns = rows[0][1] if rows else []
    if not any(set(wanted) <= set(columns) for wanted in (QUANTITY_COLUMNS, TIME_COLUMNS)):
        raise UserError(
            f"{path}: must have the columns {', '.join(QUANTITY_COLUMNS)} (or {', '.join(TIME_COLUMNS)}), found: "
            f"{', '.join(columns) or 'none'}"
        )
    for number, row in rows[1:]:
        if len(row) != len(columns):
            raise UserError(f"{path}: line {number}: must have {len(columns)} values, as the first row, not {len(row)}")
        for cell in row:
            if not cell.isprintable() or len(cell) > MOST_CHARACTERS:
                raise UserError(f"{path}: line {number}: must hold values of at most {MOST_CHARACTERS} printable "
                                f"characters, found {cell[:20]!r}")  # fmt: skip
    return [dict(zip(columns, row, strict=True)) for _, row in rows[1:]]


def choose_card(path: Path, rows: Sequence[Mapping[str, str]], card: str | None) -> list[Mapping[str, str]]:
    """The rows of one card. Raises ``UserError`` naming the cards there are when it must be chosen."""
    cards = list(dict.fromkeys(row["gpu"] for row in rows))
    if card is None and len(cards) == 1:
        (card,) = cards
    if card not in cards:
        raise UserError(f"{path}: choose one card with --card, found {card or 'none'}; there are: {', '.join(cards)}")
    return [row for row in rows if row["gpu"] == card]


def is_times(rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether rows are kernel times of ``rayplay time``."""
    return bool(rows) and set(TIME_COLUMNS) <= rows[0].keys()


def compare_suite(
    path: Path, rows: Sequence[Mapping[str, str]], simulated: Sequence[Simulated], clock_hz: float
) -> list[Row]:
    """Measured quantities beside the suite's; ``clock_hz`` of the SMs makes B/clk of it bytes a second."""
    known = {each.quantity: each for each in simulated}
    made = []
    for row in rows:
        ours, value = known.get(row["quantity"]), _number(path, row, "value")
        if ours is not None and ours.unit == PER_CYCLE and row["unit"] in BYTES_PER_SECOND:
            ours = Simulated(ours.quantity, row["unit"], ours.value * clock_hz / BYTES_PER_SECOND[row["unit"]])
        reason = ""
        if ours is None:
            reason = "no micro-benchmark of the suite has this quantity"
        elif ours.unit != row["unit"]:
            reason = f"measured in {row['unit']}, simulated in {ours.unit}"
        elif value <= 0:
            reason = "the measured value must be above 0"
        made.append(
            _row(row, row["quantity"], row["unit"], value, None if reason or ours is None else ours.value, reason)
        )
    return made


def compare_times(
    path: Path, rows: Sequence[Mapping[str, str]], kernels: Sequence[tuple[str, float]], least_us: float
) -> list[Row]:
    """Kernel times beside the microseconds of a trace's launches, in their order.

    The time of the empty kernel, launch -1, is taken off. Rows below ``least_us`` are not compared.
    Raises ``UserError`` where the launches are not the trace's.
    """
    empty = next((_number(path, row, "warm_us") for row in rows if row["launch"] == "-1"), 0.0)
    launches = [row for row in rows if row["launch"] != "-1"]
    names = [f"{row['kernel']} {row['grid']}" for row in launches]
    if names != [name for name, _ in kernels]:
        raise UserError(
            f"{path}: must have the launches of the trace, {len(kernels)} from "
            f"{kernels[0][0] if kernels else 'none'} on; found {len(names)} from {names[0] if names else 'none'} on"
        )
    made = []
    for row, (name, ours) in zip(launches, kernels, strict=True):
        value = _number(path, row, "warm_us") - empty
        reason = "" if value >= least_us else f"below {least_us:g} us, where the launch itself counts"
        if value <= 0:
            reason = "takes no longer than the empty kernel"
        made.append(_row(row, f"{row['launch']} {name}", "us", value, None if reason else ours, reason))
    return made


def _row(row: Mapping[str, str], quantity: str, unit: str, value: float, ours: float | None, reason: str) -> Row:
    source = row.get("source") or row.get("file") or ""
    return Row(row["gpu"], quantity, unit, value, ours, split_of(row["gpu"], quantity), reason, source)


def _number(path: Path, row: Mapping[str, str], column: str) -> float:
    try:
        value = float(row[column])
    except (TypeError, ValueError):
        value = float("nan")
    if not np.isfinite(value):
        raise UserError(
            f"{path}: {column} must be a number, found {row[column]!r}: {row.get('quantity') or row.get('kernel')}"
        )
    return value


@cache
def _split() -> tuple[frozenset[str], frozenset[str]]:
    found = tomllib.loads(SPLIT.read_text())
    return frozenset(found["calibration"]), frozenset(found["check_cards"])


def split_of(card: str, quantity: str) -> str:
    """Whether a row may set values of a description, or only judge it (``split.toml``)."""
    quantities, cards = _split()
    return CALIBRATION if quantity in quantities and card not in cards else CHECK


def errors_of(rows: Sequence[Row]) -> Errors | None:
    """Errors of the compared rows among ``rows``; None without one."""
    pairs = np.array([(r.measured, r.simulated) for r in rows if r.simulated is not None], float).reshape(-1, 2)
    if not len(pairs):
        return None
    h, s = pairs.T
    relative = np.abs(s - h) / h
    positive = (s > 0) & (h > 0)
    logs = np.log(pairs[positive]).T
    spread = positive.sum() > 2 and logs.std(axis=1).min() > 1e-12  # of equal values
    return Errors(
        len(pairs), float(relative.mean()), float(relative.max()), float(np.median(relative)),
        float(np.abs(s - h).sum() / h.sum()), float((2 * np.abs(s - h) / (s + h)).mean()),
        float(np.corrcoef(*logs)[0, 1]) if spread else float("nan"),
    )  # fmt: skip


def lines_of(gpu: str, rows: Sequence[Row]) -> list[str]:
    """A table for the terminal: every row, then the errors."""
    made = [f"{gpu} beside {rows[0].card if rows else 'no card'}",
            f"{'quantity':<24}{'unit':<10}{'measured':>12}{'simulated':>12}{'error':>9}  rows for"]  # fmt: skip
    for r in rows:
        found = f"{r.simulated:>12.2f}{r.error:>+9.1%}" if r.simulated is not None else f"{'-':>12}{'-':>9}"
        made.append(
            f"{r.quantity:<24}{r.unit:<10}{r.measured:>12.2f}{found}  {r.split}{f': {r.reason}' if r.reason else ''}"
        )
    for name in (CALIBRATION, CHECK):
        mine = [r for r in rows if r.split == name]
        errors = errors_of(mine)
        if errors is not None:
            made.append(
                f"{name}: {errors.rows} of {len(mine)} rows compared; absolute error mean {errors.mean:.1%}, median "
                f"{errors.median:.1%}, worst {errors.worst:.1%}; weighted {errors.weighted:.1%}; RPD {errors.rpd:.1%}; "
                f"correlation of logarithms {errors.log_correlation:.3f}"
            )
        elif mine:
            made.append(f"{name}: none of {len(mine)} rows compared")
    return made


def records_of(gpu: str, rows: Sequence[Row]) -> list[dict[str, object]]:
    """The same for a program and a CSV file, a row each."""
    return [
        {"description": gpu, "card": r.card, "quantity": r.quantity, "unit": r.unit, "measured": r.measured,
         "simulated": r.simulated, "error": r.error, "split": r.split, "not_compared_because": r.reason,
         "source": r.source}
        for r in rows
    ]  # fmt: skip
