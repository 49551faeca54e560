"""Step 3: a GPU K times smaller (Zatel III-C)."""

import dataclasses
import math
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu


def scale_factor(gpu: Gpu) -> int:
    """K, the greatest common divisor of the SMs and the memory partitions: 6 for RTX 2060, 4 for the mobile GPU."""
    return math.gcd(gpu.sm.count, gpu.memory.count)


def parts(gpu: Gpu) -> dict[str, int]:
    """The two parts of the GPU that are divided by K, and how many of each there are."""
    return {"SMs": gpu.sm.count, "memory partitions": gpu.memory.count}


def downscale(gpu: Gpu, factor: int, l2: str = "proportional") -> Gpu:
    """The GPU with 1/``factor`` of its SMs and memory partitions, rounded down where the factor does not divide them.

    l2  "proportional", as in the paper: the L2 shrinks with the partitions. "whole": the partitions that are left hold
        all of it, in more sets, with a multiplicative hash.

    DRAM's bandwidth shrinks with the partitions; the crossbar follows (Zatel III-C). The paper's sweep of K from 2 to 6
    on 30 SMs and 12 partitions needs the rounding; the released code rounds down. ``UserError`` when nothing would be
    left of one of them, or the smaller GPU breaks a rule.
    """
    if factor == 1:
        return gpu
    count = {name: number // factor for name, number in parts(gpu).items()}
    for name, number in parts(gpu).items():
        if not count[name]:
            raise UserError(f"GPU {gpu.name}: --factor {factor} must leave some of the {number} {name}")
    partitions = count["memory partitions"]
    own = {"bytes": gpu.l2.bytes // gpu.memory.count * partitions}
    changed = sized_l2(gpu, partitions, gpu.l2.bytes) if l2 == "whole" else own
    try:
        return dataclasses.replace(
            gpu,
            name=f"{gpu.name}/{factor}",
            sm=dataclasses.replace(gpu.sm, count=count["SMs"]),
            memory=dataclasses.replace(gpu.memory, count=partitions),
            l2=dataclasses.replace(gpu.l2, **changed),
        )
    except ValueError as error:
        raise UserError(f"GPU {gpu.name} scaled by {factor}: {error}") from None


def sized_l2(gpu: Gpu, controllers: int, size_bytes: float) -> dict[str, Any]:
    """Bytes and hash of an L2 of about ``size_bytes`` in some memory partitions, to the nearest whole set."""
    whole_set = controllers * gpu.l2.slices_per_controller * gpu.l2.ways * gpu.l2.line_bytes
    sets = max(1, round(size_bytes / whole_set))
    as_is = sets == gpu.l2_sets_per_slice  # other hashes need a power of two of sets
    return {"bytes": sets * whole_set, "set_hash": gpu.l2.set_hash if as_is else "multiplicative"}
