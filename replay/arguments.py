"""The command line of ``python -m replay``."""

import argparse
from typing import Any

from rayplay.formats.guard.command import Once, add_limits
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.formats.place.names import trace_name
from rayplay.replay.energy.table import DEFAULT as ENERGY
from rayplay.replay.energy.table import names as energy_names
from rayplay.replay.input.work import MODELS

EXAMPLE = """example:
  python -m replay traces/sample.trace --gpu mobile --set rt.warps=1 --out sample.result --picture sample.png
  python -m replay --explain rtx2060"""


class Parser(argparse.ArgumentParser):
    """A parser that lists its options, in the order in which they were added."""

    def __init__(self, **keywords: Any) -> None:
        self.options: list[argparse.Action] = []
        super().__init__(**keywords)

    def add_argument(self, *names: Any, **keywords: Any) -> argparse.Action:
        """Add an option, and list it."""
        self.options.append(super().add_argument(*names, **keywords))
        return self.options[-1]


def parser() -> Parser:
    """The command line."""
    made = Parser(
        prog="python -m replay",
        description="Replay a trace on a GPU description: reads NAME.trace (or NAME.trace.h5) and gpu.toml, prints the "
        "metrics, and writes NAME.result with metrics, counters, timeline and per-pixel work.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("trace", nargs="?", type=trace_name, help="trace to replay; with --picture, or a result to draw")
    made.add_argument(
        "--gpu",
        default="rtx2060",
        metavar="NAME|FILE",
        help="rtx2060, mobile, ..., a .toml file, or a gpgpusim.config of Accel-Sim or Vulkan-Sim (default: rtx2060)",
    )
    add_options(made)
    made.add_argument("--out", type=location, metavar="NAME.result", help="folder to write (default: none)")
    made.add_argument(
        "--explain", metavar="NAME|FILE", help="print every value of a GPU with unit and source, and leave"
    )
    made.add_argument("--docs", action="store_true", help="print docs/replay.md, and leave")
    add_limits(made)
    return made


def add_options(made: argparse.ArgumentParser) -> None:
    """Add the options of a replay, without the names of its trace, its GPU and its result."""
    made.add_argument("--model", choices=MODELS,
                      help="how an SM is modelled: stalls and slots of the characterisation, Accel-Sim's pipeline, or "
                      "GATSim's Algorithm 1 (default: characterised where the trace has a characterisation, else "
                      "pipeline)")  # fmt: skip
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="assignments",
                      help="change a value of the description, such as scheduler.policy=lrr; repeatable")  # fmt: skip
    add_gpu_changes(made)
    made.add_argument(
        "--quantum",
        type=int,
        metavar="CYCLES",
        help="cycles between two barriers; changes no result (default: the longest that is exact)",
    )
    made.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads that share SMs, memory partitions and reading; changes no result (default: 1)",
    )
    made.add_argument(
        "--characterisation",
        type=location,
        metavar="FILE",
        help="Parquet file of instruction latencies to use instead of the trace's own",
    )
    add_selection(made)
    add_sharing(made)
    made.add_argument(
        "--heartbeat", type=float, metavar="SECONDS", help="print cycle, rate and expected end this often, for logs"
    )
    made.add_argument("--resume", action="store_true",
                      help="go on where a replay with the same trace, GPU and --out was interrupted; the result is the "
                      "same, byte for byte (model gatsim: begins anew)")  # fmt: skip
    made.add_argument("--all", action="store_true", help="print every metric, not only what limits the replay")
    made.add_argument("--interval", type=int, default=10_000, metavar="CYCLES",
                      help="cycles of a row of the timeline (default: %(default)s)")  # fmt: skip
    add_timeline(made)
    add_outputs(made)


def energy_table(text: str) -> str:
    """The name or file of a table of energies; a trace that follows ``--energy`` would be taken for one."""
    if not text.endswith(".toml") and text not in energy_names():
        raise argparse.ArgumentTypeError(
            f"{text} must be a .toml file or one of {', '.join(energy_names())}; TRACE stands before --energy"
        )
    return text


def add_outputs(made: argparse.ArgumentParser) -> None:
    """Add the options that make more of a result: its energy, its picture."""
    made.add_argument("--energy", nargs="?", const=ENERGY, metavar="TABLE", type=energy_table,
                      help="energy by unit and over time, into NAME.energy beside the result, by a table of "
                      f"coefficients: its name, or a .toml file (without TABLE: {ENERGY})")  # fmt: skip
    made.add_argument("--picture", type=location, metavar="NAME.png|NAME.svg",
                      help="draw the result: cycle stacks, timeline, utilisation, roofline")  # fmt: skip


def add_gpu_changes(made: argparse.ArgumentParser) -> None:
    """Add the options that change a whole GPU: a policy from outside the package, a fraction of its units."""
    made.add_argument("--plugin", action=Once, metavar="FILE.py|NAME",
                      help="run a policy of your own in place of the engine's (docs/policies.md): a file, whose code "
                      "is run, or the name that an installed package gives one")  # fmt: skip
    made.add_argument("--scale", type=int, default=1, metavar="K",
                      help="replay on 1/K of the GPU's SMs and memory controllers (default: 1)")  # fmt: skip


def add_timeline(made: argparse.ArgumentParser) -> None:
    """Add the options of a timeline for Perfetto."""
    made.add_argument("--timeline", type=location, metavar="NAME.pftrace",
                      help="write warps, RT units, followed requests and counters over time, for "
                      "ui.perfetto.dev")  # fmt: skip
    made.add_argument("--timeline-cycles", metavar="FIRST:END", help="cycles that the timeline covers (default: all)")


def add_selection(made: argparse.ArgumentParser) -> None:
    """Add the options that choose kernels, named as in Nsight Compute."""
    made.add_argument(
        "--kernel", type=int, nargs="+", action="extend", default=[], metavar="ID",
        help="replay these kernels only; repeatable",
    )  # fmt: skip
    made.add_argument(
        "--kernel-name", metavar="REGEX", help="replay kernels whose name matches; skip and count are of these"
    )
    made.add_argument(
        "--launch-skip", type=int, default=0, metavar="N", help="leave out the first N launches (default: 0)"
    )
    made.add_argument("--launch-count", type=int, metavar="N", help="replay at most N launches (default: all)")


def add_sharing(made: argparse.ArgumentParser) -> None:
    """Add the options of classes of work that share the GPU."""
    made.add_argument("--partition", metavar="NAME|FILE",
                      help="replay the traces together, each a class of work written [NAME=]TRACE[:STREAM[,...]], "
                      "under a partition of the GPU; --set partition.KEY=VALUE changes its values")  # fmt: skip
    made.add_argument("--each-once", action="store_true",
                      help="with --partition: a class ends with its last launch, and does not begin again until every "
                      "other has ended once")  # fmt: skip
    made.add_argument("--no-alone", action="store_true",
                      help="with --partition: do not replay each class alone for its slowdown")  # fmt: skip


def expect_alone(arguments: argparse.Namespace, what: str, *used: str) -> None:
    """``UserError`` when an option is given that is not in ``used``, and would do nothing."""
    for name, default in vars(parser().parse_args([])).items():
        if name not in used and getattr(arguments, name) != default:
            option = {"assignments": "--set", "trace": "trace"}.get(name, f"--{name.replace('_', '-')}")
            raise UserError(f"{what}: takes no {option}, for nothing is replayed")
