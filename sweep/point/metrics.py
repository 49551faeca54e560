"""Metrics of one point by its method: a full replay, an estimate from a sample, a prediction from some pixels.

``sample`` is no method of sweep files: a budgeted run takes it to tell designs apart.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.gpu.description import Gpu

Values = dict[str, float | None]


class Found(NamedTuple):
    """Metrics of a point, and the result of its replay where it had one."""

    metrics: Values
    result: Any = None


def replayed(trace: Trace, gpu: Gpu, model: str, _options: Mapping[str, Any]) -> Found:
    """Every metric of the full replay."""
    from rayplay.replay import simulate

    result = simulate(trace, gpu, model=model or None)
    return Found({name: entry["value"] for name, entry in result.summary.items()}, result)


def estimated(trace: Trace, gpu: Gpu, _model: str, options: Mapping[str, Any]) -> Found:
    """The metrics of Table I with ``NAME.low`` and ``NAME.high`` of the 95 % interval; a small trace replayed whole."""
    from rayplay.zatel.sample.estimate import estimate
    from rayplay.zatel.sample.whole import is_small, replay_whole

    whole = is_small(trace) or options["fraction"] == 1.0
    found = replay_whole(trace, gpu) if whole else estimate(trace, gpu, options["fraction"], options["seed"])
    metrics: Values = dict(found.metrics)
    for name, interval in found.intervals.items():
        metrics[f"{name}.low"], metrics[f"{name}.high"] = interval or (None, None)
    return Found(metrics)


def sampled(trace: Trace, gpu: Gpu, model: str, options: Mapping[str, Any]) -> Found:
    """Every metric of the replay of a sample alone: for comparisons between designs."""
    from rayplay.sweep.point.inputs import held
    from rayplay.zatel.replays.result_cache import trace_identity
    from rayplay.zatel.sample.replayed import replay_sample
    from rayplay.zatel.sample.replayed import sampled as made

    fraction, seed = options["fraction"], options["seed"]
    part = held(f"{trace_identity(trace)}-{fraction}-{seed}", lambda: made(trace, fraction, seed))
    result = replay_sample(trace, part, gpu, fraction, model or None)
    return Found({name: entry["value"] for name, entry in result.summary.items()})


def predicted(trace: Trace, gpu: Gpu, _model: str, options: Mapping[str, Any]) -> Found:
    """The metrics of Table I as Zatel predicts them; its groups are replayed in this process, one after the other."""
    from rayplay.formats.edit.filter import filter_to_many
    from rayplay.zatel.paper.options import Options
    from rayplay.zatel.paper.pixel_heat import pixel_measure
    from rayplay.zatel.paper.predict import extrapolate_groups, make_plan
    from rayplay.zatel.replays.metrics import combine
    from rayplay.zatel.replays.simulate import simulate_group

    chosen = Options(fraction=options["fraction"], factor=options["factor"], seed=options["seed"])
    plan = make_plan(trace, pixel_measure(trace, chosen.heatmap), gpu, chosen)
    folder = Path(tempfile.mkdtemp(prefix="rayplay-sweep-"))
    try:
        runs = plan.runs()
        paths = [folder / f"{number}.trace" for number in range(len(runs))]
        filter_to_many(trace, [run.pixels for run in runs], paths)  # type: ignore[misc]
        outcomes = iter([simulate_group(path, run.gpu).metrics for path, run in zip(paths, runs, strict=True)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    groups = [[next(outcomes) for _ in group] for group in plan.selections]
    return Found(combine(extrapolate_groups(plan, groups), chosen.combination))


METHODS: dict[str, Callable[[Trace, Gpu, str, Mapping[str, Any]], Found]] = {
    "replay": replayed,
    "estimate": estimated,
    "predict": predicted,
    "sample": sampled,
}
