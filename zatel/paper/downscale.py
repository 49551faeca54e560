"""Step 3: a GPU K times smaller (Zatel III-C)."""

import dataclasses
import math

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu


def scale_factor(gpu: Gpu) -> int:
    """K, the greatest common divisor of the SMs and the memory partitions: 6 for RTX 2060, 4 for the mobile GPU."""
    return math.gcd(gpu.sm.count, gpu.memory.count)


def parts(gpu: Gpu) -> dict[str, int]:
    """The two parts of the GPU that are divided by K, and how many of each there are."""
    return {"SMs": gpu.sm.count, "memory partitions": gpu.memory.count}


def downscale(gpu: Gpu, factor: int) -> Gpu:
    """The GPU with 1/``factor`` of its SMs and memory partitions, rounded down where the factor does not divide them.

    The L2 is part of the partitions and shrinks with them, and so does DRAM's bandwidth; the crossbar follows
    (Zatel III-C). The paper's sweep of K from 2 to 6 on 30 SMs and 12 partitions needs the rounding; the released code
    rounds down. ``UserError`` when nothing would be left of one of them, or the smaller GPU breaks a rule.
    """
    if factor == 1:
        return gpu
    count = {name: number // factor for name, number in parts(gpu).items()}
    for name, number in parts(gpu).items():
        if not count[name]:
            raise UserError(f"GPU {gpu.name}: --factor {factor} must leave some of the {number} {name}")
    partitions = count["memory partitions"]
    try:
        return dataclasses.replace(
            gpu,
            name=f"{gpu.name}/{factor}",
            sm=dataclasses.replace(gpu.sm, count=count["SMs"]),
            memory=dataclasses.replace(gpu.memory, count=partitions),
            l2=dataclasses.replace(gpu.l2, bytes=gpu.l2.bytes // gpu.memory.count * partitions),
        )
    except ValueError as error:
        raise UserError(f"GPU {gpu.name} scaled by {factor}: {error}") from None
