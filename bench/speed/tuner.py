"""The tuner: process CPU time of one decision, the look at the frame included.

    python -m bench.speed.tuner             # candidates of 0 to 256 rays at 640x480, by each model
    python -m bench.speed.tuner bunny park  # of other scenes

The target is 50 ms. Process time counts every thread.
"""

import argparse

from bench.speed.clock import seconds
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.tracer.scenes import load
from rayplay.tuner.controller import choose
from rayplay.tuner.fit import fit
from rayplay.tuner.hardware import HardwareRenderer
from rayplay.tuner.kernel import SoftwareRenderer
from rayplay.tuner.knobs import candidates, knob
from rayplay.tuner.loop import Loop
from rayplay.tuner.plant import no_plant
from rayplay.tuner.settings import Settings
from rayplay.tuner.times import MODELS

SIZE, MOST_RAYS, GPU, RESIDENT_BLOCKS, TARGET_MS = (640, 480), 256, "mobile", 16, 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=["cornell", "forest"])
    device = fit(load_gpu(GPU)).device
    for name in parser.parse_args().scenes:
        scene = load(name)
        found = candidates([knob("occlusion_rays", MOST_RAYS)], Settings())
        for model in MODELS:
            renderer = HardwareRenderer(scene) if model == "rt-unit" else SoftwareRenderer(scene)
            loop = Loop(
                renderer, device, no_plant, SIZE, TARGET_MS, found, model=model, resident_blocks=RESIDENT_BLOCKS
            )  # fmt: skip
            taken = seconds(lambda loop=loop: choose(loop.times(loop.renderer.scene.camera), TARGET_MS), warm=True)
            print(f"{name}, model {model}: {1000 * taken:.1f} ms a decision (target 50)")


if __name__ == "__main__":
    main()
