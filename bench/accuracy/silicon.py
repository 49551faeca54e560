"""GPU descriptions against published measurements of the cards: micro-benchmarks and kernel times, every row.

Command: ``python -m bench.accuracy.silicon [--cards rtx3060 ...] [--kernels add_row ...] [--out FILE.csv]``; the tables
lie in the data folder (``RAYPLAY_DATA``, reference/hardware). Kernel times: the six textbook kernels
(docs/sources/measurements.md#textbook-kernels), each at a size that a replay takes seconds for, beside the mean of
launches back to back less 5 us of launch; rows above 50 us. Prints a line a row, then the errors of calibration and
check rows apart (``silicon.correlate``); --out has every row.
"""

import argparse
import csv
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rayplay.replay.gpu.description import Gpu, load
from rayplay.silicon import correlate
from rayplay.silicon.simulate import TracedSuite, simulate_launches
from rayplay.tracer.launch import run_launch_file

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("RAYPLAY_DATA", ROOT.parent / "shared")) / "reference" / "hardware"
KERNELS = ROOT / "silicon" / "kernels"
SIZES = {"add_row": 2048, "add_column": 2048, "grey": 2048, "matmul": 512, "matmul_tiled": 512, "matvec": 2048}
LAUNCH_US, LEAST_US = 5.0, 50.0
CARDS = {
    "rtx2060": ("RTX 2060",), "rtx2070": ("RTX 2070",), "rtx2080ti": ("RTX 2080 Ti", "TITAN RTX"),
    "gtx1650": ("GTX 1650",), "rtx3060": ("RTX 3060", "RTX 3060 (GA106, 6 GB)"), "rtx3060ti": ("RTX 3060 Ti",),
    "rtx3070ti": ("RTX 3070 Ti",), "rtx3080": ("RTX 3080",), "titanv": ("TITAN V",),
    "a100": ("A100-80", "A100-40", "A100-PCIe-40", "A100"),
}  # fmt: skip
"""Names in the tables of a description's card: the same chip."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cards", nargs="*", default=list(CARDS), choices=CARDS)
    parser.add_argument("--kernels", nargs="*", default=list(SIZES), choices=SIZES)
    parser.add_argument("--no-suite", action="store_true", help="kernel times alone")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"{DATA}: no such folder; RAYPLAY_DATA names the data folder")
    gpus = {card: load(f"card-{card}") for card in chosen.cards}
    found: list[tuple[str, correlate.Row]] = []
    with tempfile.TemporaryDirectory() as folder, TracedSuite() as traced:
        if not chosen.no_suite:
            for card, gpu in gpus.items():
                found += shown(card, suite_rows(card, gpu, traced))
        for kernel in chosen.kernels:
            trace = traced_kernel(kernel, Path(folder))
            for card, gpu in gpus.items():
                found += shown(card, list(time_rows(card, gpu, kernel, trace)))
    summary([row for _, row in found])
    if chosen.out and found:
        with chosen.out.open("w", newline="") as file:
            records = [record for card, row in found for record in correlate.records_of(f"card-{card}", [row])]
            writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)


def suite_rows(card: str, gpu: Gpu, traced: TracedSuite) -> list[correlate.Row]:
    """Measured latencies and bandwidths beside the suite's."""
    simulated, made = traced.replay(gpu), []
    for name in ("latencies.csv", "bandwidths.csv"):
        rows = [row for row in correlate.read_measured(DATA / name) if row["gpu"] in CARDS[card]]
        made += correlate.compare_suite(DATA / name, rows, simulated, 1e3 * gpu.sm.clock_khz)
    return made


def traced_kernel(kernel: str, folder: Path) -> Path:
    """A trace of one textbook kernel, at its size in ``SIZES``."""
    text = (KERNELS / f"textbook_{SIZES[kernel]}.toml").read_text()
    head, *launches = re.split(r"(?m)^(?=\[\[launch\]\])", text)
    (launch,) = [part for part in launches if f'entry = "{kernel}"' in part]
    path = folder / f"{kernel}.toml"
    path.write_text(head + launch)
    shutil.copy(KERNELS / "textbook.ptx", folder)
    run_launch_file(path, folder / f"{kernel}.trace", progress=False, schedule=True)
    return folder / f"{kernel}.trace"


def time_rows(card: str, gpu: Gpu, kernel: str, trace: Path) -> Iterator[correlate.Row]:
    """Measured kernel times beside the replay's."""
    size = SIZES[kernel]
    with (DATA / "kernel_times.csv").open() as file:
        rows = [
            row for row in csv.DictReader(file)
            if row["gpu"] in CARDS[card] and row["kernel"] == kernel and row["n"] == str(size)
        ]  # fmt: skip
    for row in rows:
        measured = float(row["batch_us"]) - LAUNCH_US
        clock_khz = 1000 * int(row["default_clock_mhz"])
        names = ("sm.clock_khz", "memory.l2_clock_khz", "memory.interconnect_clock_khz")
        ran = gpu.with_values([f"{name}={clock_khz}" for name in names])
        reason = "" if measured >= LEAST_US else f"below {LEAST_US:g} us, where the launch itself counts"
        simulated = None if reason else simulate_launches(trace, ran)[0][1]
        split = correlate.split_of(row["gpu"], kernel)
        yield correlate.Row(
            row["gpu"], f"{kernel} {size}", "us", measured, simulated, split, reason, "kernel_times.csv"
        )


def shown(card: str, rows: Sequence[correlate.Row]) -> list[tuple[str, correlate.Row]]:
    """The rows, each printed."""
    for row in rows:
        error = f"{row.simulated:>10.2f}{row.error:>+9.1%}" if row.error is not None else f"{row.reason}"
        print(f"{card:<11}{row.card:<24}{row.quantity:<20}{row.unit:<9}{row.measured:>10.2f}{error}", flush=True)
    return [(card, row) for row in rows]


def summary(rows: Sequence[correlate.Row]) -> None:
    """Errors of latencies, bandwidths and kernel times, of calibration and check rows."""
    kinds = {"cycles": "latencies", "us": "kernel times"}
    for kind in ("latencies", "bandwidths", "kernel times"):
        for split in (correlate.CALIBRATION, correlate.CHECK):
            mine = [row for row in rows if kinds.get(row.unit, "bandwidths") == kind and row.split == split]
            errors = correlate.errors_of(mine)
            if errors is not None:
                print(f"{kind}, {split}: {errors.rows} of {len(mine)} rows; {said(errors)}")


def said(errors: correlate.Errors) -> str:
    """Errors of rows in words."""
    return (
        f"absolute error median {errors.median:.1%}, mean {errors.mean:.1%}, worst {errors.worst:.1%}; "
        f"correlation of logarithms {errors.log_correlation:.3f}"
    )


if __name__ == "__main__":
    main()
