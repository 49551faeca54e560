"""Figure 11: lines of the L2 by what they hold, for simple and physically based shading."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rayplay.crisp.draw import canvas, save, shares
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.experiments.frames import alone
from rayplay.crisp.suite import RTX, Suite, size_text
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import NAN, Case, Finding, Value, mean, series, singles, theirs

NAME = "composition"
TEXTURE, OTHER, HIT = "texture share", "other share", "hit rate"
COUNTED, TEXTURE_HIT = "hit rate, writes as hits", "texture hit rate"
TEXTURE_PART, REST_HIT = "texture share of accesses", "hit rate of the rest, writes as hits"
L1_TEXTURE_HIT = "L1 texture hit rate"
MEAN, MOST = f"mean {TEXTURE}", f"most {TEXTURE}"


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture alone, as in Fig. 6."""
    return {
        Case(RTX, size_text(suite.size), name): alone(one, suite.size, suite) for name, one in suite.workloads.items()
    }


def of_kind(counters: Mapping[str, int], name: str) -> list[int]:
    """Accesses of a cache by their end: hits, on sectors under way, and misses of lines and sectors."""
    return [counters.get(f"{name}_{kind}", 0) for kind in ("hits", "pending_hits", "line_misses", "sector_misses")]


def accesses(counters: Mapping[str, int]) -> int:
    """All of the L2."""
    return sum(of_kind(counters, "l2.read")) + sum(of_kind(counters, "l2.write"))


def hit_rates(counters: Mapping[str, int]) -> dict[str, float]:
    """Hits of the L2 over its accesses; a hit on a sector under way is one.

    Of all accesses; the same where a write counts as a hit, as an RTX 3070's counter has it. The latter is made of the
    texture reads' share of accesses and their rate, and of the rate of the rest; beside them the L1's rate of texture
    reads.
    """
    reads, writes, textures, own = (
        of_kind(counters, name) for name in ("l2.read", "l2.write", "l2.texture_read", "l1d.texture_read")
    )
    every = sum(reads) + sum(writes)
    found, rest = sum(reads[:2]) + sum(writes), every - sum(textures)
    return {
        HIT: (sum(reads[:2]) + sum(writes[:2])) / every,
        COUNTED: found / every,
        TEXTURE_HIT: sum(textures[:2]) / sum(textures) if any(textures) else NAN,
        TEXTURE_PART: sum(textures) / every,
        REST_HIT: (found - sum(textures[:2])) / rest if rest else NAN,
        L1_TEXTURE_HIT: sum(own[:2]) / sum(own) if any(own) else NAN,
    }


def values(found: Found) -> Iterator[Value]:
    """Shares over time, their mean and most, and the L2's hit rates."""
    for case, one in found.items():
        cycles, texture = one["series"]["cycle"], one["series"]["lines graphics texture"]
        for cycle, share, other in zip(cycles, texture, one["series"]["lines graphics other"], strict=True):
            yield Value(NAME, case, TEXTURE, share, cycle)
            yield Value(NAME, case, OTHER, other, cycle)
        yield Value(NAME, case, MEAN, mean(texture))
        yield Value(NAME, case, MOST, max(texture))
        for name, rate in hit_rates(one["classes"]["graphics"]["counters"]).items():
            if rate == rate:
                yield Value(NAME, case, name, rate)


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
    """Shares and hit rates by picture, an RTX 3070's behind a stroke."""
    beside = {
        COUNTED: "L2 hits %, writes as hits", TEXTURE_PART: "texture reads, % of accesses",
        TEXTURE_HIT: "their L2 hits %", REST_HIT: "the rest's, writes as hits %", L1_TEXTURE_HIT: "L1 texture hits %",
    }  # fmt: skip
    ours = {name: singles(values, NAME, name) for name in (MEAN, MOST, HIT, *beside)}
    hardware = {COUNTED: HIT}  # a counter that takes writes for hits
    known = {
        name: {case.graphics: one for case, one in theirs(NAME, hardware.get(name, name), who="hardware").items()}
        for name in beside
    }

    def percent(found: Mapping[Any, float], key: Any) -> str:
        return f"{100 * found[key]:.1f}" if key in found else "-"

    lines = [
        [case.graphics, case.size, *(percent(ours[name], case) for name in (MEAN, MOST, HIT)),
         *(f"{percent(ours[name], case)} / {percent(known[name], case.graphics)}" for name in beside)]
        for case in ours[HIT]
    ]  # fmt: skip
    header = ["picture", "size", "texture lines, mean %", "most %", "L2 hits %"]
    return [*header, *(f"{title} / RTX 3070" for title in beside.values())], lines


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
