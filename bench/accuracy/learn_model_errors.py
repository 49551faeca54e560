"""Errors of estimates over scenes, and coverage of their 95 % intervals.

    python -m bench.accuracy.learn_model_errors TRACE [TRACE ...] [--gpu mobile rtx2060] [--fraction 0.1] [--seeds 10]

One seeded sample is a trial. A trace is named by its scene, or by scene and workload (``bunny-shadows``). Full replays
and trials are kept in --store, so an interrupted run resumes. Writes ``zatel/sample/model_errors.csv`` (--table), the
source of every interval's model error; rows of other scenes and sizes stay, unless --fresh. Prints errors, half widths
and coverage of each metric, each trial with a table without its scene.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from bench.accuracy.estimate import parser_of_estimates
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard import exact
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.result_cache import Store, engine_identity, trace_identity
from rayplay.zatel.replays.runs import Run, simulate_runs
from rayplay.zatel.sample.estimate import Work, estimate_many, read_work
from rayplay.zatel.sample.intervals import standard_error
from rayplay.zatel.sample.model_error import (
    COLUMNS,
    TABLE,
    Spread,
    bounds,
    model_errors,
    read_table,
    scene_of,
    unbiased,
)

CODE = Path(__file__).resolve().parents[2] / "zatel"
# scene, gpu, fraction, warps, rounds, steps, size, metrics: name -> [estimate, truth, standard error]
Trial = dict[str, Any]


def main() -> None:
    parser = parser_of_estimates(__doc__, 10)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--fresh", action="store_true", help="forget the rows of other traces")
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
    if arguments.table.exists() and not arguments.fresh:
        rows += [row for row in read_table(arguments.table) if row[:4] not in made]
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
    found = estimate_many(trace, [gpu], fraction, seed, work[0], table=())[0]
    taken = float(found.warps.mean())
    errors = {name: standard_error(found.replicated[name], taken) for name in RULES}
    metrics = {name: [found.metrics[name], full[name], errors[name]] for name in RULES if np.isfinite(errors[name])}
    share = min(found.machine.sms / gpu.sm.count, float(found.warps.mean()))
    value = {"scene": trace.path.stem, "gpu": gpu_name, "fraction": fraction, "size": share, "metrics": metrics}
    value |= {"warps": int(found.warps.sum()), "rounds": found.rounds, "steps": found.steps}
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
        for name, (value, truth, error) in one["metrics"].items():
            if value:
                key = one["scene"], one["gpu"], one["fraction"], one["warps"], one["rounds"], one["steps"], name
                groups.setdefault(key, []).append((truth / value - 1.0, error))
    rows = []
    for (scene, gpu, fraction, warps, rounds, steps, name), found in groups.items():
        error, sampling = float(np.mean([off for off, _ in found])), exact.length(*(own for _, own in found))
        sampling /= len(found) ** 0.5
        spread = float(np.std([off for off, _ in found], ddof=1)) if len(found) > 1 else 0.0
        rows.append(Spread(scene, gpu, fraction, warps, rounds, steps, len(found), name, error, spread, sampling))
    return rows


def write_table(rows: list[Spread], path: Path) -> None:
    """Write the table as CSV, with four digits."""
    with atomic_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(
            [*row[:4], f"{row.rounds:.4g}", f"{row.steps:.4g}", *row[6:8], *(f"{value:.4g}" for value in row[8:])]
            for row in rows
        )


def report(trials: list[Trial], rows: list[Spread]) -> None:
    """Print error, half width and coverage of each metric and kind of trial, with a table without the trial's scene."""
    others = {one["scene"]: [row for row in rows if scene_of(row.scene) != scene_of(one["scene"])] for one in trials}
    found = [(one, name, *left_out(one, name, others[one["scene"]])) for one in trials for name in one["metrics"]]
    print(f"{len(trials)} trials, {len({scene_of(one['scene']) for one in trials})} scenes; the trial's scene left out")
    print(f"{'':<38} trials  error %  bias %  half width %  covered %")
    for name in RULES:
        show(name, [row for row in found if row[1] == name])
    for kind in sorted({kind_of(one) for one in trials}):
        for name in ("gpu_cycles", "dram_efficiency"):
            show(f"{kind}, {name}", [row for row in found if row[1] == name and kind_of(row[0]) == kind])
        show(f"{kind}, all", [row for row in found if kind_of(row[0]) == kind])
    show("all", found)


def kind_of(one: Trial) -> str:
    """Workload and warps of the trial's trace."""
    return f"{one['scene'].partition('-')[2] or 'path tracing'}, {round(one['warps'] / one['fraction'], -2)} warps"


def left_out(one: Trial, name: str, rows: list[Spread]) -> tuple[float, float, bool]:
    """Error and half width of a trial's estimate, relative to the truth, and whether its interval covers it."""
    value, truth, error = one["metrics"][name]
    known, left = model_errors(rows, one["warps"], one["rounds"], one["steps"])[name], 1.0 - one["size"]
    best = unbiased(value, known, left) or 0.0
    low, high = bounds(best, error, known, left)
    return best / truth - 1.0, (high - low) / 2 / truth, low <= truth <= high


def show(title: str, rows: list[Any]) -> None:
    """Print a line of ``report``."""
    off, half, held = (100.0 * np.array([row[at] for row in rows], float) for at in (2, 3, 4))
    numbers = f"{np.abs(off).mean():8.1f} {off.mean():+7.1f} {np.median(half):13.1f} {held.mean():10.1f}"
    print(f"{title:<38} {len(rows):6} {numbers}")


if __name__ == "__main__":
    main()
