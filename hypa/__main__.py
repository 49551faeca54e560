"""``python -m hypa``: exact profiles of compute launches and of the inference of neural networks."""

import argparse

from rayplay.formats.guard.command import add_instructions, add_limits, run
from rayplay.hypa.verbs import add_analyse, add_network, analyse, network

DESCRIPTION = """Count exactly what launches execute, from the slice that decides where their threads go (hybrid program
analysis): instructions by class, floating-point operations, branches and how many of them diverge."""


def main() -> int:
    """Parse the command line and run its verb."""
    return perform(parser().parse_args())


def perform(options: argparse.Namespace) -> int:
    """Run the verb that ``options`` name."""
    return analyse(options) if options.verb == "analyse" else network(options)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser("python -m hypa", description=DESCRIPTION)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    add_analyse(verbs)
    add_network(verbs)
    add_limits(*verbs.choices.values())
    add_instructions(*verbs.choices.values())
    return made


if __name__ == "__main__":
    run("hypa", main)
