"""Ablation of the estimator's rules: error and cost of estimates with and without each rule, scene by scene.

A rule beats the noise floor when, on the scenes for which it was not made, the mean error without it exceeds the mean
error with it by more than two standard errors of the paired differences.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu, load
from rayplay.zatel.replays.metrics import RULES as METRICS
from rayplay.zatel.replays.metrics import relative_error
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.replays.runs import Run, simulate_runs
from rayplay.zatel.sample.estimate import Outcome, Work, checked_fraction, conclude, read_work, replay_samples
from rayplay.zatel.sample.machine import check_inputs
from rayplay.zatel.sample.rules import EVERY, Rules, of_replay

MADE_FOR = {"bounds": "wknd"}
DERIVED = ("contents", "bounds", "load")  # from laws of the machine (docs/estimate.md): they stay, whatever they gain


class Trial(NamedTuple):
    """One estimate: the rule left out ("" for none), signed relative error of each metric, and whether each interval
    holds the full replay; ``cpu_seconds`` of functional caches, replay and extrapolation."""

    scene: str
    gpu: str
    seed: int
    without: str
    errors: dict[str, float | None]
    holds: dict[str, bool | None]
    half: dict[str, float | None]
    cpu_seconds: float


class Verdict(NamedTuple):
    """Effect of a rule on the mean absolute error, in shares: with it, without it, mean and standard error of the
    paired differences on the scenes for which it was not made; ``cpu_share``, its part of an estimate's time."""

    rule: str
    metric: str
    with_it: float
    without_it: float
    gain: float
    gain_error: float
    cpu_share: float

    @property
    def earns_its_place(self) -> bool:
        """Whether the gain exceeds two standard errors."""
        return self.gain > 2.0 * self.gain_error


def trials(paths: Sequence[Path], gpus: Sequence[str], fraction: float, seeds: int, store: Store) -> list[Trial]:
    """All estimates of all scenes, which are called as their traces; full replays are kept in ``store``.

    Raises ``UserError``, before anything is replayed, as ``check_request`` does.
    """
    check_request(paths, gpus, fraction)
    found: list[Trial] = []
    for path in tqdm(paths, "scenes", unit="scene", disable=None):
        trace = open_trace(path)
        work = read_work(trace)
        for name in gpus:
            found += of_scene(trace, name, fraction, seeds, work, store)
    return found


def check_request(paths: Sequence[Path], gpus: Sequence[str], fraction: float) -> None:
    """Raise ``UserError`` for a fraction, GPU or trace that cannot be estimated, and for two of one name."""
    checked_fraction(fraction)
    machines = [load(name) for name in gpus]
    for path in paths:
        check_inputs(open_trace(path), machines)
    for option, names in (("--gpu", [one.name for one in machines]), ("TRACE", [scene_name(path) for path in paths])):
        for number, name in enumerate(names):
            if name in names[:number]:
                raise UserError(f"{option}: must name each once, in the study's rows, but has {name} again")


def scene_name(path: Path) -> str:
    """Name of a trace up to its first dot, which the study's rows have."""
    return path.name.partition(".")[0]


def of_scene(trace: Trace, name: str, fraction: float, seeds: int, work: Work, store: Store) -> Iterator[Trial]:
    """Estimates of one scene on one GPU, with every rule and without each."""
    gpu, scene = load(name), scene_name(trace.path)
    full = simulate_runs(trace, [Run(gpu)], store)[0].metrics
    for seed in range(1, seeds + 1):
        replays: dict[tuple[bool, ...], Outcome] = {}
        for without in ("", *Rules._fields):
            rules = EVERY.without(without) if without else EVERY
            if of_replay(rules) not in replays:
                replays[of_replay(rules)] = replay_samples(trace, [gpu], fraction, seed, work, rules=rules)[0]
            yield trial(scene, gpu, seed, without, replays[of_replay(rules)], rules, full)


def trial(
    scene: str, gpu: Gpu, seed: int, without: str, outcome: Outcome, rules: Rules, full: dict[str, float | None]
) -> Trial:
    """One estimate beside the full replay."""
    begun = time.process_time()
    found = conclude(outcome, rules)
    seconds = outcome.cpu_seconds[1] + outcome.replayed.cpu_seconds + time.process_time() - begun
    holds: dict[str, bool | None] = {}
    half: dict[str, float | None] = {}
    for name, bounds in found.intervals.items():
        truth, value = full[name], found.metrics[name]
        usable = bounds is not None and truth is not None and value
        holds[name] = bounds.low <= truth <= bounds.high if usable else None  # type: ignore[union-attr, operator]
        half[name] = (bounds.high - bounds.low) / 2 / value if usable else None  # type: ignore[union-attr, operator]
    errors = {name: relative_error(found.metrics[name], full[name]) for name in METRICS}
    return Trial(scene, gpu.name, seed, without, errors, holds, half, seconds)


def verdicts(found: Sequence[Trial], metrics: Sequence[str] = tuple(METRICS)) -> list[Verdict]:
    """A verdict on each rule and metric, the most useful metric of a rule first."""
    by = {(one.scene, one.gpu, one.seed, one.without): one for one in found}
    rows = []
    for rule in Rules._fields:
        pairs = [(by[*key[:3], ""], one) for key, one in by.items() if key[3] == rule]
        cost = float(np.mean([1.0 - one.cpu_seconds / base.cpu_seconds for base, one in pairs]))
        for metric in metrics:
            rows.append(_verdict(rule, metric, pairs, cost))
    return rows


def _verdict(rule: str, metric: str, pairs: Sequence[tuple[Trial, Trial]], cost: float) -> Verdict:
    known = [(base, one) for base, one in pairs if None not in (base.errors[metric], one.errors[metric])]
    left = [pair for pair in known if not pair[0].scene.startswith(MADE_FOR.get(rule, "-"))]
    cases: dict[Any, list[float]] = {}  # a scene on a GPU, the mean of its seeds
    for base, one in left:
        gain = abs(one.errors[metric] or 0.0) - abs(base.errors[metric] or 0.0)
        cases.setdefault((base.scene, base.gpu), []).append(gain)
    gains = np.array([np.mean(values) for values in cases.values()])
    with_it, without_it = (float(np.mean([abs(pair[at].errors[metric] or 0.0) for pair in known])) for at in (0, 1))
    error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else float("inf")
    return Verdict(rule, metric, with_it, without_it, float(gains.mean()) if len(gains) else 0.0, error, cost)
