"""The answer of a verb: lines for a reader, records for a program."""

import argparse
from collections.abc import Callable, Iterable
from typing import Any

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
