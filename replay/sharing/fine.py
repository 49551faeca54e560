"""Fine-grained sharing: each class has a share of every SM's warps, CTAs, registers and shared memory.

Equal shares are EVEN. A class never holds more than its share, rounded down, and what it leaves free stays free.
Source: ``docs/sources/crisp.md#partitions``.
"""

from dataclasses import dataclass

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sharing.plan import Plan, Work, shares_of, whole_sms
from rayplay.replay.unit.schema import value


@dataclass(frozen=True)
class Spec:
    """Shares of every SM."""

    rule: str = value("name", "Which rule divides the GPU", choices=("fine",))
    shares: tuple[int, ...] = value("count", "Share of each class of every SM, in proportion; none given: equal ones")


def plan(spec: Spec, gpu: Gpu, work: Work) -> Plan:
    """The same quotas of every SM."""
    shares = np.array(shares_of(spec.shares, work))
    return Plan(divided(whole_sms(gpu.sm, len(work.names)), shares, int(shares.sum())))


def divided(quota: np.ndarray, shares: np.ndarray, whole: int) -> np.ndarray:
    """Quotas of ``shares[c] / whole`` of the resources for class c, rounded down."""
    return quota * shares[:, None] // whole
