"""Pairs of a picture and a partner under some partitions, and each partition's speed beside MPS's."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp.draw import bars, canvas, save
from rayplay.crisp.experiment import Found, Table
from rayplay.crisp.sources import Drawn, Launched
from rayplay.crisp.suite import Suite, size_text
from rayplay.crisp.tasks import Replayed, Task
from rayplay.crisp.values import Case, Value, mean, singles

BASE = "mps"  # of the paper's Figures 12 and 14
SPEED, CYCLES = "speed over MPS", "cycles"


def tasks(suite: Suite, gpu: str, partitions: Sequence[str]) -> Mapping[Case, Task]:
    """Every pair under every partition."""
    return {
        Case(gpu, size_text(suite.size), name, partner, partition): Replayed(
            (
                ("graphics", Drawn(suite.workloads[name], suite.size)),
                ("compute", Launched(partner, suite.partners[partner])),
            ),
            gpu, partition, suite.interval,
        )
        for name, partner in suite.pairs for partition in partitions
    }  # fmt: skip


def values(name: str, found: Found) -> Iterator[Value]:
    """Cycles until both have ended once, of each, and the speed beside MPS's."""
    for case, one in found.items():
        base = found[case._replace(partition=BASE)]
        yield Value(name, case, CYCLES, one["cycles"])
        for each, row in one["classes"].items():
            yield Value(name, case, f"{each} {CYCLES}", row["cycles"])
        yield Value(name, case, SPEED, base["cycles"] / one["cycles"])


def speeds(values: Sequence[Value], name: str, partition: str, **case: str) -> list[float]:
    """Speeds of a partition, pair by pair."""
    return list(singles(values, name, SPEED, partition=partition, **case).values())


def means(values: Sequence[Value], name: str, partition: str) -> dict[str, float]:
    """Mean speed of a partition by partner."""
    partners = dict.fromkeys(case.partner for case in singles(values, name, SPEED))
    return {one: mean(speeds(values, name, partition, partner=one)) for one in partners}


def judged(partners: Collection[str], known: Mapping[str, float], holds: Callable[[str], bool]) -> bool | None:
    """Whether a sentence holds of each of the partners; None unless the mean of each is known."""
    return all(map(holds, partners)) if known.keys() >= set(partners) else None


def listed(numbers: Mapping[str, float]) -> str:
    """Names with their numbers."""
    return ", ".join(f"{name} {one:.3f}" for name, one in numbers.items())


def table(values: Sequence[Value], name: str) -> Table:
    """Cycles and speed by pair and partition."""
    lines = []
    for case, speed in singles(values, name, SPEED).items():
        cycles = [singles(values, name, what)[case] for what in (CYCLES, f"graphics {CYCLES}", f"compute {CYCLES}")]
        pair = f"{case.graphics} + {case.partner}"
        lines.append([pair, case.gpu, case.partition, *(f"{one:,.0f}" for one in cycles), f"{speed:.3f}"])
    return ["pair", "GPU", "partition", "cycles", "graphics done", "compute done", SPEED], lines


def draw(values: Sequence[Value], name: str, title: str, path: Path) -> None:
    """Speeds by pair, one bar for each partition."""
    figure, [axis] = canvas(1, 8.0)
    found = singles(values, name, SPEED)
    groups = list(dict.fromkeys((case.graphics, case.partner) for case in found))
    columns: dict[str, list[float]] = {}
    for case, one in found.items():
        columns.setdefault(case.partition, []).append(one)
    bars(axis, [" + ".join(group) for group in groups], columns, SPEED)
    axis.axhline(1, color="grey", linewidth=0.8)
    axis.set_title(title, fontsize=10)
    save(figure, path)
