"""Figure 12: shares of every SM, equal ones and Warped-Slicer's, beside SMs of one's own."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from rayplay.crisp import pairs
from rayplay.crisp.experiment import Experiment, Found
from rayplay.crisp.pairs import BASE, judged, listed, means, speeds
from rayplay.crisp.suite import ORIN, PARTNERS, Suite
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Finding, Value, mean

NAME = "slicer"
PARTITIONS = (BASE, "even", "slicer", "greedy")
ALIKE = 0.002  # means that differ by no more are equal, to the digits of the page
LIMITS = "own kernels for the partners; greedy is not in the paper"


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """All pairs."""
    return pairs.tasks(suite, ORIN, PARTITIONS)


def values(found: Found) -> Iterator[Value]:
    """Cycles and speeds."""
    return pairs.values(NAME, found)


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Who is fastest, and who gains."""
    overall = {name: mean(speeds(values, NAME, name)) for name in PARTITIONS}
    ahead = overall["even"] - max(overall[BASE], overall["slicer"])
    yield Finding(
        "Fig. 12", "EVEN is faster than MPS and than Warped-Slicer", ahead > 0 if abs(ahead) > ALIKE else None,
        "EVEN is fastest of three",
        f"mean over pairs: {listed(overall)}", LIMITS,
    )  # fmt: skip
    even, sliced = means(values, NAME, "even"), means(values, NAME, "slicer")
    yield Finding(
        "Fig. 12", "The network gains most from sharing every SM",
        judged(PARTNERS, even, lambda one: even["NN"] > 1 and even["NN"] >= even[one]), "NN gains most",
        f"EVEN over MPS: {listed(even)}", LIMITS,
    )  # fmt: skip
    yield Finding(
        "Fig. 12", "Warped-Slicer does not pay for VIO and HOLO",
        judged(("VIO", "HOLO"), sliced, lambda one: sliced[one] < even[one]), "slower than EVEN",
        f"Warped-Slicer: {listed(sliced)}; EVEN: {listed(even)}", LIMITS,
    )  # fmt: skip


EXPERIMENT = Experiment(
    NAME, "Figure 12: Warped-Slicer", tasks, values, findings, partial(pairs.table, name=NAME),
    lambda values, path: pairs.draw(values, NAME, f"Fig. 12  speed over MPS on {ORIN}", path),
)  # fmt: skip
