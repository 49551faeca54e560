"""The closed loop: each frame a look, a choice, a rendering on the simulated GPU, and a correction (Figs. 1 and 2)."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.controller import Feedback, Policy, choose
from rayplay.tuner.counts import Readings
from rayplay.tuner.device import Device
from rayplay.tuner.executed import Look, Renderer, affordable
from rayplay.tuner.knobs import Candidates
from rayplay.tuner.modern import FIRST, Hits, caches_of
from rayplay.tuner.plant import Measured
from rayplay.tuner.settings import Settings
from rayplay.tuner.times import Looks, look, paper_times, times_of

CONTROLLERS = ("feedback", "feed-forward", "previous", "none", "oracle")


CHANGE = 2.0
"""Ratio of the work that two looks see, from which on the scene has changed between them."""


@dataclass
class Remembered:
    """Outcomes of rendered frames, by the work that their looks saw."""

    frames: list[tuple[float, Measured]] = field(default_factory=list)

    def like(self, work: float) -> Measured:
        """Of the last frame or, where the scene has changed since, of the frame whose work was most alike."""
        last, measured = self.frames[-1]
        if 1 / CHANGE < work / last < CHANGE:
            return measured
        return min(reversed(self.frames), key=lambda frame: abs(np.log(work / frame[0])))[1]


@dataclass(frozen=True)
class Frame:
    """A frame of the loop; times in milliseconds.

    knob, value   the parameter that was chosen, and its value.
    model_ms      time by the model alone; ``predicted_ms``: with the correction that was known before the frame.
    measured_ms   time on the simulated GPU.
    """

    number: int
    knob: str
    value: float
    model_ms: float
    predicted_ms: float
    measured_ms: float


@dataclass(frozen=True)
class Known:
    """A frame that was rendered before the first one: its camera, the index of its candidate, and its outcome."""

    camera: Camera
    chosen: int
    measured: Measured


@dataclass(frozen=True)
class Rendered:
    """A frame on its way to the controller: its look's work, its candidate, its time by the model alone (None where hit
    shares were guessed), and its outcome."""

    work: float
    chosen: int
    model_ms: float | None
    measured: Measured


@dataclass(frozen=True)
class Loop:
    """Constants of a run: the model and its device, the plant, the target and the candidates.

    model            of ``times.MODELS``.
    resident_blocks  of an SM at a time.
    seen             keeps looks by camera, for other controllers on the same frames; None: every frame is looked at.
    delay            frames that begin before a frame's time is known, as a GPU's timers answer late; 0: none.
    """

    renderer: Renderer
    device: Device
    plant: Callable[[Camera, Settings], Measured]
    size: tuple[int, int]
    target_ms: float
    candidates: Candidates
    policy: Policy = field(default_factory=Policy)
    model: str = "modern"
    resident_blocks: int = 1
    readings: Readings = field(default_factory=Readings)
    look: Look = field(default_factory=Look)
    seen: dict[Camera, Looks] | None = None
    delay: int = 0

    @cached_property
    def affordable_look(self) -> Look:
        """Of a scene whose rays visit much, fewer warps are executed."""
        if self.model == "paper":
            return self.look
        settings = self.candidates.settings[-1]
        return affordable(self.renderer, self.size, settings, caches_of(self.device), self.look)

    def times(self, camera: Camera, hits: Hits = FIRST) -> NDArray[np.float64]:
        """Milliseconds of each candidate by the model: float64[candidates]; ``hits`` of the frame before."""
        if self.model == "paper":
            return paper_times(self.renderer, self.device, camera, self.size, self.candidates, self.readings)
        knows_rays = self.model == "rt-unit"
        return times_of(
            self.looks(camera), self.renderer, self.device, self.size, hits, self.resident_blocks, knows_rays
        )

    def looks(self, camera: Camera) -> Looks:
        """Look at a frame, unless it was seen."""
        if self.seen is not None and camera in self.seen:
            return self.seen[camera]
        looks = look(self.renderer, self.device, camera, self.size, self.candidates, self.affordable_look)
        if self.seen is not None:
            self.seen[camera] = looks
        return looks

    def work(self, camera: Camera) -> float:
        """Work per warp of a frame of the best quality, in a rough unit: by it frames are told apart."""
        if self.model == "paper":
            return 1.0
        best = self.looks(camera)[-1].work[-1]
        return float((best.instructions + best.records).mean())

    def run(self, cameras: Sequence[Camera], controller: str, known: Known | None = None) -> Iterator[Frame]:
        """Render the frames.

        known       from which the first frame's hit shares and correction are taken; without one they are guessed.
        controller  "feedback": the model, corrected by the frames before. "feed-forward": the model alone.
                    "previous": work in proportion to the last frame's time, as dynamic-resolution engines do.
                    "none": the first frame's candidate for all.
                    "oracle": the candidate whose frame comes nearest to the target, found by rendering: the best that
                    any controller can do.
        """
        if self.seen is None:
            yield from replace(self, seen={}).run(cameras, controller, known)
            return
        feedback, past, waiting = Feedback(starts=True), Remembered(), deque[Rendered]()
        chosen: int | None = None
        seen: Rendered | None = None
        if known:
            chosen, work = known.chosen, self.work(known.camera)
            alone = float(self.times(known.camera, known.measured.hits)[chosen])
            seen = Rendered(work, chosen, alone, known.measured)
            past.frames.append((work, known.measured))
            if controller == "feedback":
                feedback.correct(alone, known.measured.ms)
        for number, camera in enumerate(cameras):
            work, knows_hits = self.work(camera), bool(past.frames) or self.model == "paper"
            model = self.times(camera, past.like(work).hits if past.frames else FIRST)
            corrected = model * feedback.bias
            chosen = self._chosen(controller, camera, corrected, chosen, seen)
            measured = self.plant(camera, self.candidates.settings[chosen])
            knob, value = self.candidates.place(chosen)
            yield Frame(number, knob, value, float(model[chosen]), float(corrected[chosen]), measured.ms)
            waiting.append(Rendered(work, chosen, float(model[chosen]) if knows_hits else None, measured))
            if len(waiting) > self.delay:
                seen = waiting.popleft()
                past.frames.append((seen.work, seen.measured))
                if controller == "feedback" and seen.model_ms is not None:
                    feedback.correct(seen.model_ms, seen.measured.ms)

    def _chosen(
        self, controller: str, camera: Camera, times: NDArray[np.float64], before: int | None, seen: "Rendered | None"
    ) -> int:
        """Index of the candidate for a frame; ``before``: of the last one; ``seen``: the last whose time is known."""
        if controller == "oracle":
            return self.nearest(camera, before)
        if controller in ("feedback", "feed-forward") or before is None:
            return choose(times, self.target_ms, self.policy, before)
        if controller == "previous" and seen is not None:
            wanted = self.candidates.work[seen.chosen] * self.target_ms / seen.measured.ms
            return int(np.argmin(np.abs(self.candidates.work - wanted)))
        return before

    def nearest(self, camera: Camera, before: int | None = None) -> int:
        """The candidate whose measured time is nearest to the target: a frame takes longer with better quality, so
        that a search by halves finds it, from ``before`` outwards."""
        low, high = self._around(camera, before)
        while high - low > 1:
            middle = (low + high) // 2
            if self._measured(camera, middle) > self.target_ms:
                high = middle
            else:
                low = middle
        tried = [number for number in (low, high) if 0 <= number < len(self.candidates.settings)]
        times = [self._measured(camera, number) for number in tried]
        return tried[choose(np.array(times), self.target_ms, replace(self.policy, prefer="nearest", hysteresis=0))]

    def _around(self, camera: Camera, before: int | None) -> tuple[int, int]:
        """Candidates of which the first is not above the target (-1: none is known) and the second one is."""
        low, high, step = -1, len(self.candidates.settings), 1
        if before is None:
            return low, high
        rises = self._measured(camera, before) <= self.target_ms
        low, high = (before, high) if rises else (low, before)
        while high - low > step:
            tried = low + step if rises else high - step
            if (self._measured(camera, tried) <= self.target_ms) != rises:
                return (low, tried) if rises else (tried, high)
            low, high, step = (tried, high, 4 * step) if rises else (low, tried, 4 * step)
        return low, high

    def _measured(self, camera: Camera, number: int) -> float:
        return self.plant(camera, self.candidates.settings[number]).ms
