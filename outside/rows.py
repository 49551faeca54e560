"""Row of a comparison with another simulator: case, their number, ours, tolerance."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

COLUMNS = ("case", "quantity", "theirs", "ours", "error", "tolerance", "")
WIDTHS = (44, 20, 13, 13, 9, 9, 6)


@dataclass(frozen=True)
class Row:
    """``error`` and ``tolerance`` are relative to ``theirs``; a tolerance of 0 means that the numbers must be equal."""

    case: str
    quantity: str
    theirs: float
    ours: float
    error: float
    tolerance: float
    passed: bool

    def __str__(self) -> str:
        verdict = "" if self.passed else "MISSED"
        cells = (self.case, self.quantity, number(self.theirs), number(self.ours), percent(self.error))
        return line((*cells, percent(self.tolerance) if self.tolerance else "exact", verdict))


def compare(case: str, quantity: str, theirs: float, ours: float, tolerance: float = 0.0) -> Row:
    """Row of two numbers; NaN for ``ours`` (no value) misses."""
    error = 0.0 if ours == theirs else (ours - theirs) / abs(theirs) if theirs else math.inf
    return Row(case, quantity, theirs, ours, error, tolerance, abs(error) <= tolerance)


def number(value: float) -> str:
    """A count in full, anything else with six digits."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


def percent(value: float) -> str:
    """A share in per cent."""
    return f"{100 * value:.2f} %"


def line(cells: Sequence[str]) -> str:
    """The cells of one line of the table, words to the left and numbers to the right."""
    padded = [
        cell.ljust(w) if index < 2 else cell.rjust(w) for index, (cell, w) in enumerate(zip(cells, WIDTHS, strict=True))
    ]
    return "  ".join(padded).rstrip()


def table(rows: Iterable[Row]) -> Iterator[str]:
    """The lines of the table, headed."""
    yield line(COLUMNS)
    yield from (str(row) for row in rows)
