"""Step 7: combine the metrics of the groups into the whole GPU's (Zatel III-G and III-H).

Reading of the paper's text, metric by metric of its Table I:

- Extrapolation (Zatel III-G) is linear and for absolute metrics "such as the simulation cycles". Cycles are the only
  absolute metric of Table I, so only they are divided by the fraction of the group's pixels that was simulated. IPC,
  the miss rates, RT efficiency, DRAM efficiency and bandwidth utilisation are rates and stay as they are. (Zatel III-G
  also says that some of these are biased and "should be extrapolated", without a rule; the released code also
  divides only cycles.)
- Combination (Zatel III-H): IPC is summed, because the parts of the GPU run at the same time; all others are averaged.
  That includes the cycles: each group's cycles already estimate how long the whole GPU takes.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Rule(NamedTuple):
    """Rule for one metric of Table I."""

    title: str
    absolute: bool = False  # divided by the fraction of pixels simulated
    summed: bool = False  # over the groups; averaged otherwise


RULES = {
    "gpu_ipc": Rule("GPU instructions per cycle", summed=True),
    "gpu_cycles": Rule("GPU simulation cycles", absolute=True),
    "l1d_miss_rate": Rule("L1D total cache miss rate"),
    "l2_miss_rate": Rule("L2 total cache miss rate"),
    "rt_efficiency": Rule("RT unit average efficiency"),
    "dram_efficiency": Rule("DRAM efficiency"),
    "bandwidth_utilisation": Rule("Bandwidth utilisation"),
}

COMBINATIONS = ("sum", "mean", "max")
Metrics = Mapping[str, float | None]


def extrapolate(metrics: Metrics, fraction: float) -> dict[str, float | None]:
    """The metrics of one group as if all its pixels had been simulated: absolute ones by ``fraction`` (Zatel III-G).

    100,000 cycles at 10 % of the pixels become 1,000,000.
    """
    return {
        name: value / fraction if RULES[name].absolute and value is not None else value
        for name, value in metrics.items()
    }


def combine(groups: Sequence[Metrics], combination: Mapping[str, str] | None = None) -> dict[str, float | None]:
    """Combine the groups' metrics into the whole GPU's: IPC summed, the others averaged (Zatel III-H).

    combination  metric -> one of ``COMBINATIONS``, overrides of the rule.

    A group without a value for a metric (RT efficiency without a ray) is left out; without any group there is no value.
    """
    combined: dict[str, float | None] = {}
    for name in groups[0]:
        values = [value for group in groups if (value := group[name]) is not None]
        rule = (combination or {}).get(name, "sum" if RULES[name].summed else "mean")
        combined[name] = _together(values, rule) if values else None
    return combined


def _together(values: Sequence[float], rule: str) -> float:
    if rule == "max":
        return max(values)
    return sum(values) / (1 if rule == "sum" else len(values))


def or_nan(value: float | None) -> float:
    """The value for a table, NaN without one."""
    return float("nan") if value is None else float(value)


def number_text(value: float | None) -> str:
    """The value for a reader, ``-`` without one."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def relative_error(predicted: float | None, full: float | None) -> float | None:
    """|predicted - full| / full; ``None`` where either is missing, or the full value is 0 and the other is not."""
    if predicted is None or full is None:
        return None
    if full == 0:
        return 0.0 if predicted == 0 else None
    return abs(predicted - full) / abs(full)


def mean_absolute_error(errors: Sequence[float | None]) -> float | None:
    """The paper's MAE: the mean of the metrics' relative errors that exist."""
    known = [error for error in errors if error is not None]
    return sum(known) / len(known) if known else None
