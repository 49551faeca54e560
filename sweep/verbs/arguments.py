"""Options common to the verbs, and the sweep that they name."""

import argparse
from pathlib import Path
from typing import Any

from rayplay.formats.guard.command import add_limits, add_verb
from rayplay.formats.guard.errors import UserError
from rayplay.sweep.plan.plan import Plan, make_plan
from rayplay.sweep.space.file import read_sweep
from rayplay.sweep.space.points import Space, space
from rayplay.sweep.store.store import Store

SUFFIXES = (".toml", ".py")


def add_sweep_verb(verbs: Any, run_verb: Any) -> argparse.ArgumentParser:
    """A verb with a sweep file and a store."""
    made = add_verb(verbs, run_verb)
    made.add_argument("file", type=Path, metavar="FILE", help="sweep file: .toml, or .py, whose code is run")
    made.add_argument("--store", metavar="FOLDER|URL", default="",
                      help="where results are kept, or s3://BUCKET/FOLDER (default: FILE.sweep beside it)")  # fmt: skip
    add_limits(made)
    return made


def described(arguments: argparse.Namespace) -> tuple[str, Space, Store]:
    """Name, space and store of the sweep that the words name."""
    path: Path = arguments.file
    if path.suffix not in SUFFIXES:
        raise UserError(f"{path}: must end in .toml or .py; rayplay sweep new NAME.toml writes one to begin with")
    found = space(read_sweep(path))
    arguments.store = arguments.store or str(path.with_suffix(".sweep"))
    return path.stem, found, Store(arguments.store)


def planned(arguments: argparse.Namespace) -> Plan:
    """The plan of the sweep that the words name."""
    return make_plan(*described(arguments))
