"""Figure 14: the L2 shared (MPS), divided by slices (MiG), and by ways (TAP)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from rayplay.crisp import pairs
from rayplay.crisp.experiment import Experiment, Found
from rayplay.crisp.pairs import BASE, judged, listed, means, speeds
from rayplay.crisp.suite import RTX, Suite
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Finding, Value, mean, singles

NAME = "ways"
PARTITIONS = (BASE, "mig", "tap")
WAYS = "compute ways"
LIMITED = ("VIO", "NN")  # partners whose bandwidth MiG limits
CLOSE = 0.05  # "matches"
LIMITS = "own kernels for the partners; pictures below 2560x1440 need less of the L2"


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """All pairs."""
    return pairs.tasks(suite, RTX, PARTITIONS)


def values(found: Found) -> Iterator[Value]:
    """Cycles and speeds; under TAP the partner's ways of the L2 after the first division, the median over time."""
    yield from pairs.values(NAME, found)
    for case, one in found.items():
        if case.partition == "tap":
            yield Value(NAME, case, WAYS, median_over_time(one["ways"]["cycle"], one["ways"]["compute"], one["cycles"]))


def median_over_time(cycles: Sequence[int], held: Sequence[int], end: int) -> float:
    """Median over time of ways held from each of the cycles on, up to the end.

    The first plan, before any division, counts only where there is no other.
    """
    spans = np.diff([*cycles, end])[len(cycles) > 1 :]
    own = np.array(held)[len(cycles) > 1 :]
    order = np.argsort(own, kind="stable")
    reached = np.cumsum(spans[order])
    return float(own[order][np.searchsorted(reached, reached[-1] / 2)])


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """TAP beside MPS and MiG."""
    overall = {name: mean(speeds(values, NAME, name)) for name in PARTITIONS}
    here = f"mean over pairs: {listed(overall)}"
    yield Finding("Fig. 14", "TAP matches MPS", abs(overall["tap"] - 1) <= CLOSE, "no speed-up", here, LIMITS)
    yield Finding("Fig. 14", "TAP outperforms MiG", overall["tap"] > overall["mig"], "TAP is faster", here, LIMITS)
    divided = means(values, NAME, "mig")
    holds = judged(LIMITED, divided, lambda one: divided[one] < 1)
    yield Finding("Fig. 14", "MiG slows VIO and NN, whose bandwidth it limits", holds, "slower than MPS",
                  f"MiG over MPS: {listed(divided)}", LIMITS)  # fmt: skip
    least = singles(values, NAME, WAYS, partition="tap", partner="HOLO")
    yield Finding("VI-C", "TAP leaves the hologram one way", set(least.values()) == {1.0} if least else None, "1",
                  ", ".join(f"{case.graphics} {one:.0f} of 16" for case, one in least.items()), LIMITS)  # fmt: skip


EXPERIMENT = Experiment(
    NAME, "Figure 14: TAP and MiG", tasks, values, findings, partial(pairs.table, name=NAME),
    lambda values, path: pairs.draw(values, NAME, f"Fig. 14  speed over MPS on {RTX}", path),
)  # fmt: skip
