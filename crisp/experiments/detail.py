"""Figures 8 and 9: texture requests with levels of detail and without, beside an RTX 3070's."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp.draw import THEIRS, bars, canvas, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.sources import Drawn
from rayplay.crisp.suite import Suite, size_text
from rayplay.crisp.tasks import Counted, Task
from rayplay.crisp.values import Case, Finding, Value, mean, singles, theirs

NAME = "detail"
REQUESTS, LINES, SECTORS = QUANTITIES = "requests", "pair_lines", "sectors"
ON, OFF = "", "lod off"
CLOSE, LEAST = 0.33, 2.0  # MAPE of the paper; reduction of Sponza's accesses that is called clear
LIMITS = "other meshes, maps and cameras; rates of an instruction, not counts of a draw"


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture with textures, both ways."""
    shown = {} if suite.is_procedural else suite.workloads
    return {
        Case(size=size_text(suite.size), graphics=name, variant=variant): Counted(Drawn(one, suite.size, variant == ON))
        for name, one in shown.items()
        for variant in (ON, OFF)
    }


def values(found: Found) -> Iterator[Value]:
    """Requests, lines of pairs of quads, and sectors of a texture instruction."""
    for case, one in found.items():
        use = one["texture"]
        for quantity in QUANTITIES:
            yield Value(NAME, case, quantity, sum(use[quantity]) / sum(use["instructions"]))


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Levels of detail save accesses, and bring them near the hardware's."""
    on, off = (singles(values, NAME, LINES, variant=variant) for variant in (ON, OFF))
    saved = {case.graphics: off[case._replace(variant=OFF)] / one for case, one in on.items()}
    listed = ", ".join(f"{name} {one:.2f}" for name, one in saved.items())
    yield Finding(
        "Fig. 9", "Without levels of detail Sponza's texture accesses are several times too many",
        min(saved[name] for name in ("SPL", "SPH")) >= LEAST, "up to 6 times; MAPE 6.6 times smaller with them",
        f"lines of pairs of quads, without over with: {listed}", LIMITS,
    )  # fmt: skip
    hardware = {case.graphics: one for case, one in theirs(NAME, REQUESTS).items()}
    requests = singles(values, NAME, REQUESTS, variant=ON)
    errors = [
        mean(abs(one / hardware[case.graphics] - 1) for case, one in found.items()) for found in (requests, on, off)
    ]
    at_size = any(case in on for case in theirs(NAME, REQUESTS))
    yield Finding(
        "Fig. 9", "The texture unit's requests come within a third of the hardware's",
        errors[0] <= CLOSE if at_size else None, "MAPE 33 % of the L1's accesses, without levels 219 %",
        f"MAPE {100 * errors[0]:.0f} %; of lines of pairs {100 * errors[1]:.0f} %, without levels"
        f" {100 * errors[2]:.0f} %, of the RTX 3070's rates at 2560x1440", LIMITS,
    )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Rates by picture."""
    hardware = {case.graphics: one for case, one in theirs(NAME, REQUESTS).items()}
    lines = []
    for case, rate in singles(values, NAME, REQUESTS, variant=ON).items():
        off = case._replace(variant=OFF)
        others = [singles(values, NAME, quantity)[which] for quantity in (LINES, SECTORS) for which in (case, off)]
        lines.append([case.graphics, case.size, *(f"{one:.2f}" for one in (rate, hardware[case.graphics], *others))])
    return [
        "picture", "size", "requests / instruction", "RTX 3070", "lines of pairs of quads", "without levels",
        "sectors / instruction", "without levels",
    ], lines  # fmt: skip


def draw(values: Sequence[Value], path: Path) -> None:
    """Rates by picture, both ways."""
    figure, [axis] = canvas()
    requests = singles(values, NAME, REQUESTS, variant=ON)
    on, off = (singles(values, NAME, LINES, variant=variant) for variant in (ON, OFF))
    names = [case.graphics for case in on]
    bars(
        axis,
        names,
        {
            "requests": list(requests.values()),
            "lines of pairs of quads": list(on.values()),
            "lines without levels of detail": list(off.values()),
        },
        "for a texture instruction",
    )
    for case, one in theirs(NAME, REQUESTS).items():
        if case.graphics in names:
            axis.plot([names.index(case.graphics)], [one], "x", color=THEIRS, markersize=9, markeredgewidth=2)
    axis.set_title("Fig. 9  crosses: RTX 3070 at 2560x1440", fontsize=10)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Figure 9: levels of detail", tasks, values, findings, table, draw)
