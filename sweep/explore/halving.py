"""Successive halving of a large space: many designs on one trace, the better half on two, and so on.

Optuna proposes the designs (ask) and learns what became of them (tell); the sweep's store and executors run them, so
that nothing runs twice. K. Jamieson, A. Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter
Optimization, AISTATS 2016, algorithm 1. Needs ``pip install "rayplay[search]"``.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

from rayplay.formats.guard import exact
from rayplay.formats.guard.errors import UserError
from rayplay.sweep.drive.run import How, run
from rayplay.sweep.explore.budget import metrics_of
from rayplay.sweep.show.compare import SHARES
from rayplay.sweep.space.file import Design, Sweep
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store

KEPT = 2  # one of two goes on to the next rung
BATCH = 8  # designs between two tells, so that the sampler learns


class Trial(NamedTuple):
    """A design, its value on the traces that it came to, less is better, and their number."""

    values: dict[str, Any]
    value: float
    traces: int


def halve(name: str, sweep: Sweep, store: Store, how: How, trials: int) -> list[Trial]:
    """Try ``trials`` designs from the ranges of ``design.random``; the ones that came furthest first, the best first.

    Raises ``UserError`` without Optuna, without ranges, and when a point fails.
    """
    try:
        import optuna
    except ImportError:
        raise UserError('--trials: needs the package optuna: pip install "rayplay[search]"') from None
    if sweep.design.random is None:
        raise UserError("--trials: design.random must have the ranges to search")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed, known = sweep.design.random.seed, dict[int, Trial]()
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=BATCH))
    inputs = len(sweep.traces) + len(sweep.scenes)
    rungs = sorted({min(inputs, 2**rung) for rung in range(math.ceil(math.log2(inputs)) + 1)})
    for begun in range(0, trials, BATCH):
        asked = [study.ask() for _ in range(min(BATCH, trials - begun))]
        alive = {trial.number: _suggested(trial, sweep) for trial in asked}
        for rung, count in enumerate(rungs):
            found = _measured(name, sweep, store, how, list(alive.values()), count)
            for number, value in zip(alive, found, strict=True):
                known[number] = Trial(alive[number], value, count)
            if rung + 1 < len(rungs):
                best = sorted(alive, key=lambda number: (known[number].value, number))
                alive = {number: alive[number] for number in best[: math.ceil(len(best) / KEPT)]}
        for trial in asked:  # the value on the traces that it came to, of one scale: a mean
            study.tell(trial, known[trial.number].value)
    return sorted(known.values(), key=lambda trial: (-trial.traces, trial.value))


def _suggested(trial: Any, sweep: Sweep) -> dict[str, Any]:
    """A design that the sampler proposes."""
    assert sweep.design.random is not None
    values = {}
    for key, range_ in sweep.design.random.ranges.items():
        is_log = range_.scale == "log"
        if range_.choices:
            values[key] = trial.suggest_categorical(key, list(range_.choices))
        elif isinstance(range_.low, int) and isinstance(range_.high, int):
            values[key] = trial.suggest_int(key, range_.low, range_.high, log=is_log)
        else:
            values[key] = trial.suggest_float(key, range_.low, range_.high, log=is_log)
    return values


def _measured(name: str, sweep: Sweep, store: Store, how: How, made: list[dict[str, Any]], count: int) -> list[float]:
    """Mean of the first metric among the objectives, of each design on the first ``count`` inputs."""
    traces, scenes = sweep.traces[:count], sweep.scenes[: max(0, count - len(sweep.traces))]
    compare = replace(sweep.compare, base={}, noise=False)
    few = replace(sweep, traces=traces, scenes=scenes, design=Design(list=tuple(made)), compare=compare)
    ended = run(f"{name}-halving", space(few), store, how)
    if ended.report.failed or ended.plan.counts().keys() - {"done"}:
        raise UserError(
            f"--trials: a point failed: {next(iter(ended.report.failed.values()), 'sweep status says why')}"
        )
    objectives = sweep.compare.objectives
    metric = next(iter(metrics_of(objectives)), "gpu_cycles")
    sign = -1.0 if objectives.get(metric) == "max" else 1.0
    by_design: dict[int, list[float]] = {}
    for each in ended.plan.planned:
        entry = store.get(each.key or "")
        value = entry.metrics[metric] if entry else None
        by_design.setdefault(each.point.design, []).append(value or 0.0)
    is_share = metric.endswith(SHARES)
    return [sign * (exact.mean(v) if is_share else exact.mean(map(exact.log, v))) for v in by_design.values()]


def lines_of(found: list[Trial], sweep: Sweep, shown: int = 10) -> list[str]:
    """The best designs, and a ``design.list`` of them for a sweep file."""
    metric = next(iter(metrics_of(sweep.compare.objectives)), "gpu_cycles")
    lines = []
    for trial in found[:shown]:
        values = ", ".join(f'"{key}" = {str(value).lower() if isinstance(value, bool) else repr(value)}'
                           for key, value in trial.values.items())  # fmt: skip
        value = abs(trial.value) if metric.endswith(SHARES) else exact.exp(abs(trial.value))
        lines.append(f"  {{{values}}},  # {metric} {value:.6g} on {trial.traces} traces")
    return ["[design]", "list = [", *lines, "]"]
