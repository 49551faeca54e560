"""Values computed apart from this project from the equations (docs/sources/tuner.md#worked-example)."""

from rayplay.tuner.counts import KernelCounts, Workload
from rayplay.tuner.model import launch_of_image

KERNEL = KernelCounts(40, 60, 150, 4, 3, 8)
LOAD = Workload(30.0, 5.0, 15.0, 2.0, 0.9, 0.6)
LAUNCH = launch_of_image(640, 480)
RAYS = 8
RAYS_SWEPT = (0, 1, 2, 4, 8, 16, 32, 64)
TARGET_MS = {"geforce-8800": 20.0, "geforce-580": 10.0, "radeon-5870": 10.0}

SWEEP_MS = {
    "geforce-8800": (5.2068, 9.35, 13.494, 21.7828, 38.3608, 71.5175, 137.831, 270.4583),
    "geforce-580": (1.3706, 1.9456, 2.5205, 3.6702, 5.9697, 10.5686, 19.7664, 38.1619),
    "radeon-5870": (1.9058, 2.7107, 3.5156, 5.1253, 8.3445, 14.783, 27.6599, 53.4136),
}
LITERAL_MS = {"geforce-8800": 64.7966, "geforce-580": 7.5759, "radeon-5870": 9.0658}
CHOSEN = {  # rays nearest to the target, its ms; rays below it
    "geforce-8800": (4, 21.7828, 3),
    "geforce-580": (15, 9.9938, 15),
    "radeon-5870": (10, 9.9542, 10),
}
