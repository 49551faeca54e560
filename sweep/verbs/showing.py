"""``sweep collect`` and ``sweep report``: one table, and the page of the comparison."""

import argparse
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.errors import UserError
from rayplay.sweep.show.table import rows, write_table
from rayplay.sweep.verbs.arguments import add_sweep_verb, planned
from rayplay.sweep.verbs.running import EXIT_INCOMPLETE

TABLE, PAGE = ".parquet", ".html"
MAGIC = b"PAR1"


def add_parsers(verbs: Any) -> None:
    """The options of the verbs."""
    for verb, suffix in ((collect_verb, TABLE), (report_verb, PAGE)):
        made = add_sweep_verb(verbs, verb)
        made.add_argument("--out", type=Path, metavar=f"NAME{suffix}",
                          help=f"file to write (default: FILE{suffix} beside FILE)")  # fmt: skip


def collect_verb(arguments: argparse.Namespace) -> int:
    """A sweep file -> one Parquet table with every parameter and metric of every point.

    Points without a result are rows as well, with their status and the reason. Exit code 1 when there are any.

    example:
      python -m sweep collect study.toml --out study.parquet
    """
    out = target(arguments, TABLE, MAGIC)
    plan = planned(arguments)
    found = rows(plan)
    write_table(plan, found, out)
    done = sum(row["status"] == "done" for row in found)
    line = f"{out}: {done:,} of {len(found):,} points have a result{'' if done == len(found) else ' (partial)'}"
    answer(arguments, [line], lambda: found)
    return 0 if done == len(found) else EXIT_INCOMPLETE


def report_verb(arguments: argparse.Namespace) -> int:
    """A sweep file -> one HTML page: Pareto front, sensitivity, interactions, noise floor, designs, points.

    The page needs nothing but a browser, and names missing points before anything that is averaged. Exit code 1 when
    a point is missing.

    example:
      python -m sweep report study.toml --out study.html
    """
    from rayplay.formats.place.publish import atomic_file
    from rayplay.report.document import BEGIN
    from rayplay.sweep.show.page import page

    out = target(arguments, PAGE, BEGIN.encode())
    plan = planned(arguments)
    found = rows(plan)
    written = page(plan, found).encode()
    with atomic_file(out) as partial:
        partial.write_bytes(written)
    done = sum(row["status"] == "done" for row in found)
    record = {"out": str(out), "bytes": len(written), "done": done, "points": len(found)}
    answer(arguments, [f"{out}: {done:,} of {len(found):,} points; open it with a browser"], lambda: [record])
    return 0 if done == len(found) else EXIT_INCOMPLETE


def _head(file: Path, size: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(size)


def target(arguments: argparse.Namespace, suffix: str, begin: bytes) -> Path:
    """The file to write; ``UserError`` for another suffix, and for a file of another kind, so that none is lost."""
    out: Path = arguments.out or arguments.file.with_suffix(suffix)
    if out.suffix != suffix:
        raise UserError(f"--out {out}: must end in {suffix}")
    if out.exists() and (not out.is_file() or _head(out, len(begin)) != begin):
        raise UserError(f"--out {out}: must be new or a {suffix} file of this verb, so that no other file is lost")
    return out
