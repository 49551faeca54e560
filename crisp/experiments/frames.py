"""Figure 6: frame times of the pictures alone, at two sizes, beside an RTX 3070."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rayplay.crisp.draw import THEIRS, bars, canvas, save
from rayplay.crisp.experiment import Experiment, Found, Table
from rayplay.crisp.sources import Drawn
from rayplay.crisp.suite import RTX, Suite, Workload, gpu_of, size_text
from rayplay.crisp.tasks import Replayed, Task
from rayplay.crisp.values import Case, Finding, Value, singles, theirs
from rayplay.formats.guard import exact

NAME, CYCLES, MICROSECONDS = "frames", "cycles", "microseconds"
GREEDY = "greedy"
FEWEST = 3  # pictures for a correlation


def tasks(suite: Suite) -> Mapping[Case, Task]:
    """Each picture at both sizes."""
    return {
        Case(RTX, size_text(size), name): alone(one, size, suite)
        for name, one in suite.workloads.items()
        for size in (suite.size, suite.larger)
    }


def alone(workload: Workload, size: tuple[int, int], suite: Suite) -> Replayed:
    """A picture alone on the RTX 3070."""
    return Replayed((("graphics", Drawn(workload, size)),), RTX, GREEDY, suite.interval)


def values(found: Found) -> Iterator[Value]:
    """Cycles and microseconds."""
    mhz = gpu_of(RTX).sm.clock_khz / 1000
    for case, one in found.items():
        yield Value(NAME, case, CYCLES, one["cycles"])
        yield Value(NAME, case, MICROSECONDS, one["cycles"] / mhz)


def findings(values: Sequence[Value]) -> Iterator[Finding]:
    """Correlation, sign of the error, and growth with the picture."""
    ours, hardware = singles(values, NAME, MICROSECONDS), theirs(NAME, MICROSECONDS)
    both = [case for case in ours if case in hardware]
    if len(both) >= FEWEST:
        logs = [[exact.log(side[case]) for case in both] for side in (hardware, ours)]
        found = exact.correlation(*logs)
        yield Finding(
            "Fig. 6", "Frame times follow the RTX 3070's", found > 0.5, "correlation 0.948",
            f"correlation of the logarithms {found:.3f}, {len(both)} pictures", "other meshes, maps and cameras",
        )  # fmt: skip
        longer = [case.graphics for case in both if ours[case] > hardware[case]]
        yield Finding(
            "Fig. 6", "Simulated frames take longer than the hardware's", len(longer) == len(both), "always",
            f"longer for {', '.join(longer) or 'none'} of {', '.join(case.graphics for case in both)}",
            "other meshes, maps and cameras; hardware times are sums of draws that a profiler timed singly",
        )  # fmt: skip
    growth = _growth(values)
    [limit] = theirs(NAME, "4K over 2K").values()
    if "IT" in growth:
        yield Finding(
            "VI-A", "IT is bound by its vertices: 2.25 times the pixels cost little",
            growth["IT"] == min(growth.values()), f"{limit:.2f} times the time",
            ", ".join(f"{name} {one:.2f}" for name, one in growth.items()),
            "holds where IT grows least of the suite",
        )  # fmt: skip


def _growth(values: Sequence[Value]) -> dict[str, float]:
    """Cycles of the larger picture over the smaller one's."""
    found: dict[str, list[float]] = {}
    for case, one in singles(values, NAME, CYCLES).items():
        found.setdefault(case.graphics, []).append(one)
    return {name: max(pair) / min(pair) for name, pair in found.items()}


def table(values: Sequence[Value]) -> Table:
    """Times by picture and size."""
    hardware, growth = theirs(NAME, MICROSECONDS), _growth(values)
    lines = []
    for case, cycles in singles(values, NAME, CYCLES).items():
        time = singles(values, NAME, MICROSECONDS)[case]
        known = f"{hardware[case]:,.0f}" if case in hardware else "-"
        lines.append(
            [case.graphics, case.size, f"{cycles:,.0f}", f"{time:,.1f}", known, f"{growth[case.graphics]:.2f}"]
        )
    return ["picture", "size", "cycles", "us", "RTX 3070, us", "larger / smaller"], lines


def draw(values: Sequence[Value], path: Path) -> None:
    """Times by picture, one bar for each size."""
    figure, [axis] = canvas()
    ours, hardware = singles(values, NAME, MICROSECONDS), theirs(NAME, MICROSECONDS)
    names = list(dict.fromkeys(case.graphics for case in ours))
    sizes = list(dict.fromkeys(case.size for case in ours))
    bars(axis, names, {size: [ours[Case(RTX, size, name)] for name in names] for size in sizes}, "frame time [us]")
    for case, one in hardware.items():
        if case in ours:
            axis.plot([names.index(case.graphics)], [one], "x", color=THEIRS, markersize=9, markeredgewidth=2)
    axis.set_title(f"Fig. 6  frames alone on {RTX}; crosses: the hardware at 2560x1440", fontsize=10)
    save(figure, path)


EXPERIMENT = Experiment(NAME, "Figure 6: frame times", tasks, values, findings, table, draw)
