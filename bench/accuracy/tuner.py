"""Error of the tuner's models on frames that nothing tunes: equal rays, no correction by measured times.

Command: ``python -m bench.accuracy.tuner [SCENE ...] [--gpu GPU] [--tracing rt-unit] [--frames 6]``. The frames are
spread over the scene's orbit (``tracer.motion``). Prints a line per scene and model: the mean distance of the predicted
time from the replay's, in per cent, and the mean of predicted by measured. Hit shares come from the frame before.
"""

import argparse

import numpy as np

from rayplay.replay.gpu.description import load as load_gpu
from rayplay.tracer.motion import cameras
from rayplay.tracer.scenes import load
from rayplay.tuner.fit import fit
from rayplay.tuner.knobs import candidates, knob
from rayplay.tuner.loop import Loop
from rayplay.tuner.plant import Plant
from rayplay.tuner.settings import Settings
from rayplay.tuner.study.run import MODELS, RENDERERS, untuned_ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=["cornell", "terrain:2000"])
    parser.add_argument("--gpu", default="mobile")
    parser.add_argument("--tracing", choices=tuple(RENDERERS), default="software")
    parser.add_argument("--frames", type=int, default=6)
    parser.add_argument("--rays", type=int, default=8)
    parser.add_argument("--size", default="96x72")
    chosen = parser.parse_args()
    width, height = map(int, chosen.size.split("x"))
    gpu = load_gpu(chosen.gpu)
    device, found = fit(gpu).device, candidates([knob("occlusion_rays", chosen.rays, 1)], Settings())
    for name in chosen.scenes:
        renderer = RENDERERS[chosen.tracing](load(name))
        plant = Plant(renderer, gpu, (width, height))
        way = cameras(renderer.scene, "orbit", chosen.frames)
        for model in MODELS[chosen.tracing]:
            loop = Loop(
                renderer, device, plant, (width, height), 1.0, found, model=model,
                resident_blocks=plant.resident_blocks,
            )  # fmt: skip
            ratios = untuned_ratios(loop, way, chosen.rays)
            error = 100 * np.abs(ratios - 1).mean()
            print(f"{name} on {gpu.name}, model {model}: {error:.1f} %, predicted {ratios.mean():.2f} of the time")


if __name__ == "__main__":
    main()
