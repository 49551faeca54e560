"""``python -m animation animate``: a scene in motion, traced and measured frame by frame."""

import argparse
from collections.abc import Callable

from rayplay.animation.verb import add_animate
from rayplay.formats.guard.command import add_instructions, add_limits, run


def main() -> int:
    """Parse the command line and run its verb."""
    return perform(parser().parse_args())


def perform(arguments: argparse.Namespace) -> int:
    """Run the verb that ``arguments`` name."""
    run_verb: Callable[[argparse.Namespace], int] = arguments.run
    return run_verb(arguments)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser("python -m animation", description="A scene in motion, traced and measured.")
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    animate = add_animate(verbs)
    add_limits(animate)
    add_instructions(animate)
    return made


if __name__ == "__main__":
    run("animation", main)
