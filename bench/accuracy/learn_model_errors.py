"""Errors of estimates over scenes, and coverage of their 95 % intervals.

    python -m bench.accuracy.learn_model_errors TRACE [TRACE ...] [--gpu mobile rtx2060] [--fraction 0.1] [--seeds 10]

One seeded sample is a trial. A trace is named by its scene, or by scene and workload (``bunny-shadows``). Full replays
and trials are kept in --store, so an interrupted run resumes. Writes ``zatel/sample/model_errors.csv`` (--table), the
source of every interval's model error; rows of other scenes and sizes stay. Prints the coverage of each metric with
this table, and with one without the estimated scene.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from bench.accuracy.estimate import parser_of_estimates
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.model.instructions import traces_rays
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.result_cache import Store, engine_identity, trace_identity
from rayplay.zatel.replays.runs import Run, simulate_runs
from rayplay.zatel.sample.estimate import Work, estimate, read_work
from rayplay.zatel.sample.intervals import sampling_errors
from rayplay.zatel.sample.model_error import (
    TABLE,
    ModelError,
    Spread,
    bounds,
    model_errors,
    read_table,
    scene_of,
)

CODE = Path(__file__).resolve().parents[2] / "zatel"
# scene, gpu, fraction, warps, rounds, steps, size, metrics: name -> [estimate, truth, standard error, degrees]
Trial = dict[str, Any]


def main() -> None:
    parser = parser_of_estimates(__doc__, 10)
    parser.add_argument("--table", type=Path, default=TABLE)
    arguments = parser.parse_args()
    trials = []
    for path in tqdm(arguments.traces, desc="traces"):
        trace = open_trace(path)
        work: list[Work] = []
        for gpu in arguments.gpu:
            for fraction in arguments.fraction:
                for seed in range(1, arguments.seeds + 1):
                    trials.append(trial(trace, gpu, fraction, seed, work, Store(arguments.store)))
    rows = table(trials)
    made = {row[:4] for row in rows}
    rows += [row for row in read_table(arguments.table) if row[:4] not in made] if arguments.table.exists() else []
    write_table(sorted(rows), arguments.table)
    report(trials, rows)


def trial(trace: Trace, gpu_name: str, fraction: float, seed: int, work: list[Work], store: Store) -> Trial:
    """Estimate from one sample, or read it from the store; ``work`` caches the trace's work."""
    gpu = load_gpu(gpu_name)
    key = {"trial": seed, "trace": trace_identity(trace), "gpu": gpu_name, "fraction": fraction}
    key |= {"engine": engine_identity(), "zatel": code_text()}
    known = store.get(key)
    if known is not None:
        return known
    full = simulate_runs(trace, [Run(gpu)], store)[0].metrics
    if not work:
        work.append(read_work(trace))
    found = estimate(trace, gpu, fraction, seed, work[0])
    errors = sampling_errors(found.replayed.intervals, float(found.warps.mean()))
    metrics = {name: [found.metrics[name], full[name], *errors[name]] for name in RULES if np.isfinite(errors[name][0])}
    share = min(found.machine.sms / gpu.sm.count, float(found.warps.mean()))
    value = {"scene": trace.path.stem, "gpu": gpu_name, "fraction": fraction, "size": share, "metrics": metrics}
    value |= {"warps": int(found.warps.sum()), "rounds": found.rounds, "steps": found.steps}
    value |= {"is_traced": traces_rays(trace)}
    store.put(key, value)
    return value


def code_text() -> str:
    """Sources that decide an estimate; the table of errors is not among them."""
    files = sorted([*(CODE / "model").glob("*.py"), *(CODE / "sample").glob("*.py")])
    return "".join(file.read_text(encoding="utf-8") for file in files)


def table(trials: list[Trial]) -> list[Spread]:
    """A row per scene, GPU, fraction and metric."""
    groups: dict[tuple[str, str, float, int, float, float, str], list[tuple[float, float]]] = {}
    for one in trials:
        for name, (value, truth, error, _) in one["metrics"].items():
            if value:
                key = one["scene"], one["gpu"], one["fraction"], one["warps"], one["rounds"], one["steps"], name
                groups.setdefault(key, []).append((truth / value - 1.0, error))
    rows = []
    for (scene, gpu, fraction, warps, rounds, steps, name), found in groups.items():
        error, sampling = (float(np.sqrt(np.mean(np.square(column)))) for column in zip(*found, strict=True))
        spread = float(np.std([off for off, _ in found], ddof=1)) if len(found) > 1 else 0.0
        rows.append(Spread(scene, gpu, fraction, warps, rounds, steps, len(found), name, error, spread, sampling))
    return rows


def write_table(rows: list[Spread], path: Path) -> None:
    """Write the table as CSV, with four digits."""
    with atomic_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Spread._fields)
        writer.writerows(
            [*row[:4], f"{row.rounds:.4g}", f"{row.steps:.4g}", *row[6:8], *(f"{value:.4g}" for value in row[8:])]
            for row in rows
        )


def report(trials: list[Trial], rows: list[Spread]) -> None:
    """Print per metric mean absolute error, bias, mean model error, and coverage with and without the scene."""
    scenes = {one["scene"] for one in trials}
    others = {scene: [row for row in rows if scene_of(row.scene) != scene_of(scene)] or rows for scene in scenes}
    print(
        f"{len(trials)} trials, {len(scenes)} scenes\n{'metric':<24} error %  bias %  machine %  covered %  left out %"
    )
    total = []
    for name in RULES:
        known = [(one, one["metrics"][name]) for one in trials if name in one["metrics"] and one["metrics"][name][1]]
        if not known:
            continue
        errors = 100 * np.array([value / truth - 1.0 for _, (value, truth, _, _) in known])
        both = [
            [
                model_errors(of, one["warps"], one["rounds"], one["steps"], one["is_traced"])[name]
                for of in (rows, others[one["scene"]])
            ]
            for one, _ in known
        ]
        covers = [
            [within(found, error, 1.0 - one["size"]) for error in pair]
            for (one, found), pair in zip(known, both, strict=True)
        ]
        total += covers
        added, shown = 100 * np.mean([error.effect for error, _ in both]), 100 * np.mean(covers, axis=0)
        numbers = np.abs(errors).mean(), errors.mean(), added, *shown
        print(f"{name:<24} {{:7.1f}} {{:+7.1f}} {{:10.1f}} {{:10.1f}} {{:11.1f}}".format(*numbers))
    shown = 100 * np.mean(total, axis=0)
    print(f"{'all':<24} {'':7} {'':7} {'':10} {shown[0]:10.1f} {shown[1]:11.1f}")


def within(found: list[float], known: ModelError, left: float) -> bool:
    """Whether the interval of an estimate covers the truth."""
    value, truth, error, degrees = found
    low, high = bounds(value, error, int(degrees), known, left)
    return low <= truth <= high


if __name__ == "__main__":
    main()
