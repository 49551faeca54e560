"""TAP and UCP: MPS, and the ways of the L2's sets go where they hit most, period by period; or have fixed shares.

A hit is counted for its class by how many lines of its set were used since its line was: with w ways the class would
have had the hits below w. These lines are the shared set's, or of monitors that have every class alone. Every period,
where a class has more than ``ratio`` times the accesses of another, its counts are divided by that ratio, rounded down;
the ways are divided so that the hits of all sum to the most. A class that has its ways evicts its own lines; one below
them any line, or lines of classes above theirs. Unlike the released code an access is counted once, and no way for two
classes. Source: ``docs/sources/crisp.md#partitions``.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sharing import mps
from rayplay.replay.sharing.plan import NEVER, Observed, Plan, Work
from rayplay.replay.unit.schema import value


@dataclass(frozen=True)
class Spec:
    """SMs of each class, and how ways are divided."""

    rule: str = value("name", "Which rule divides the GPU", choices=("tap",))
    shares: tuple[int, ...] = value("count", "SMs of each class, in proportion; none given: equally many")
    period_cycles: int = value("cycles", "Between two divisions of the ways", 1)
    ratio: int = value(
        "count", "Accesses of a class for one of another from which on its counts are divided; 0: never", 0
    )
    min_ways: int = value("lines", "Least ways of a class", 1)
    keep_percent: int = value("percent", "Share of the counts that stays for the next period", 0)
    monitor: str = value(
        "word", "Where hits are counted: in the L2 that all share, or in tags of every 32nd set as of each class alone",
        choices=("shared", "alone"),
    )  # fmt: skip
    evicts: str = value("word", "Whose line a class below its ways evicts", choices=("any", "above_their_ways"))
    ways: tuple[int, ...] = value("lines", "Ways of each class from the beginning to the end; none given: by utility")


def plan(spec: Spec, gpu: Gpu, work: Work) -> Plan:
    """SMs as under MPS; without ways of their own classes may have all until the first division."""
    made = mps.plan(mps.Spec("mps", spec.shares), gpu, work)
    classes, most = len(work.names), gpu.l2.ways
    work.expect(classes * spec.min_ways <= most, f"min_ways must leave l2.ways ({most}) for all")
    work.expect(
        not spec.ways or (len(spec.ways) == classes and min(spec.ways) >= 1 and sum(spec.ways) <= most),
        f"ways must be at least 1 of l2.ways ({most}) for each of {classes} classes, not {list(spec.ways)}",
    )
    ways = np.array(spec.ways or [most] * classes, np.int64)
    return replace(made, ways=ways, takes_back=spec.evicts == "above_their_ways", has_monitors=spec.monitor == "alone")


class Chooser:
    """Divides the ways every period."""

    def __init__(self, spec: Spec, gpu: Gpu, work: Work) -> None:
        self.spec, self.plan = spec, plan(spec, gpu, work)
        self.due = NEVER if spec.ways else spec.period_cycles
        self.before = np.zeros(len(work.names), np.int64)

    def decide(self, seen: Observed) -> Plan:
        """The plan from now on."""
        self.due = seen.cycle + self.spec.period_cycles
        accesses, self.before = seen.accesses - self.before, seen.accesses
        ways = best_ways(normalised(seen.use, accesses, self.spec.ratio), seen.use, self.spec.min_ways)
        seen.keep(self.spec.keep_percent)
        return replace(self.plan, ways=np.array(ways, np.int64))

    def kernel_ended(self, events: Collection[str], seen: Observed) -> None:
        """Nothing changes."""


def normalised(use: np.ndarray, accesses: np.ndarray, ratio: int) -> np.ndarray:
    """Counts divided by how many accesses a class has for one of the class with fewest, where these are many."""
    times = accesses // max(int(accesses.min()), 1)
    return use // np.where((times > ratio) & (ratio > 0), times, 1)[:, None]


def best_ways(use: np.ndarray, counted: np.ndarray, least: int) -> tuple[int, ...]:
    """Ways of each class with the most hits in all, each ``least`` or more.

    Counts that are divided are rounded to 0 first where they are small: of several divisions that with the most hits as
    they were counted; of these that which leaves spare ways to the class with most of them, then the first in order.
    use  int64[classes, ways]: hits by the lines of the set that were used since; counted: before ``normalised``.
    """
    classes, ways = use.shape
    nothing = np.zeros((classes, 1), np.int64)
    hits, raw = (np.concatenate([nothing, np.cumsum(each, axis=1)], axis=1) for each in (use, counted))
    found, most = (ways,), (-1, -1, -1)
    for first in product(range(least, ways + 1), repeat=classes - 1):
        last = ways - sum(first)
        if last >= least:
            held = (*first, last)
            total, own = (sum(int(each[number, mine]) for number, mine in enumerate(held)) for each in (hits, raw))
            worth = total, own, int((raw[:, -1] * held).sum())
            if worth > most:
                found, most = held, worth
    return found
