"""MPS: each class has SMs of its own, the first class the first ones; L2 and DRAM are shared.

Source: ``docs/sources/crisp.md#partitions``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sharing.plan import Plan, Work, bounds, expect_some, shares_of, whole_sms
from rayplay.replay.unit.schema import value


@dataclass(frozen=True)
class Spec:
    """SMs of each class."""

    rule: str = value("name", "Which rule divides the GPU", choices=("mps",))
    shares: tuple[int, ...] = value("count", "SMs of each class, in proportion; none given: equally many")


def plan(spec: Spec, gpu: Gpu, work: Work) -> Plan:
    """SMs ``bounds[c]`` to ``bounds[c + 1]`` for class c."""
    return Plan(own_sms(gpu, sm_bounds(spec.shares, gpu, work)))


def sm_bounds(shares: Sequence[int], gpu: Gpu, work: Work) -> list[int]:
    """First SM of each class, and the end; ``UserError`` when one has none."""
    parts = bounds(shares_of(shares, work), gpu.sm.count)
    expect_some(parts, work, "SMs")
    return parts


def own_sms(gpu: Gpu, parts: Sequence[int]) -> np.ndarray:
    """Quotas of whole SMs for their own class, and of nothing for the others."""
    quota = whole_sms(gpu.sm, len(parts) - 1)
    owner = np.searchsorted(parts, np.arange(gpu.sm.count), side="right") - 1
    quota[owner[:, None] != np.arange(len(parts) - 1)] = 0
    return quota
