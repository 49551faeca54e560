"""Figure 13: warps of each class over time under Warped-Slicer."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp import pairs
from rayplay.crisp.draw import canvas, save, shares
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.suite import ORIN, Suite
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Finding, Value, mean, series, singles, theirs

NAME, WHO = "ratio", ("graphics", "compute")


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """The pairs with VIO, as in the paper's."""
    return {case: task for case, task in pairs.tasks(suite, ORIN, ("slicer",)).items() if case.partner == "VIO"}


def values(found: Found) -> Iterator[Value]:
    """Shares of the GPU's warps, over time and their mean."""
    for case, one in found.items():
        for who in WHO:
            held = one["series"][f"warps {who}"]
            for cycle, share in zip(one["series"]["cycle"], held, strict=True):
                yield Value(NAME, case, f"{who} warps", share, cycle)
            yield Value(NAME, case, f"{who} warps", mean(held))


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Rendering is favoured."""
    held = {who: singles(values, NAME, f"{who} warps") for who in WHO}
    paper = {who: list(theirs(NAME, f"{who} warps").values()) for who in WHO}
    favoured = [case for case, one in held["graphics"].items() if one > held["compute"][case]]
    here = ", ".join(
        f"{case.graphics} {100 * one:.1f} and {100 * held['compute'][case]:.1f} %"
        for case, one in held["graphics"].items()
    )
    yield Finding(
        "Fig. 13", "Warped-Slicer favours rendering over compute", 2 * len(favoured) > len(held["graphics"]),
        f"PT + VIO: {100 * paper['graphics'][0]:.1f} % of the warps, compute {100 * paper['compute'][0]:.1f} %", here,
        "the artifact's series is of a fixed share, as its text says; small pictures leave most slots free",
    )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Mean shares by pair."""
    held = {who: singles(values, NAME, f"{who} warps") for who in WHO}
    lines = [
        [f"{case.graphics} + {case.partner}", *(f"{100 * held[who][case]:.1f}" for who in WHO)]
        for case in held["graphics"]
    ]
    return ["pair", "graphics, % of warps", "compute, % of warps"], lines


def draw(values: Sequence[Value], path: Path) -> None:
    """Warps over time, pair by pair."""
    cases = list(singles(values, NAME, "graphics warps"))
    figure, axes = canvas(len(cases), 4.5, 3.2)
    for axis, case in zip(axes, cases, strict=True):
        cycles, _ = series(values, NAME, "graphics warps", case)
        shares(
            axis,
            cycles,
            {who: series(values, NAME, f"{who} warps", case)[1] for who in WHO},
            "share of the GPU's warps",
        )
        axis.set_title(f"Fig. 13  {case.graphics} + {case.partner} under Warped-Slicer, {case.gpu}", fontsize=9)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Figure 13: shares that Warped-Slicer chooses", tasks, values, findings, table, draw)
