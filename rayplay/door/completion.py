"""``rayplay completion``: what a shell needs to complete verbs, options and names, by argcomplete."""

import argparse
import os
from collections.abc import Iterator

from rayplay.door.parser import Parser, parser_of, split
from rayplay.door.verbs import VERBS
from rayplay.formats.guard.errors import UserError

SHELLS = ("bash", "zsh", "fish")
TRACES = ("traces", "trace", "path", "paths", "left", "right", "against", "prediction")


def parser(verb: str) -> Parser:
    """The parser."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("shell", choices=SHELLS, help="whose completion to print")
    made.set_defaults(perform=perform)
    return made


def perform(arguments: argparse.Namespace) -> int:
    """Print the completion of a shell."""
    import argcomplete

    text = argcomplete.shellcode(["rayplay"], shell=arguments.shell)
    print(text, end="")
    if hasattr(arguments, "records"):
        arguments.records.append({"shell": arguments.shell, "text": text})
    return 0


def complete() -> None:
    """Answer the shell that set ``COMP_LINE``, and leave the process."""
    import argcomplete

    words = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])].split()
    argcomplete.autocomplete(tree(words[1:]))


def tree(words: list[str]) -> argparse.ArgumentParser:
    """One parser of all verbs, with the arguments of the verb in ``words`` alone: others need not be imported."""

    top = argparse.ArgumentParser("rayplay", add_help=False)
    try:
        chosen, rest = split(words)
    except (UserError, IndexError):
        chosen, rest = "", []
    _add(top, sorted(VERBS))
    if chosen in VERBS:
        try:
            found: argparse.ArgumentParser = parser_of(chosen, rest)
        except UserError:  # a name that is not whole yet
            found = parser_of(chosen, [])
        for action in found._actions:
            _complete_names(action)
        _replace(top, chosen.split(), found)
    return top


def _add(top: argparse.ArgumentParser, verbs: list[str]) -> None:
    """Sub-parsers of one word, and below them the second words."""
    made = top.add_subparsers()
    for name in dict.fromkeys(verb.partition(" ")[0] for verb in verbs):
        below = [verb.removeprefix(f"{name} ") for verb in verbs if verb.startswith(f"{name} ")]
        sub = made.add_parser(name, add_help=False)
        if below:
            _add(sub, below)


def _replace(top: argparse.ArgumentParser, path: list[str], found: argparse.ArgumentParser) -> None:
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            if len(path) == 1:
                action.choices[path[0]] = found
            else:
                _replace(action.choices[path[0]], path[1:], found)


def _complete_names(action: argparse.Action) -> None:
    """Complete what ``action`` takes: traces and results, GPUs, scenes and kernels; files elsewhere."""
    names = {"scene": subjects, "gpu": gpus, "like": gpus, "base": gpus}.get(action.dest)
    if action.dest in TRACES:
        names = datasets
    if names is not None:
        action.completer = _completer(names)  # type: ignore[attr-defined]  # as argcomplete documents


def _completer(names):  # type: ignore[no-untyped-def]
    import argcomplete

    files = argcomplete.FilesCompleter()

    def found(prefix: str, **context: object) -> list[str]:
        return [*(name for name in names() if name.startswith(prefix)), *files(prefix)]

    return found


def datasets() -> Iterator[str]:
    """Names of traces, results and predictions."""
    from rayplay.formats.place.names import present

    return present()


def gpus() -> Iterator[str]:
    """Names of the GPUs that come with the package."""
    from rayplay.replay.gpu.description import shipped

    return iter(shipped())


def subjects() -> list[str]:
    """Names of scenes and kernels."""
    from rayplay.subject import known_kernels
    from rayplay.tracer.scenes.resolve import known_names

    return [*known_names(), *known_kernels()]
