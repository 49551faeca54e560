"""A figure that the paper has not: raster, ray-traced shadows and a network on one GPU, under five partitions."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp.draw import bars, canvas, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.experiments.frames import GREEDY
from rayplay.crisp.sources import Drawn, Launched, Shadowed, Source
from rayplay.crisp.suite import RTX, Suite, size_text
from rayplay.crisp.tasks import Replayed, Task
from rayplay.crisp.values import Case, Finding, Value, singles

NAME = "three"
PARTITIONS = (GREEDY, "mps", "mig", "even", "tap")
NETWORK, ALONE = "NN", "alone"
CLASSES = ("graphics", "raytracing", "compute")
SPEEDUP, FAIRNESS = "weighted speed-up", "fairness"


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """All three under each partition, and each alone."""
    one = suite.workloads[suite.traced]
    sources = (Drawn(one, suite.size), Shadowed(one, suite.size), Launched(NETWORK, suite.partners[NETWORK]))
    work: tuple[tuple[str, Source], ...] = tuple(zip(CLASSES, sources, strict=True))
    case = Case(RTX, size_text(suite.size), one.name, NETWORK)
    together = {case._replace(partition=name): Replayed(work, RTX, name, suite.interval) for name in PARTITIONS}
    alone = {
        case._replace(variant=f"{ALONE} {name}"): Replayed(((name, source),), RTX, GREEDY, suite.interval)
        for name, source in work
    }
    return together | alone


def values(found: Found) -> Iterator[Value]:
    """Slowdown of each class, weighted speed-up and fairness."""
    alone = {
        case.variant.removeprefix(f"{ALONE} "): one["cycles"]
        for case, one in found.items()
        if case.variant.startswith(ALONE)
    }
    for case, one in found.items():
        if case.variant:
            yield Value(NAME, case, "cycles", one["cycles"])
            continue
        speed = {name: alone[name] / one["classes"][name]["cycles"] for name in CLASSES}
        for name in CLASSES:
            yield Value(NAME, case, f"slowdown {name}", 1 / speed[name])
        yield Value(NAME, case, "cycles", one["cycles"])
        yield Value(NAME, case, SPEEDUP, sum(speed.values()))
        yield Value(NAME, case, FAIRNESS, min(speed.values()) / max(speed.values()))


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """The best partition by throughput and by fairness, and whether sharing pays at all."""
    speedup, fairness = (
        {case.partition: one for case, one in singles(values, NAME, what).items()} for what in (SPEEDUP, FAIRNESS)
    )
    best, fairest = (max(found, key=found.__getitem__) for found in (speedup, fairness))
    yield Finding(
        "new", "Raster, rays and a network together are faster than one after the other, under the best partition, "
        "counting work done again",
        max(speedup.values()) > 1, "-",
        f"weighted speed-up {', '.join(f'{name} {one:.2f}' for name, one in speedup.items())}: best {best}; "
        f"fairness {', '.join(f'{name} {one:.2f}' for name, one in fairness.items())}: fairest {fairest}",
        "shadows of the same picture by rays of their own launch; classes that end first begin again",
    )  # fmt: skip


def table(values: Sequence[Value]) -> Table:
    """Slowdowns by partition."""
    found = {
        what: singles(values, NAME, what) for what in (*(f"slowdown {name}" for name in CLASSES), SPEEDUP, FAIRNESS)
    }
    lines = [[case.partition, *(f"{own[case]:.3f}" for own in found.values())] for case in found[SPEEDUP]]
    return ["partition", *found], lines


def draw(values: Sequence[Value], path: Path) -> None:
    """Slowdowns by partition, and both sums."""
    figure, axes = canvas(2, 5.0, 3.6)
    columns = {name: list(singles(values, NAME, f"slowdown {name}").values()) for name in CLASSES}
    bars(axes[0], PARTITIONS, columns, "slowdown: cycles / cycles alone")
    [case, *_] = singles(values, NAME, SPEEDUP)
    axes[0].set_title(f"{case.graphics} rasterised, its shadows by rays, {case.partner}; {case.gpu}", fontsize=9)
    sums = {what: list(singles(values, NAME, what).values()) for what in (SPEEDUP, FAIRNESS)}
    bars(axes[1], PARTITIONS, sums, "of cycles alone / cycles")
    axes[1].set_title("sum of all three, and least over most", fontsize=9)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Rays, raster and a network on one GPU", tasks, values, findings, table, draw)
