"""Parsers of the front door: composed of the packages' own, one line for an error, a suggestion for every name."""

import argparse
import re
import textwrap
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, NoReturn

from rayplay.door.verbs import FAMILIES, VERBS
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint, meant

HELP_WIDTH = 100  # letters
# Verbs of the packages, and their names here.
SAME = (
    (r"python -m formats (show|compare)", r"rayplay \1"),
    (r"python -m formats", "rayplay data"),
    (r"python -m replay --explain", "rayplay gpu show"),
    (r"python -m tracer (render|launch|network)", "rayplay trace"),
    (r"python -m (?:tracer|zatel)", "rayplay"),
    (r"python -m (replay|ptx|tuner|sweep)", r"rayplay \1"),
    (r"python -m animation animate", "rayplay animate"),
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are ``UserError``: one line, with the known name that an unknown one is nearest to."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise UserError(f"{message}; {self.prog} --help shows an example")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments, options and others in any order; ``UserError`` for an option that is not known."""
        self.usage = self.format_usage().removeprefix("usage: ").replace("%", "%%")  # else argparse formats it twice
        if any(action.nargs == argparse.REMAINDER for action in self._actions):  # the words of another program
            return self.parse_args(words)
        found, unknown = self.parse_known_intermixed_args(words)
        if unknown:
            name, _, _ = unknown[0].partition("=")
            near = meant(name, self._option_string_actions) if name.startswith("-") else ""
            raise UserError(f"unknown argument {unknown[0]}; {near or f'{self.prog} --help shows an example'}")
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
    return f"unknown name {name}; {hint(name, known)}"


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


def split(words: Sequence[str]) -> tuple[str, list[str]]:
    """The verb, of one word or two, and the words after it; ``UserError`` suggests the nearest."""
    first, second = words[0], " ".join(words[:2])
    if second in VERBS:
        return second, list(words[2:])
    if first in VERBS:
        return first, list(words[1:])
    if first not in FAMILIES:
        raise UserError(suggestion(first, list(dict.fromkeys(verb.partition(" ")[0] for verb in VERBS))))
    if len(words) == 1 or words[1] in ("-h", "--help"):
        return first, []
    known = [verb.removeprefix(f"{first} ") for verb in VERBS if verb.startswith(f"{first} ")]
    raise UserError(f"{first}: {suggestion(words[1], known)}")


def parser_of(verb: str, words: Sequence[str]) -> Parser:
    """The parser of a verb, with its help; ``words`` decide it where a verb has several."""
    described = VERBS[verb]
    module = import_module(f"rayplay.door.{described.module}")
    made: Parser = module.parser(verb, words) if described.module == "trace" else module.parser(verb)
    made.description = textwrap.fill(described.description, HELP_WIDTH)
    examples = "".join(f"\n  {line}" for line in described.examples)
    made.epilog = f"example{'s' if len(described.examples) > 1 else ''}:{examples}"
    add_output(made)
    return made
