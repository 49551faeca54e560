"""Values of a GPU description fitted to calibration rows: least squares over replays of the micro-benchmarks.

A latency of the description is part of a measured one, so that each step replays the rows' micro-benchmarks and
compares. Check rows (``split.toml``) are never read. What stays is printed beside what moved.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu, load
from rayplay.silicon import correlate
from rayplay.silicon.simulate import TracedSuite

ROWS_OF = {"l1.latency_cycles": "l1_hit", "lsu.shared_latency_cycles": "shared_load", "l2.latency_cycles": "l2_hit"}
"""Values that are fitted unless others are named, and the row that each meets first."""
LOWEST, HIGHEST = 1, 1000
UNEXPLAINED = 0.02
"""Relative error of a row that the fitted values leave: a whole cycle of 50."""


@dataclass(frozen=True)
class Moved:
    """A value before and after, and its bounds."""

    key: str
    before: int
    after: int
    bounds: tuple[int, int]


@dataclass(frozen=True)
class Fit:
    """The description that a fit found, its values, and every calibration row with the error that stays.

    unread  quantities of the rows that only check, and were left out.
    """

    gpu: Gpu
    moved: list[Moved]
    rows: list[correlate.Row]
    unread: list[str]

    def assignments(self) -> list[str]:
        """The values as ``key=value``."""
        return [f"{each.key}={each.after}" for each in self.moved]

    def lines(self) -> list[str]:
        """Values that moved, then errors that stay."""
        made = [f"{'value':<28}{'before':>8}{'after':>8}  bounds"]
        made += [f"{m.key:<28}{m.before:>8}{m.after:>8}  {m.bounds[0]} to {m.bounds[1]}" for m in self.moved]
        made.append(f"{'calibration row':<28}{'measured':>10}{'replayed':>10}{'left':>8}")
        for row in self.rows:
            found = "-" if row.simulated is None else f"{row.simulated:.1f}"
            left = row.reason if row.error is None else f"{row.error:+.1%}"
            made.append(f"{row.quantity:<28}{row.measured:>10.1f}{found:>10}{left:>8}")
        stays = [row.quantity for row in self.rows if row.error is None or abs(row.error) > UNEXPLAINED]
        made.append(f"unexplained, more than {UNEXPLAINED:.0%} off or not compared: {', '.join(stays) or 'none'}")
        made.append(f"rows that only check, not read: {', '.join(self.unread) or 'none'}")
        return made


def fit(
    like: str, path: Path, rows: Sequence[Mapping[str, str]], bounds: Mapping[str, tuple[int, int]] | None = None
) -> Fit:
    """Fit values of the description ``like`` to the calibration rows of one card.

    rows    as ``correlate.choose_card`` gives them; rows for checks are left out.
    bounds  lowest and highest of each value to fit; None: the latencies whose row there is, 1 to 1000 cycles.

    Raises ``UserError`` where no row is for calibration, or a value is not a whole number of the description.
    """
    mine = [row for row in rows if correlate.split_of(row["gpu"], row["quantity"]) == correlate.CALIBRATION]
    known = {row["quantity"] for row in mine}
    if bounds is None:
        bounds = {key: (LOWEST, HIGHEST) for key, quantity in ROWS_OF.items() if quantity in known}
    if not mine or not bounds:
        raise UserError(f"{path}: has no row for calibration that a value could be fitted to (silicon/split.toml)")
    begin = load(like)
    before = {key: _value(begin, key) for key in bounds}
    with TracedSuite([row["quantity"] for row in mine]) as traced:
        replayed = _replayed(like, path, mine, traced)
        after = _least_squares(before, bounds, replayed)
        gpu = load(like, [f"{key}={number}" for key, number in after.items()])
        moved = [Moved(key, before[key], after[key], bounds[key]) for key in bounds]
        return Fit(gpu, moved, replayed(after), [row["quantity"] for row in rows if row not in mine])


def _value(gpu: Gpu, key: str) -> int:
    found: object = gpu
    for name in key.split("."):
        found = getattr(found, name, None)
    if type(found) is not int:
        raise UserError(f"--fit {key}: must be a whole number of the description of {gpu.name}, not {found!r}")
    return found


def _replayed(
    like: str, path: Path, rows: Sequence[Mapping[str, str]], traced: TracedSuite
) -> Callable[[Mapping[str, int]], list[correlate.Row]]:
    """The rows beside a replay with given values; each set of values is replayed once."""
    known: dict[tuple[tuple[str, int], ...], list[correlate.Row]] = {}

    def compared(values: Mapping[str, int]) -> list[correlate.Row]:
        key = tuple(values.items())
        if key not in known:
            gpu = load(like, [f"{name}={number}" for name, number in values.items()])
            known[key] = correlate.compare_suite(path, rows, traced.replay(gpu), 1e3 * gpu.sm.clock_khz)
        return known[key]

    return compared


def _least_squares(
    before: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int]],
    replayed: Callable[[Mapping[str, int]], list[correlate.Row]],
) -> dict[str, int]:
    """Whole numbers near the least squares of the rows' relative errors."""
    keys = list(bounds)
    low, high = (np.array([bounds[key][side] for key in keys], float) for side in (0, 1))

    def rounded(values: np.ndarray) -> dict[str, int]:
        return {key: int(number) for key, number in zip(keys, np.clip(np.rint(values), low, high), strict=True)}

    def errors(values: np.ndarray) -> np.ndarray:
        return np.array([row.error or 0.0 for row in replayed(rounded(values))])

    begin = np.clip([before[key] for key in keys], low, high)
    step = 8 / np.maximum(np.abs(begin), 1)  # a whole number moves a row by whole cycles: 8 of them are a slope
    found = least_squares(errors, begin, bounds=(low - 0.5, high + 0.5), diff_step=step, max_nfev=12, xtol=1e-3)
    return rounded(found.x)
