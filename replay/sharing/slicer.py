"""Warped-Slicer: shares of every SM from a sample in which each SM runs one class with a share of its own.

While it samples, the first half of the SMs runs the first of two classes, SM i with (i + 1) / half of its resources,
and the second half the second. After ``sample_cycles`` the shares are chosen by the instructions issued: of all pairs
of samples that fit together the one with most (``pairs``, as released), or part after part to the class that has least
of its best rate (``waterfill``, as published). The first class then has its share of every SM, the second the rest.
Sampling begins again when a kernel of a kind in ``reset_on`` ends. Source: ``docs/sources/crisp.md#partitions``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sharing.fine import divided
from rayplay.replay.sharing.plan import Observed, Plan, Work, whole_sms
from rayplay.replay.unit.schema import law, value

KINDS = ("graphics", "raytracing", "compute")


@dataclass(frozen=True)
class Spec:
    """How shares are searched for."""

    rule: str = value("name", "Which rule divides the GPU", choices=("slicer",))
    search: str = value("name", "How shares follow from the samples", choices=("pairs", "waterfill"))
    sample_cycles: int = value("cycles", "Length of the sampling", 1)
    reset_on: tuple[str, ...] = value("name", "Kinds of classes of which a kernel's end begins the sampling again")

    def __post_init__(self) -> None:
        law(set(self.reset_on) <= set(KINDS), f"reset_on must be of {', '.join(KINDS)}, not {', '.join(self.reset_on)}")


def plan(spec: Spec, gpu: Gpu, work: Work) -> Plan:
    """The quotas of the sampling."""
    sms, half = gpu.sm.count, gpu.sm.count // 2
    work.expect(len(work.names) == 2, f"takes two classes, not {len(work.names)}")
    work.expect(half >= 2, f"needs at least 4 SMs to sample, not {sms}")
    least = least_levels(gpu, work)
    fits = " and ".join(f"{level} of {half} parts for {name}" for level, name in zip(least, work.names, strict=True))
    work.expect(sum(least) <= half, f"the classes' CTAs never fit into an SM together: they need {fits}")
    quota = whole_sms(gpu.sm, 2)
    for sm in range(sms):
        level = min(sm % half + 1, half) if sm < 2 * half else half
        owner = int(sm >= half)
        quota[sm] = divided(quota[sm], np.where(np.arange(2) == owner, level, 0), half)
    return Plan(quota)


def least_levels(gpu: Gpu, work: Work) -> list[int]:
    """Least share of each class, in parts of half the SMs, that every CTA of it fits into."""
    half, whole = gpu.sm.count // 2, whole_sms(gpu.sm, 1)[0, 0]
    levels = np.arange(1, half + 1)
    fits = (whole * levels[:, None] // half)[None] >= work.needs[:, None]
    return [int(levels[own.all(axis=1)][0]) for own in fits]


class Chooser:
    """Samples, then divides every SM."""

    def __init__(self, spec: Spec, gpu: Gpu, work: Work) -> None:
        self.spec, self.gpu, self.half = spec, gpu, gpu.sm.count // 2
        self.plan, self.least, self.due = plan(spec, gpu, work), least_levels(gpu, work), spec.sample_cycles
        self.before = np.zeros((gpu.sm.count, 2), np.int64)

    def decide(self, seen: Observed) -> Plan | None:
        """The plan from now on; None while a class has issued nothing."""
        issued, half = seen.instructions - self.before, self.half
        rates = np.stack([issued[:half, 0], issued[half : 2 * half, 1]])
        self.due = seen.cycle + self.spec.sample_cycles
        if not rates.any(axis=1).all():
            return None
        self.due = NEVER
        level = SEARCHES[self.spec.search](rates, self.least)
        return Plan(divided(whole_sms(self.gpu.sm, 2), np.array([level, half - level]), half))

    def kernel_ended(self, kind: str, seen: Observed) -> Plan | None:
        """Sample again, where kernels of this kind have it so."""
        if kind not in self.spec.reset_on:
            return None
        self.before, self.due = seen.instructions, seen.cycle + self.spec.sample_cycles
        return self.plan


NEVER = 1 << 62  # cycle


def best_pair(rates: np.ndarray, least: list[int]) -> int:
    """Share of the first class in the pair of samples with most instructions that fit together, the first of several.

    rates  int64[2, half]: instructions with 1, 2, ... parts of half; least: parts of each class.
    """
    half, found, most = rates.shape[1], least[0], -1
    for first in range(least[0], half - least[1] + 1):
        total = int(rates[0, first - 1] + rates[1, least[1] - 1 : half - first].max())
        if total > most:
            found, most = first, total
    return found


def fill_water(rates: np.ndarray, least: list[int]) -> int:
    """Share of the first class when each next part goes to the class that has least of its best rate."""
    half, held = rates.shape[1], list(least)
    best = rates.max(axis=1)
    while sum(held) < half:
        parts = [int(rates[number, held[number] - 1]) * int(best[1 - number]) for number in (0, 1)]
        held[parts[1] < parts[0]] += 1
    return held[0]


SEARCHES: dict[str, Callable[[np.ndarray, list[int]], int]] = {"pairs": best_pair, "waterfill": fill_water}
