"""Effect of a design change: the relative change of each metric, from a sample, beside the noise floor.

Every design replays the same CTAs, so the sampling error cancels. A design is compared with the mean of the unchanged
machine's replays, some with a latency off by a cycle. Its change must exceed the noise floor, which holds for all
changes of a list at once (``noise``); otherwise it says nothing. ``paired`` gives its interval.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import meant
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.changes.noise import MORE_OFFSETS, Metrics, mean_of, noise_floor, perturbed
from rayplay.zatel.changes.paired import change_intervals, paired_errors
from rayplay.zatel.model.instructions import traces_rays
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.replays.runs import Run, simulate_runs
from rayplay.zatel.sample.estimate import Work, checked_fraction, conclude, read_work, replay_samples
from rayplay.zatel.sample.intervals import Interval
from rayplay.zatel.sample.machine import check_inputs
from rayplay.zatel.sample.proportion import in_proportion
from rayplay.zatel.sample.report import sample_record

# Changes of an architect's interest: RT unit, caches, SMs, memory, schedulers; legal on both GPUs.
CHANGES = {
    "half the RT warps": "rt.warps/2", "twice the RT warps": "rt.warps*2",
    "half the RT MSHRs": "rt.mshr_entries/2", "twice the RT MSHRs": "rt.mshr_entries*2",
    "half the L1": "l1.ways/2", "twice the L1": "l1.ways*2",
    "half the L2": "l2.ways/2", "twice the L2": "l2.ways*2",
    "half the SMs": "sm.count/2", "twice the SMs": "sm.count*2",
    "half the memory controllers": "memory.count/2", "twice the memory controllers": "memory.count*2",
    "round robin": "scheduler.policy=lrr",
}  # fmt: skip
TOGETHER = {"l1.ways": ("l1.bytes",), "l2.ways": ("l2.bytes",), "memory.count": ("l2.bytes",)}  # change with the key


class Design(NamedTuple):
    """A change and its effect.

    predicted  metric -> relative change.
    intervals  metric -> 95 % interval of the change; ``None`` where it has none.
    full       the same from full replays; ``None`` unless asked for.
    sample     size of the sample and of the machine that replayed it, as in ``sample.report.sample_record``, with the
               clock of its DRAM and ``misfit`` as of ``sample.proportion.Part``.
    """

    name: str
    predicted: Metrics
    intervals: dict[str, Interval | None]
    full: Metrics | None
    sample: dict[str, float]


class WhatIf(NamedTuple):
    """Effects of changes.

    sample      of the unchanged GPU, as in ``Design``.
    designs     each change and its effect.
    floor       noise floor of each metric.
    full_floor  noise floor of the full replays; ``None`` unless asked for.
    """

    sample: dict[str, float]
    designs: list[Design]
    floor: dict[str, float]
    full_floor: dict[str, float] | None

    def to_pandas(self) -> Any:
        """A row per change and metric: its relative change, its interval, and the noise floor that it must exceed."""
        from rayplay.formats.dataset.frames import record_frame

        return record_frame(self._rows())

    def _repr_html_(self) -> str:
        from rayplay.formats.dataset.frames import html_table

        return html_table("Relative changes", self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for one in self.designs:
            for name, change in one.predicted.items():
                low, high = one.intervals[name] or (None, None)
                row = {"change": one.name, "metric": name, "predicted": change, "low": low, "high": high}
                rows.append(row | {"noise_floor": self.floor[name]})
        return rows


def changed(gpu: Gpu, change: str) -> Gpu:
    """Apply a change to the GPU: ``KEY=VALUE``, or a whole factor as in ``KEY*2`` and ``KEY/2``.

    Values of ``TOGETHER`` (ways and bytes of the L1, controllers and bytes of the L2) change together. Raises
    ``UserError`` for an unknown form or an illegal machine.
    """
    if "=" in change:
        return _with(gpu, change, [change])
    for sign in "*/":
        key, found, factor = change.partition(sign)
        if found and factor.isdigit() and int(factor) > 0:
            names = (key, *TOGETHER.get(key, ()))
            values = [f"{name}={_times(gpu, name, sign, int(factor), change)}" for name in names]
            return _with(gpu, change, values)
    raise UserError(f"--change must be KEY=VALUE, KEY*N or KEY/N, such as rt.warps*2, not {change}")


def _with(gpu: Gpu, change: str, values: list[str]) -> Gpu:
    """The GPU with these values; an error names the change."""
    try:
        return gpu.with_values(values)
    except UserError as error:  # begins with the place of the value, as of --set
        raise UserError(f"--change {change}: {str(error).partition(': ')[2]}") from None


def _times(gpu: Gpu, key: str, sign: str, factor: int, change: str) -> int:
    unit, _, name = key.partition(".")
    value = getattr(getattr(gpu, unit, None), name, None)
    if not isinstance(value, int) or isinstance(value, bool):
        near = meant(key, whole_numbers(gpu), "; ")
        raise UserError(f"--change {change}: {key} must be a whole number of the description of GPU {gpu.name}{near}")
    if sign == "/" and value % factor:
        raise UserError(f"--change {change}: {key} is {value}, which {factor} must divide")
    return value * factor if sign == "*" else value // factor


def whole_numbers(gpu: Gpu) -> Iterator[str]:
    """Keys of the GPU's values that can be multiplied."""
    for unit, values in asdict(gpu).items():
        if isinstance(values, dict):
            yield from (f"{unit}.{name}" for name, value in values.items() if type(value) is int)


def what_if(
    trace: Trace, gpu: Gpu, changes: Sequence[str], fraction: float, seed: int = 1, workers: int = 1,
    full: bool = False, work: Work | None = None, store: Store | None = None,
) -> WhatIf:  # fmt: skip
    """Relative change of every metric for each of ``changes`` (see ``changed``), from a sample of the CTAs.

    fraction  of the CTAs, or more where the designs' machines in proportion need it (``sample.proportion``).
    full      also replay the whole trace on every design, to compare.
    store     keeps these replays, so that none is done twice.

    Errors as in ``changed`` and ``estimate``.
    """
    twins, designs = [gpu, *perturbed(gpu, MORE_OFFSETS)], [changed(gpu, change) for change in changes]
    gpus, is_traced = [*twins, *designs], traces_rays(trace)
    check_inputs(trace, gpus)
    fraction, parts = in_proportion(trace, gpu, gpus, checked_fraction(fraction))
    work = work or read_work(trace, drawn=(fraction, seed))
    outcomes = replay_samples(trace, gpus, fraction, seed, work, workers, parts)
    found = [conclude(one, is_paced=is_traced) for one in outcomes]
    predicted, count, taken = [one.metrics for one in found], len(twins), float(found[0].warps.mean())
    full_changes: Sequence[Metrics | None] = [None] * len(changes)
    full_floor = None
    if full:
        replays = simulate_runs(trace, [Run(one) for one in gpus], store, workers)
        full_changes, full_floor = _changes([one.metrics for one in replays], count)
    found_changes, floor = _changes(predicted, count)
    left, bounds = 1.0 - min(taken, found[0].machine.sms / gpu.sm.count), []
    for change, new, part in zip(found_changes, found[count:], parts[count:], strict=True):
        errors = paired_errors(found[0].replayed, new.replayed, taken)
        bounds.append(change_intervals(change, errors, predicted[:count], left, is_traced, part.misfit))
    clocks = [
        {"dram_clock_khz": one.gpu.dram.clock_khz, "misfit": part.misfit}
        for one, part in zip(found, parts, strict=True)
    ]
    samples = [sample_record(one) | clock for one, clock in zip(found, clocks, strict=True)]
    rows = [Design(*row) for row in zip(changes, found_changes, bounds, full_changes, samples[count:], strict=True)]
    return WhatIf(samples[0], rows, floor, full_floor)


def _changes(runs: Sequence[Metrics], twins: int) -> tuple[list[dict[str, float | None]], dict[str, float]]:
    """Changes of the runs after the first ``twins`` (the unchanged machine), and their noise floor."""
    base = mean_of(runs[:twins])
    return [relative_change(run, base) for run in runs[twins:]], noise_floor(runs[:twins], len(runs) - twins)


def relative_change(new: Metrics, old: Metrics) -> dict[str, float | None]:
    """Metric -> new / old - 1; ``None`` where either is missing or the old one is 0."""
    found: dict[str, float | None] = {}
    for name in RULES:
        before, after = old[name], new[name]
        found[name] = after / before - 1.0 if before and after is not None else None
    return found
