"""The suite on GPU descriptions: each launch traced once, replayed on every GPU, cycles of a launch for its clock.

A micro-benchmark has a trace and a replay of its own: addresses, caches and open rows are the same whichever others are
asked for, and so is its value.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rayplay import ptx
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.ptx.ir import Module
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.run.driver import simulate
from rayplay.silicon.suite import Micro, program, suite
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.run import Numbering, run_compute_launch

OUT_BYTES = 16 + 4 * 1024
GRID = ("grid_x", "grid_y", "grid_z")


@dataclass(frozen=True)
class Simulated:
    """A quantity of the suite as a GPU description has it."""

    quantity: str
    unit: str
    value: float


def simulate_launches(trace: Path, gpu: Gpu) -> list[tuple[str, float]]:
    """Names and grids of a trace's launches, such as ``copy 64x1x1``, and microseconds of their replay.

    The latency of a launch is left out.
    """
    opened = open_trace(trace)
    known = opened.read("kernels", ["kernel_id", "name", *GRID])
    names = dict(zip(known["kernel_id"].tolist(), known["name"].tolist(), strict=True))
    grids = dict(
        zip(known["kernel_id"].tolist(), zip(*(known[axis].tolist() for axis in GRID), strict=True), strict=True)
    )
    kernels = simulate(opened, gpu).kernels
    cycles = kernels["end_cycle"] - kernels["start_cycle"] - gpu.sm.kernel_launch_cycles
    made = []
    for row in np.argsort(kernels["kernel_id"]).tolist():
        number = int(kernels["kernel_id"][row])
        shape = "x".join(map(str, grids[number]))
        made.append((f"{names[number]} {shape}", 1e3 * float(cycles[row]) / gpu.sm.clock_khz))
    return made


def simulate_suite(gpus: Sequence[Gpu], only: Sequence[str] = ()) -> dict[str, list[Simulated]]:
    """Per GPU (its name) the micro-benchmarks, all or, where there are some, ``only`` these quantities.

    Raises ``UserError`` as ``simulate`` does.
    """
    with TracedSuite(only) as traced:
        return {gpu.name: traced.replay(gpu) for gpu in gpus}


class TracedSuite:
    """Micro-benchmarks, each traced once, or once for each number of SMs, in a folder that goes with this object.

    only  their quantities; empty for all.
    """

    def __init__(self, only: Sequence[str] = ()) -> None:
        self.chosen = [micro for micro in suite() if not only or micro.quantity in only]
        self.module = ptx.parse(program(), "suite.ptx")
        self.traces: dict[tuple[str, int], tuple[Path, tuple[int, int]]] = {}

    def __enter__(self) -> "TracedSuite":
        self.folder = tempfile.TemporaryDirectory(prefix="rayplay-suite-")
        return self

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()

    def replay(self, gpu: Gpu) -> list[Simulated]:
        """The micro-benchmarks on a GPU."""
        return [Simulated(micro.quantity, micro.unit, self._value(micro, gpu)) for micro in self.chosen]

    def _value(self, micro: Micro, gpu: Gpu) -> float:
        key = micro.quantity, gpu.sm.count if micro.ctas else 1
        if key not in self.traces:
            trace = Path(self.folder.name) / f"{len(self.traces)}.trace"
            self.traces[key] = trace, trace_micro(self.module, micro, trace, key[1])
        trace, (few, many) = self.traces[key]
        kernels = simulate(trace, gpu).kernels
        cycles = (kernels["end_cycle"] - kernels["start_cycle"]).tolist()
        of = dict(zip(kernels["kernel_id"].tolist(), cycles, strict=True))
        return micro.value(of[few], of[many], micro.passes, gpu.sm.count)


def trace_micro(module: Module, micro: Micro, out: Path, sms: int = 1) -> tuple[int, int]:
    """Write a trace of a micro-benchmark's launches; returns the numbers of its two timed ones."""
    numbering, memory, timed = Numbering(), DeviceMemory(), []
    with TraceWriter(out, {"command": "correlate", "inputs": {}}) as writer:
        for kernel, steps in zip(micro.kernels, micro.steps, strict=True):
            data = memory.allocate(8 * micro.buffer_words(sms) + 8, name="data of a chase")
            if micro.stride_bytes and micro.cold:
                _link(memory, data, micro)
            runs = [(kernel, micro.grid(sms), micro.threads, steps, micro.seed)]
            if micro.stride_bytes and not micro.cold:
                runs.insert(0, ("link", 1, 1, 8 * micro.words // micro.stride_bytes, micro.stride_bytes))
            out_address = memory.allocate(OUT_BYTES, name="results")
            for entry, ctas, threads, count, seed in runs:
                numbers = (*((v, 8) for v in (out_address, data)), *((v, 4) for v in (count, seed)))
                params = tuple(v.to_bytes(size, "little") for v, size in numbers)
                launch = ComputeLaunch(module, entry, (ctas, 1, 1), (threads, 1, 1), params, memory)
                run_compute_launch(launch, writer, progress=False, numbering=numbering)
            timed.append(numbering.kernels - 1)
    return timed[0], timed[1]


def _link(memory: DeviceMemory, data: int, micro: Micro) -> None:
    """Do the work of the kernel ``link``, without a trace of it in the caches."""
    step = micro.stride_bytes // 8
    count = micro.words // step
    cells = memory.view(data, np.uint64, micro.words)
    cells[::step] = data + np.roll(np.arange(count, dtype=np.uint64), -1) * np.uint64(micro.stride_bytes)
