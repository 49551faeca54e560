"""Hits of the L2 by where data between stages lie: as the paper has them, on chip, and as GPUs have all of them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp.draw import bars, canvas, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.experiments import composition
from rayplay.crisp.experiments.composition import COUNTED, HIT, L1_TEXTURE_HIT, REST_HIT, TEXTURE_HIT, TEXTURE_PART
from rayplay.crisp.experiments.frames import GREEDY
from rayplay.crisp.sources import AS_GPUS, ON_CHIP, Drawn
from rayplay.crisp.suite import RTX, Suite, size_text
from rayplay.crisp.tasks import Replayed, Task
from rayplay.crisp.values import NAN, Case, Finding, Value, mean, singles, theirs

NAME = "traffic"
CYCLES, ACCESSES = "cycles", "L2 accesses"
PAPER = "in the L2"
VARIANTS = {PAPER: "", ON_CHIP: ON_CHIP, AS_GPUS: AS_GPUS}
WORDS = {ON_CHIP: "With varyings on chip", AS_GPUS: "With all data between stages as GPUs have them"}
RATES = {
    COUNTED: "L2 hits %, writes as hits", TEXTURE_PART: "texture reads, % of accesses", TEXTURE_HIT: "their L2 hits %",
    REST_HIT: "the rest's, writes as hits %", L1_TEXTURE_HIT: "L1 texture hits %",
}  # fmt: skip


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture alone, drawn in each way; nothing without textures."""
    if suite.is_procedural:
        return {}
    return {
        Case(RTX, size_text(suite.size), name, variant=variant): Replayed(
            (("graphics", Drawn(one, suite.size, traffic=traffic)),), RTX, GREEDY, suite.interval
        )
        for name, one in suite.workloads.items()
        for variant, traffic in VARIANTS.items()
    }


def values(found: Found) -> Iterator[Value]:
    """Rates of hits, accesses of the L2 and cycles."""
    for case, one in found.items():
        counters = one["classes"]["graphics"]["counters"]
        yield Value(NAME, case, CYCLES, one["cycles"])
        yield Value(NAME, case, ACCESSES, composition.accesses(counters))
        for name, rate in composition.hit_rates(counters).items():
            if rate == rate and name != HIT:
                yield Value(NAME, case, name, rate)


def hardware(quantity: str) -> dict[str, float]:
    """An RTX 3070's rate by picture."""
    name = HIT if quantity == COUNTED else quantity  # a counter that takes writes for hits
    return {case.graphics: one for case, one in theirs(composition.NAME, name, who="hardware").items()}


def errors(values: Sequence[Value], quantity: str) -> dict[str, float]:
    """Mean distance from the RTX 3070's rate, by each variant that has all the pictures of ``PAPER``."""
    known = hardware(quantity)
    found = {
        variant: {case.graphics: one for case, one in singles(values, NAME, quantity, variant=variant).items()}
        for variant in VARIANTS
    }
    pictures = found[PAPER].keys() & known.keys()
    return {
        variant: mean(abs(rates[name] - known[name]) for name in sorted(pictures))
        for variant, rates in found.items()
        if pictures and pictures <= rates.keys()
    }


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Distance from an RTX 3070's counters, with varyings in the L2 and on chip; not to be said where pictures miss."""
    if not singles(values, NAME, CYCLES):
        return
    sizes = {case.size for case in singles(values, NAME, CYCLES)}
    measured = {case.size for case in theirs(composition.NAME, HIT, who="hardware")}
    for quantity, title in ((TEXTURE_PART, "the share of texture reads"), (COUNTED, "the hit rate")):
        found = errors(values, quantity)
        text = ", ".join(f"{name} {100 * one:.1f}" for name, one in found.items())
        for variant, words in WORDS.items():
            if variant == ON_CHIP or variant in found:
                yield Finding(
                    "new", f"{words} {title} of the L2 comes nearer to the RTX 3070's",
                    found[variant] < found[PAPER] if sizes <= measured and variant in found else None, "-",
                    f"mean distance in points: {text}" if text else "-", "other meshes, maps and cameras",
                )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Rates by picture and variant, an RTX 3070's behind a stroke."""
    ours = {name: singles(values, NAME, name) for name in (CYCLES, ACCESSES, *RATES)}
    known = {name: hardware(name) for name in RATES}

    def percent(rate: float | None) -> str:
        return "-" if rate is None else f"{100 * rate:.1f}"

    lines = [
        [case.graphics, case.variant, f"{ours[CYCLES][case]:,.0f}", f"{ours[ACCESSES][case]:,.0f}",
         *(f"{percent(ours[name].get(case))} / {percent(known[name].get(case.graphics))}" for name in RATES)]
        for case in ours[CYCLES]
    ]  # fmt: skip
    header = ["picture", "data between stages", "cycles", "L2 accesses"]
    return [*header, *(f"{title} / RTX 3070" for title in RATES.values())], lines


def draw(values: Sequence[Value], path: Path) -> None:
    """Bars by picture: texture reads of the L2's accesses, and hits."""
    figure, axes = canvas(2, 5.4, 3.0)
    for axis, (name, title) in zip(
        axes, ((TEXTURE_PART, "texture reads"), (COUNTED, "hits, writes as hits")), strict=True
    ):
        found, known = singles(values, NAME, name), hardware(name)
        pictures = list(dict.fromkeys(case.graphics for case in found))
        [size] = {case.size for case in found}
        ours = {
            variant: [found.get(Case(RTX, size, picture, variant=variant), NAN) for picture in pictures]
            for variant in VARIANTS
        }
        theirs_too = {"RTX 3070": [known.get(picture, NAN) for picture in pictures]}
        bars(axis, pictures, ours | theirs_too, "share of L2 accesses")
        axis.set_title(title, fontsize=9)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Hits of the L2 by where data between stages lie", tasks, values, findings, table, draw)
