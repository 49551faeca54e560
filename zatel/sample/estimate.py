"""Estimate a replay's metrics from a stratified sample, with a functional model of all warps as control variate.

1. ``model.traffic`` reads all warps' memory requests; ``draw`` selects a balanced sample of the CTAs.
2. ``machine`` makes a GPU of the sample's size with the whole L2.
3. The sample is replayed once, in one piece: no K cold starts, no IPC lowered by K drains.
4. ``extrapolate``: instructions are known exactly. Cycles are the steps of all warps in a schedule
   (``model.schedule``) times the cycles of a step in the replay.
5. ``intervals`` and ``model_error`` give each metric's confidence interval.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.heap import trim_heap
from rayplay.formats.laws.expect import expect_program
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.schedule import Machine
from rayplay.zatel.model.sizes import Sizes, read_sizes
from rayplay.zatel.model.traffic import Stream, read_stream, unseen
from rayplay.zatel.sample.draw import draw
from rayplay.zatel.sample.extrapolate import extrapolate
from rayplay.zatel.sample.intervals import Interval, sampling_errors
from rayplay.zatel.sample.kept import Kept, packed, packed_traffic, unpacked, unpacked_traffic
from rayplay.zatel.sample.machine import (
    Modelled,
    build,
    check_inputs,
    functional_identity,
    machine_for,
    traffic_of_all,
    traffic_of_sample,
)
from rayplay.zatel.sample.model_error import ModelError, bounds, model_errors, read_table
from rayplay.zatel.sample.proportion import Part, at_speed
from rayplay.zatel.sample.replay import Replayed, replay_all
from rayplay.zatel.sample.rows import Held, Rows, as_source, kept_rows
from rayplay.zatel.sample.rules import EVERY, Rules

CYCLES_PER_STEP = 300  # rough, to choose the length of an interval of the timeline
INTERVALS = 200
ERRORS = read_table()


class Work(NamedTuple):
    """Facts of every warp that need no replay.

    stream       memory requests.
    cta          int64[warps], CTA of each in launch order.
    held         rows of the sample that was drawn before they were read, if any.
    kept         of the trace, in the user's cache.
    cpu_seconds  processor time of reading.
    """

    stream: Stream
    cta: np.ndarray
    held: Held | None
    kept: Kept
    cpu_seconds: float


class Estimate(NamedTuple):
    """Estimated metrics and the sample behind them.

    metrics      the seven metrics of Table I.
    intervals    95 % confidence interval of each.
    warps        bool[warps], the sample.
    share        of all thread instructions, in the sample.
    rounds       times that all warps fill the whole GPU.
    steps        of a warp, the mean of all.
    machine      that replayed the sample; ``gpu`` is its description.
    replayed     outcome of the replay.
    cpu_seconds  processor time of reading all warps' work, and of the functional caches of all GPUs.
    """

    metrics: dict[str, float | None]
    intervals: dict[str, Interval | None]
    warps: np.ndarray
    share: float
    rounds: float
    steps: float
    machine: Machine
    gpu: Gpu
    replayed: Replayed
    cpu_seconds: tuple[float, float]

    def __repr__(self) -> str:
        return (
            f"<Estimate on {self.machine.sms} SMs: {self.metrics['gpu_cycles']:,.0f} cycles, {self.share:.1%} replayed>"
        )

    def _repr_html_(self) -> str:
        from rayplay.formats.dataset.frames import html_table

        return html_table(repr(self)[1:-1], self._rows())

    def to_pandas(self) -> Any:
        """A row per metric, indexed by its name: estimate, low and high end of its 95 % interval."""
        from rayplay.formats.dataset.frames import record_frame

        return record_frame(self._rows()).set_index("metric")

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for name, value in self.metrics.items():
            low, high = self.intervals[name] or (None, None)
            rows.append({"metric": name, "estimate": value, "low": low, "high": high})
        return rows


def read_work(trace: Trace, keep: bool = True, drawn: tuple[float, int] | None = None) -> Work:
    """All warps' work, from the cache or from one pass over the trace.

    keep   whether later commands on the trace find in the cache what this one learns.
    drawn  fraction and seed of the sample that will be replayed first: its rows are taken in the same pass.

    Raises the errors of ``check_inputs`` and ``read_stream``, and with ``drawn`` of ``draw``.
    """
    check_inputs(trace)
    kept, begun, held = Kept(trace if keep else None), time.process_time(), None
    expect_program(trace)
    cta = np.unique(trace.read("warps", ["cta_id"])["cta_id"], return_inverse=True)[1]
    if arrays := kept.load("stream"):
        stream = unpacked(arrays)
    else:
        if drawn:
            held = Held(trace, draw(auxiliary(read_sizes(trace), cta), *drawn)[cta])
        stream = read_stream(trace, held.add if held else unseen)
        trim_heap()
        kept.keep(packed(stream), "stream")
    return Work(stream, cta, held, kept, time.process_time() - begun)


def estimate(trace: Trace, gpu: Gpu, fraction: float, seed: int = 1, work: Work | None = None) -> Estimate:
    """Estimate the metrics of replaying ``trace`` on ``gpu`` from about ``fraction`` of its CTAs.

    work  from ``read_work``, if known.

    Raises ``UserError`` as ``check_inputs``, ``read_work`` and ``draw`` do.
    """
    return estimate_many(trace, [gpu], fraction, seed, work)[0]


class Outcome(NamedTuple):
    """Replay of a sample, and everything that an estimate takes from it.

    cpu_seconds  as in ``Estimate``.
    parts        the whole GPU, and the machine that replayed the sample; ``scaled`` is its description.
    """

    stream: Stream
    chosen: np.ndarray
    cpu_seconds: tuple[float, float]
    gpu: Gpu
    parts: tuple[Machine, Machine]
    model: Modelled
    scaled: Gpu
    replayed: Replayed


def estimate_many(
    trace: Trace, gpus: Sequence[Gpu], fraction: float, seed: int = 1, work: Work | None = None, workers: int = 1,
    parts: Sequence[Part] | None = None,
) -> list[Estimate]:  # fmt: skip
    """Estimate several GPUs from the same sample, whose error cancels in comparisons.

    workers  replays at a time; the outcome does not depend on it.
    parts    of the GPUs, which replay the sample; from the fraction when ``None``.
    """
    check_inputs(trace, gpus)
    work = work or read_work(trace, drawn=(checked_fraction(fraction), seed))
    return [conclude(one) for one in replay_samples(trace, gpus, fraction, seed, work, workers, parts)]


def replay_samples(
    trace: Trace, gpus: Sequence[Gpu], fraction: float, seed: int, work: Work, workers: int = 1,
    parts: Sequence[Part] | None = None, rules: Rules = EVERY,
) -> list[Outcome]:  # fmt: skip
    """Replay one sample on the machine of each GPU; arguments as of ``estimate_many``."""
    fraction, begun = checked_fraction(fraction), time.process_time()
    chosen = sample(work, fraction, seed)
    rows = kept_rows(trace, work.held, work.kept, chosen, work.stream)
    if not rules.contents:
        rows = rows._replace(line=rows.line[:0], sectors=rows.sectors[:0])
    machines = [(machine_for(gpu, trace, 1.0), machine_for(gpu, trace, fraction)) for gpu in gpus]
    if parts:
        sized = zip(machines, parts, strict=True)
        machines = [(whole, own._replace(sms=part.sms, controllers=part.controllers)) for (whole, own), part in sized]
    models = model_all(gpus, machines, work, chosen, rows)
    scaled = [build(gpu, part) for gpu, (_, part) in zip(gpus, machines, strict=True)]
    if parts:
        scaled = [at_speed(one, part.speed) for one, part in zip(scaled, parts, strict=True)]
    steps = int(work.stream.steps[chosen].sum())
    copied = [gpu.memory.copies == "whole" for gpu in gpus]
    sources = {has_copies: as_source(trace, rows, chosen, has_copies) for has_copies in sorted(set(copied))}
    cost = work.cpu_seconds, time.process_time() - begun
    lengths = [_interval(steps, part) for _, part in machines]
    jobs = [(sources[one], gpu, length) for one, gpu, length in zip(copied, scaled, lengths, strict=True)]
    outcomes = zip(gpus, machines, models, scaled, replay_all(jobs, workers), strict=True)
    return [Outcome(work.stream, chosen, cost, *outcome) for outcome in outcomes]


def checked_fraction(fraction: float) -> float:
    """The fraction; ``UserError`` unless it is a part of the CTAs."""
    if not 0.0 < fraction <= 1.0:
        raise UserError(f"--fraction must be greater than 0 and at most 1, not {fraction:g}")
    return fraction


def conclude(outcome: Outcome, rules: Rules = EVERY, is_paced: bool = False) -> Estimate:
    """Estimate of one GPU from the replay of a sample; ``is_paced`` as in ``extrapolate``."""
    stream, chosen, replayed, (whole, part) = outcome.stream, outcome.chosen, outcome.replayed, outcome.parts
    metrics = extrapolate(outcome.gpu, outcome.parts, stream, chosen, outcome.model, replayed, rules, is_paced)
    taken, size = float(chosen.mean()), part.sms / whole.sms
    rounds, steps = len(chosen) / (whole.sms * whole.places), float(stream.steps.mean())
    known = model_errors(ERRORS, int(chosen.sum()), rounds, steps, stream.is_traced)
    intervals = confidence(metrics, replayed, known, taken, min(taken, size, 1.0 / size))
    share = float(stream.executed[chosen].sum() / stream.executed.sum())
    return Estimate(
        metrics, intervals, chosen, share, rounds, steps, part, outcome.scaled, replayed, outcome.cpu_seconds
    )


def model_all(
    gpus: Sequence[Gpu], machines: Sequence[tuple[Machine, Machine]], work: Work, chosen: np.ndarray, rows: Rows
) -> list[Modelled]:
    """Functional traffic for each GPU; made once for all GPUs of equal caches."""
    known: dict[str, Modelled] = {}
    found = []
    designs = tqdm(list(zip(gpus, machines, strict=True)), "caches", unit="design", disable=None, leave=False)
    for gpu, (whole, part) in designs:
        if (key := repr((functional_identity(gpu, whole), part))) not in known:
            known[key] = _model(gpu, whole, part, work, chosen, rows)
        found.append(known[key])
    return found


def _model(gpu: Gpu, whole: Machine, part: Machine, work: Work, chosen: np.ndarray, rows: Rows) -> Modelled:
    """As of ``model_all``, from the cache or from the functional caches."""
    identity, kept, held = functional_identity(gpu, whole), work.kept, (rows.line, rows.sectors)
    found = []
    for key, run, of in (
        (("traffic", identity), traffic_of_all, (whole, work.stream)),
        (("sample", identity, part, chosen, *held), traffic_of_sample, (part, work.stream, chosen, *held)),
    ):
        if arrays := kept.load(*key):
            found.append(unpacked_traffic(arrays, "of"))
        else:
            found.append(run(gpu, *of))
            kept.keep(packed_traffic(found[-1], "of"), *key)
    return Modelled(*found)


def _interval(steps: int, part: Machine) -> int:
    """Cycles of a row of the timeline that give about ``INTERVALS`` rows."""
    return max(500, int(steps / (part.sms * part.places) * CYCLES_PER_STEP / INTERVALS))


def sample(work: Work, fraction: float, seed: int) -> np.ndarray:
    """Warps of CTAs balanced on steps, squared steps, records and instructions: bool[warps]."""
    return np.asarray(draw(auxiliary(work.stream, work.cta), fraction, seed)[work.cta])


def auxiliary(of: Stream | Sizes, cta: np.ndarray) -> np.ndarray:
    """Auxiliary variables of each CTA, float64[CTAs, 4]."""
    columns = (of.steps, of.steps**2, of.records, of.issued)
    return np.stack([np.bincount(cta, column) for column in columns], axis=1)


def confidence(
    metrics: dict[str, float | None], replayed: Replayed, known: dict[str, ModelError], fraction: float, likeness: float
) -> dict[str, Interval | None]:
    """95 % interval of each metric; ``None`` where the metric has no value.

    known  from ``model_errors``.

    The finite population leaves sqrt(1 - ``fraction``) of the sampling error, and 1 - ``likeness`` of the model error:
    the sample's machine lacks SMs, or warps to fill them.
    """
    found: dict[str, Interval | None] = {}
    for name, (error, degrees) in sampling_errors(replayed.intervals, fraction).items():
        value = metrics[name]
        has_one = value is not None and np.isfinite(error) and name in known
        found[name] = bounds(float(value or 0), error, degrees, known[name], 1.0 - likeness) if has_one else None
    return found
