"""The simulated GPU that renders frames of the closed loop: by a replay of each, or by an estimate from a part."""

import hashlib
import json
import tempfile
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path

import numpy as np

from rayplay import replay
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.code_cache import source_digest
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.layers import RESULTS
from rayplay.replay.results.metrics import Result
from rayplay.tracer.record.checkpoint import code
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.executed import Renderer
from rayplay.tuner.modern import FIRST, Hits
from rayplay.tuner.settings import Settings
from rayplay.tuner.traced import record_steps
from rayplay.zatel.sample.estimate import estimate, read_work
from rayplay.zatel.sample.kept import SOURCES

PLANTS = ("replay", "estimate")
DECIDING = {
    "replay": (*RESULTS, "tuner/plant.py", "tuner/traced.py"),
    "estimate": (*RESULTS, "tuner/plant.py", *SOURCES, "zatel/sample/model_errors.csv"),
}
"""Sources that decide what a plant measures."""
READ_MISSES = ("read_pending_hits", "read_line_misses", "read_sector_misses")
WRITES = ("write_hits", "write_pending_hits", "write_line_misses", "write_sector_misses")
"""Counters of an L1: sectors whose data a warp waits for, and sectors that are written."""


@dataclass(frozen=True)
class Measured:
    """A rendered frame: milliseconds, and what the caches served where the plant has any."""

    ms: float
    hits: Hits = FIRST


def no_plant(camera: Camera, settings: Settings) -> Measured:
    """For a loop whose model alone is asked."""
    raise AssertionError("no frame is rendered")


@dataclass
class Plant:
    """The simulated GPU; each pair of a camera and settings is rendered once.

    how       of ``PLANTS``; an estimate needs a program whose rays the ray-tracing unit traces.
    fraction  of the CTAs that an estimate replays.
    store     folder that keeps times of frames, for later runs of the same code on the same scene and GPU.
    """

    renderer: Renderer
    gpu: Gpu
    size: tuple[int, int]
    store: Path | None = None
    how: str = "replay"
    fraction: float = 0.1
    _known: dict[tuple[Camera, Settings], Measured] = field(default_factory=dict)

    def __call__(self, camera: Camera, settings: Settings) -> Measured:
        """Render a frame: trace it and replay or estimate the trace."""
        if (camera, settings) not in self._known:
            self._known[camera, settings] = self._stored(camera, settings)
        return self._known[camera, settings]

    def _stored(self, camera: Camera, settings: Settings) -> Measured:
        if self.store is None:
            return self._render(camera, settings)
        key = (
            self.renderer.digest, source_digest(DECIDING[self.how]), code(), asdict(self.gpu), self.size,
            asdict(camera), asdict(settings), *((self.how, self.fraction) if self.how == "estimate" else ()),
        )  # fmt: skip
        path = self.store / f"{hashlib.blake2b(repr(key).encode(), digest_size=16).hexdigest()}.json"
        if path.exists():
            ms, *hits = json.loads(path.read_text())
            return Measured(ms, Hits(*hits))
        made = self._render(camera, settings)
        self.store.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as partial:
            partial.write_text(json.dumps([made.ms, *astuple(made.hits)]))
        return made

    def _render(self, camera: Camera, settings: Settings) -> Measured:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "frame.trace"
            with TraceWriter(path, image_size=settings.scaled(self.size)) as sink:
                self.renderer.render(camera, self.size, settings, sink)
            if self.how == "estimate":
                return _estimated(path, self.gpu, self.fraction)
            result = replay(path, self.gpu)
            return _replayed(result, self.gpu, record_steps(open_trace(path)) if result.value("rt_warps") else 1)

    @property
    def resident_blocks(self) -> int:
        """Blocks of the program that an SM of the GPU holds."""
        return self.renderer.resident_blocks(self.gpu, self.size)


def _replayed(result: Result, gpu: Gpu, steps: int) -> Measured:
    """The ray-tracing unit's reads are not the loads', though they may pass the L1; ``steps``: ``record_steps``."""
    counters = result.counters

    def total(unit: str, *names: str) -> float:
        return float(counters["value"][(counters["unit"] == unit) & np.isin(counters["counter"], names)].sum())

    unit = np.array([total("rt_unit", f"read_{how}") for how in ("hits", "misses")])
    reads = np.array([total("l1d", "read_hits"), total("l1d", *READ_MISSES)])
    loads = np.maximum(reads - (unit if gpu.rt.cache == "l1" else 0), 0)
    sent, written = reads[1] - total("l1d", "merges"), total("l1d", *WRITES)
    issued, beyond = counters["value"][counters["counter"] == "issued_lsu"].sum(), result.value("l2_miss_rate")
    hits = Hits(
        loads[0] / max(loads.sum(), 1.0), 0.0 if np.isnan(beyond) else 1 - beyond,
        (loads.sum() + written) / max(issued, 1.0), unit[0] / max(unit.sum(), 1.0),
        (sent + written) / max(reads.sum() + written, 1.0), total("rt_unit", "warp_cycles") / steps,
    )  # fmt: skip
    return Measured(result.value("gpu_cycles") / gpu.sm.clock_khz, hits)


def _estimated(path: Path, gpu: Gpu, fraction: float) -> Measured:
    trace = open_trace(path)
    work = read_work(trace, keep=False, drawn=(fraction, 1))  # the frame's trace goes at once
    found = estimate(trace, gpu, fraction, work=work)
    missed = [found.metrics[f"{level}_miss_rate"] or 0.0 for level in ("l1d", "l2")]
    cycles = found.metrics["gpu_cycles"]
    assert cycles is not None
    return Measured(
        cycles / gpu.sm.clock_khz, Hits(1 - missed[0], 1 - missed[1], FIRST.sectors, 1 - missed[0], missed[0])
    )
