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
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.replay.arguments import expect_alone, parser
from rayplay.replay.layers import RESULTS

if TYPE_CHECKING:
    from rayplay.formats.place.checkpoint import Checkpoints
    from rayplay.replay.gpu.description import Gpu
    from rayplay.replay.launch.classes import Joined
    from rayplay.replay.results.metrics import Result
    from rayplay.replay.run.together import How
    from rayplay.replay.timeline.watch import Watch


def main() -> None:
    """Parse, replay, print, write."""
    arguments = parser().parse_args()
    if arguments.explain:
        expect_alone(arguments, "--explain", "explain", "assignments", "plugin")
        from rayplay.replay.gpu.description import explain, notes

        for line in notes(arguments.explain):
            print(line, file=sys.stderr)
        print("\n".join(explain(arguments.explain, arguments.assignments, arguments.plugin)))
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
    """Replay one trace, write its result, and draw it."""
    check_targets(arguments)
    if arguments.partition is None:
        if arguments.each_once or arguments.no_alone:
            raise UserError(f"--{'each-once' if arguments.each_once else 'no-alone'}: needs --partition")
        replay_trace(arguments)
    else:
        replay_classes(arguments)
    if arguments.energy is not None:
        charge(arguments)
    if arguments.picture is not None:
        draw(arguments.out, arguments.picture)


def charge(arguments: argparse.Namespace) -> None:
    """Print and write the energy of the result that was written; of classes of work, without their traces."""
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.dataset.result import open_result
    from rayplay.replay.energy import write
    from rayplay.replay.energy.account import account
    from rayplay.replay.energy.table import read_table

    trace = open_trace(arguments.trace) if arguments.partition is None else None
    found = account(open_result(arguments.out), read_table(arguments.energy), trace)
    gpu = str(found.result.manifest.provenance["gpu"]["name"])
    summary = {name: {"value": values[1], "unit": unit} for name, values, unit in found.totals() if name != "seconds"}
    answer(arguments, write.lines(found), lambda: metric_records(arguments.trace.name, gpu, summary))
    write.write(found, write.beside(arguments.out))
    print(f"wrote {write.beside(arguments.out)}", file=sys.stderr)


def check_energy(arguments: argparse.Namespace) -> None:
    """``UserError`` for an energy that cannot be counted or written."""
    from rayplay.formats.dataset.energy import ENERGY_FORMAT
    from rayplay.formats.place.replaceable import check_replaceable
    from rayplay.replay.energy.table import read_table
    from rayplay.replay.energy.write import beside

    read_table(arguments.energy)
    if arguments.out is None:
        raise UserError("--energy: needs --out NAME.result, beside which it is written")
    if arguments.model == "gatsim":
        raise UserError("--energy: cannot be used with --model gatsim, which counts no accesses of caches and DRAM")
    check_replaceable(beside(arguments.out), ENERGY_FORMAT)


def check_targets(arguments: argparse.Namespace) -> None:
    """``UserError``, before any work is done, for an output that cannot be written."""
    from rayplay.formats.dataset.result import RESULT
    from rayplay.formats.place.replaceable import check_replaceable

    if arguments.picture is not None:
        from rayplay.replay.picture import check_picture

        check_picture(arguments.picture)
        if arguments.model == "gatsim":
            raise UserError(f"--picture {arguments.picture}: the model gatsim keeps no cycle stacks to draw")
    if arguments.energy is not None:
        check_energy(arguments)
    if arguments.timeline is not None:
        check_timeline(arguments)
    elif arguments.timeline_cycles is not None:
        raise UserError("--timeline-cycles: needs --timeline NAME.pftrace")
    if arguments.out is not None:
        check_replaceable(arguments.out, RESULT)


def check_timeline(arguments: argparse.Namespace) -> None:
    """``UserError`` for a timeline that cannot be written."""
    from rayplay.replay.timeline.drawing import check_timeline as check
    from rayplay.replay.timeline.watch import parse_cycles

    check(arguments.timeline)
    parse_cycles(arguments.timeline_cycles or ":")
    if arguments.partition is not None or arguments.model == "gatsim":
        which = "--partition" if arguments.partition is not None else "--model gatsim"
        raise UserError(f"--timeline {arguments.timeline}: cannot be used with {which}")


def write_timeline(watch: "Watch", path: Path) -> None:
    """Write a timeline, and say where it ends if it had to."""
    from rayplay.replay.timeline.drawing import write_timeline as write

    write(watch, path)
    ends = f"; it ends with cycle {watch.last:,}, for it is full" if watch.is_full else ""
    print(f"wrote {path}{ends}; open it in ui.perfetto.dev", file=sys.stderr)


def draw(result: Path, picture: Path) -> None:
    """Draw a result."""
    from rayplay.formats.dataset.result import open_result
    from rayplay.replay.picture import write_picture

    write_picture(open_result(result), picture)
    print(f"wrote {picture}", file=sys.stderr)


def replay_trace(arguments: argparse.Namespace) -> None:
    """Replay one trace and show how far it is."""
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.replay.gpu.description import load, notes
    from rayplay.replay.launch.selection import Selection
    from rayplay.replay.run.driver import simulate
    from rayplay.replay.run.progress import Heartbeat
    from rayplay.replay.sharing.rules import expect_none
    from rayplay.replay.timeline.watch import Watch, parse_cycles

    expect_none(arguments.assignments)
    trace = open_trace(arguments.trace)
    gpu = load(arguments.gpu, arguments.assignments, arguments.plugin).scaled(arguments.scale)
    for line in notes(arguments.gpu):
        print(line, file=sys.stderr)
    chosen = Selection(
        tuple(arguments.kernel), arguments.kernel_name, arguments.launch_skip, arguments.launch_count
    )  # fmt: skip
    watch = Watch(parse_cycles(arguments.timeline_cycles or ":")) if arguments.timeline else None
    made = provenance(arguments)
    with Heartbeat(arguments.heartbeat) as heartbeat, checkpoints(arguments, made, [trace.manifest.text()]) as kept:
        result = simulate(
            trace, gpu, arguments.quantum, arguments.threads, arguments.characterisation, heartbeat, chosen,
            model=arguments.model, interval=arguments.interval, notes=kept, watch=watch,
        )  # fmt: skip
        with_plugin = f" with plug-in {gpu.plugin.name}" if gpu.plugin else ""
        lines = [f"{arguments.trace.name} on {gpu.name}{with_plugin}", *result_lines(arguments, result)]
        answer(arguments, lines, lambda: metric_records(arguments.trace.name, gpu.name, result.summary))
        if arguments.out is not None:
            result.write(arguments.out, made)
            print(f"wrote {arguments.out}", file=sys.stderr)
        if watch is not None:
            write_timeline(watch, arguments.timeline)


def replay_classes(arguments: argparse.Namespace) -> None:
    """Replay ``arguments.classes`` (default: the trace) together under a partition."""
    from rayplay.replay.gpu.description import load, notes
    from rayplay.replay.launch.classes import join, parse
    from rayplay.replay.run.progress import Heartbeat
    from rayplay.replay.run.together import How, replay_together
    from rayplay.replay.sharing.rules import of_gpu, read_partition

    for name in ("plugin", "characterisation", "kernel", "kernel_name", "launch_skip", "launch_count"):
        if getattr(arguments, name):
            raise UserError(f"--{name.replace('_', '-')}: cannot be used with --partition")
    texts = getattr(arguments, "classes", None) or [str(arguments.trace)]
    joined = join([parse(text) for text in texts])
    gpu = load(arguments.gpu, of_gpu(arguments.assignments)).scaled(arguments.scale)
    for line in notes(arguments.gpu):
        print(line, file=sys.stderr)
    how = How(
        read_partition(arguments.partition, arguments.assignments), not arguments.each_once, not arguments.no_alone,
        arguments.model, arguments.quantum, arguments.threads, arguments.interval,
    )  # fmt: skip
    made, manifests = class_provenance(texts, gpu, how), [trace.manifest.text() for trace in joined.traces]
    with Heartbeat(arguments.heartbeat) as heartbeat, checkpoints(arguments, made, manifests) as kept:
        result = replay_together(joined, gpu, how, heartbeat, kept)
        show_classes(arguments, joined, result)
        if arguments.out is not None:
            result.write(arguments.out, made)
            print(f"wrote {arguments.out}", file=sys.stderr)


def show_classes(arguments: argparse.Namespace, joined: "Joined", result: "Result") -> None:
    """Print the metrics, and a line per class of work."""
    from rayplay.replay.run.together import class_lines

    gpu = result.gpu
    names = " and ".join(each.trace.name for each in joined.classes)
    lines = [
        f"{names} on {gpu.name} under {arguments.partition}",
        *class_lines(result),
        *result_lines(arguments, result),
    ]
    answer(arguments, lines, lambda: metric_records(names, gpu.name, result.summary))


def result_lines(arguments: argparse.Namespace, result: "Result") -> Iterator[str]:
    """The verdict and six numbers, or with ``--all`` every metric."""
    from rayplay.replay.results.metrics import table
    from rayplay.replay.terminal import short

    yield from [table(result)] if arguments.all else short(result)


def class_provenance(texts: list[str], gpu: "Gpu", how: "How") -> dict[str, object]:
    """How a result of classes of work was made."""
    from dataclasses import asdict

    given: dict[str, object] = {"classes": [Path(text).name for text in texts], "partition": asdict(how.partition)}
    given |= {"repeats": how.repeats, "model": how.model or "default", "interval_cycles": how.interval}
    return {"command": "replay", "gpu": asdict(gpu)} | given


def metric_records(trace: str, gpu: str, summary: dict[str, Any]) -> Iterator[Record]:
    """A record per metric of a replay."""
    for name, entry in summary.items():
        yield {"trace": trace, "gpu": gpu, "metric": name, "value": entry["value"], "unit": entry["unit"]}


@contextmanager
def checkpoints(
    arguments: argparse.Namespace, made: dict[str, object], manifests: list[str]
) -> Iterator["Checkpoints | None"]:
    """The replay's checkpoints, beside the result; None without a result.

    made  how the result is made; manifests: of the traces that are replayed.
    """
    if arguments.out is None:
        yield None
        return
    from rayplay.formats.guard.digest import source_digest
    from rayplay.formats.place.checkpoint import Checkpoints
    from rayplay.replay.run.checkpoint import SECONDS_BETWEEN_CHECKPOINTS

    other = arguments.characterisation
    given = [*manifests, other.read_bytes().hex() if other and other.is_file() else None]
    inputs = hashlib.sha256(json.dumps(given).encode()).hexdigest()
    same = [made, inputs, source_digest(RESULTS)]
    with Checkpoints(arguments.out, same, arguments.resume, SECONDS_BETWEEN_CHECKPOINTS) as notes:
        if arguments.resume:
            cycle = int(notes.resumed.arrays["clock"][0]) if notes.resumed else 0
            print(notes.standing(f"from cycle {cycle:,}"), file=sys.stderr)
        yield notes


def provenance(arguments: argparse.Namespace) -> dict[str, object]:
    """How the result was made; nothing that changes no result, so that equal replays are equal files."""
    from dataclasses import asdict

    from rayplay.replay.gpu.description import load

    gpu = load(arguments.gpu, arguments.assignments, arguments.plugin).scaled(arguments.scale)
    chosen = {name: getattr(arguments, name) for name in ("kernel", "kernel_name", "launch_skip", "launch_count")}
    given = {name: value for name, value in chosen.items() if value}
    given |= {"model": arguments.model or "default", "interval_cycles": arguments.interval}
    return {"command": "replay", "trace": arguments.trace.name, "gpu": asdict(gpu)} | given


if __name__ == "__main__":
    run("replay", main)
