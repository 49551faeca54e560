"""From the words of a command line to an exit code."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version

from rayplay.door.output import directed
from rayplay.door.parser import parser_of, split
from rayplay.door.verbs import FAMILIES, overview
from rayplay.formats.guard.command import EXIT_INTERRUPTED, run


def enter() -> None:
    """The command ``rayplay``: run a verb and leave the process."""
    if "_ARGCOMPLETE" in os.environ:
        from rayplay.door.completion import complete

        complete()
    run("rayplay", lambda: main(sys.argv[1:]))


def main(words: Sequence[str]) -> int:
    """Run the verb that ``words`` name; its exit code, or 130 with the line that goes on after Ctrl-C.

    Raises ``UserError`` for whatever the user can mend.
    """
    if not words or words[0] in ("-h", "--help"):
        print(overview())
        return 0
    if words[0] == "--version":
        print(f"rayplay {version('rayplay')}")
        return 0
    verb, rest = split(words)
    if verb in FAMILIES:
        print(overview(verb))
        return 0
    arguments = None
    try:
        arguments = parser_of(verb, rest).parse(rest)
        with directed(arguments):
            return int(arguments.perform(arguments))
    except KeyboardInterrupt:
        print(f"rayplay: {after_interruption(verb, rest, arguments)}", file=sys.stderr)
        return EXIT_INTERRUPTED


def after_interruption(verb: str, words: list[str], arguments: argparse.Namespace | None) -> str:
    """The line after Ctrl-C: the command that goes on, where one does."""
    if arguments is not None and "resume" in arguments:
        left = without_finished(verb, words, list(getattr(arguments, "finished", [])))
        resumed = [] if "--resume" in words else ["--resume"]
        return f"interrupted; continue with: {shlex.join(['rayplay', *verb.split(), *left, *resumed])}"
    if getattr(arguments, "store", None):
        return f"interrupted; continue with: {shlex.join(['rayplay', *verb.split(), *words])}"
    return "interrupted; nothing incomplete stands under a final name"


def without_finished(verb: str, words: list[str], finished: list[str]) -> list[str]:
    """The words without the traces that are done."""
    done = {place for place in parser_of(verb, words).positions(words) if words[place] in finished}
    return [word for place, word in enumerate(words) if place not in done]
