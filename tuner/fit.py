"""A device fitted to a GPU description: probe programs run through the replay (Ganestam and Doggett 3.1).

Every value but the launch's is a slope between two numbers of steps, so that launches and first touches drop out.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rayplay import replay
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.replay.gpu.description import Gpu
from rayplay.tracer.api import Device as Memory
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene
from rayplay.tuner.device import Caches, Device, RayUnit
from rayplay.tuner.hardware import HardwareRenderer
from rayplay.tuner.settings import Settings

PROGRAM = Path(__file__).parent / "programs" / "probes.ptx"
WARP, SECTOR_WORDS = 32, 8
CHASE_BYTES = 1152
"""Between two loads of a chase: another line, row and channel each time."""
STEPS = 256
MOST_WARPS = 32  # of a block
LAYERS, SAMPLES = (4, 16, 28), (8, 24)
"""Triangles that a ray of a probe passes, and samples of a pixel: the records of all fit the L1."""


@dataclass(frozen=True)
class Fit:
    """A device, and how well straight lines describe the GPU.

    device     the parameters.
    residuals  value -> relative distance of a measurement half-way from the line.
    """

    device: Device
    residuals: dict[str, float]


def fit(gpu: Gpu, threads_per_block: int = 64) -> Fit:
    """Fit the parameters of a GPU; ``max_blocks`` is for blocks of this size."""
    warps = min(gpu.sm.warps, MOST_WARPS)
    beyond_l1 = 2 * gpu.l1.sets * gpu.l1.ways  # lines
    probes: dict[str, tuple[Callable[[int], tuple[int, float]], int]] = {
        "l1": (_chase(gpu, 1), beyond_l1),
        "l2": (_chase(gpu, beyond_l1), beyond_l1),
        "dram": (_chase(gpu, 4 * beyond_l1), beyond_l1),
        "coalesced": (_gather(gpu, warps, 1), STEPS),
        "uncoalesced": (_gather(gpu, warps, SECTOR_WORDS), STEPS),
        "issue": (_compute(gpu, "issue", warps), STEPS),
        "issue of a warp": (_compute(gpu, "issue", 1), STEPS),
        "depend": (_compute(gpu, "depend", 1), STEPS),
    }
    shown = tqdm(probes.items(), desc="fit", unit="probe", disable=None, leave=False)
    lines = {name: _line(*probe) for name, probe in shown}
    lines["records"] = _records(gpu)
    device = Device(
        gpu.name,
        bandwidth_gbytes_per_s=gpu.dram_bytes_per_second / 1e9,
        cores=gpu.sm.count,
        warp_size=WARP,
        issue_cycles=lines["issue"].slope,
        max_blocks=min(gpu.sm.ctas, gpu.sm.warps * WARP // threads_per_block),
        clock_ghz=gpu.sm.clock_khz / 1e6,
        latency_cycles=lines["dram"].slope,
        coalesced_delay_cycles=lines["coalesced"].slope / warps,
        uncoalesced_delay_cycles=lines["uncoalesced"].slope / warps / WARP,
        has_cache=True,
        caches=Caches(
            lines["l1"].slope,
            lines["l2"].slope,
            lines["dram"].slope,
            lines["depend"].slope,
            lines["issue of a warp"].slope,
            lines["depend"].start,
        ),
        rays=RayUnit(gpu.rt.warps * gpu.rt.cores, lines["records"].slope, 1 / gpu.rt.cores),
    )
    return Fit(device, {name: line.residual for name, line in lines.items()})


@dataclass(frozen=True)
class Line:
    slope: float
    start: float
    residual: float


def _line(cycles: Callable[[int], tuple[int, float]], steps: int) -> Line:
    """Cycles per unit of work between ``steps`` and three times as many."""
    (low, low_work), (middle, middle_work), (high, high_work) = (cycles(steps * factor) for factor in (1, 2, 3))
    slope = (high - low) / (high_work - low_work)
    expected = low + slope * (middle_work - low_work)
    return Line(slope, max(low - slope * low_work, 1.0), abs(middle - expected) / max(high - low, 1))


def _chase(gpu: Gpu, lines: int) -> Callable[[int], tuple[int, float]]:
    """Steps around a ring of ``lines``: 1 hits L1; more than L1 holds hit L2 from the second round on, or are new."""
    words = CHASE_BYTES // 4
    ring = np.zeros(lines * words, np.uint32)
    ring[::words] = np.roll(np.arange(lines, dtype=np.uint32) * words, -1)

    def cycles(steps: int) -> tuple[int, float]:
        made = _replayed(gpu, "chase", [ring, np.zeros(1, np.uint32), steps], 1)
        return made["gpu_cycles"], steps

    return cycles


def _gather(gpu: Gpu, warps: int, stride: int) -> Callable[[int], tuple[int, float]]:
    def cycles(steps: int) -> tuple[int, float]:
        count = steps // 8
        words = np.zeros(warps * WARP * stride * count, np.uint32)
        made = _replayed(gpu, "gather", [words, np.zeros(warps * WARP, np.uint32), count, stride], warps * WARP)
        return made["gpu_cycles"], count

    return cycles


def _compute(gpu: Gpu, entry: str, warps: int) -> Callable[[int], tuple[int, float]]:
    """Cycles and warp instructions of arithmetic."""

    def cycles(steps: int) -> tuple[int, float]:
        made = _replayed(gpu, entry, [np.zeros(warps * WARP, np.float32), steps, 0.5], warps * WARP)
        return made["gpu_cycles"], made["warp_instructions"]

    return cycles


def _replayed(gpu: Gpu, entry: str, arguments: list[Any], threads: int) -> dict[str, Any]:
    """Metrics of a launch of one block, of at most 1,024 threads, on one SM."""
    block = min(threads, 1024)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe.trace"
        with TraceWriter(path) as sink:
            Memory(PROGRAM).launch(entry, arguments, threads // block, block, sink=sink)
        return {name: metric["value"] for name, metric in replay(path, gpu).summary.items()}


def _records(gpu: Gpu) -> Line:
    """Cycles per BVH record that is near: of a warp whose rays pass beside the triangles of many boxes.

    What the second samples of each number of layers cost, by the records that they visit; the first ones fetch them.
    """
    caches, work, cycles = Caches(1, 1, 1, 1, 1, 1), [], []
    for layers in LAYERS:
        scene = _layers(layers)
        renderer = HardwareRenderer(scene)
        ends = [_traced(gpu, renderer, samples) for samples in SAMPLES]
        cycles.append((ends[1] - ends[0]) / (SAMPLES[1] - SAMPLES[0]))
        done = renderer.execute(scene.camera, (WARP, 1), Settings(0.0), caches)
        work.append(float(done.records.max()))
    slope = (cycles[2] - cycles[0]) / (work[2] - work[0])
    expected = cycles[0] + slope * (work[1] - work[0])
    return Line(slope, 0.0, abs(cycles[1] - expected) / (cycles[2] - cycles[0]))


def _traced(gpu: Gpu, renderer: HardwareRenderer, samples: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe.trace"
        with TraceWriter(path, image_size=(WARP, 1)) as sink:
            renderer.render(renderer.scene.camera, (WARP, 1), Settings(0.0, samples=samples), sink)
        return replay(path, gpu).value("gpu_cycles")


def _layers(count: int) -> Scene:
    """Triangles one behind another: each covers half of its box, a camera looks through the other halves."""
    corners = [[(-1, -1, -z), (-1, 1, -z), (1, 1, -z - 0.5)] for z in range(count)]
    vertices = np.array(corners, np.float32).reshape(-1, 3)
    triangles = np.arange(3 * count, dtype=np.uint32).reshape(-1, 3)
    mesh = Mesh("layers", vertices, triangles, np.zeros(count, np.uint16))
    camera = Camera((0.5, -0.5, 4.0), (0.5, -0.5, 0.0), vfov_deg=0.1)
    return Scene("layers", [mesh], [Instance(0)], [Material("plain")], camera)
