"""``python -m cuda``: CUDA programs on Rayplay."""

import argparse
import sys
from pathlib import Path

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_instructions, add_limits, run
from rayplay.formats.guard.first_use import first_use
from rayplay.formats.place.location import location

TRACER_SECONDS = 20  # to compile it
STANDARD_ERROR = 2
RUN = """Run a CUDA program, unmodified: its host code runs as it is, with a runtime library of ours in place of CUDA's,
and its kernels are executed from their PTX and recorded. Build it with nvcc -cudart shared. What the program prints and
computes is its own; NAME.trace has every launch, in order and with its stream (docs/programs/cuda.md). Words after
PROGRAM are the program's. The exit code is the program's; 2 where a kernel ends with an error."""


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the verb it names."""
    return perform(parser().parse_args(arguments))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    style = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser("python -m cuda", description=__doc__, formatter_class=style)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    verb = verbs.add_parser("run", help="a CUDA program to its results and a trace", description=RUN)
    verb.add_argument("program", type=Path, metavar="PROGRAM", help="program that loads libcudart.so")
    verb.add_argument("words", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="arguments of the program")
    verb.add_argument("--out", type=location, metavar="NAME.trace", help="default: traces/PROGRAM.trace")
    verb.add_argument(
        "--gpu", default="rtx2060", metavar="GPU",
        help="whose SMs, registers and memories the program is told (default: %(default)s)",
    )  # fmt: skip
    verb.add_argument(
        "--memcheck", choices=("on", "off"), default="on",
        help="off: accesses up to 1 MiB outside buffers are counted in place of an error (default: %(default)s)",
    )  # fmt: skip
    add_limits(verb)
    add_instructions(verb)
    return made


def perform(options: argparse.Namespace) -> int:
    """Run the program; its exit code."""
    from rayplay.cuda.run import run_program
    from rayplay.replay.gpu.description import load
    from rayplay.tracer.launch import memcheck_note

    wants_records = getattr(options, "records", None) is not None
    output = STANDARD_ERROR if wants_records else None  # else the program's words would mix with them
    out = options.out or Path("traces") / f"{options.program.stem}.trace"
    with first_use("the tracer", TRACER_SECONDS):
        summary = run_program(
            [str(options.program), *options.words], out, load(options.gpu), options.memcheck == "on", output
        )
    answer(options, [], lambda: [summary.record()])
    print(summary.text(), file=sys.stderr)  # standard output is the program's
    if summary.outside is not None:
        print(memcheck_note(summary.outside), file=sys.stderr)
    return summary.code


if __name__ == "__main__":
    run("cuda", main)
