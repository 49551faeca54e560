"""The answer of a verb: lines for a reader, coloured or not, records for a program."""

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any, TextIO

Record = dict[str, Any]


def answer(arguments: argparse.Namespace, lines: Iterable[str], records: Callable[[], Iterable[Record]]) -> None:
    """Print ``lines``, or, where the caller of the verb collects ``arguments.records``, append ``records()`` to them.

    Records are flat (names to numbers, texts, truth values or None), and the records of one verb have the same names.
    """
    collected = getattr(arguments, "records", None)
    if collected is None:
        for line in lines:
            print(line)
    else:
        collected.extend(records())


def has_colour(stream: TextIO) -> bool:
    """Whether colours may be written: a terminal that is not dumb, and no ``NO_COLOR`` (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
