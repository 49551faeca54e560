"""``python -m tuner fit | choose | run | study``: hold a frame rate by an analytical model of the GPU."""

import argparse
from collections.abc import Callable

from rayplay.formats.guard.command import add_limits, run
from rayplay.tuner.verbs import add_choose, add_fit, add_run, add_study

DESCRIPTION = """\
The tuner of Ganestam and Doggett: a look at low resolution and an analytical model predict how long a GPU needs for a
frame, and choose the rays of ambient occlusion that meet a target. A simulated GPU plays the real one.
"""


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
        "python -m tuner", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    for add in (add_fit, add_choose, add_run, add_study):
        add(verbs)
    add_limits(*verbs.choices.values())
    return made


if __name__ == "__main__":
    run("tuner", main)
