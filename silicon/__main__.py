"""``python -m silicon``: kernels captured and timed on a CUDA device."""

import argparse
import csv
import shlex
import sys
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_instructions, add_limits, run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location

CAPTURE = """Run the kernels of a launch file (docs/kernels.md) on a CUDA device and write their trace: the bytes that
rayplay trace writes, if threads do not race. The program is instrumented: each thread notes its path and its addresses,
in memory that --memory bounds. Then its warps are rebuilt. Needs the package cuda-bindings; --device executor runs the
instrumented program on the tracer's executor instead."""
TIME = """Time the kernels of a launch file on a CUDA device: events around each launch, with empty caches (cold) and
after a launch of the same (warm). LAUNCH.toml may be the word suite: latencies and bandwidths by micro-benchmarks.
Writes FILE.csv: a row a launch or quantity; card, driver, clocks, date and command as comments."""
CORRELATE = """Hold a GPU description against measured rows (docs/hardware.md): the suite of micro-benchmarks is traced,
replayed on the description and compared with MEASURED.csv, quantity by quantity; or, with --trace, the launches of a
trace with the kernel times of rayplay time, or with the counters of Nsight Compute (ncu --csv). Every row appears; one
that is not compared says why. Rows for calibration and rows that only check are counted apart."""
STUDY = """Hold every description of a card against every measured row that comes with the package, and write
README.md, rows.csv, verdicts.json and plots (make correlate)."""
MEASURED = Path(__file__).parent / "measured"
DEVICES = ("cuda", "executor")
SUITE = "suite"
MIB = 1 << 20


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the verb it names."""
    return perform(parser().parse_args(arguments))


def perform(options: argparse.Namespace) -> int:
    """Run the verb that ``options`` name."""
    return {"capture": _capture, "time": _time, "correlate": _correlate, "study": _study}[options.verb](options)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    style = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser("python -m silicon", description=__doc__, formatter_class=style)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    capture = verbs.add_parser("capture", help="a launch file, run on a GPU, to a trace", description=CAPTURE)
    timed = verbs.add_parser("time", help="kernel times of a launch file on a GPU", description=TIME)
    for verb in (capture, timed):
        verb.add_argument("launch", type=Path, metavar="LAUNCH.toml", help="kernel, grid, block, buffers, expectations")
    capture.add_argument("--out", type=location, metavar="NAME.trace", help="default: traces/LAUNCH.trace")
    capture.add_argument(
        "--device", choices=DEVICES, default="cuda", help="what runs the program (default: %(default)s)"
    )
    capture.add_argument(
        "--memory", type=_mebibytes, default=1 << 30, metavar="MIB",
        help="most device memory for notes, in MiB; larger launches run once for each range of CTAs (default: 1024)",
    )  # fmt: skip
    timed.add_argument("--out", type=Path, metavar="FILE.csv", help="default: results/LAUNCH-times.csv")
    timed.add_argument(
        "--samples", type=_samples, default=21, metavar="N", help="launches measured (default: %(default)s)"
    )
    correlated = verbs.add_parser("correlate", help="a GPU description beside measurements", description=CORRELATE)
    correlated.add_argument("gpu", metavar="GPU", help="name or file of a GPU description")
    names = ", ".join(known_measured())
    correlated.add_argument(
        "--measured", type=measured_file, required=True, metavar="MEASURED.csv",
        help=f"measured quantities, kernel times or counters; a file, or the name of one of the package: {names}",
    )  # fmt: skip
    correlated.add_argument("--card", metavar="NAME", help="the card whose rows count, where the file has several")
    correlated.add_argument(
        "--trace", type=location, metavar="NAME.trace", help="trace of the launches that were timed"
    )
    correlated.add_argument(
        "--least-us",
        type=_microseconds,
        default=0.0,
        metavar="T",
        help="shortest time that is compared (default: %(default)s)",
    )
    correlated.add_argument("--out", type=Path, metavar="FILE.csv", help="also write every row there")
    correlated.add_argument("--plot", type=Path, metavar="FILE.svg", help="also draw measured against modelled values")
    study = verbs.add_parser("study", help="every described card beside every measured row", description=STUDY)
    study.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="page, table and plots")
    study.add_argument("--store", type=Path, metavar="FOLDER", help="keeps finished tasks (default: nothing)")
    study.add_argument("--cards", nargs="*", default=[], metavar="NAME", help="descriptions (default: all)")
    study.add_argument("--quick", action="store_true", help="a part that takes a minute")
    study.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="assignments",
                       help="a value of every description, such as scheduler.policy=gty; repeatable")  # fmt: skip
    add_limits(capture, timed, correlated, study)
    add_instructions(capture)
    return made


def known_measured() -> dict[str, Path]:
    """Measurements of one card that come with the package, by name; the tables of many cards are the study's."""
    return {path.stem: path for path in sorted(MEASURED.glob("*.csv")) if not path.stem.startswith("published_")}


def measured_file(given: str) -> Path:
    """The file that ``given`` names."""
    return known_measured().get(given, Path(given))


def _capture(options: argparse.Namespace) -> int:
    from rayplay.silicon.capture import capture
    from rayplay.silicon.devices.cuda import Cuda
    from rayplay.silicon.devices.executor import Executor

    out = options.out or Path("traces") / f"{options.launch.stem}.trace"
    device = Cuda("; --device executor needs none") if options.device == "cuda" else Executor()
    summary = capture(options.launch, out, device, options.memory)
    answer(options, [summary.text()], lambda: [summary.record()])
    return 0


def _time(options: argparse.Namespace) -> int:
    from rayplay.formats.place.publish import atomic_file
    from rayplay.silicon.devices.cuda import Cuda
    from rayplay.silicon.timing import time_launches
    from rayplay.tracer.launch import prepare

    prepared = None if str(options.launch) == SUITE else prepare(options.launch)  # what it refuses needs no device
    device = Cuda()
    out = options.out or Path("results") / f"{options.launch.stem}-times.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    if prepared is None:
        return _suite(options, device, out)
    timing = time_launches(prepared, device, options.samples)
    command = ["rayplay", "time", options.launch.name, "--samples", str(options.samples)]
    with atomic_file(out) as partial:
        partial.write_text(timing.csv(command))
    answer(options, timing.lines(), lambda: [vars(row) for row in timing.rows])
    print(f"wrote {out}", file=sys.stderr)
    return 0


def _correlate(options: argparse.Namespace) -> int:
    from rayplay.replay.gpu.description import load
    from rayplay.silicon import correlate
    from rayplay.silicon.counters import compare_counters, is_nsight
    from rayplay.silicon.simulate import simulate_launches, simulate_suite

    gpu = load(options.gpu)
    if is_nsight(options.measured):
        if options.trace is None:
            raise UserError(f"{options.measured}: counters are compared with a trace: --trace NAME.trace")
        found = compare_counters(options.measured, options.trace, gpu, options.card, options.least_us)
        return _correlated(options, gpu.name, found)
    rows = correlate.choose_card(options.measured, correlate.read_measured(options.measured), options.card)
    times = correlate.is_times(rows)
    if times != (options.trace is not None):
        raise UserError(
            f"{options.measured}: kernel times, and they alone, are compared with a trace: --trace NAME.trace"
        )
    if times:
        kernels = simulate_launches(options.trace, gpu)
        found = correlate.compare_times(options.measured, rows, kernels, options.least_us)
    else:
        wanted = [row["quantity"] for row in rows]
        (simulated,) = simulate_suite([gpu], wanted).values()
        found = correlate.compare_suite(options.measured, rows, simulated, 1e3 * gpu.sm.clock_khz)
    return _correlated(options, gpu.name, found)


def _correlated(options: argparse.Namespace, name: str, found: list[Any]) -> int:
    """Print rows and errors, and write them."""
    from rayplay.formats.place.publish import atomic_file
    from rayplay.silicon import correlate
    from rayplay.silicon.study import plot
    from rayplay.silicon.study.results import Compared

    records = correlate.records_of(name, found)
    if options.out:
        write_csv(options.out, records)
    shown = [
        Compared(name, row.card, "", row.quantity, row.unit, row.measured, row.simulated, row.split, "", "")
        for row in found
        if row.simulated
    ]
    if options.plot and shown:
        with atomic_file(options.plot) as partial:
            partial.write_text(plot.scatter(shown, f"{name} beside {shown[0].card}", "each its unit"))
    answer(options, correlate.lines_of(name, found), lambda: records)
    return 0


def _study(options: argparse.Namespace) -> int:
    from rayplay.silicon.study.collect import Study
    from rayplay.silicon.study.page import verdict_cells, write
    from rayplay.silicon.study.rays import throughputs
    from rayplay.silicon.study.results import Results
    from rayplay.silicon.study.tables import descriptions

    unknown = set(options.cards) - set(descriptions())
    if unknown:
        raise UserError(f"--cards: {min(unknown)} is not one of {', '.join(descriptions())}")
    study = Study(Results(options.store), options.cards, options.quick, options.assignments)
    command = f"make correlate{' QUICK=1' * options.quick}"
    if options.assignments:
        command = f"python -m silicon study{' --quick' * options.quick}"
        command += "".join(f" --set {shlex.quote(each)}" for each in options.assignments)
    found = write([*study.rows(), *throughputs(study)], options.out, command)
    answer(options, ["  ".join(verdict_cells(each)) for each in found], lambda: [each.record() for each in found])
    return 0


def write_csv(out: Path, records: list[dict[str, object]]) -> None:
    """Write records of the same keys as CSV; the old file stays until the new one is complete."""
    from rayplay.formats.place.publish import atomic_file

    with atomic_file(out) as partial, partial.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]) if records else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def _suite(options: argparse.Namespace, device: Any, out: Path) -> int:
    """Measure the micro-benchmarks."""
    from rayplay.formats.place.publish import atomic_file
    from rayplay.silicon.measure import measure_suite, table
    from rayplay.silicon.timing import clock_of

    rows, clock_mhz = measure_suite(device), clock_of(device)
    with atomic_file(out) as partial:
        partial.write_text(table(device, rows, clock_mhz, ["rayplay", "time", SUITE]))
    lines = [f"{r.quantity:<24}{r.value:>12.2f} {r.unit:<10}{r.low:>12.2f} to {r.high:.2f}" for r in rows]
    answer(options, lines, lambda: [vars(row) for row in rows])
    print(f"wrote {out}", file=sys.stderr)
    return 0


def _mebibytes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1 << 14:
        raise argparse.ArgumentTypeError(f"must be a whole number of MiB from 1 to 16384, not {text!r}")
    return int(text) * MIB


def _microseconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of microseconds, 0 or more, not {text!r}")
    return value


def _samples(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 10000, not {text!r}")
    return int(text)


if __name__ == "__main__":
    run("silicon", main)
