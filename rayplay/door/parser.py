"""Parsers of the front door: composed of the packages' own, one line for an error, a suggestion for every name."""

import argparse
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import nearest

# Verbs of the packages, and their names here.
SAME = (
    (r"python -m formats (show|compare)", r"rayplay \1"),
    (r"python -m formats", "rayplay data"),
    (r"python -m replay --explain", "rayplay gpus explain"),
    (r"python -m tracer (render|launch|network)", "rayplay trace"),
    (r"python -m (?:tracer|zatel)", "rayplay"),
    (r"python -m (replay|ptx)", r"rayplay \1"),
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are ``UserError``: one line, with the known name that an unknown one is nearest to."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise UserError(f"{message}; {self.prog} --help shows an example")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments, options and others in any order; ``UserError`` for an option that is not known."""
        self.usage = self.format_usage().removeprefix("usage: ").replace("%", "%%")  # else argparse formats it twice
        found, unknown = self.parse_known_intermixed_args(words)
        if unknown:
            name, _, _ = unknown[0].partition("=")
            near = nearest(name, self._option_string_actions) if name.startswith("-") else None
            hint = f"did you mean {near}?" if near else f"{self.prog} --help shows an example"
            raise UserError(f"unknown argument {unknown[0]}; {hint}")
        return found

    def positions(self, words: Sequence[str]) -> Iterator[int]:
        """Places of the ``words`` that are neither options nor their values; an option takes one value, or none."""
        is_value = False
        for place, word in enumerate(words):
            if word.startswith("-") and len(word) > 1:
                action = self._option_string_actions.get(word)
                is_value = action is not None and action.nargs != 0
            elif is_value:
                is_value = False
            else:
                yield place

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value outside ``action.choices``, as argparse does, and suggest the nearest."""
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(action, f"{suggestion(str(value), names)}")


def suggestion(name: str, known: Sequence[str]) -> str:
    """Why ``name`` is refused: the nearest of ``known``, or all of them."""
    near = nearest(name, known)
    return f"unknown name {name}; " + (f"did you mean {near}?" if near else f"known are {', '.join(known)}")


def add_output(made: argparse.ArgumentParser) -> None:
    """The options that every verb has."""
    group = made.add_argument_group("output")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--json", action="store_true", help="print the figures as a JSON list of records, alone")
    either.add_argument("--csv", action="store_true", help="print the figures as CSV with a header line, alone")
    group.add_argument("--quiet", action="store_true", help="no progress, notes or warnings; errors only")
    group.add_argument("--version", action="version", version=f"rayplay {version('rayplay')}")


def verb_of(package: argparse.ArgumentParser, verb: str) -> argparse.ArgumentParser:
    """The parser of one verb of a package's command line."""
    verbs = next(action for action in package._actions if isinstance(action, argparse._SubParsersAction))
    found: argparse.ArgumentParser = verbs.choices[verb]
    return found


def composed(prog: str, source: argparse.ArgumentParser) -> Parser:
    """A parser with the arguments and defaults of ``source``, whose help names the verbs of the front door."""
    made = Parser(prog, parents=[source], add_help=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    for action in made._actions:
        action.help = renamed(action.help) if action.help else action.help
    return made


def renamed(text: str) -> str:
    """``text`` with the packages' verbs as the front door calls them."""
    for theirs, ours in SAME:
        text = re.sub(theirs, ours, text)
    return text
