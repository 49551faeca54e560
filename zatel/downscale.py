"""Step 3: a GPU K times smaller (paper III-C)."""

import math

from replay import gpu_description
from replay.gpu_description import Gpu


def load_gpu(name: str) -> Gpu:
    """The GPU called ``name`` (``rtx2060``, ``mobile``), or described by the TOML file ``name``.

    ``UserError`` when there is none, or it breaks a rule.
    """
    return gpu_description.load(name)


def scale_factor(gpu: Gpu) -> int:
    """K, the greatest common divisor of the SMs and the memory partitions: 6 for RTX 2060, 4 for the mobile GPU."""
    return math.gcd(gpu.sm.count, gpu.memory.count)


def parts(gpu: Gpu) -> dict[str, int]:
    """The two parts of the GPU that are divided by K, and how many of each there are."""
    return {"SMs": gpu.sm.count, "memory partitions": gpu.memory.count}
