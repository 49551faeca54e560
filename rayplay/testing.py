"""Tests that ship with the package: ``check_policy`` holds a policy's file to the laws of every policy.

``python -m rayplay.testing FILE.py`` does it on six drawn traces and GPUs, and ends with 1 at a law that is broken.
Without a file the engine's own policies are held to them, as ``--set`` chooses: ``--set scheduler.policy=lrr``.
"""

import argparse
import sys

from rayplay.formats.guard.command import run
from rayplay.replay.testing import check_policy

__all__ = ["check_policy"]
OWN = "the engine's own policies"


def main() -> None:
    """Check the policies that are named."""
    made = argparse.ArgumentParser(prog="python -m rayplay.testing", description=__doc__)
    made.add_argument("plugin", nargs="*", metavar="FILE.py|NAME", help="policies to check")
    made.add_argument("--cases", type=int, default=6, help="drawn traces and GPUs (default: %(default)s)")
    made.add_argument("--seed", type=int, default=0, help="of the draws (default: %(default)s)")
    made.add_argument("--model", nargs="+", default=["characterised"], choices=("characterised", "pipeline"),
                      help="models of an SM, in turn (default: characterised)")  # fmt: skip
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings",
                      help="values of the description, such as parameters of the policy")  # fmt: skip
    given = made.parse_args()
    for plugin in given.plugin or [None]:
        try:
            done = check_policy(plugin, given.cases, given.seed, tuple(given.settings), tuple(given.model))
        except AssertionError as error:
            print(f"{plugin or OWN}: breaks a law: {error}", file=sys.stderr)
            sys.exit(1)
        print(f"{plugin or OWN}: {done} laws hold")


if __name__ == "__main__":
    run("rayplay.testing", main)
