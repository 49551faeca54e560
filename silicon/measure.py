"""The suite of micro-benchmarks on a CUDA device: what a step takes, by the clock of the SM that runs it.

Where all SMs are at work, one SM's clock stops while others go on: events around the launch time it instead.
"""

import csv
import io
import statistics
from dataclasses import dataclass

from rayplay import ptx
from rayplay.silicon.devices.cuda import Cuda
from rayplay.silicon.suite import Micro, program, suite
from rayplay.silicon.timing import clock_of, facts_of
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory

REPEATS = 9
OUT_BYTES = 16 + 4 * 1024
FLUSHES = 3
COLUMNS = ("gpu", "arch", "clock_mhz", "quantity", "value", "unit", "method", "source", "confidence", "note")


@dataclass(frozen=True)
class Measured:
    """One quantity: median, and the lowest and highest of the repeats."""

    quantity: str
    unit: str
    value: float
    low: float
    high: float


class SuiteRun:
    """The suite, loaded on a device."""

    def __init__(self, device: Cuda) -> None:
        self.device = device
        self.module = ptx.parse(program(), "suite.ptx")
        self.loaded = device.load_text(program(), self.module)
        self.out = device.take(OUT_BYTES)
        self.sms = device.card.sms
        l2_bytes = device.card.l2_bytes
        self.suite = [micro.on_a_device(l2_bytes) for micro in suite()]
        self.data = device.take(8 * max(micro.buffer_words(self.sms) for micro in self.suite) + 8)
        self.flushed_bytes = FLUSHES * l2_bytes
        self.flushed = device.take(self.flushed_bytes)
        self.events = [device.call("cuEventCreate", 0) for _ in range(2)]
        self.clock_mhz = clock_of(device)

    def measure(self, micro: Micro) -> Measured:
        """One micro-benchmark."""
        found, passes = [], micro.passes if micro.ctas else 1
        for _ in range(REPEATS):
            few, many = (self._cycles(micro, k) for k in (0, 1))
            found.append(micro.value(few, many, passes, self.sms))
        return Measured(micro.quantity, micro.unit, statistics.median(found), min(found), max(found))

    def _cycles(self, micro: Micro, which: int) -> float:
        if micro.stride_bytes:
            self._launch("link", 1, 1, micro.words * 8 // micro.stride_bytes, micro.stride_bytes)
        else:
            self.device.fill(self.data, max(8 * micro.buffer_words(self.sms), 8), 0)
        if micro.cold:
            self.device.fill(self.flushed, self.flushed_bytes, 0x5A)
        took_us = self._launch(
            micro.kernels[which], micro.grid(self.sms), micro.threads, micro.steps[which], micro.seed
        )
        if micro.ctas:
            return took_us * self.clock_mhz
        return float(self.device.read(self.out, 8).view("u8")[0])

    def _launch(self, entry: str, ctas: int, threads: int, steps: int, seed: int) -> float:
        """Run a kernel of the suite; microseconds between the events around it."""
        launch = ComputeLaunch(self.module, entry, (ctas, 1, 1), (threads, 1, 1), (), DeviceMemory())
        params = (
            *(v.to_bytes(8, "little") for v in (self.out, self.data)),
            *(v.to_bytes(4, "little") for v in (steps, seed)),
        )
        first, last = self.events
        self.device.call("cuEventRecord", first, 0)
        self.device.start(self.loaded, launch, params)
        self.device.call("cuEventRecord", last, 0)
        self.device.call("cuEventSynchronize", last)
        return 1e3 * float(self.device.call("cuEventElapsedTime", first, last))


def measure_suite(device: Cuda) -> list[Measured]:
    """All micro-benchmarks on a device."""
    running = SuiteRun(device)
    return [running.measure(micro) for micro in running.suite]


def table(device: Cuda, rows: list[Measured], clock_mhz: float, command: list[str]) -> str:
    """A file like the tables of measured latencies and bandwidths, how it was made as comments."""
    text = io.StringIO()
    text.writelines(f"# {name}: {value}\n" for name, value in facts_of(device, (clock_mhz, clock_mhz), command).items())
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    arch = f"sm_{device.card.capability.replace('.', '')}"
    for r in rows:
        note = f"{REPEATS} repeats, {r.low:.2f} to {r.high:.2f}"
        writer.writerow(
            [device.name, arch, round(clock_mhz), r.quantity, f"{r.value:.3f}", r.unit, "rayplay suite", "", "A", note]
        )
    return text.getvalue()
