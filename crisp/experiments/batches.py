"""Figure 3: vertex invocations by the size of the batch."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp.draw import canvas, curves, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.suite import BATCHES, Suite
from rayplay.crisp.tasks import Batched, Task
from rayplay.crisp.values import Case, Finding, Value, chosen, published, theirs

NAME, QUANTITY, WHOLE = "batches", "invocations", 0
PAPERS = 96


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each scene's index buffers."""
    return {Case(graphics=name): Batched(one) for name, one in suite.workloads.items() if name != "SPH"}


def values(found: Found) -> Iterator[Value]:
    """Invocations at each size; 0: without batches."""
    for case, one in found.items():
        for size, count in one["invocations"].items():
            yield Value(NAME, case, QUANTITY, count, float(size))


def errors() -> dict[int, float]:
    """Error of each size over the published meshes' draws: sum of the differences to the hardware over its sum.

    Draws weigh as they are large, as they do in the paper's correlation.
    """
    counted = [one.value for one in published() if (one.value.experiment, one.who) == (NAME, "meshes")]
    hardware, instances = theirs(NAME, QUANTITY, who="hardware"), theirs(NAME, "instances")
    total = sum(count * instances[case] for case, count in hardware.items())
    off = {one: abs(one.value - hardware[one.case]) * instances[one.case] for one in counted}
    return {size: sum(far for one, far in off.items() if one.at == size) / total for size in BATCHES}


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """The best batch, and what a batch costs."""
    error = errors()
    best = min(error, key=lambda size: error[size])
    listed = ", ".join(f"{size}: {100 * off:.1f} %" for size, off in error.items())
    yield Finding(
        "Fig. 3", "Batches of 96 indices come nearest to the invocations of hardware", best == PAPERS, str(PAPERS),
        f"{best}; error of all invocations by size: {listed}", "three public meshes with counters of an RTX 3070",
    )  # fmt: skip
    ratios = {name: _ratios(values, name) for name in _names(values)}
    falls = all(list(one.values()) == sorted(one.values(), reverse=True) for one in ratios.values())
    ends = ", ".join(f"{name} {one[BATCHES[0]]:.2f} to {one[BATCHES[-1]]:.2f}" for name, one in ratios.items())
    yield Finding(
        "Fig. 3", "Larger batches shade fewer vertices twice", falls, "falls with the size",
        f"invocations from {BATCHES[0]} to {BATCHES[-1]} indices, of the count at {PAPERS}: {ends}", "own suite",
    )  # fmt: skip


def _names(values: Sequence[Value]) -> list[str]:
    return list(dict.fromkeys(one.case.graphics for one in chosen(values, NAME, QUANTITY)))


def _ratios(values: Sequence[Value], name: str) -> dict[int, float]:
    counts = {int(one.at): one.value for one in chosen(values, NAME, QUANTITY, graphics=name)}
    return {size: counts[size] / counts[PAPERS] for size in BATCHES}


def table(values: Sequence[Value]) -> Table:
    """Invocations by scene and size."""
    lines = []
    for name in _names(values):
        counts = {one.at: one.value for one in chosen(values, NAME, QUANTITY, graphics=name)}
        lines.append([name, *(f"{counts[size]:,.0f}" for size in (*BATCHES, WHOLE)), "-"])
    hardware = theirs(NAME, QUANTITY, who="hardware")
    for case, count in hardware.items():
        by_size = {
            one.value.at: one.value.value for one in published() if one.value.case == case and one.who == "meshes"
        }
        lines.append(
            [f"{case.graphics} (published)", *(f"{by_size[size]:,.0f}" for size in BATCHES), "-", f"{count:,.1f}"]
        )
    return ["scene", *map(str, BATCHES), "no batches", "RTX 3070"], lines


def draw(values: Sequence[Value], path: Path) -> None:
    """Invocations over the size, relative to 96 indices."""
    figure, [axis] = canvas()
    lines = {name: (BATCHES, list(_ratios(values, name).values())) for name in _names(values)}
    for case, count in theirs(NAME, QUANTITY, who="hardware").items():
        counts = [one.value.value for one in published() if one.value.case == case and one.who == "meshes"]
        lines[f"{case.graphics}, of RTX 3070"] = (BATCHES, [each / count for each in counts])
    curves(axis, lines, "indices of a batch", "vertex invocations, relative")
    axis.axhline(1, color="grey", linewidth=0.8)
    axis.set_title("Fig. 3  our scenes relative to 96 indices, public meshes to an RTX 3070", fontsize=10)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Figure 3: vertex batches", tasks, values, findings, table, draw)
