"""Figure 11: lines of the L2 by what they hold, for simple and physically based shading."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp.draw import canvas, save, shares
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.experiments.frames import alone
from rayplay.crisp.suite import RTX, Suite, size_text
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Finding, Value, mean, series, singles, theirs

NAME = "composition"
TEXTURE, OTHER, HIT = "texture share", "other share", "hit rate"
MEAN, MOST = f"mean {TEXTURE}", f"most {TEXTURE}"


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture alone, as in Fig. 6."""
    return {
        Case(RTX, size_text(suite.size), name): alone(one, suite.size, suite) for name, one in suite.workloads.items()
    }


def hit_rate(counters: Mapping[str, int], cache: str) -> float:
    """Hits of a cache over its accesses; a hit on a sector under way is one."""
    hits = sum(
        counters[f"{cache}.{name}"] for name in ("read_hits", "read_pending_hits", "write_hits", "write_pending_hits")
    )
    kinds = ("read_line_misses", "read_sector_misses", "write_line_misses", "write_sector_misses")
    return hits / (hits + sum(counters[f"{cache}.{name}"] for name in kinds))


def values(found: Found) -> Iterator[Value]:
    """Shares over time, their mean and most, and the L2's hit rate."""
    for case, one in found.items():
        cycles, texture = one["series"]["cycle"], one["series"]["lines graphics texture"]
        for cycle, share, other in zip(cycles, texture, one["series"]["lines graphics other"], strict=True):
            yield Value(NAME, case, TEXTURE, share, cycle)
            yield Value(NAME, case, OTHER, other, cycle)
        yield Value(NAME, case, MEAN, mean(texture))
        yield Value(NAME, case, MOST, max(texture))
        yield Value(NAME, case, HIT, hit_rate(one["classes"]["graphics"]["counters"], "l2"))


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """More maps: more of the L2, and fewer hits."""
    here = {name: {case.graphics: one for case, one in singles(values, NAME, name).items()} for name in (MEAN, HIT)}
    paper = {
        name: {case.graphics: one for case, one in theirs(NAME, name).items() if not case.gpu} for name in (MEAN, HIT)
    }
    if not {"SPL", "PT"} <= here[MEAN].keys():
        return
    limits = "another object and other maps than the paper's; small pictures never fill the L2"
    for figure, sentence, name, sign in (
        ("Fig. 11", "Physically based shading fills more of the L2 with textures than simple shading", MEAN, 1),
        ("VI-B", "Physically based shading hits the L2 less often", HIT, -1),
    ):
        ours, said = here[name], paper[name]
        holds = sign * (ours["PT"] - ours["SPL"]) > 0
        text = [f"SPL {100 * one['SPL']:.1f} %, PT {100 * one['PT']:.1f} %" for one in (said, ours)]
        also = f", SPH {100 * ours['SPH']:.1f} %" if "SPH" in ours else ""
        yield Finding(figure, sentence, holds, text[0], text[1] + also, limits)


def table(values: Sequence[Value]) -> Table:
    """Shares and hit rate by picture."""
    hits, known = (
        singles(values, NAME, HIT),
        {case.graphics: one for case, one in theirs(NAME, HIT, who="hardware").items()},
    )
    means, most = singles(values, NAME, MEAN), singles(values, NAME, MOST)
    lines = [
        [case.graphics, case.size, f"{100 * means[case]:.1f}", f"{100 * most[case]:.1f}", f"{100 * hit:.1f}",
         f"{100 * known[case.graphics]:.1f}" if case.graphics in known else "-"]
        for case, hit in hits.items()
    ]  # fmt: skip
    return ["picture", "size", "texture lines, mean %", "most %", "L2 hits %", "RTX 3070 at 2560x1440"], lines


def draw(values: Sequence[Value], path: Path) -> None:
    """Lines over time, picture by picture."""
    cases = list(singles(values, NAME, MEAN))
    figure, axes = canvas(len(cases), 3.4, 3.0)
    for axis, case in zip(axes, cases, strict=True):
        cycles, texture = series(values, NAME, TEXTURE, case)
        _, other = series(values, NAME, OTHER, case)
        shares(axis, cycles, {"texture": texture, "graphics": other}, "share of the L2's lines")
        axis.set_title(f"Fig. 11  {case.graphics}, {case.size}", fontsize=9)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Figure 11: composition of the L2", tasks, values, findings, table, draw)
