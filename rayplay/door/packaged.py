"""Verbs that a package has of its own: its parser, its function, and the words of the front door."""

import argparse
import functools
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from rayplay.door.parser import Parser, composed, verb_of
from rayplay.subject import launch_file, program_file

# Verb of the front door -> package, and its verb there.
HOME = {
    "show": ("formats", "show"),
    "compare": ("formats", "compare"),
    "scenes": ("tracer", "scenes"),
    "draw": ("tracer", "draw"),
    "shader": ("tracer", "shader"),
    "animate": ("animation", "animate"),
    **{f"ptx {verb}": ("ptx", verb) for verb in ("parse", "print", "cfg", "characterise", "inject", "analyse")},
    **{
        f"data {verb}": ("formats", verb)
        for verb in ("check", "verify", "stats", "convert", "select", "merge", "diff", "import", "export")
    },
    **{f"tuner {verb}": ("tuner", verb) for verb in ("fit", "choose", "run")},
    **{f"sweep {verb}": ("sweep", verb) for verb in ("new", "plan", "run", "status", "collect", "report", "prune")},
    "run": ("cuda", "run"),
    **{verb: ("silicon", verb) for verb in ("capture", "time", "correlate")},
    **{verb: ("zatel", verb) for verb in ("predict", "estimate", "whatif", "scale", "paper")},
}
Perform = Callable[[argparse.Namespace], int]


def parser(verb: str) -> Parser:
    """The parser of the package's verb, whose default ``perform`` runs it."""
    package, name = HOME[verb]
    module = import_module(f"rayplay.{package}.__main__")
    made = composed(f"rayplay {verb}", verb_of(module.parser(), name))
    perform: Perform = module.perform if package != "formats" else run_format_verb
    for action in made._actions:
        if package in ("ptx", "silicon") and action.dest in ("file", "launch"):
            action.type = program_file if action.dest == "file" else launch_file
    made.set_defaults(perform=predict if verb == "predict" else perform, verb=name)
    return made


def run_format_verb(arguments: argparse.Namespace) -> int:
    """Run a verb of ``formats``, whose parser names its function."""
    run: Perform = arguments.run
    return run(arguments)


def predict(arguments: argparse.Namespace) -> int:
    """Predict into ``results/NAME-GPU.prediction`` unless told otherwise."""
    from rayplay.zatel.__main__ import perform

    if arguments.out is None:
        arguments.out = default_out(arguments.trace, arguments.gpu, ".prediction")
    return perform(arguments)


def default_out(trace: Path, gpu: str, suffix: str) -> Path:
    """``results/NAME-GPU`` with the suffix, for a trace ``NAME.trace``; the folder is made."""
    name = functools.reduce(str.removesuffix, (".h5", ".hdf5", ".trace"), trace.name)
    out = Path("results") / f"{name}-{Path(gpu).stem}{suffix}"
    out.parent.mkdir(exist_ok=True)
    return out
