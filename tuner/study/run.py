"""Run a study: the animations one after another, their tables and pictures, and the page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.tracer.motion import cameras
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.controller import Policy
from rayplay.tuner.device import Device
from rayplay.tuner.executed import Look, Renderer
from rayplay.tuner.fit import fit
from rayplay.tuner.hardware import HardwareRenderer
from rayplay.tuner.kernel import SoftwareRenderer
from rayplay.tuner.knobs import STEP, candidates, knob
from rayplay.tuner.loop import CONTROLLERS, Known, Loop
from rayplay.tuner.modern import FIRST, Hits
from rayplay.tuner.plant import Plant
from rayplay.tuner.report import run_controllers, write_rows
from rayplay.tuner.settings import Settings
from rayplay.tuner.study.page import page
from rayplay.tuner.study.plan import Animation, Plan
from rayplay.zatel.paper.downscale import downscale

LOOKED_WARPS = 512
"""Warps that a look of the study executes: all of a small frame, whose longest warps decide its time."""
STEPS = 128
"""Candidates up to the target's rays, at least: a step is then 1 % of the time, of a ray less."""
RENDERERS: dict[str, type[SoftwareRenderer] | type[HardwareRenderer]] = {
    "software": SoftwareRenderer,
    "rt-unit": HardwareRenderer,
}
MODELS = {"software": ("modern", "paper"), "rt-unit": ("rt-unit", "modern")}
"""Models whose errors are compared; the first one serves the controllers."""


def run_study(plan: Plan, out: Path, store: Path) -> list[str]:
    """Run every animation, write its rows and picture to ``out``, and the page; returns the page's lines.

    store  keeps rendered frames, so that a study that was interrupted goes on.
    """
    out.mkdir(parents=True, exist_ok=True)
    parts = []
    for each in _animations(plan, store):
        write_rows(out / f"{each.stem}.csv", each.rows, each.target_ms)
        parts.append(each)
    lines = list(page(plan, parts))
    with atomic_file(out / "README.md") as partial:
        partial.write_text("\n".join(lines) + "\n")
    return lines


def _animations(plan: Plan, store: Path) -> Iterator[Animation]:
    for scene in plan.scenes:
        renderer: Renderer = RENDERERS[plan.tracing](load(scene))
        for path in ("orbit", "turn") if plan.turn and scene == plan.scenes[0] else ("orbit",):
            for name in plan.gpus:
                yield _animation(plan, renderer, path, name, store)


def _animation(plan: Plan, renderer: Renderer, path: str, name: str, store: Path) -> Animation:
    gpu = part_of(name, plan.part)
    way = cameras(renderer.scene, path, plan.frames if path == "orbit" else plan.first)[: plan.first]
    plant = Plant(renderer, gpu, plan.size, store)
    found = candidates([knob("occlusion_rays", 4 * plan.rays, min(STEP, plan.rays / STEPS))], Settings())
    first = found.settings.index(Settings(plan.rays))
    known = Known(way[0], first, plant(way[0], Settings(plan.rays)))
    if path == "turn":
        way.reverse()  # towards the scene, where the rays of a frame before the turn may be far too many
    loop = Loop(
        renderer, _fitted(name, plan.part), plant, plan.size, known.measured.ms, found,
        Policy(hysteresis=0), MODELS[plan.tracing][0], plant.resident_blocks, look=Look(LOOKED_WARPS, plan.rays),
        seen={},
    )  # fmt: skip
    rest = way[: plan.others] if path == "orbit" else way
    controllers = CONTROLLERS[1:] if plan.oracle and path == "orbit" else CONTROLLERS[1:-1]
    rows = run_controllers(loop, way, ["feedback"], known) + run_controllers(loop, rest, controllers, known)
    errors = {
        model: float(
            np.abs(untuned_ratios(replace(loop, model=model), rest, plan.rays, known.measured.hits) - 1).mean()
        )
        for model in MODELS[plan.tracing]
    }
    return Animation(f"{renderer.scene.name}-{path}-{name}", path, loop.target_ms, rows, errors)


def part_of(name: str, factor: int) -> Gpu:
    """A part of a GPU, with two SMs and a memory partition at least.

    factor  divides its SMs and its memory partitions, as far as that leaves them.
    """
    gpu = load_gpu(name)
    factor = max(min(factor, gpu.sm.count // 2, gpu.memory.count), 1)
    if factor > 1 and gpu.memory.partition_hash == "ipoly":  # which needs sixteen slices
        gpu = gpu.with_values(**{"memory.partition_hash": "consecutive"})
    return downscale(gpu, factor)


@cache
def _fitted(name: str, part: int) -> Device:
    return fit(part_of(name, part)).device


def untuned_ratios(loop: Loop, way: Sequence[Camera], rays: float, hits: Hits = FIRST) -> NDArray[np.float64]:
    """The model's prediction by the time, float64[frames], of frames with equal rays; ``hits`` before the first."""
    place = int(np.argmin([abs(settings.occlusion_rays - rays) for settings in loop.candidates.settings]))
    ratios = []
    for camera in way:
        predicted = loop.times(camera, hits)[place]
        measured = loop.plant(camera, loop.candidates.settings[place])
        ratios.append(predicted / measured.ms)
        hits = measured.hits
    return np.array(ratios)
