"""Rows against Accel-Sim: every micro trace, every kernel of the public traces, all of them exact.

Source: ``docs/sources/accel-sim.md#micro-benchmarks, #public-traces``.
"""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from outside.rows import Row, compare
from outside.traces import ROOT, accelsim_folder, imported
from rayplay.replay.gpu.description import load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate

EXPECTED = ROOT / "tests" / "outside"
QV100 = ROOT / "outside" / "configs" / "SM7_QV100" / "gpgpusim.config"
GPUS = {"SM75_RTX2060": "accelsim-rtx2060", "SM86_RTX3070": "accelsim-rtx3070", "SM7_QV100": str(QV100)}
COUNTS = (
    "thread_instructions", "warp_instructions", "l1d_accesses", "l1d_misses", "l1d_pending_hits", "l2_accesses",
    "l2_misses", "dram_reads", "dram_writes", "dram_activates",
)  # fmt: skip
HITS = ("read_hits", "write_hits")
MISSED = ("read_line_misses", "read_sector_misses", "write_line_misses", "write_sector_misses")
PENDING = ("read_pending_hits", "write_pending_hits")  # an access, but no miss

Kernel = dict[str, float]


class Run:
    """Accel-Sim's numbers, kernel by kernel, for one trace, configuration and launch latency."""

    def __init__(self, kind: str, trace: str, config: str, latency: int, expected: list[dict[str, str]]) -> None:
        self.kind, self.trace, self.config, self.latency, self.expected = kind, trace, config, latency, expected
        self.name = f"{trace} {config.partition('_')[2]}" + (f" +{latency}" if latency else "")

    @property
    def gpu(self) -> str:
        """Rayplay's description of the configuration: a name, or the configuration itself."""
        return GPUS[self.config]


def runs(kind: str) -> list[Run]:
    """The runs of ``expected_micro.csv`` (kind ``micro``) or ``expected_kernels.csv`` (kind ``traces``)."""
    found: dict[tuple[str, str, int], list[dict[str, str]]] = {}
    with open(EXPECTED / ("expected_micro.csv" if kind == "micro" else "expected_kernels.csv")) as lines:
        for row in csv.DictReader(lines):
            key = (row["trace"], row["config"], int(row["launch_latency"]))
            found.setdefault(key, []).append(row)
    return [Run(kind, *key, rows) for key, rows in found.items()]


@cache
def replay(folder: Path, gpu: str, latency: int) -> list[Kernel]:
    """Replay a trace; for each kernel the columns of the expected numbers."""
    description = load(gpu, [f"sm.kernel_launch_cycles={latency}"])
    result = simulate(imported(folder), description)
    kernel_id, cycles = result.kernels["kernel_id"], result.kernels["end_cycle"] - result.kernels["start_cycle"]
    return [{"cycles": int(cycles[row]), **counts(result, int(kernel_id[row]))} for row in np.argsort(kernel_id)]


def counts(result: Result, kernel: int) -> Kernel:
    """Instructions, accesses, misses and DRAM commands of one kernel, by ``docs/sources/accel-sim.md#metrics``."""
    table = result.counters
    mine = table["kernel_id"] == kernel
    unit, counter, value = (table[name][mine] for name in ("unit", "counter", "value"))

    def total(of: str, *names: str) -> int:
        return int(value[(unit == of) & np.isin(counter.astype(str), names)].sum())

    found: Kernel = {f"dram_{name}": total("dram", name) for name in ("reads", "writes", "activates")}
    for name in ("thread_instructions", "warp_instructions"):
        found[name] = total("sm", name)
    for level in ("l1d", "l2"):
        found[f"{level}_misses"] = total(level, *MISSED)
        found[f"{level}_pending_hits"] = total(level, *PENDING)
        found[f"{level}_accesses"] = total(level, *HITS, *MISSED, *PENDING)
    return found


def rows_of(run: Run) -> Iterator[Row]:
    """The rows of one run; cycles are compared without the launch latency, which would hide an error."""
    folder = accelsim_folder(run.kind, run.trace)
    found = replay(folder, run.gpu, run.latency)
    several = len(run.expected) > 1
    for index, theirs in enumerate(run.expected):
        case, ours = run.name + (f" #{theirs['kernel_index']}" if several else ""), found[index]
        yield compare(case, "cycles", int(theirs["cycles"]) - run.latency, ours["cycles"] - run.latency)
        for quantity in COUNTS:
            yield compare(case, quantity, int(theirs[quantity]), ours[quantity])


def present(run: Run) -> bool:
    """Whether the run's trace exists."""
    return accelsim_folder(run.kind, run.trace).is_dir()


def rows(only: str = "") -> Iterator[Row]:
    """All rows whose case contains ``only``."""
    for run in (*runs("micro"), *runs("traces")):
        if only in run.name and present(run):
            yield from rows_of(run)
