"""Asked and reached: the figures that descriptions of cards are held to, computed of the study's rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rayplay.silicon import correlate
from rayplay.silicon.study.rays import RATIO
from rayplay.silicon.study.results import BANDWIDTH, LATENCY, THROUGHPUT, TIME, Compared

NEVER_FITTED = ("card-gtx1650", "card-rtx3060ti", "card-rtx3070ti", "card-rtx3080", "card-h100")
"""Descriptions of cards with kernel times of which no row was used: they have their family's values."""

SLOW_MEMORY, OF_MEMORY = "RTX 2060", ("add_row", "add_column", "grey")
"""The measured card whose memory ran at 60 % of its bus, and kernels that memory bounds: its other rows alone are valid
(docs/sources/measurements.md#textbook-kernels)."""


@dataclass(frozen=True)
class Verdict:
    """A figure, the bound asked for, and the value reached: None without rows. ``least``: the bound is a lower one."""

    what: str
    figure: str
    asked: float
    reached: float | None
    rows: int
    least: bool = False

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        if self.reached is None:
            return False
        return self.reached >= self.asked if self.least else self.reached <= self.asked

    def record(self) -> dict[str, object]:
        """The same for a table."""
        return {
            "what": self.what, "figure": self.figure, "asked": self.asked,
            "reached": None if self.reached is None else float(f"{self.reached:.4g}"), "rows": self.rows,
            "holds": self.holds,
        }  # fmt: skip


def verdicts(rows: Sequence[Compared]) -> list[Verdict]:
    """All figures."""
    ours = [row for row in rows if row.modelled is not None]
    micro = [row for row in ours if row.kind in (LATENCY, BANDWIDTH)]
    times = [row for row in ours if row.kind == TIME]
    unfitted = [row for row in times if row.description in NEVER_FITTED]
    valid = [row for row in times if row.card != SLOW_MEMORY or not row.what.startswith(OF_MEMORY)]
    ratios = [row for row in ours if row.kind == THROUGHPUT and row.unit == RATIO]
    unnamed = [row for row in micro if not row.reason]
    made = []
    for name, mine in (
        ("latencies and bandwidths", micro),
        ("latencies and bandwidths, rows without a named reason", unnamed),
    ):
        made += [
            _bound(name, "median absolute error", 0.05, mine, np.median),
            _bound(name, "worst absolute error", 0.20, mine, np.max),
        ]
    for name, mine, error, least in (
        ("kernel times above 50 us", times, 0.15, 0.98),
        (f"kernel times above 50 us, without the {SLOW_MEMORY}'s slow memory", valid, 0.15, 0.98),
        ("kernel times above 50 us, cards that were never fitted", unfitted, 0.20, 0.97),
    ):
        made.append(_bound(name, "mean absolute error", error, mine, np.mean))
        found = _errors(mine)
        reached = None if found is None else found.log_correlation
        made.append(Verdict(name, "correlation of logarithms", least, reached, len(mine), least=True))
    made.append(
        _bound(
            "ratios of ray-tracing throughput between scenes and between cards",
            "worst absolute error",
            0.25,
            ratios,
            np.max,
        )
    )
    return made


def groups(rows: Sequence[Compared]) -> Iterator[tuple[str, str, str, int, correlate.Errors | None]]:
    """Description, kind, use, rows in all, and errors: of each card, and of all."""
    for name in ("all", *sorted({row.description for row in rows if row.description})):
        for kind in (LATENCY, BANDWIDTH, TIME, THROUGHPUT):
            for use in (correlate.CALIBRATION, correlate.CHECK):
                mine = [row for row in rows if row.kind == kind and row.use == use and name in ("all", row.description)]
                if kind == THROUGHPUT:
                    mine = [row for row in mine if row.unit == RATIO]
                if mine:
                    yield name, kind, use, len(mine), _errors([row for row in mine if row.modelled is not None])


def _errors(rows: Sequence[Compared]) -> correlate.Errors | None:
    return correlate.errors_of(
        [correlate.Row(row.card, row.what, row.unit, row.measured, row.modelled, row.use) for row in rows]
    )


def _bound(
    what: str, figure: str, asked: float, rows: Sequence[Compared], of: Callable[[np.ndarray], np.floating]
) -> Verdict:
    errors = np.array([abs(row.error) for row in rows if row.error is not None])
    return Verdict(what, figure, asked, float(of(errors)) if len(errors) else None, len(errors))
