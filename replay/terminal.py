"""A replay in a few lines of the terminal: the verdict, six numbers, the cycle stack as a bar."""

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from rayplay.formats.guard.answer import has_colour
from rayplay.replay.results.metrics import Result
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.verdict import percent, shares, shown, six, unit_shares, verdict, warnings

WIDTH, LABEL = 100, 18  # letters of a line, and of a number's name
CELLS = 64  # of the bar
LETTERS = "IDULRMBF."  # of the reasons, where there are no colours
COLOURS = (34, 110, 32, 97, 208, 215, 162, 150, 250)  # of the reasons, in the palette of 256


def short(result: Result) -> Iterator[str]:
    """The lines of a result; of a model without cycle stacks the numbers alone."""
    numbers = six(result.summary)
    if result.ledger.has("stack") and result.summary["gpu_cycles"]["value"]:
        table = result.table("stack")
        units = unit_shares(result.table("utilisation"), result.kernels, result.summary["gpu_cycles"]["value"])
        yield from textwrap.wrap(verdict(table, units, result.summary), WIDTH)
        slots = shares(table, "sm")[1].sum(axis=0)
        yield from bar(slots, has_colour(sys.stdout))
    for words in warnings(result.summary, result.kernels, asdict(result.gpu)):
        yield from textwrap.wrap(f"Note: {words}", WIDTH)
    yield from (f"{figure.label:<{LABEL}}{shown(figure)}" for figure in numbers)


def bar(slots: np.ndarray, colour: bool) -> Iterator[str]:
    """The slots by reason as cells, and the meaning of each cell with its share. slots: int64[len(stack.REASONS)]."""
    total = max(int(slots.sum()), 1)
    edges = np.round(np.cumsum(slots) * CELLS / total).astype(int)
    counts = np.diff(edges, prepend=0).tolist()
    cell = [f"\x1b[48;5;{each}m \x1b[0m" for each in COLOURS] if colour else list(LETTERS)
    yield "".join(mark * count for mark, count in zip(cell, counts, strict=True))
    named = zip(cell, stack.REASONS, slots.tolist(), strict=True)
    yield "  ".join(f"{mark} {reason} {percent(part / total)}" for mark, reason, part in named if part)
