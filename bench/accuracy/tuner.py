"""Errors of the tuner: of its models where nothing is tuned, and of the closed loop by each knob.

Command: ``python -m bench.accuracy.tuner [SCENE ...] [--gpu GPU] [--part K] [--tracing rt-unit] [--frames 8]``. The
frames are the first ones of a hundred of the scene's orbit (``tracer.motion``), on a K-th of the GPU, after a frame
that is known. Prints a line per scene and model: the mean distance of the predicted time from the replay's, in per
cent, with equal rays and no correction, and the mean of predicted by measured. Then a line per knob: the distance from
the target with feedback, mean and worst after the fifth frame.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rayplay.tracer.motion import cameras
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.controller import Policy
from rayplay.tuner.executed import Look
from rayplay.tuner.fit import fit
from rayplay.tuner.knobs import KNOBS, Knob, candidates, knob
from rayplay.tuner.loop import Known, Loop
from rayplay.tuner.plant import Plant
from rayplay.tuner.report import SETTLED
from rayplay.tuner.settings import Settings
from rayplay.tuner.study.run import LOOKED_WARPS, MODELS, RENDERERS, part_of, untuned_ratios

PATH_FRAMES = 100
START = {"occlusion_rays": 4.0, "shadow_rays": 2.0, "samples": 2.0, "radius": 0.1, "scale": 0.7}
"""Values of the known frame, whose time is the target; other parameters stay at ``SETTINGS``."""
SETTINGS = Settings(occlusion_rays=4.0, shadow_rays=1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=["cornell", "terrain:2000"])
    parser.add_argument("--gpu", default="mobile")
    parser.add_argument("--part", type=int, default=16)
    parser.add_argument("--tracing", choices=tuple(RENDERERS), default="rt-unit")
    parser.add_argument("--frames", type=int, default=8)
    parser.add_argument("--size", default="96x72")
    chosen = parser.parse_args()
    width, height = map(int, chosen.size.split("x"))
    gpu = part_of(chosen.gpu, chosen.part)
    device = fit(gpu).device
    for name in chosen.scenes:
        renderer = RENDERERS[chosen.tracing](load(name))
        plant = Plant(renderer, gpu, (width, height))
        way = cameras(renderer.scene, "orbit", PATH_FRAMES)[: chosen.frames]
        for each in KNOBS:
            value = knob(each, 4 * START.get(each, 1))
            found = candidates([value], SETTINGS)
            place = int(np.argmin(np.abs(value.values - START[each])))
            known = Known(way[0], place, plant(way[0], found.settings[place]))
            loop = Loop(
                renderer, device, plant, (width, height), known.measured.ms, found, Policy(hysteresis=0),
                MODELS[chosen.tracing][0], plant.resident_blocks, look=Look(LOOKED_WARPS), seen={},
            )  # fmt: skip
            if each == "occlusion_rays":
                _print_models(loop, way, known, name, MODELS[chosen.tracing])
            _print_knob(loop, way, known, name, value)


def _print_models(loop: Loop, way: Sequence[Camera], known: Known, name: str, models: tuple[str, ...]) -> None:
    for model in models:
        ratios = untuned_ratios(replace(loop, model=model), way, START["occlusion_rays"], known.measured.hits)
        error = 100 * np.abs(ratios - 1).mean()
        print(f"{name}, model {model}: {error:.1f} %, predicted {ratios.mean():.2f} of the time", flush=True)


def _print_knob(loop: Loop, way: Sequence[Camera], known: Known, name: str, value: Knob) -> None:
    frames = list(loop.run(way, "feedback", known))
    away = 100 * np.abs(np.array([frame.measured_ms for frame in frames]) / loop.target_ms - 1)
    chosen = [frame.value for frame in frames]
    print(
        f"{name}, knob {value.name}: mean {away.mean():.1f} %, worst after the fifth {away[SETTLED:].max():.1f} %, "
        f"values {min(chosen):.3g} to {max(chosen):.3g}",
        flush=True,
    )


if __name__ == "__main__":
    main()
