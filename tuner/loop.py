"""The closed loop: each frame a look, a choice, a rendering on the simulated GPU, and a correction (Figs. 1 and 2)."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay import replay
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.code_cache import source_digest
from rayplay.formats.place.publish import atomic_file
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.flow.liveness import register_count
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.layers import RESULTS
from rayplay.replay.results.metrics import Result
from rayplay.replay.sm.ctas import needs, occupancy
from rayplay.tracer.record.checkpoint import code
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.controller import Feedback, Policy, choose
from rayplay.tuner.counts import count_instructions
from rayplay.tuner.device import Device
from rayplay.tuner.executed import execute
from rayplay.tuner.kernel import TILE, Renderer, Settings, tiles
from rayplay.tuner.model import launch_of_image, predict
from rayplay.tuner.modern import FIRST, Hits, caches_of, predict_cycles
from rayplay.tuner.workload import look_at

MODELS = ("modern", "paper")
CONTROLLERS = ("feedback", "feed-forward", "previous", "none")
ORACLE = "oracle"


@dataclass(frozen=True)
class Frame:
    """A frame of the loop; times in milliseconds.

    rays          occlusion rays that were chosen.
    model_ms      time by the model alone; ``predicted_ms``: with the correction that was known before the frame.
    measured_ms   time on the simulated GPU.
    """

    number: int
    rays: int
    model_ms: float
    predicted_ms: float
    measured_ms: float


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
    """The simulated GPU that renders frames; each pair of a camera and settings is rendered once.

    store  folder that keeps times of frames, for later runs of the same code on the same scene and GPU.
    """

    renderer: Renderer
    gpu: Gpu
    size: tuple[int, int]
    store: Path | None = None
    _known: dict[tuple[Camera, Settings], Measured] = field(default_factory=dict)

    def __call__(self, camera: Camera, settings: Settings) -> Measured:
        """Render a frame: trace it and replay the trace."""
        if (camera, settings) not in self._known:
            self._known[camera, settings] = self._stored(camera, settings)
        return self._known[camera, settings]

    def _stored(self, camera: Camera, settings: Settings) -> Measured:
        if self.store is None:
            return self._render(camera, settings)
        key = (
            self.renderer.digest,
            source_digest(RESULTS),
            code(),
            asdict(self.gpu),
            self.size,
            asdict(camera),
            asdict(settings),
        )
        path = self.store / f"{hashlib.blake2b(repr(key).encode(), digest_size=16).hexdigest()}.json"
        if path.exists():
            ms, *hits = json.loads(path.read_text())
            return Measured(ms, Hits(*hits))
        made = self._render(camera, settings)
        self.store.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as partial:
            partial.write_text(json.dumps([made.ms, made.hits.l1, made.hits.l2, made.hits.sectors]))
        return made

    def _render(self, camera: Camera, settings: Settings) -> Measured:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "frame.trace"
            with TraceWriter(path) as sink:
                self.renderer.render(camera, *self.size, settings, sink)
            return _measured(replay(path, self.gpu), self.gpu)

    @property
    def resident_blocks(self) -> int:
        """Blocks of the program that an SM of the GPU holds."""
        registers = register_count(self.renderer.function, build(self.renderer.function))
        need = needs(self.gpu.sm, TILE * TILE, registers, 0, "occlusion")
        return occupancy(self.gpu.sm, need, tiles(*self.size))


LOOKED_UP = [
    f"{kind}_{how}" for kind in ("read", "write") for how in ("hits", "pending_hits", "line_misses", "sector_misses")
]


def _measured(result: Result, gpu: Gpu) -> Measured:
    counters = result.counters
    loads = counters["value"][counters["counter"] == "issued_lsu"].sum()
    sectors = counters["value"][(counters["unit"] == "l1d") & np.isin(counters["counter"], LOOKED_UP)].sum()
    missed = [0.0 if np.isnan(value := result.value(f"{level}_miss_rate")) else value for level in ("l1d", "l2")]
    hits = Hits(1 - missed[0], 1 - missed[1], float(sectors / max(loads, 1)))
    return Measured(result.value("gpu_cycles") / gpu.sm.clock_khz, hits)


@dataclass(frozen=True)
class Loop:
    """Constants of a run: the model and its device, the plant, the target and the candidates.

    model      "paper", or "modern" (``tuner.modern``), which needs the blocks that an SM holds.
    most_rays  candidates are 0 to this many occlusion rays.
    """

    renderer: Renderer
    device: Device
    plant: Callable[[Camera, Settings], Measured]
    size: tuple[int, int]
    target_ms: float
    most_rays: int = 64
    settings: Settings = field(default_factory=Settings)
    policy: Policy = field(default_factory=Policy)
    model: str = "modern"
    resident_blocks: int = 1

    def times(self, camera: Camera, hits: Hits = FIRST) -> NDArray[np.float64]:
        """Milliseconds of each candidate by the model: float64[most_rays + 1]; ``hits`` of the frame before."""
        rays = np.arange(self.most_rays + 1)
        if self.model == "modern":
            executed = execute(self.renderer, camera, self.size, self.settings, rays, caches_of(self.device))
            cycles = predict_cycles(self.device, executed, hits, tiles(*self.size), self.resident_blocks)
        else:
            load = look_at(self.renderer, camera, *self.size, self.settings)
            counted = count_instructions(
                self.renderer.counts, load, rays, self.settings.shadow_rays, self.device.has_cache
            )
            cycles = predict(self.device, launch_of_image(*self.size), counted).cycles
        return np.asarray(self.device.milliseconds(cycles), np.float64)

    def run(self, cameras: Sequence[Camera], controller: str) -> Iterator[Frame]:
        """Render the frames.

        controller  "feedback": the model, corrected by the frames before. "feed-forward": the model alone.
                    "previous": rays in proportion to the last frame's time, as dynamic-resolution engines do.
                    "none": the rays of the first frame for all.
                    "oracle": the rays whose frame comes nearest to the target, found by rendering: the best that any
                    controller can do.
        """
        loop, rays, measured = Feedback(starts=True), None, Measured(self.target_ms)
        for number, camera in enumerate(cameras):
            model = self.times(camera, measured.hits)
            known = model * loop.bias
            if controller == ORACLE:
                rays = self.nearest(camera)
            elif controller in ("feedback", "feed-forward") or rays is None:
                rays = choose(known, self.target_ms, self.policy, rays)
            elif controller == "previous":
                rays = int(np.clip(round((rays + 1) * self.target_ms / measured.ms) - 1, 0, self.most_rays))
            measured = self.plant(camera, replace(self.settings, occlusion_rays=rays))
            yield Frame(number, rays, float(model[rays]), float(known[rays]), measured.ms)
            if controller == "feedback":
                loop.correct(float(model[rays]), measured.ms)

    def nearest(self, camera: Camera) -> int:
        """Rays whose measured time is nearest to the target, by bisection: a frame takes longer with more rays."""
        low, high = 0, self.most_rays
        while low < high:
            middle = (low + high) // 2
            if self.plant(camera, replace(self.settings, occlusion_rays=middle)).ms > self.target_ms:
                high = middle
            else:
                low = middle + 1
        tried = [max(low - 1, 0), low]
        times = [self.plant(camera, replace(self.settings, occlusion_rays=rays)).ms for rays in tried]
        return tried[choose(np.array(times), self.target_ms, replace(self.policy, hysteresis=0))]
