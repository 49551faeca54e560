"""Fragment threads for each covered pixel: helper lanes of quads, beside an RTX 3070's and triangles' sizes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rayplay.crisp.draw import MARKERS, THEIRS, bars, canvas, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.sources import Drawn
from rayplay.crisp.suite import Suite, size_text
from rayplay.crisp.tasks import Counted, Shaped, Task
from rayplay.crisp.values import Case, Finding, Value, singles, theirs

NAME, QUANTITY = "quads", "threads over covered"
FILLED, OBJECTS = "threads over covered with a background", "threads over covered of objects"
OF_DRAW, SAID, PIXELS, WHOLE = (
    "threads over covered of a draw", "threads over covered by triangles' sizes", "pixels of a triangle",
    "triangles whole in the picture",
)  # fmt: skip
LEAST, MOST = 1.0, 1.4  # of the workloads on an RTX 3070, with a margin
SHAPES = "triangles"  # variant of the task that measures them
MANY, NEAR = 200, 0.1  # triangles of a draw that make a mean; drawn and said agree within


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture, and the triangles of each."""
    found: dict[Case, Task] = {}
    for name, one in suite.workloads.items():
        case = Case(graphics=name, size=size_text(suite.size))
        found[case] = Counted(Drawn(one, suite.size))
        found[case._replace(variant=SHAPES)] = Shaped(one, suite.size)
    return found


def values(found: Found) -> Iterator[Value]:
    """Fragment threads over those whose pixel is covered and passes the early depth test, by picture and by draw."""
    for case, one in found.items():
        yield from _said(case, one) if case.variant == SHAPES else _drawn(case, one["stages"])


def _drawn(case: Case, stages: dict[str, list[Any]]) -> Iterator[Value]:
    """Of a picture.

    The frames of the hardware begin with a background: a draw of every pixel, which needs no helpers. Where a picture
    covers fewer pixels than it has, the ratio is also given as with such a draw.
    """
    fragments = [row for row, stage in enumerate(stages["stage"]) if stage == "fragment"]
    threads, live = (sum(stages[name][row] for row in fragments) for name in ("shaded", "live"))
    yield Value(NAME, case, "fragments", live)
    yield Value(NAME, case, QUANTITY, threads / live)
    pixels = math.prod(int(side) for side in case.size.split("x"))
    is_filled = sum(stages["covered"][row] for row in fragments) >= pixels
    yield Value(NAME, case, FILLED, threads / live if is_filled else (threads + pixels) / (live + pixels))
    for row in fragments:
        own = _of_draw(case, stages["draw"][row], stages["draw_name"][row])
        yield Value(NAME, own, "fragments", stages["live"][row])
        yield Value(NAME, own, OF_DRAW, stages["shaded"][row] / max(stages["live"][row], 1))


def _said(case: Case, shapes: dict[str, list[Any]]) -> Iterator[Value]:
    """Of the triangles of each draw."""
    columns = zip(*(shapes[name] for name in ("name", "triangles", "area", "threads")), strict=True)
    for number, (name, triangles, area, threads) in enumerate(columns):
        if area:
            own = _of_draw(case, number, name)
            yield Value(NAME, own, WHOLE, triangles)
            yield Value(NAME, own, PIXELS, area / triangles)
            yield Value(NAME, own, SAID, threads / area)


def _of_draw(case: Case, number: int, name: str) -> Case:
    return case._replace(variant=f"{number} {name}")


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Quads cost as much as on hardware, and as much as triangles are small."""
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
    drawn, said, whole = (singles(values, NAME, what) for what in (OF_DRAW, SAID, WHOLE))
    off = {case: one / said[case] - 1 for case, one in drawn.items() if whole.get(case, 0) >= MANY}
    if off:
        least, most = (pick(off, key=lambda case: off[case]) for pick in (min, max))
        yield Finding(
            "new", "A draw launches as many threads as its triangles' sizes say",
            all(abs(one) <= NEAR for one in off.values()) if at_size else None, "-",
            f"{len(off)} draws: {100 * off[least]:+.1f} % ({least.graphics} {least.variant}) to "
            f"{100 * off[most]:+.1f} % ({most.graphics} {most.variant}) of what they say",
            f"draws with {MANY} triangles whole in the picture, whose others count as these; hidden fragments leave "
            "both counts, but not evenly",
        )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Fragments and ratio by picture and by draw."""
    ours, count = singles(values, NAME, QUANTITY), singles(values, NAME, "fragments")
    hardware = {case.graphics: one for case, one in theirs(NAME, QUANTITY).items()}
    filled, objects = singles(values, NAME, FILLED), {case.graphics: one for case, one in theirs(NAME, OBJECTS).items()}
    drawn, said, pixels = (singles(values, NAME, what) for what in (OF_DRAW, SAID, PIXELS))
    lines = []
    for case, one in ours.items():
        lines.append([
            case.graphics, case.size, "all", f"{count[case]:,.0f}", "-", f"{one:.3f}", "-",
            _shown(objects.get(case.graphics)), f"{filled[case]:.3f}", _shown(hardware.get(case.graphics)),
        ])  # fmt: skip
        for own, of_draw in drawn.items():
            if own._replace(variant="") == case:
                lines.append([
                    case.graphics, case.size, own.variant, f"{count[own]:,.0f}", _shown(pixels.get(own), 1),
                    f"{of_draw:.3f}", _shown(said.get(own)), "-", "-", "-",
                ])  # fmt: skip
    return [
        "picture", "size", "draw", "covered fragments", "pixels of a triangle", "threads / covered",
        "its triangles say", "RTX 3070's objects", "with a background", "RTX 3070 at 2560x1440",
    ], lines  # fmt: skip


def _shown(number: float | None, digits: int = 3) -> str:
    return "-" if number is None else f"{number:,.{digits}f}"


def draw(values: Sequence[Value], path: Path) -> None:
    """Ratios of pictures side by side, and of draws against what their triangles say."""
    figure, [axis, beside] = canvas(2, 5.5)
    ours, filled = singles(values, NAME, QUANTITY), singles(values, NAME, FILLED)
    shown = {"drawn": list(ours.values()), "with a background": list(filled.values())}
    bars(axis, [case.graphics for case in ours], shown, "threads / covered fragment")
    hardware = {case.graphics: one for case, one in theirs(NAME, QUANTITY).items()}
    for place, case in enumerate(ours):
        if case.graphics in hardware:
            axis.plot([place], [hardware[case.graphics]], "x", color=THEIRS, markersize=9, markeredgewidth=2)
    axis.set_title("Helper lanes; crosses: RTX 3070 at 2560x1440", fontsize=10)
    _draw_draws(beside, singles(values, NAME, OF_DRAW), singles(values, NAME, SAID))
    save(figure, path)


def _draw_draws(axis: Any, drawn: Mapping[Case, float], said: Mapping[Case, float]) -> None:
    """A point for each draw, by picture."""
    pictures = dict.fromkeys(case.graphics for case in drawn if case in said)
    for name, marker in zip(pictures, MARKERS, strict=False):
        own = [case for case in drawn if case.graphics == name and case in said]
        axis.plot([said[case] for case in own], [drawn[case] for case in own], marker, alpha=0.6, label=name)
    most = max([*drawn.values(), *said.values()], default=2.0)
    axis.plot([1, most], [1, most], color="grey", linewidth=0.8)
    axis.set_xlabel("as the sizes of its triangles say")
    axis.set_ylabel("threads / covered fragment of a draw")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, frameon=False)


EXPERIMENT = Experiment(NAME, "Quads and helper lanes", tasks, values, findings, table, draw)
