"""Frame of every ``python -m PACKAGE``: one clear line and exit code 2 for errors that the user can mend."""

import argparse
import inspect
import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import INSTRUCTIONS, set_limit

EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
EXIT_TERMINATED = 143  # 128 + SIGTERM


class Once(argparse.Action):
    """Store a value; an option that is given twice is an error."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest)
        if before is not None:
            parser.error(f"{option_string}: must be given once, not with {before} and {values}")
        setattr(namespace, self.dest, values)


class _SetLimit(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        try:
            set_limit(values)
        except UserError as error:
            parser.error(str(error))


class _SetInstructions(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        try:
            INSTRUCTIONS.put_in_force(values, str(option_string))
        except UserError as error:
            parser.error(str(error))


def add_instructions(*parsers: argparse.ArgumentParser) -> None:
    """Give parsers of verbs that execute programs the option that bounds what a warp executes."""
    for parser in parsers:
        parser.add_argument(
            "--max-instructions", action=_SetInstructions, metavar="N", default=argparse.SUPPRESS,
            help=f"end with an error once a warp has visited N blocks (default: {INSTRUCTIONS.default})",
        )  # fmt: skip


def add_verb(verbs: Any, run_verb: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    """A parser for the verb that ``run_verb`` runs, called ``NAME_verb``; its docstring is the help."""
    first, _, rest = (inspect.getdoc(run_verb) or "").partition("\n\n")
    verb: argparse.ArgumentParser = verbs.add_parser(
        run_verb.__name__.removesuffix("_verb"), help=first[:1].lower() + first[1:].removesuffix("."),
        description=f"{first}\n\n{rest}".replace("%", "%%"), formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    verb.set_defaults(run=run_verb)
    return verb


def add_limits(*parsers: argparse.ArgumentParser) -> None:
    """Give parsers the option that raises a limit of ``formats.guard.limits``, here and in child processes."""
    for parser in parsers:
        parser.add_argument(
            "--limit", action=_SetLimit, metavar="NAME=N", default=argparse.SUPPRESS,
            help="raise (or lower) what a file may ask for, such as group-bytes=1000000000: the message that refuses a "
            "file names it, docs/formats.md lists all; repeatable",
        )  # fmt: skip


def run(name: str, main: Callable[[], int | None]) -> None:
    """Run ``main`` and leave the process.

    Exit code 0 (or what ``main`` returns); 2 with one line on standard error after a ``UserError``,
    an ``OSError`` (a full disk, a missing file) or a ``MemoryError``; 130 with one after Ctrl-C, 143 after SIGTERM.
    Letters that the terminal cannot show are escaped.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an importing program may have replaced the stream
            stream.reconfigure(errors="backslashreplace")
    with _terminated_like_interrupted() as terminations:
        code = _code_of(name, main)
    raise SystemExit(EXIT_TERMINATED if terminations and code == EXIT_INTERRUPTED else code)


def _code_of(name: str, main: Callable[[], int | None]) -> int:
    try:
        return main() or 0
    except UserError as error:
        return _fail(name, error)
    except KeyboardInterrupt:
        _fail(name, "interrupted; nothing incomplete stands under a final name")
        return EXIT_INTERRUPTED
    except MemoryError as error:
        return _fail(name, f"this machine, or the limit of this process, has not the memory for it: {error}")
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: silence is the convention
        return EXIT_USER_ERROR
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(name, f"{place}{error.strerror or error}")


@contextmanager
def _terminated_like_interrupted() -> Iterator[list[int]]:
    """SIGTERM takes the way of Ctrl-C, also where the shell had Ctrl-C ignored; the list gets an entry for each."""
    terminations: list[int] = []

    def terminate(number: int, frame: Any) -> None:
        terminations.append(number)
        interrupt = signal.getsignal(signal.SIGINT)  # a writer or a pool may have one of its own
        (interrupt if callable(interrupt) else signal.default_int_handler)(signal.SIGINT, frame)

    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:  # the caller has a rule of its own
        yield terminations
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield terminations
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _fail(name: str, message: object) -> int:
    print(f"{name}: error: {' '.join(str(UserError(message)).split())}", file=sys.stderr)
    return EXIT_USER_ERROR
