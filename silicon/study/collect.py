"""Every measured row beside its description: micro-benchmarks, textbook kernels, rays."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from rayplay.formats.guard.digest import file_digest, source_digest, text_digest
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.layers import RESULTS
from rayplay.silicon import correlate
from rayplay.silicon.simulate import Simulated, TracedSuite, simulate_launches
from rayplay.silicon.study import tables
from rayplay.silicon.study.results import BANDWIDTH, LATENCY, TIME, Compared, Results
from rayplay.silicon.suite import program
from rayplay.tracer.launch import run_launch_file

KERNELS = Path(__file__).parents[1] / "kernels"
SIZES = {
    "add_row": (1024, 2048), "add_column": (1024, 2048), "grey": (1024, 2048), "matmul": (512,), "matmul_tiled": (512,),
    "matvec": (512, 1024, 2048),
}  # fmt: skip
"""Sizes of each kernel that are replayed: seconds each."""
LEAST_US = 50.0
CLOCKS = ("sm.clock_khz", "memory.l2_clock_khz", "memory.interconnect_clock_khz")
NO_CARD = "no description of this card"


class Study:
    """Rows of the study.

    results  keeps finished tasks.
    only     descriptions that are replayed; empty for all.
    quick    one size a kernel, the shortest, and no bandwidths of a whole GPU.
    values   KEY=VALUE, for every description.
    """

    def __init__(
        self, results: Results, only: Sequence[str] = (), quick: bool = False, values: Sequence[str] = ()
    ) -> None:
        self.results, self.quick, self.values = results, quick, values
        self.names = {name: cards for name, cards in tables.descriptions().items() if not only or name in only}
        self.of_card = {card: name for name, cards in tables.descriptions().items() for card in cards}
        self.code = source_digest(list(RESULTS)) + source_digest(["ptx", "tracer/launch.py", "silicon/simulate.py"])

    def rows(self) -> list[Compared]:
        """Latencies, bandwidths and kernel times, in the order of the tables."""
        return [*self.quantities(), *self.times()]

    def described(self, name: str) -> Gpu:
        """A description, with the study's values."""
        return load(name, self.values)

    def key(self, task: str, gpu: Gpu, **more: Any) -> dict[str, Any]:
        """Everything that decides a task's result."""
        return {"task": task, "gpu": asdict(gpu), "code": self.code, **more}

    def quantities(self) -> Iterator[Compared]:
        """Rows of latencies and bandwidths."""
        rows = [row for name in tables.QUANTITIES for row in tables.rows_of(name)]
        known: dict[str, list[Simulated]] = {}
        with TracedSuite([] if not self.quick else LATENCIES) as traced:
            for name in tqdm(self.names, desc="micro-benchmarks", leave=False, disable=None):
                gpu = self.described(name)
                key = self.key("suite", gpu, suite=text_digest(program()), quick=self.quick)
                values = self.results.of(key, partial(simulated, traced, gpu))
                known[name] = [Simulated(**each) for each in values]
        for row in rows:
            yield self.quantity(row, known)

    def quantity(self, row: dict[str, str], known: dict[str, list[Simulated]]) -> Compared:
        """A row beside the suite on its card's description."""
        name = self.of_card.get(row["gpu"], "")
        clock_hz = 1e3 * self.described(name).sm.clock_khz if name else 1.0
        (found,) = correlate.compare_suite(Path("published.csv"), [row], known.get(name, []), clock_hz)
        reason = found.reason or tables.reason_of(found.card, found.quantity, found.source)
        if found.simulated is None:
            reason = NO_CARD if not name else found.reason if name in known else "not asked for"
        kind = LATENCY if found.unit.startswith("cycles") else BANDWIDTH
        return Compared(
            name, found.card, kind, found.quantity, found.unit, found.measured, found.simulated, found.split, reason,
            found.source or "silicon/measured/h100_suite.csv",
        )  # fmt: skip

    def times(self) -> Iterator[Compared]:
        """Rows of kernel times."""
        with tempfile.TemporaryDirectory(prefix="rayplay-correlate-") as folder:
            traces: dict[tuple[str, int], Path] = {}
            for time in tqdm(tables.kernel_times(), desc="kernel times", leave=False, disable=None):
                name = self.of_card.get(time.card, "")
                reason = self.left_out(time, name)
                modelled = None if reason else self.time(time, name, Path(folder), traces)
                reason = reason or tables.reason_of(time.card, f"{time.kernel} {time.n}", time.source)
                yield Compared(
                    name, time.card, TIME, f"{time.kernel} {time.n}", "us", time.microseconds, modelled,
                    correlate.split_of(time.card, time.kernel), reason, time.source,
                )  # fmt: skip

    def left_out(self, time: tables.KernelTime, name: str) -> str:
        """Why a kernel time is not compared, or nothing."""
        if not name:
            return NO_CARD
        if name not in self.names:
            return "not asked for"
        if time.microseconds < LEAST_US:
            return f"below {LEAST_US:g} us, where the launch itself counts"
        sizes = SIZES[time.kernel]
        return "" if time.n in (sizes[:1] if self.quick else sizes) else "this size is not replayed: minutes a card"

    def time(self, time: tables.KernelTime, name: str, folder: Path, traces: dict[tuple[str, int], Path]) -> float:
        """Microseconds of a textbook kernel on a description, whose clocks are scaled to the measured card's."""
        gpu = at_clock(self.described(name), time.clock_khz)
        shape = time.kernel, time.n
        kernels = file_digest(KERNELS / "textbook.ptx")

        def compute() -> float:
            if shape not in traces:
                traces[shape] = traced_kernel(*shape, folder)
            return simulate_launches(traces[shape], gpu)[0][1]

        return float(self.results.of(self.key("time", gpu, kernel=shape, kernels=kernels), compute))


LATENCIES = ["l1_hit", "l2_hit", "shared_load", "dram", "ptx:add.u32", "ptx:ffma", "ptx:ex2.approx", "ptx:div.u32"]


def simulated(traced: TracedSuite, gpu: Gpu) -> list[dict[str, Any]]:
    """The suite on a description, as JSON has it."""
    return [asdict(each) for each in traced.replay(gpu)]


def at_clock(gpu: Gpu, clock_khz: int) -> Gpu:
    """A description with SMs, L2 and crossbar at the clock of a measured card, in their own ratio."""
    clocks = {"sm": gpu.sm.clock_khz, "l2": gpu.memory.l2_clock_khz, "net": gpu.memory.interconnect_clock_khz}
    scaled = [each * clock_khz // gpu.sm.clock_khz for each in clocks.values()]
    return gpu.with_values([f"{name}={khz}" for name, khz in zip(CLOCKS, scaled, strict=True)])


def traced_kernel(kernel: str, n: int, folder: Path) -> Path:
    """A trace of one textbook kernel."""
    text = (KERNELS / f"textbook_{n}.toml").read_text()
    head, *launches = re.split(r"(?m)^(?=\[\[launch\]\])", text)
    (launch,) = [part for part in launches if f'entry = "{kernel}"' in part]
    path = folder / f"{kernel}-{n}.toml"
    path.write_text(head + launch)
    shutil.copy(KERNELS / "textbook.ptx", folder)
    run_launch_file(path, path.with_suffix(".trace"), progress=False, schedule=True)
    return path.with_suffix(".trace")
