"""``rayplay replay``: several traces on several GPUs, each result under a name of its own; or together."""

import argparse
from itertools import product
from pathlib import Path

from rayplay.door.packaged import default_out
from rayplay.door.parser import Parser
from rayplay.formats.guard.command import add_limits
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.formats.place.names import trace_name
from rayplay.replay.__main__ import replay_and_draw
from rayplay.replay.arguments import add_options

DEFAULT_GPU = "rtx2060"


def parser(verb: str) -> Parser:
    """The options of ``python -m replay``, with several traces and GPUs."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("traces", nargs="+", metavar="TRACE", help="traces to replay; a name needs no suffix")
    made.add_argument(
        "--gpu", action="append", metavar="GPU[,GPU...]", help="names of rayplay gpu list, .toml files, or "
        f"gpgpusim.config files of Accel-Sim or Vulkan-Sim; repeatable (default: {DEFAULT_GPU})",
    )  # fmt: skip
    made.add_argument("--out", type=location, metavar="NAME.result",
                      help="result to write, of one replay (default: results/TRACE-GPU.result)")  # fmt: skip
    add_options(made)
    add_limits(made)
    made.set_defaults(perform=perform, finished=[])
    return made


def perform(arguments: argparse.Namespace) -> int:
    """Replay every trace on every GPU; ``arguments.finished`` holds the names of the traces that are done."""
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.replay.gpu.description import load
    from rayplay.replay.sharing.rules import expect_none

    gpus = [gpu for each in arguments.gpu or [DEFAULT_GPU] for gpu in each.split(",")]
    if arguments.partition is not None:
        return together(arguments, gpus)
    expect_none(arguments.assignments)
    traces = {name: trace_name(name) for name in arguments.traces}
    of_one = [name for name in ("out", "picture", "timeline") if getattr(arguments, name)]
    if len(traces) * len(gpus) > 1 and of_one:
        option = f"--{of_one[0]}"
        raise UserError(f"{option}: takes one replay, not {len(traces)} traces on {len(gpus)} GPUs")
    for trace, gpu in product(traces.values(), gpus):  # whatever is wrong is said before the first replay
        load(gpu, arguments.assignments, arguments.plugin).scaled(arguments.scale)
        open_trace(trace)
    for number, (name, gpu) in enumerate(product(traces, gpus)):
        if number and not hasattr(arguments, "records"):
            print()
        out = arguments.out or default_out(traces[name], gpu, ".result")
        replay_and_draw(argparse.Namespace(**vars(arguments) | {"trace": traces[name], "gpu": gpu, "out": out}))
        if gpu == gpus[-1]:
            arguments.finished.append(name)
    return 0


def together(arguments: argparse.Namespace, gpus: list[str]) -> int:
    """Replay all traces together on every GPU."""
    from rayplay.replay.gpu.description import load
    from rayplay.replay.launch.classes import parse
    from rayplay.replay.sharing.rules import of_gpu, read_partition

    if len(gpus) > 1 and (arguments.out or arguments.picture):
        raise UserError(f"{'--out' if arguments.out else '--picture'}: takes one replay, not {len(gpus)} GPUs")
    read_partition(arguments.partition, arguments.assignments)
    paths = [parse(text).path for text in arguments.traces]
    for gpu in gpus:
        load(gpu, of_gpu(arguments.assignments)).scaled(arguments.scale)
    names = "-".join(path.name.split(".")[0] for path in paths)
    for number, gpu in enumerate(gpus):
        if number and not hasattr(arguments, "records"):
            print()
        out = arguments.out or default_out(
            paths[0].with_name(f"{names}-{Path(arguments.partition).stem}"), gpu, ".result"
        )
        given = {"classes": arguments.traces, "trace": paths[0], "gpu": gpu, "out": out}
        replay_and_draw(argparse.Namespace(**vars(arguments) | given))
    arguments.finished += arguments.traces
    return 0
