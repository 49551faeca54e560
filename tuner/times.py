"""Predicted times of all candidates of a frame, by each model."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.counts import Instructions, Readings, count_instructions
from rayplay.tuner.device import Device
from rayplay.tuner.executed import Executed, Look, Renderer
from rayplay.tuner.kernel import SoftwareRenderer
from rayplay.tuner.knobs import Candidates, Section
from rayplay.tuner.model import launch_of_image, predict
from rayplay.tuner.modern import Hits, caches_of, predict_cycles
from rayplay.tuner.settings import Settings
from rayplay.tuner.workload import look_at

MODELS = ("paper", "modern", "rt-unit")
"""The paper's; ours, which knows caches; ours, which also knows the ray-tracing unit."""


@dataclass(frozen=True)
class Looked:
    """Work of a frame at each knot of a section of candidates."""

    section: Section
    work: list[Executed]


Looks = list[Looked]


def look(
    renderer: Renderer, device: Device, camera: Camera, size: tuple[int, int], candidates: Candidates, how: Look
) -> Looks:
    """Work of a frame in every section, looked at or on the straight line through two numbers of rays.

    Raises ``UserError`` for a device without caches.
    """
    caches, made = caches_of(device), []
    for section in candidates.sections:
        knob = section.knob
        values = knob.looked or (float(knob.values[0]), float(knob.values[0]) + how.probes)
        work = [renderer.execute(camera, size, section.at(value), caches, how.warps) for value in values]
        if not knob.looked:
            first, second = values
            work = [work[0].towards(work[1], (value - first) / (second - first)) for value in knob.knots]
        made.append(Looked(section, work))
    return made


def times_of(
    looks: Looks, renderer: Renderer, device: Device, size: tuple[int, int], hits: Hits, resident_blocks: int,
    knows_rays: bool,
) -> NDArray[np.float64]:  # fmt: skip
    """Milliseconds of each candidate by our model, float64[candidates].

    hits  of the frame before. Raises ``UserError`` where the model does not fit the device.
    """
    made = []
    for each in looks:
        knob = each.section.knob
        cycles = [
            predict_cycles(
                device, work, hits, renderer.blocks(each.section.at(value).scaled(size)), resident_blocks, knows_rays
            )
            for value, work in zip(knob.knots, each.work, strict=True)
        ]
        made.append(np.interp(knob.values, knob.knots, cycles))
    return np.asarray(device.milliseconds(np.concatenate(made)), np.float64)


def paper_times(
    renderer: Renderer, device: Device, camera: Camera, size: tuple[int, int], candidates: Candidates,
    readings: Readings,
) -> NDArray[np.float64]:  # fmt: skip
    """Milliseconds of each candidate by the paper's model, float64[candidates].

    Raises ``UserError`` for a program whose rays a ray-tracing unit traces.
    """
    made = [_by_paper(renderer, device, camera, size, section, readings) for section in candidates.sections]
    return np.asarray(device.milliseconds(np.concatenate(made)), np.float64)


def _by_paper(
    renderer: Renderer, device: Device, camera: Camera, size: tuple[int, int], section: Section, readings: Readings
) -> NDArray[np.float64]:
    """Cycles of each value of a section."""
    if not isinstance(renderer, SoftwareRenderer):
        raise UserError("the model paper must have a program that traces rays in software, whose loops it counts")
    knob = section.knob
    if knob.name == "radius":
        knots = [_cycles(renderer, device, camera, size, section.at(value), {}, readings) for value in knob.knots]
        return np.interp(knob.values, knob.knots, np.concatenate(knots))
    swept = {knob.name: knob.values}
    found = _cycles(renderer, device, camera, size, section.settings, swept, readings)
    return np.broadcast_to(found, knob.values.shape)


def _cycles(
    renderer: SoftwareRenderer, device: Device, camera: Camera, size: tuple[int, int], settings: Settings,
    swept: dict[str, NDArray[np.float64]], readings: Readings,
) -> NDArray[np.float64]:  # fmt: skip
    """Cycles by one look; ``swept`` has the values of at most one field of the settings. float64[values, or 1]."""
    seen = replace(settings, shadow_rays=float(np.max(swept.get("shadow_rays", settings.shadow_rays))))
    load = look_at(renderer, camera, *size, seen, readings)
    varied = {name: swept.get(name, getattr(settings, name)) for name in ("occlusion_rays", "shadow_rays", "samples")}
    counted = count_instructions(
        renderer.counts, load, varied["occlusion_rays"], varied["shadow_rays"], device.has_cache, readings
    )
    of_pixel = Instructions(*(varied["samples"] * np.asarray(each) for each in vars(counted).values()))
    scales = np.atleast_1d(swept.get("scale", settings.scale))
    sizes = [replace(settings, scale=float(scale)).scaled(size) for scale in scales]
    blocks = np.array([launch_of_image(*each).blocks for each in sizes], np.float64)
    return predict(device, replace(launch_of_image(*size), blocks=blocks), of_pixel, readings).cycles
