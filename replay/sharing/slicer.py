"""Warped-Slicer: shares of every SM from a sample in which each SM runs one class with a share of its own.

While it samples, as many SMs run each class in turn as the GPU has SMs for one: of n, SM i with (i + 1) / n of its
resources. After ``sample_cycles`` the shares are chosen by the instructions issued: of all samples that fit together
those with most (``pairs``, as released: the last class has the rest), or step after step to the class that has least of
its best rate (``waterfill``, as published: parts that raise no rate stay free; where a class would lose too much, all
have SMs of their own). Sampling begins again when a kernel of a kind in ``reset_on``, or a draw, ends. Source:
``docs/sources/crisp.md#partitions``.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sharing.fine import divided
from rayplay.replay.sharing.mps import own_sms
from rayplay.replay.sharing.plan import NEVER, Observed, Plan, Work, bounds, whole_sms
from rayplay.replay.unit.schema import law, value

EVENTS = ("graphics", "raytracing", "compute", "draw")


@dataclass(frozen=True)
class Spec:
    """How shares are searched for."""

    rule: str = value("name", "Which rule divides the GPU", choices=("slicer",))
    search: str = value("name", "How shares follow from the samples", choices=("pairs", "waterfill"))
    sample_cycles: int = value("cycles", "Length of the sampling", 1)
    restarts: bool = value(
        "switch", "Whether the end of any kernel during the sampling begins the count of sample_cycles again"
    )
    most_loss_percent: int = value(
        "percent",
        "Loss of its best rate that waterfill may leave a class, above which each has SMs of its own; 100: any",
        0,
    )
    reset_on: tuple[str, ...] = value(
        "name", "The end of a kernel of these kinds of classes, or of a draw, begins the sampling again"
    )

    def __post_init__(self) -> None:
        law(
            set(self.reset_on) <= set(EVENTS),
            f"reset_on must be of {', '.join(EVENTS)}, not {', '.join(self.reset_on)}",
        )
        law(
            self.search == "waterfill" or self.most_loss_percent >= 100,
            f"most_loss_percent is of search waterfill; {self.search} needs 100, found {self.most_loss_percent}",
        )


def plan(spec: Spec, gpu: Gpu, work: Work) -> Plan:
    """The quotas of the sampling."""
    sms, classes = gpu.sm.count, len(work.names)
    parts = sms // classes
    work.expect(parts >= 2, f"needs at least {2 * classes} SMs to sample {classes} classes, not {sms}")
    least = least_levels(gpu, work)
    fits = " and ".join(f"{level} of {parts} parts for {name}" for level, name in zip(least, work.names, strict=True))
    work.expect(sum(least) <= parts, f"the classes' CTAs never fit into an SM together: they need {fits}")
    quota = whole_sms(gpu.sm, classes)
    for sm in range(sms):
        owner = min(sm // parts, classes - 1)
        level = min(sm - owner * parts + 1, parts)  # SMs left over run the last class with all
        quota[sm] = divided(quota[sm], np.where(np.arange(classes) == owner, level, 0), parts)
    return Plan(quota)


def least_levels(gpu: Gpu, work: Work) -> list[int]:
    """Least share of each class, in parts of its SMs, that every CTA of it fits into."""
    parts, whole = gpu.sm.count // len(work.names), whole_sms(gpu.sm, 1)[0, 0]
    levels = np.arange(1, parts + 1)
    fits = (whole * levels[:, None] // parts)[None] >= work.needs[:, None]
    return [int(levels[own.all(axis=1)][0]) for own in fits]


class Chooser:
    """Samples, then divides every SM."""

    def __init__(self, spec: Spec, gpu: Gpu, work: Work) -> None:
        self.spec, self.gpu, self.classes = spec, gpu, len(work.names)
        self.plan, self.least, self.due = plan(spec, gpu, work), least_levels(gpu, work), spec.sample_cycles
        self.before = np.zeros((gpu.sm.count, self.classes), np.int64)

    def decide(self, seen: Observed) -> Plan | None:
        """The plan from now on; None while a class has issued nothing."""
        issued, parts = seen.instructions - self.before, self.gpu.sm.count // self.classes
        rates = np.stack([issued[own * parts : (own + 1) * parts, own] for own in range(self.classes)])
        self.due = seen.cycle + self.spec.sample_cycles
        if not rates.any(axis=1).all():
            return None
        self.due = NEVER
        levels = SEARCHES[self.spec.search](rates, self.least)
        if self.spec.search == "pairs":
            levels[-1] = parts - sum(levels[:-1])
        elif loses_more(rates, levels, self.spec.most_loss_percent):
            return Plan(own_sms(self.gpu, bounds((1,) * self.classes, self.gpu.sm.count)))
        return Plan(divided(whole_sms(self.gpu.sm, self.classes), np.array(levels), parts))

    def kernel_ended(self, events: Collection[str], seen: Observed) -> Plan | None:
        """Sample again, where one of the ``EVENTS`` that its end is has it so."""
        if not set(events) & set(self.spec.reset_on):
            if self.spec.restarts and self.due != NEVER:
                self.due = seen.cycle + self.spec.sample_cycles
            return None
        self.before, self.due = seen.instructions.copy(), seen.cycle + self.spec.sample_cycles
        return self.plan


def best_together(rates: np.ndarray, least: list[int]) -> list[int]:
    """Parts of each class in the samples with most instructions that fit together, the first of several.

    rates  int64[classes, parts]: instructions with 1, 2, ... parts; least: parts of each class.
    """
    parts, found, most = rates.shape[1], list(least), -1
    for levels in product(*(range(own, parts + 1) for own in least)):
        total = sum(int(rates[own, level - 1]) for own, level in enumerate(levels))
        if sum(levels) <= parts and total > most:
            found, most = list(levels), total
    return found


def fill_water(rates: np.ndarray, least: list[int]) -> list[int]:
    """Parts of each class when the next go to the class that has least of its best, the first of several.

    A class takes as many as raise its rate at a time, and is full where these do not fit or none do.
    """
    held, best, parts = list(least), rates.max(axis=1).tolist(), rates.shape[1]
    unfilled = set(range(len(held)))
    while unfilled:
        own = min(unfilled, key=lambda one: (Fraction(int(rates[one, held[one] - 1]), best[one]), one))
        better = np.flatnonzero(rates[own, held[own] :] > rates[own, held[own] - 1])
        if len(better) and sum(held) + int(better[0]) + 1 <= parts:
            held[own] += int(better[0]) + 1
        else:
            unfilled.remove(own)
    return held


def loses_more(rates: np.ndarray, levels: list[int], percent: int) -> bool:
    """Whether some class has lost more of its best rate."""
    held = rates[np.arange(len(levels)), np.array(levels) - 1]
    return bool((100 * (rates.max(axis=1) - held) > percent * rates.max(axis=1)).any())


SEARCHES: dict[str, Callable[[np.ndarray, list[int]], list[int]]] = {"pairs": best_together, "waterfill": fill_water}
