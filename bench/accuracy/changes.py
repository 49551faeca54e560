"""Errors of ``zatel whatif``: predicted changes and intervals beside the full replays', and the model's share.

    python -m bench.accuracy.changes TRACE [TRACE ...] [--gpu rtx2060] [--fraction 0.1] [--change KEY*2 ...]
        --full --store FOLDER

Prints a line per change of the cycles, and per trace and GPU: the mean and the largest error in points, the 95 %
intervals of all metrics that hold the full change, and the right signs of the changes of the cycles above the full
replays' noise floor. ``--full`` makes the full replays that ``--store`` lacks; without it only changes that are there
are compared. At the end, for each trace, the share of a change that the model errs by (``paired.model_share``) as the
others tell it, and its own intervals that hold with that share.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.changes import paired
from rayplay.zatel.changes.noise import OFFSETS, Metrics, mean_of, noise_floor, perturbed
from rayplay.zatel.changes.whatif import Design, changed, relative_change, what_if
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.replays.runs import Run, known_runs, simulate_runs
from rayplay.zatel.sample.intervals import quantile

TEN = (
    "sm.count/2", "sm.count*2", "memory.count/2", "rt.warps/2", "rt.warps*2", "rt.cores*2", "rt.mshr_entries/2",
    "l1.ways/2", "l1.latency_cycles*2", "l2.ways/2",
)  # fmt: skip
TWINS = (OFFSETS[0], OFFSETS[2], OFFSETS[4])  # of full replays: four cost a third of what as many as a sample's would
CYCLES = "gpu_cycles"


class Compared(NamedTuple):
    """A metric's change: predicted, in full, half the interval, and whether the interval holds.

    left  factor of the model's share in the interval: 0 for a sample of everything.
    """

    trace: str
    metric: str
    predicted: float
    full: float
    half: float
    holds: bool
    left: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE")
    parser.add_argument("--gpu", nargs="+", default=["mobile", "rtx2060"])
    parser.add_argument("--fraction", type=float, default=0.1)
    parser.add_argument("--change", nargs="+", default=list(TEN))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--store", type=Path, default=Path("build/bench-changes"))
    arguments = parser.parse_args()
    rows: list[Compared] = []
    for path in arguments.traces:
        for gpu in arguments.gpu:
            rows += compare(path, gpu, arguments)
    for path in arguments.traces:
        if len(arguments.traces) > 1:
            print(left_out(rows, path.name))


def compare(path: Path, gpu_name: str, arguments: argparse.Namespace) -> list[Compared]:
    """A line per change of the cycles, and one for all; the changes of all metrics."""
    trace, gpu, store = open_trace(path), load_gpu(gpu_name), Store(arguments.store)
    twins = [Run(one) for one in (gpu, *perturbed(gpu, TWINS))]
    designs = [Run(changed(gpu, change)) for change in arguments.change]
    if arguments.full:
        simulate_runs(trace, [*twins, *designs], store, 1)
    fulls = {name: one for name, one in zip(arguments.change, known_runs(trace, designs, store), strict=True) if one}
    runs = [one.metrics for one in known_runs(trace, twins, store) if one]
    if not fulls or not runs:
        print(f"{path.name} {gpu_name}: the store has no full replays")
        return []
    found = what_if(trace, gpu, list(fulls), arguments.fraction, arguments.seed, 1)
    base, rows = mean_of(runs), []
    floor = noise_floor(runs, len(fulls))[CYCLES] if len(runs) > 1 else 0.0
    left = 1.0 - min(found.sample["warps"] / trace.rows("warps"), found.sample["sms"] / gpu.sm.count)
    for design in found.designs:
        full = relative_change(fulls[design.name].metrics, base)
        rows += compared(path.name, design, full, left)
        low, high = (100 * end for end in design.intervals[CYCLES] or (np.nan, np.nan))
        size = f"{design.sample['sms']:.0f} SMs, {design.sample['controllers']:.0f} controllers"
        print(
            f"  {design.name:<22}{100 * (design.predicted[CYCLES] or 0):+7.1f} % ({low:+.1f} to {high:+.1f}),", end=" "
        )
        print(f"full {100 * (full[CYCLES] or 0):+7.1f} %; {size}", flush=True)
    floors = f"noise floor {100 * found.floor[CYCLES]:.1f} %, of full replays {100 * floor:.1f}"
    part = f"{100 * found.sample['share']:.0f} % of the instructions"
    print(f"{path.name} {gpu_name}, {part}: {floors}; {summary(rows, floor)}")
    return rows


def compared(trace: str, design: Design, full: Metrics, left: float) -> list[Compared]:
    """The metrics of a design whose change and interval are known."""
    rows = []
    for name in RULES:
        bounds, predicted, truth = design.intervals[name], design.predicted[name], full[name]
        if bounds is not None and predicted is not None and truth is not None:
            half = (bounds.high - bounds.low) / 2
            rows.append(Compared(trace, name, predicted, truth, half, bounds.low <= truth <= bounds.high, left))
    return rows


def summary(rows: Sequence[Compared], floor: float) -> str:
    """Errors of the cycles, coverage, and signs."""
    cycles = [one for one in rows if one.metric == CYCLES]
    errors = [100 * abs(one.predicted - one.full) for one in cycles]
    signs = [one.predicted * one.full > 0 for one in cycles if abs(one.full) > floor]
    held, every = [one.holds for one in cycles], [one.holds for one in rows]
    return (
        f"error of the cycles {np.mean(errors):.1f} points, largest {max(errors):.1f}; intervals hold"
        f" {sum(held)} of {len(held)}, of all metrics {sum(every)} of {len(every)}; signs {sum(signs)} of {len(signs)}"
    )


def left_out(rows: Sequence[Compared], trace: str) -> str:
    """The share that the other traces tell, and this one's intervals that hold when it replaces the program's."""
    parts = []
    factor = quantile(paired.MODEL_DEGREES)
    for metric in RULES:
        mine, others = (
            [one for one in rows if one.metric == metric and (one.trace == trace) == is_mine]
            for is_mine in (True, False)
        )
        used, share = paired.model_share(metric), learned(others)
        held = [
            abs(one.predicted - one.full) ** 2
            <= max(one.half**2 + (factor * one.left * one.predicted) ** 2 * (share**2 - used**2), 0.0)
            for one in mine
        ]
        parts.append(f"{metric} {share:.2f}, holds {sum(held)} of {len(held)}")
    return f"{trace} left out, share of the change: {'; '.join(parts)}"


def learned(rows: Sequence[Compared]) -> float:
    """Root mean square of error / change over the changes of 5 % and more, below which noise decides the ratio."""
    ratios = [(one.predicted - one.full) / one.full for one in rows if abs(one.full) >= 0.05]
    return float(np.sqrt(np.mean(np.square(ratios)))) if ratios else np.nan


if __name__ == "__main__":
    main()
