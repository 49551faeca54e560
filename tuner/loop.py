"""The closed loop: each frame a look, a choice, a rendering on the simulated GPU, and a correction (Figs. 1 and 2)."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay import replay
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.replay.gpu.description import Gpu
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.controller import Feedback, Policy, choose
from rayplay.tuner.counts import count_instructions
from rayplay.tuner.device import Device
from rayplay.tuner.kernel import Renderer, Settings
from rayplay.tuner.model import launch_of_image, predict
from rayplay.tuner.workload import look_at

CONTROLLERS = ("feedback", "feed-forward", "previous", "none")


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


@dataclass
class Plant:
    """The simulated GPU that renders frames; each pair of a camera and settings is rendered once."""

    renderer: Renderer
    gpu: Gpu
    size: tuple[int, int]
    _known: dict[tuple[Camera, Settings], float] = field(default_factory=dict)

    def __call__(self, camera: Camera, settings: Settings) -> float:
        """Milliseconds of a frame: its trace, replayed."""
        if (camera, settings) not in self._known:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "frame.trace"
                with TraceWriter(path) as sink:
                    self.renderer.render(camera, *self.size, settings, sink)
                cycles = replay(path, self.gpu).summary["gpu_cycles"]["value"]
            self._known[camera, settings] = 1e-3 * cycles * 1e3 / self.gpu.sm.clock_khz
        return self._known[camera, settings]


@dataclass(frozen=True)
class Loop:
    """Constants of a run: the model's device, the plant, the target and the candidates.

    most_rays  candidates are 0 to this many occlusion rays.
    """

    renderer: Renderer
    device: Device
    plant: Callable[[Camera, Settings], float]
    size: tuple[int, int]
    target_ms: float
    most_rays: int = 64
    settings: Settings = field(default_factory=Settings)
    policy: Policy = field(default_factory=Policy)

    def times(self, camera: Camera) -> NDArray[np.float64]:
        """Milliseconds of each candidate by the model: float64[most_rays + 1]."""
        load = look_at(self.renderer, camera, *self.size, self.settings)
        rays = np.arange(self.most_rays + 1)
        counted = count_instructions(self.renderer.counts, load, rays, self.settings.shadow_rays, self.device.has_cache)
        made = predict(self.device, launch_of_image(*self.size), counted)
        return np.asarray(self.device.milliseconds(made.cycles), np.float64)

    def run(self, cameras: Sequence[Camera], controller: str) -> Iterator[Frame]:
        """Render the frames.

        controller  "feedback": the model, corrected by the frames before. "feed-forward": the model alone.
                    "previous": rays in proportion to the last frame's time, as dynamic-resolution engines do.
                    "none": the rays of the first frame for all.
        """
        loop, rays, measured = Feedback(), None, self.target_ms
        for number, camera in enumerate(cameras):
            model = self.times(camera)
            known = model * loop.bias
            if controller in ("feedback", "feed-forward") or rays is None:
                rays = choose(known, self.target_ms, self.policy, rays)
            elif controller == "previous":
                rays = int(np.clip(round((rays + 1) * self.target_ms / measured) - 1, 0, self.most_rays))
            measured = self.plant(camera, Settings(rays, self.settings.radius, self.settings.shadow_rays))
            yield Frame(number, rays, float(model[rays]), float(known[rays]), measured)
            if controller == "feedback":
                loop.correct(float(model[rays]), measured)
