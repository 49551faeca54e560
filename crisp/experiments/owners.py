"""Figure 15: lines of the L2 by class under TAP, a picture beside the hologram."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp import pairs
from rayplay.crisp.draw import canvas, save, shares
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.suite import RTX, Suite
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Finding, Value, mean, series, singles

NAME = "owners"
PARTS = {"texture": "lines graphics texture", "graphics": "lines graphics other", "compute": "lines compute other"}
SHARE = "share of held lines"


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """The pairs with HOLO, under TAP and, to compare, MPS."""
    both = pairs.tasks(suite, RTX, ("tap", pairs.BASE))
    return {case: task for case, task in both.items() if case.partner == "HOLO"}


def values(found: Found) -> Iterator[Value]:
    """Shares of the L2 over time, and the picture's share of all lines held in the second half."""
    for case, one in found.items():
        cycles, parts = one["series"]["cycle"], {name: one["series"][key] for name, key in PARTS.items()}
        for name, held in parts.items():
            for cycle, share in zip(cycles, held, strict=True):
                yield Value(NAME, case, name, share, cycle)
        half = len(cycles) // 2
        total = [sum(held) for held in zip(*parts.values(), strict=True)][half:]
        own = [total_held - compute for total_held, compute in zip(total, parts["compute"][half:], strict=True)]
        yield Value(NAME, case, SHARE, mean(a / b for a, b in zip(own, total, strict=True) if b))


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Rendering owns nearly all of the L2."""
    held = {name: singles(values, NAME, SHARE, partition=name) for name in ("tap", pairs.BASE)}
    least = min(held["tap"].values())
    here = "; ".join(
        f"{name.upper()}: " + ", ".join(f"{case.graphics} {100 * one:.1f} %" for case, one in own.items())
        for name, own in held.items()
    )
    yield Finding(
        "Fig. 15", "Beside the hologram TAP gives rendering most of the L2", least > 0.5, "nearly all (SPH + HOLO)",
        here, "held lines in the second half of the run; lines of a class stay until another needs them",
    )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Rendering's share by pair and partition."""
    found = singles(values, NAME, SHARE)
    lines = [[f"{case.graphics} + {case.partner}", case.partition, f"{100 * one:.1f}"] for case, one in found.items()]
    return ["pair", "partition", "rendering's lines, % of all held"], lines


def draw(values: Sequence[Value], path: Path) -> None:
    """Lines over time under TAP, pair by pair."""
    cases = list(singles(values, NAME, SHARE, partition="tap"))
    figure, axes = canvas(len(cases), 4.5, 3.2)
    for axis, case in zip(axes, cases, strict=True):
        cycles, _ = series(values, NAME, "compute", case)
        shares(axis, cycles, {name: series(values, NAME, name, case)[1] for name in PARTS}, "share of the L2's lines")
        axis.set_title(f"Fig. 15  {case.graphics} + {case.partner} under TAP, {case.gpu}", fontsize=9)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Figure 15: owners of the L2 under TAP", tasks, values, findings, table, draw)
