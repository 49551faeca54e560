"""Errors of ``zatel estimate``, coverage of its intervals, and its speed-up over full replays.

    python -m bench.accuracy.estimate TRACE [TRACE ...] [--gpu mobile rtx2060] [--fraction 0.1] [--seeds 5] [--floor]
    python -m bench.accuracy.estimate TRACE --speed [--times 3]

Full replays are made once and kept in --store. Prints a line per trace, GPU and fraction: mean absolute error of every
metric over the seeds, their mean, the number of 95 % intervals that cover the full replay, and the speed-up: processor
time of the full replay / of the sample's (one core, no file reading; a stored replay keeps its original time).
``--floor`` also replays the whole trace with latencies and starts off by a cycle: the noise floor between two of these
replays, and the distance of the estimates from their mean.
``--speed`` runs the commands ``rayplay estimate`` and ``rayplay replay`` in turn, --times times, and compares the least
processor times: start, reading, checks and writing included.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.changes.noise import Metrics, mean_of, noise_floor, perturbed
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.replays.runs import Run, simulate_runs
from rayplay.zatel.sample.estimate import Estimate, Work, estimate, read_work


def parser_of_estimates(description: str | None, seeds: int) -> argparse.ArgumentParser:
    """The options of a bench that compares estimates with full replays."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE")
    parser.add_argument("--gpu", nargs="+", default=["mobile", "rtx2060"])
    parser.add_argument("--fraction", nargs="+", type=float, default=[0.1])
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--store", type=Path, default=Path("build/bench-estimate"))
    return parser


def main() -> None:
    parser = parser_of_estimates(__doc__, 5)
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    for path in arguments.traces:
        trace = open_trace(path)
        work = read_work(trace)
        for gpu in arguments.gpu:
            for fraction in arguments.fraction:
                if arguments.speed:
                    compare_speed(trace, gpu, fraction, arguments.times)
                else:
                    found = compare(trace, gpu, fraction, arguments.seeds, work, Store(arguments.store))
                    if arguments.floor:
                        compare_floor(trace, gpu, found, Store(arguments.store))


def compare(trace: Trace, gpu_name: str, fraction: float, seeds: int, work: Work, store: Store) -> list[Estimate]:
    """Two lines: errors, coverage, speed-up. Returns the estimates."""
    gpu = load_gpu(gpu_name)
    full = simulate_runs(trace, [Run(gpu)], store)[0]
    covered: list[bool] = []
    estimates = [estimate(trace, gpu, fraction, seed, work) for seed in range(1, seeds + 1)]
    for found in estimates:
        for name in RULES:
            bounds = found.intervals[name]
            if bounds is not None:
                covered.append(bounds.low <= (full.metrics[name] or 0.0) <= bounds.high)
    seconds = np.mean([found.replayed.cpu_seconds for found in estimates])
    errors = errors_of(estimates, full.metrics)
    print(f"{trace.path.name} {gpu_name} {fraction:g}: mean absolute error % (bias): {errors};")
    print(f"    covered {sum(covered)} of {len(covered)}; {full.cpu_seconds / seconds:.1f} times faster")
    return estimates


def errors_of(estimates: list[Estimate], truth: Metrics) -> str:
    """Of each metric the mean absolute error in % and the mean error, and the mean over the metrics."""
    errors = [[(found.metrics[name] or 0.0) / (truth[name] or 1.0) - 1.0 for name in RULES] for found in estimates]
    mean, bias = 100 * np.abs(errors).mean(axis=0), 100 * np.mean(errors, axis=0)
    shown = " ".join(f"{name} {a:.1f} ({b:+.1f})" for name, a, b in zip(RULES, mean, bias, strict=True))
    return f"{shown}; all {mean.mean():.2f}"


def compare_floor(trace: Trace, gpu_name: str, estimates: list[Estimate], store: Store) -> None:
    """Two lines: the noise floor of full replays, and how far estimates are from the mean of these."""
    gpu = load_gpu(gpu_name)
    runs = [one.metrics for one in simulate_runs(trace, [Run(one) for one in (gpu, *perturbed(gpu))], store)]
    floors = noise_floor(runs)
    print("    noise floor of full replays, %:", " ".join(f"{name} {100 * floors[name]:.2f}" for name in RULES))
    print(f"    errors from the mean of these {len(runs)}: {errors_of(estimates, mean_of(runs))}")


def compare_speed(trace: Trace, gpu_name: str, fraction: float, times: int) -> None:
    """One line: least processor times of whole commands, start and reading included, made in turn."""
    commands = ["estimate", "--fraction", f"{fraction:g}"], ["replay"]
    found = [[cpu_seconds(trace, gpu_name, command) for command in commands] for _ in range(times)]
    least = [min(column) for column in zip(*found, strict=True)]
    print(f"{trace.path.name} {gpu_name} {fraction:g}: replay {least[1]:.1f} s, estimate {least[0]:.1f} s,", end=" ")
    print(f"{least[1] / least[0]:.1f} times faster, least of {times}")


def cpu_seconds(trace: Trace, gpu_name: str, command: list[str]) -> float:
    """Processor time of ``rayplay`` and its processes."""
    verb, *options = command
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        out = ["--out", f"{folder}/x.result"] if verb == "replay" else []
        line = [sys.executable, "-m", "rayplay", verb, str(trace.path), "--gpu", gpu_name, *options, *out]
        subprocess.run(line, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()
