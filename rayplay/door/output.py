"""The output of a verb: text, or records as JSON or CSV and nothing else; notes, or none."""

import argparse
import contextlib
import csv
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from rayplay.formats.guard.answer import Record


@contextlib.contextmanager
def directed(arguments: argparse.Namespace) -> Iterator[None]:
    """Run a verb with its output directed as ``--json``, ``--csv`` and ``--quiet`` say.

    Records are printed when the block ends without an error, so that standard output is whole. Other text of
    the verb then goes to standard error.
    """
    out, wants_records = sys.stdout, arguments.json or arguments.csv
    if wants_records:
        arguments.records = []
    with contextlib.ExitStack() as stack:
        if arguments.quiet:
            stack.enter_context(contextlib.redirect_stderr(stack.enter_context(open(os.devnull, "w"))))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        if wants_records:
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield
    if wants_records:
        out.write(as_json(arguments.records) if arguments.json else as_csv(arguments.records))
        out.flush()


def as_json(records: list[Record]) -> str:
    """A list of objects, one a line; a value that is no finite number is null."""
    lines = [json.dumps({name: plain(value) for name, value in record.items()}) for record in records]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def as_csv(records: list[Record]) -> str:
    """A header line with the names of all records, then a line each; None becomes an empty cell."""
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: plain(value) for name, value in record.items()} for record in records)
    return text.getvalue()


def plain(value: Any) -> Any:
    """A value as JSON has it: of numpy's scalars the Python one, of NaN and infinities None."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value - value != 0.0 else value
