"""Figures 9 and 10: requests of texture instructions, and the lines that a CTA reads of textures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rayplay.crisp.draw import THEIRS, canvas, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.sources import Drawn
from rayplay.crisp.suite import Suite, size_text
from rayplay.crisp.tasks import Counted, Task
from rayplay.crisp.values import Case, Finding, Value, chosen, mean, singles, theirs

NAME = "texture"
REQUESTS, SECTORS, LINES, DRAWS = "requests", "sectors", "lines", "lines by draw"
CLOSE = 0.33  # MAPE of the paper
LIMITS = "other meshes, maps and cameras; a pixel of a small picture steps over more texels"
MOST_SHOWN = 160  # lines of a CTA; the last bar has all above


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture with textures."""
    shown = {} if suite.is_procedural else suite.workloads
    return {
        Case(size=size_text(suite.size), graphics=name): Counted(Drawn(one, suite.size)) for name, one in shown.items()
    }


def values(found: Found) -> Iterator[Value]:
    """Requests and sectors of an instruction, CTAs by lines, and each draw's mean of them."""
    for case, one in found.items():
        use = one["texture"]
        instructions = sum(use["instructions"])
        yield Value(NAME, case, REQUESTS, sum(use["requests"]) / instructions)
        yield Value(NAME, case, SECTORS, sum(use["sectors"]) / instructions)
        lines = np.concatenate(use["lines"])
        for count, ctas in enumerate(np.bincount(np.minimum(lines, MOST_SHOWN)).tolist()):
            yield Value(NAME, case, LINES, ctas, float(count))
        for kernel, of_draw in zip(use["kernel_id"], use["lines"], strict=True):
            yield Value(NAME, case, DRAWS, mean(of_draw), float(kernel))


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Rates beside the hardware's; the range of lines."""
    ours, hardware = singles(values, NAME, REQUESTS), theirs(NAME, REQUESTS)
    both = [case for case in ours if case in hardware]
    error = mean(abs(ours[case] / hardware[case] - 1) for case in both)
    listed = ", ".join(f"{case.graphics} {one:.1f}" for case, one in ours.items())
    yield Finding(
        "Fig. 9", "Texture requests of an instruction come within a third of the hardware's",
        error <= CLOSE if both else None,
        "MAPE 33 %; RTX 3070 " + ", ".join(f"{case.graphics} {one:.1f}" for case, one in hardware.items()),
        f"{listed}{f'; MAPE {100 * error:.0f} %' if both else ''}", LIMITS,
    )  # fmt: skip
    [least], [most] = theirs(NAME, "least lines").values(), theirs(NAME, "most lines").values()
    means = [one.value for one in chosen(values, NAME, DRAWS)]
    inside = sum(least <= one <= most for one in means) / len(means)
    yield Finding(
        "Fig. 10", "A CTA of most draws references few lines", inside > 0.5, f"means of draws {least} to {most}",
        f"{min(means):.2f} to {max(means):.2f}; {100 * inside:.0f} % of {len(means)} draws inside",
        LIMITS,
    )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Rates and lines by picture."""
    hardware = {case.graphics: one for case, one in theirs(NAME, REQUESTS).items()}
    lines = []
    for case, rate in singles(values, NAME, REQUESTS).items():
        means = [one.value for one in chosen(values, NAME, DRAWS) if one.case == case]
        known = f"{hardware[case.graphics]:.2f}" if case.graphics in hardware else "-"
        sectors = singles(values, NAME, SECTORS)[case]
        lines.append(
            [case.graphics, case.size, f"{rate:.2f}", known, f"{sectors:.2f}", f"{min(means):.2f} to {max(means):.2f}"]
        )
    return [
        "picture",
        "size",
        "requests / instruction",
        "RTX 3070",
        "sectors / instruction",
        "lines of a CTA, means of draws",
    ], lines


def draw(values: Sequence[Value], path: Path) -> None:
    """Histograms of lines."""
    cases = list(singles(values, NAME, REQUESTS))
    figure, axes = canvas(len(cases), 3.2, 3.0)
    [paper] = theirs(NAME, "most lines").values()
    for axis, case in zip(axes, cases, strict=True):
        bins = [one for one in chosen(values, NAME, LINES) if one.case == case]
        total = sum(one.value for one in bins)
        axis.bar([one.at for one in bins], [one.value / total for one in bins], 0.9)
        axis.axvline(paper, color=THEIRS, linewidth=0.8, linestyle="--")
        axis.set_title(f"Fig. 10  {case.graphics}, {case.size}", fontsize=9)
        axis.set_xlabel(f"lines of a CTA, {MOST_SHOWN} and more in the last")
        axis.set_ylabel("share of CTAs")
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Figures 9 and 10: texture accesses", tasks, values, findings, table, draw)
