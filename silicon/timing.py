"""Kernel times on a CUDA device: events around each launch, warm and cold, with the clock that the SMs really had.

A sample restores buffers and ``.global`` variables (copies on the device), for cold ones writes more than the L2 holds,
and puts an event before and after the launch, all behind a kernel that waits, so that no time of the host lies between
the events. The time of an empty kernel, which every sample contains, is a row of its own. The clock is what a kernel's
``%clock64`` counts in a stretch of ``%globaltimer``.
"""

import csv
import io
import shlex
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from rayplay import ptx
from rayplay.silicon.devices.cuda import Cuda, clocks
from rayplay.silicon.devices.device import Loaded
from rayplay.tracer.launch import FIRST, Prepared
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory

SAMPLES = 21
FLUSHES = 3  # times the L2 that a cold sample writes before
CLOCK_NS = 2_000_000
WAIT_NS = 300_000  # longer than the host takes to queue a sample
CLOCK_PROGRAM = """.version 7.0
.target sm_70
.address_size 64
.visible .entry empty()
{
    ret;
}
.visible .entry clock(.param .u64 out, .param .u64 nanoseconds)
{
    .reg .b64 %rd<9>;
    .reg .pred %p;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [nanoseconds];
    mov.u64 %rd3, %globaltimer;
    mov.u64 %rd4, %clock64;
    add.u64 %rd2, %rd2, %rd3;
AGAIN:
    mov.u64 %rd5, %globaltimer;
    setp.lt.u64 %p, %rd5, %rd2;
    @%p bra AGAIN;
    mov.u64 %rd6, %clock64;
    sub.u64 %rd6, %rd6, %rd4;
    sub.u64 %rd5, %rd5, %rd3;
    st.global.u64 [%rd1], %rd6;
    st.global.u64 [%rd1+8], %rd5;
    ret;
}
"""
COLUMNS = (
    "gpu", "sms", "default_clock_mhz", "clock_mhz", "file", "launch", "kernel", "grid", "block", "bytes", "cold_us",
    "cold_noise", "warm_us", "warm_noise", "samples",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Times of one launch: medians in microseconds, and the relative spread (half the middle 80 %) of the samples."""

    launch: int
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    bytes: int
    cold_us: float
    cold_noise: float
    warm_us: float
    warm_noise: float


@dataclass(frozen=True)
class Timing:
    """Times of a launch file on a card; ``clock_mhz`` before and after the samples."""

    path: Path
    device: Cuda
    rows: list[Row]
    clock_mhz: tuple[float, float]
    samples: int

    def lines(self) -> list[str]:
        """A table for the terminal."""
        head = f"{'launch':<26}{'grid x block':>22}{'cold us':>12}{'+-':>7}{'warm us':>12}{'+-':>7}"
        made = [
            f"{f'{r.launch} {r.kernel}':<26}{_shape(r.grid) + ' x ' + _shape(r.block):>22}{r.cold_us:>12.2f}"
            f"{r.cold_noise:>7.1%}{r.warm_us:>12.2f}{r.warm_noise:>7.1%}"
            for r in self.rows
        ]
        low, high = sorted(self.clock_mhz)
        return [
            head,
            *made,
            f"{self.device.name}: SM clock {low:.0f} to {high:.0f} MHz as measured, {self.samples} samples",
        ]

    def csv(self, command: list[str]) -> str:
        """The file that ``correlate`` reads: how it was made as comments, then a row a launch."""
        card = self.device.card
        facts = facts_of(self.device, self.clock_mhz, command)
        text = io.StringIO()
        text.writelines(f"# {name}: {value}\n" for name, value in facts.items())
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for r in self.rows:
            writer.writerow([
                card.name, card.sms, card.clock_khz // 1000, round(statistics.mean(self.clock_mhz)), self.path.name,
                r.launch, r.kernel, _shape(r.grid), _shape(r.block), r.bytes, f"{r.cold_us:.3f}", f"{r.cold_noise:.4f}",
                f"{r.warm_us:.3f}", f"{r.warm_noise:.4f}", self.samples,
            ])  # fmt: skip
        return text.getvalue()


def time_launches(prepared: Prepared, device: Cuda, samples: int = SAMPLES) -> Timing:
    """Time every launch of a prepared launch file, in order; its buffers go on from launch to launch as in a run.

    The first row is an empty kernel of one thread, number -1: what an event pair costs.

    Raises ``UserError`` for a launch that fails on the device.
    """
    addresses = device.open(prepared)
    program = device.load(prepared.module)
    bench = Bench(device, prepared, addresses, samples)
    before = clock_of(device)
    rows = [bench.empty()]
    width = prepared.module.address_size // 8
    for place, number, launch in prepared.places(FIRST):
        given = prepared.plan.launch[number].parameters
        params = tuple(each.encode(addresses, place.rounds, width) for each in given)
        rows.append(bench.launch(program, launch, params, number))
    return Timing(prepared.path, device, rows, (before, clock_of(device)), samples)


class Bench:
    """Samples on a device: the buffers of a launch file, their copies, and memory that empties the L2."""

    def __init__(self, device: Cuda, prepared: Prepared, addresses: dict[str, int], samples: int) -> None:
        self.device, self.prepared, self.addresses, self.samples = device, prepared, addresses, samples
        self.copies = {name: device.take(values.nbytes) for name, values in prepared.buffers.items()}
        self.variables: list[tuple[int, int, int]] = []
        self.variable_copies: dict[int, int] = {}
        self.flushed_bytes = FLUSHES * max(device.card.l2_bytes, 1 << 20)
        self.flushed = device.take(self.flushed_bytes)
        self.events = [device.call("cuEventCreate", 0) for _ in range(2)]
        self.module = ptx.parse(CLOCK_PROGRAM, "clock.ptx")
        self.clock = device.load_text(CLOCK_PROGRAM, self.module)
        self.out = device.take(16)
        self._wait = self._single("clock")

    def empty(self) -> Row:
        """The time of an empty kernel."""
        return self.launch(self.clock, self._single("empty"), (), -1)

    def launch(self, program: Loaded, launch: ComputeLaunch, params: tuple[bytes, ...], number: int) -> Row:
        """Times of one launch; afterwards memory on both sides is as one run leaves it."""
        for name, values in self.prepared.buffers.items():
            self.device.write(self.copies[name], values)
        self.variables = self._variables(program, launch)
        for first, copy, size in self.variables:
            self.device.call("cuMemcpyDtoD", copy, first, size)
        self.device.set_constants(program, launch.constants)
        run = lambda: self.device.start(program, launch, params)  # noqa: E731
        cold = [self._sample(run, True) for _ in range(self.samples)]
        warm = [self._sample(run, False) for _ in range(self.samples)]
        for name, values in self.prepared.buffers.items():
            values.reshape(-1).view(np.uint8)[:] = self.device.read(self.addresses[name], values.nbytes)
        held = sum(values.nbytes for values in self.prepared.buffers.values())
        return Row(
            number, launch.entry, launch.grid, launch.block, held, statistics.median(cold), _spread(cold),
            statistics.median(warm), _spread(warm),
        )  # fmt: skip

    def _sample(self, run: Callable[[], None], cold: bool) -> float:
        """Microseconds of one launch from the memory before it; warm ones follow a launch of their own."""
        device = self.device
        self._restore()
        if cold:
            device.fill(self.flushed, self.flushed_bytes, 0x5A)
        else:
            run()
            self._restore()
        first, last = self.events
        device.call("cuCtxSynchronize")
        device.start(self.clock, self._wait, (self.out.to_bytes(8, "little"), WAIT_NS.to_bytes(8, "little")))
        device.call("cuEventRecord", first, 0)
        run()
        device.call("cuEventRecord", last, 0)
        device.call("cuEventSynchronize", last)
        return 1e3 * float(device.call("cuEventElapsedTime", first, last))

    def _restore(self) -> None:
        for name, values in self.prepared.buffers.items():
            if values.nbytes:
                self.device.call("cuMemcpyDtoD", self.addresses[name], self.copies[name], values.nbytes)
        for first, copy, size in self.variables:
            self.device.call("cuMemcpyDtoD", first, copy, size)

    def _variables(self, program: Loaded, launch: ComputeLaunch) -> list[tuple[int, int, int]]:
        """The ``.global`` variables of a program: address, address of a copy, bytes."""
        found = []
        for name, first in program.variables.items():
            size = launch.module.variables[name].bytes
            if first not in self.variable_copies:
                self.variable_copies[first] = self.device.take(size)
            found.append((first, self.variable_copies[first], size))
        return found

    def _single(self, entry: str) -> ComputeLaunch:
        return ComputeLaunch(self.module, entry, (1, 1, 1), (1, 1, 1), (), DeviceMemory())


def clock_of(device: Cuda) -> float:
    """The clock of an SM that is busy, in MHz."""
    module = ptx.parse(CLOCK_PROGRAM, "clock.ptx")
    program, out = device.load_text(CLOCK_PROGRAM, module), device.take(16)
    launch = ComputeLaunch(module, "clock", (1, 1, 1), (1, 1, 1), (), DeviceMemory())
    try:
        for _ in range(2):  # the first one lets the clock rise
            device.launch(program, launch, (out.to_bytes(8, "little"), CLOCK_NS.to_bytes(8, "little")), {})
        cycles, nanoseconds = device.read(out, 16).view(np.uint64).tolist()
    finally:
        device.give_back(out)
    return 1e3 * cycles / nanoseconds


def facts_of(device: Cuda, clock_mhz: tuple[float, float], command: list[str]) -> dict[str, str]:
    """How a measurement was made: command, date, card, driver, clocks."""
    card = device.card
    return {
        "command": shlex.join(command), "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "card": card.name,
        "compute capability": card.capability, "driver": card.driver,
        "clock of SMs before and after, MHz": ", ".join(f"{each:.0f}" for each in clock_mhz),
        **{f"nvidia-smi {name}": value for name, value in clocks().items() if value},
    }  # fmt: skip


def _spread(samples: list[float]) -> float:
    """Half of what the middle 80 % of the samples span, of their median."""
    low, high = np.quantile(samples, (0.1, 0.9))
    return float((high - low) / 2 / statistics.median(samples))


def _shape(lengths: tuple[int, int, int]) -> str:
    return "x".join(map(str, lengths))
