"""MiG: each class has SMs of its own, as under MPS, and as large a part of the L2's slices and their DRAM channels.

Of P slices a class with n finds what its address has in slice p in its slice p x n / P (``l2.slice.goes_to``); the
channel follows the slice. Unlike in the released code no slice belongs to two classes, and all of a class get as much.
Source: ``docs/sources/crisp.md#partitions``.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sharing.mps import own_sms, sm_bounds
from rayplay.replay.sharing.plan import Plan, Work, bounds, expect_some
from rayplay.replay.unit.schema import value


@dataclass(frozen=True)
class Spec:
    """SMs of each class; slices follow."""

    rule: str = value("name", "Which rule divides the GPU", choices=("mig",))
    shares: tuple[int, ...] = value("count", "SMs of each class, in proportion; none given: equally many")


def plan(spec: Spec, gpu: Gpu, work: Work) -> Plan:
    """SMs as under MPS, and slices in proportion to them."""
    parts = sm_bounds(spec.shares, gpu, work)
    own = bounds(np.diff(parts).tolist(), gpu.l2_slices)
    expect_some(own, work, "L2 slices")
    return Plan(own_sms(gpu, parts), np.array([(first, end - first) for first, end in pairwise(own)], np.int64))
