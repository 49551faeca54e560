"""Figure 14: the L2 shared (MPS), divided by slices (MiG), and by ways (TAP)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from rayplay.crisp import pairs
from rayplay.crisp.experiment import Experiment, Found
from rayplay.crisp.pairs import BASE, listed, means, speeds
from rayplay.crisp.suite import RTX, Suite
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Finding, Value, mean

NAME = "ways"
PARTITIONS = (BASE, "mig", "tap")
CLOSE = 0.05  # "matches"
LIMITS = "own kernels for the partners; pictures below 2560x1440 need less of the L2"


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """All pairs."""
    return pairs.tasks(suite, RTX, PARTITIONS)


def values(found: Found) -> Iterator[Value]:
    """Cycles and speeds."""
    return pairs.values(NAME, found)


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """TAP beside MPS and MiG."""
    overall = {name: mean(speeds(values, NAME, name)) for name in PARTITIONS}
    here = f"mean over pairs: {listed(overall)}"
    yield Finding("Fig. 14", "TAP matches MPS", abs(overall["tap"] - 1) <= CLOSE, "no speed-up", here, LIMITS)
    yield Finding("Fig. 14", "TAP outperforms MiG", overall["tap"] > overall["mig"], "TAP is faster", here, LIMITS)
    divided = means(values, NAME, "mig")
    holds = all(divided[one] < 1 for one in ("VIO", "NN"))
    yield Finding("Fig. 14", "MiG slows VIO and NN, whose bandwidth it limits", holds, "slower than MPS",
                  f"MiG over MPS: {listed(divided)}", LIMITS)  # fmt: skip


EXPERIMENT = Experiment(
    NAME, "Figure 14: TAP and MiG", tasks, values, findings, partial(pairs.table, name=NAME),
    lambda values, path: pairs.draw(values, NAME, f"Fig. 14  speed over MPS on {RTX}", path),
)  # fmt: skip
