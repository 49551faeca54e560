"""``python -m sweep``: a sweep file to results, a table and a page."""

import argparse
from collections.abc import Callable

from rayplay.formats.guard.command import run
from rayplay.sweep.verbs import keeping, planning, running, showing


def main() -> int:
    """Parse the command line and run its verb."""
    return perform(parser().parse_args())


def perform(arguments: argparse.Namespace) -> int:
    """Run the verb that ``arguments`` name."""
    run_verb: Callable[[argparse.Namespace], int] = arguments.run
    return run_verb(arguments)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        "python -m sweep", description="Sweeps: many replays that cannot lose a result (docs/sweep.md)."
    )
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    for module in (planning, running, keeping, showing):
        module.add_parsers(verbs)
    return made


if __name__ == "__main__":
    run("sweep", main)
