"""``python -m replay``: a trace and a GPU description in, cycles, metrics and a result folder out."""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.command import add_limits, run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.formats.place.names import trace_name
from rayplay.replay.input.work import MODELS

if TYPE_CHECKING:
    from rayplay.formats.dataset.reader import Trace
    from rayplay.formats.place.checkpoint import Checkpoints

EXAMPLE = """example:
  python -m replay traces/sample.trace --gpu mobile --set rt.warps=1 --out sample.result --picture sample.png
  python -m replay --explain rtx2060"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
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
    """The options of a replay, whatever names its trace, its GPU and its result."""
    made.add_argument("--model", choices=MODELS,
                      help="how an SM is modelled: stalls and slots of the characterisation, Accel-Sim's pipeline, or "
                      "GATSim's Algorithm 1 (default: characterised where the trace has a characterisation, else "
                      "pipeline)")  # fmt: skip
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="assignments",
                      help="change a value of the description, such as scheduler.policy=lrr; repeatable")  # fmt: skip
    made.add_argument("--scale", type=int, default=1, metavar="K",
                      help="replay on 1/K of the GPU's SMs and memory controllers (default: 1)")  # fmt: skip
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
    made.add_argument(
        "--heartbeat", type=float, metavar="SECONDS", help="print cycle, rate and expected end this often, for logs"
    )
    made.add_argument("--resume", action="store_true",
                      help="go on where a replay with the same trace, GPU and --out was interrupted; the result is the "
                      "same, byte for byte (model gatsim: begins anew)")  # fmt: skip
    made.add_argument("--interval", type=int, default=10_000, metavar="CYCLES",
                      help="cycles of a row of the timeline (default: %(default)s)")  # fmt: skip
    made.add_argument("--picture", type=location, metavar="NAME.png|NAME.svg",
                      help="draw the result: cycle stacks, timeline, utilisation, roofline")  # fmt: skip


def add_selection(made: argparse.ArgumentParser) -> None:
    """Options that choose kernels, as those of Nsight Compute."""
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


def main() -> None:
    """Parse, replay, print, write."""
    arguments = parser().parse_args()
    if arguments.explain:
        expect_alone(arguments, "--explain", "explain", "assignments")
        from rayplay.replay.gpu.description import explain, notes

        for line in notes(arguments.explain):
            print(line, file=sys.stderr)
        print("\n".join(explain(arguments.explain, arguments.assignments)))
        return
    if arguments.docs:
        from rayplay.replay.page import page

        print(page(), end="")
        return
    if arguments.trace is None:
        raise UserError("a trace is needed, such as traces/cornell.trace; --help shows an example")
    if arguments.out is not None and arguments.out.suffix != ".result":
        raise UserError(f"--out {arguments.out}: must end in .result")
    if arguments.picture is not None and arguments.trace.suffix == ".result":
        expect_alone(arguments, "a picture of a result", "trace", "picture")
        draw(arguments.trace, arguments.picture)
        return
    if arguments.picture is not None and arguments.out is None:
        raise UserError(f"--picture {arguments.picture}: needs --out NAME.result, which it draws")
    if arguments.resume and arguments.out is None:
        raise UserError("--resume: needs --out NAME.result, beside which the interrupted replay left its checkpoint")
    replay_and_draw(arguments)


def replay_and_draw(arguments: argparse.Namespace) -> None:
    """Replay one trace, write what was asked for, and draw it."""
    check_targets(arguments)
    replay_trace(arguments)
    if arguments.picture is not None:
        draw(arguments.out, arguments.picture)


def expect_alone(arguments: argparse.Namespace, what: str, *used: str) -> None:
    """``UserError`` when anything but what is ``used`` is given, which would do nothing."""
    for name, default in vars(parser().parse_args([])).items():
        if name not in used and getattr(arguments, name) != default:
            option = {"assignments": "--set", "trace": "trace"}.get(name, f"--{name.replace('_', '-')}")
            raise UserError(f"{what}: takes no {option}, for nothing is replayed")


def check_targets(arguments: argparse.Namespace) -> None:
    """``UserError`` when what is to be written cannot be, before any work is done."""
    from rayplay.formats.dataset.result import RESULT
    from rayplay.formats.place.replaceable import check_replaceable

    if arguments.picture is not None:
        from rayplay.replay.results.picture import check_picture

        check_picture(arguments.picture)
        if arguments.model == "gatsim":
            raise UserError(f"--picture {arguments.picture}: the model gatsim keeps no cycle stacks to draw")
    if arguments.out is not None:
        check_replaceable(arguments.out, RESULT)


def draw(result: Path, picture: Path) -> None:
    """Draw a result."""
    from rayplay.formats.dataset.result import open_result
    from rayplay.replay.results.picture import write_picture

    write_picture(open_result(result), picture)
    print(f"wrote {picture}", file=sys.stderr)


def replay_trace(arguments: argparse.Namespace) -> None:
    """Replay one trace and show how far it is."""
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.replay.gpu.description import load, notes
    from rayplay.replay.launch.selection import Selection
    from rayplay.replay.results.metrics import table
    from rayplay.replay.run.driver import simulate
    from rayplay.replay.run.progress import Heartbeat

    trace = open_trace(arguments.trace)
    gpu = load(arguments.gpu, arguments.assignments).scaled(arguments.scale)
    for line in notes(arguments.gpu):
        print(line, file=sys.stderr)
    chosen = Selection(
        tuple(arguments.kernel), arguments.kernel_name, arguments.launch_skip, arguments.launch_count
    )  # fmt: skip
    with Heartbeat(arguments.heartbeat) as heartbeat, checkpoints(arguments, trace) as kept:
        result = simulate(
            trace, gpu, arguments.quantum, arguments.threads, arguments.characterisation, heartbeat, chosen,
            model=arguments.model, interval=arguments.interval, notes=kept,
        )  # fmt: skip
        lines = [f"{arguments.trace.name} on {gpu.name}", table(result)]
        answer(arguments, lines, lambda: metric_records(arguments.trace.name, gpu.name, result.summary))
        if arguments.out is not None:
            result.write(arguments.out, provenance(arguments))
            print(f"wrote {arguments.out}", file=sys.stderr)


def metric_records(trace: str, gpu: str, summary: dict[str, Any]) -> Iterator[Record]:
    """A record per metric of a replay."""
    for name, entry in summary.items():
        yield {"trace": trace, "gpu": gpu, "metric": name, "value": entry["value"], "unit": entry["unit"]}


@contextmanager
def checkpoints(arguments: argparse.Namespace, trace: "Trace") -> Iterator["Checkpoints | None"]:
    """Where the replay's checkpoints are kept: beside the result, or nowhere when there is none."""
    if arguments.out is None:
        yield None
        return
    from rayplay.formats.guard.code_cache import source_digest
    from rayplay.formats.place.checkpoint import Checkpoints
    from rayplay.replay.run.checkpoint import PACKAGES, SECONDS_BETWEEN_CHECKPOINTS

    other = arguments.characterisation
    given = [trace.manifest.text(), other.read_bytes().hex() if other and other.is_file() else None]
    inputs = hashlib.sha256(json.dumps(given).encode()).hexdigest()
    same = [provenance(arguments), inputs, source_digest(PACKAGES)]
    with Checkpoints(arguments.out, same, arguments.resume, SECONDS_BETWEEN_CHECKPOINTS) as notes:
        if arguments.resume:
            cycle = int(notes.resumed.arrays["clock"][0]) if notes.resumed else 0
            print(notes.standing(f"from cycle {cycle:,}"), file=sys.stderr)
        yield notes


def provenance(arguments: argparse.Namespace) -> dict[str, object]:
    """How the result was made; nothing that changes no result, so that equal replays are equal files."""
    from dataclasses import asdict

    from rayplay.replay.gpu.description import load

    gpu = load(arguments.gpu, arguments.assignments).scaled(arguments.scale)
    chosen = {name: getattr(arguments, name) for name in ("kernel", "kernel_name", "launch_skip", "launch_count")}
    given = {name: value for name, value in chosen.items() if value}
    given |= {"model": arguments.model or "default", "interval_cycles": arguments.interval}
    return {"command": "replay", "trace": arguments.trace.name, "gpu": asdict(gpu)} | given


if __name__ == "__main__":
    run("replay", main)
