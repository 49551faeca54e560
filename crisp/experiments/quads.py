"""Fragment threads for each covered pixel: helper lanes of quads, beside an RTX 3070's counters."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp.draw import THEIRS, bars, canvas, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.sources import Drawn
from rayplay.crisp.suite import Suite, size_text
from rayplay.crisp.tasks import Counted, Task
from rayplay.crisp.values import Case, Finding, Value, singles, theirs

NAME, QUANTITY = "quads", "threads over covered"
FILLED, OBJECTS = "threads over covered before a background", "threads over covered of objects"
LEAST, MOST = 1.0, 1.4  # of the workloads on an RTX 3070, with a margin


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture."""
    return {
        Case(graphics=name, size=size_text(suite.size)): Counted(Drawn(one, suite.size))
        for name, one in suite.workloads.items()
    }


def values(found: Found) -> Iterator[Value]:
    """Fragment threads over those whose pixel is covered and passes the early depth test.

    The frames of the hardware begin with a draw of every pixel, which needs no helpers. Where a picture covers fewer
    pixels than it has, the ratio is also given as with such a draw before it.
    """
    for case, one in found.items():
        stages = one["stages"]
        fragments = [row for row, stage in enumerate(stages["stage"]) if stage == "fragment"]
        threads, live = (sum(stages[name][row] for row in fragments) for name in ("shaded", "live"))
        yield Value(NAME, case, "fragments", live)
        yield Value(NAME, case, QUANTITY, threads / live)
        pixels = math.prod(int(side) for side in case.size.split("x"))
        is_filled = sum(stages["covered"][row] for row in fragments) >= pixels
        yield Value(NAME, case, FILLED, threads / live if is_filled else (threads + pixels) / (live + pixels))


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Quads cost as much as on hardware."""
    ours, filled, hardware = singles(values, NAME, QUANTITY), singles(values, NAME, FILLED), theirs(NAME, QUANTITY)
    at_size = [case for case in ours if case in hardware]
    holds = None if not at_size else all(LEAST <= filled[case] <= MOST for case in at_size)
    objects = ", ".join(f"{case.graphics} {one:.2f}" for case, one in theirs(NAME, OBJECTS).items())
    yield Finding(
        "IV", "Quads launch 1.0 to 1.4 threads for each covered pixel", holds,
        ", ".join(f"{case.graphics} {one:.2f}" for case, one in hardware.items()) + f"; without backgrounds {objects}",
        ", ".join(f"{case.graphics} {one:.2f}" for case, one in filled.items())
        + "; without backgrounds " + ", ".join(f"{case.graphics} {one:.2f}" for case, one in ours.items()),
        "other meshes and cameras; the hardware's frames begin with a draw of every pixel, which here is added to the "
        "count of pictures that leave pixels free; smaller pictures have smaller triangles, and more helpers",
    )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Fragments and ratio by picture."""
    ours, count = singles(values, NAME, QUANTITY), singles(values, NAME, "fragments")
    hardware = {case.graphics: one for case, one in theirs(NAME, QUANTITY).items()}
    filled, objects = singles(values, NAME, FILLED), {case.graphics: one for case, one in theirs(NAME, OBJECTS).items()}
    lines = [
        [case.graphics, case.size, f"{count[case]:,.0f}", f"{one:.3f}",
         f"{objects[case.graphics]:.3f}" if case.graphics in objects else "-", f"{filled[case]:.3f}",
         f"{hardware[case.graphics]:.3f}" if case.graphics in hardware else "-"]
        for case, one in ours.items()
    ]  # fmt: skip
    return [
        "picture", "size", "covered fragments", "threads / covered", "RTX 3070's objects", "before a background",
        "RTX 3070 at 2560x1440",
    ], lines  # fmt: skip


def draw(values: Sequence[Value], path: Path) -> None:
    """Ratios side by side."""
    figure, [axis] = canvas()
    ours, filled = singles(values, NAME, QUANTITY), singles(values, NAME, FILLED)
    shown = {"drawn": list(ours.values()), "before a background": list(filled.values())}
    bars(axis, [case.graphics for case in ours], shown, "threads / covered fragment")
    hardware = {case.graphics: one for case, one in theirs(NAME, QUANTITY).items()}
    for place, case in enumerate(ours):
        if case.graphics in hardware:
            axis.plot([place], [hardware[case.graphics]], "x", color=THEIRS, markersize=9, markeredgewidth=2)
    axis.set_title("Helper lanes; crosses: RTX 3070 at 2560x1440", fontsize=10)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Quads and helper lanes", tasks, values, findings, table, draw)
