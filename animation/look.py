"""The first look at an animation: which of its frames are heavy, by the paper's model, before anything is traced.

Each frame is looked at at an eighth of its size; Ganestam and Doggett's model gives the time of their program on the
GPU (``docs/tuner.md``). The program traces in software, so that its times say how frames compare, not how long they
take.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rayplay.animation.measure import Row
from rayplay.replay.gpu.description import Gpu
from rayplay.tracer.scenes.description import Scene
from rayplay.tuner.counts import Readings
from rayplay.tuner.device import Device, names, read_device
from rayplay.tuner.fit import fit
from rayplay.tuner.kernel import SoftwareRenderer
from rayplay.tuner.knobs import candidates, knob
from rayplay.tuner.settings import Settings
from rayplay.tuner.times import paper_times

LIKE = {
    "path-tracing": Settings(occlusion_rays=4, radius=1.0),
    "ambient-occlusion": Settings(occlusion_rays=4),
    "shadows": Settings(occlusion_rays=0, shadow_rays=1),
}
"""Rays of the paper's program that are like a workload's: as long, and in step where they hit."""


def device_of(gpu: Gpu, name: str) -> Device:
    """The GPU as the model sees it: the fitted device of a built-in one, else one fitted now."""
    return read_device(name) if name in names() else fit(gpu).device


def first_looks(
    made: Sequence[Scene], device: Device, size: tuple[int, int], samples: int, workload: str
) -> Iterator[Row]:
    """A row of each frame: ``frame``, ``look_ms``.

    made      the scene of each frame.
    workload  of ``LIKE``, whose rays the paper's program traces.

    Raises ``UserError`` for a scene without triangles. Spheres are not seen.
    """
    settings = replace(LIKE[workload], samples=float(samples))
    found = candidates([knob("samples", samples, max(samples - 1, 1))], settings)
    renderer: SoftwareRenderer | None = None
    placed = None
    for number, scene in enumerate(made):
        if renderer is None or scene.instances != placed:
            renderer, placed = SoftwareRenderer(scene), scene.instances
        times = paper_times(renderer, device, scene.camera, size, found, Readings())
        yield {"frame": number, "look_ms": float(times[-1])}
