"""Figure 10: lines that the texture instructions of a CTA read."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rayplay.crisp.draw import THEIRS, canvas, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.sources import Drawn
from rayplay.crisp.suite import Suite, size_text
from rayplay.crisp.tasks import Counted, Task
from rayplay.crisp.values import Case, Finding, Value, chosen, mean, theirs

NAME = "lines"
LINES, DRAWS = "lines", "lines by draw"
LIMITS = "other meshes, maps and cameras; a pixel of a small picture steps over more texels"
MOST_SHOWN = 160  # lines of a CTA; the last bar has all above


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture with textures."""
    shown = {} if suite.is_procedural else suite.workloads
    return {
        Case(size=size_text(suite.size), graphics=name): Counted(Drawn(one, suite.size)) for name, one in shown.items()
    }


def values(found: Found) -> Iterator[Value]:
    """CTAs by lines, and each draw's mean of them."""
    for case, one in found.items():
        use = one["texture"]
        lines = np.concatenate(use["lines"])
        for count, ctas in enumerate(np.bincount(np.minimum(lines, MOST_SHOWN)).tolist()):
            yield Value(NAME, case, LINES, ctas, float(count))
        for kernel, of_draw in zip(use["kernel_id"], use["lines"], strict=True):
            yield Value(NAME, case, DRAWS, mean(of_draw), float(kernel))


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """The range of the draws' means."""
    [least], [most] = theirs(NAME, "least lines").values(), theirs(NAME, "most lines").values()
    means = [one.value for one in chosen(values, NAME, DRAWS)]
    inside = sum(least <= one <= most for one in means) / len(means)
    yield Finding(
        "Fig. 10", "A CTA of most draws references few lines", inside > 0.5, f"means of draws {least} to {most}",
        f"{min(means):.2f} to {max(means):.2f}; {100 * inside:.0f} % of {len(means)} draws inside", LIMITS,
    )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Means of the draws by picture."""
    lines = []
    for case in _cases(values):
        means = [one.value for one in chosen(values, NAME, DRAWS) if one.case == case]
        lines.append(
            [
                case.graphics,
                case.size,
                str(len(means)),
                *(f"{one:.2f}" for one in (min(means), mean(means), max(means))),
            ]
        )
    return ["picture", "size", "draws", "lines of a CTA: least mean of a draw", "mean of the draws", "most"], lines


def _cases(values: Sequence[Value]) -> list[Case]:
    return list(dict.fromkeys(one.case for one in chosen(values, NAME, DRAWS)))


def draw(values: Sequence[Value], path: Path) -> None:
    """Histograms of lines."""
    cases = _cases(values)
    figure, axes = canvas(len(cases), 3.2, 3.0)
    [paper] = theirs(NAME, "most lines").values()
    for axis, case in zip(axes, cases, strict=True):
        bins = [one for one in chosen(values, NAME, LINES) if one.case == case]
        total = sum(one.value for one in bins)
        axis.bar([one.at for one in bins], [one.value / total for one in bins], 0.9)
        axis.axvline(paper, color=THEIRS, linewidth=0.8, linestyle="--", label="the paper's largest mean")
        axis.legend(fontsize=8, frameon=False)
        axis.set_title(f"Fig. 10  {case.graphics}, {case.size}", fontsize=10)
        axis.set_xlabel(f"lines of a CTA, last: {MOST_SHOWN} and more")
        axis.set_ylabel("share of CTAs")
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Figure 10: texture lines of a CTA", tasks, values, findings, table, draw)
