"""``python -m hypa``: exact profiles of compute launches and of the inference of neural networks."""

import argparse

from rayplay.formats.guard.command import add_limits, run
from rayplay.hypa.verbs import add_analyse, add_network, analyse, network

DESCRIPTION = """Count exactly what launches execute, from the slice that decides where their threads go (hybrid program
analysis): instructions by class, floating-point operations, branches and how many of them diverge."""


def main() -> int:
    """Run the verb that the command line names."""
    parser = argparse.ArgumentParser("python -m hypa", description=DESCRIPTION)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    add_analyse(verbs)
    add_network(verbs)
    add_limits(*verbs.choices.values())
    options = parser.parse_args()
    return analyse(options) if options.verb == "analyse" else network(options)


if __name__ == "__main__":
    run("hypa", main)
