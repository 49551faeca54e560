"""Estimate a replay's metrics from a stratified sample, with a functional model of all warps as control variate.

1. ``model.traffic`` reads all warps' memory requests; ``draw`` selects a balanced sample of the CTAs.
2. ``machine`` makes a GPU of the sample's size whose L2 misses as the whole GPU's does.
3. The sample is replayed once, in one piece: no K cold starts, no IPC lowered by K drains.
4. ``extrapolate``: instructions are known exactly. Cycles are the steps of all warps in a schedule
   (``model.schedule``) times the cycles of a step in the replay.
5. ``intervals`` and ``model_error`` give each metric's confidence interval.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.expect import expect_valid
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.schedule import Machine
from rayplay.zatel.model.traffic import Stream, Traffic, held_before, read_stream
from rayplay.zatel.sample.draw import Sample, draw
from rayplay.zatel.sample.extrapolate import extrapolate
from rayplay.zatel.sample.intervals import Interval, sampling_errors
from rayplay.zatel.sample.machine import Matched, build, comparable, machine_for, match, traffic_of_all
from rayplay.zatel.sample.model_error import ModelError, bounds, model_errors, read_table
from rayplay.zatel.sample.replay import Replayed, replay_all
from rayplay.zatel.sample.trace import write_sample

CYCLES_PER_STEP = 300  # rough, to choose the length of an interval of the timeline
INTERVALS = 200
ERRORS = read_table()


class Work(NamedTuple):
    """Facts of every warp that need no replay.

    stream               memory requests.
    cta                  int64[warps], CTA of each in launch order.
    thread_instructions, warp_instructions  int64[warps].
    whole                functional traffic of all warps by GPU, computed on first use.
    """

    stream: Stream
    cta: np.ndarray
    thread_instructions: np.ndarray
    warp_instructions: np.ndarray
    whole: dict[object, Traffic]


class Estimate(NamedTuple):
    """Estimated metrics and the sample behind them.

    metrics    the seven metrics of Table I.
    intervals  95 % confidence interval of each.
    warps      bool[warps], the sample.
    share      of all thread instructions, in the sample.
    rounds     times that all warps fill the whole GPU.
    machine    that replayed the sample; ``gpu`` is its description, ``l2_share`` its share of the L2.
    replayed   outcome of the replay.
    """

    metrics: dict[str, float | None]
    intervals: dict[str, Interval | None]
    warps: np.ndarray
    share: float
    rounds: float
    machine: Machine
    gpu: Gpu
    l2_share: float
    replayed: Replayed

    def __repr__(self) -> str:
        return (
            f"<Estimate on {self.machine.sms} SMs: {self.metrics['gpu_cycles']:,.0f} cycles, {self.share:.1%} replayed>"
        )

    def to_pandas(self) -> Any:
        """A row per metric, indexed by its name: estimate, low and high end of its 95 % interval."""
        from rayplay.formats.dataset.frames import record_frame

        rows = []
        for name, value in self.metrics.items():
            low, high = self.intervals[name] or (None, None)
            rows.append({"metric": name, "estimate": value, "low": low, "high": high})
        return record_frame(rows).set_index("metric")


def read_work(trace: Trace) -> Work:
    """Read all warps' work in two passes over the trace; ``UserError`` unless it is one launch that traces rays."""
    if trace.rows("kernels") != 1:
        raise UserError(f"{trace.path}: must be one launch, to be estimated, but has {trace.rows('kernels')}")
    expect_valid(trace)
    cta = np.unique(trace.read("warps", ["cta_id"])["cta_id"], return_inverse=True)[1]
    length = trace.read("blocks", ["instruction_count"])["instruction_count"].astype(np.int64)
    threads, warps = np.zeros(len(cta), np.int64), np.zeros(len(cta), np.int64)
    for batch in trace.batches("visits", ["warp_id", "block_id", "active_mask"]):
        issued = length[batch["block_id"]]
        warps += np.bincount(batch["warp_id"], issued, len(cta)).astype(np.int64)
        active = issued * np.bitwise_count(batch["active_mask"])
        threads += np.bincount(batch["warp_id"], active, len(cta)).astype(np.int64)
    return Work(read_stream(trace), cta, threads, warps, {})


def estimate(
    trace: Trace, gpu: Gpu, fraction: float, seed: int = 1, work: Work | None = None, folder: Path | None = None
) -> Estimate:
    """Estimate the metrics of replaying ``trace`` on ``gpu`` from about ``fraction`` of its CTAs.

    work    from ``read_work``, if known.
    folder  for the sample's temporary trace.

    Raises ``UserError`` as ``read_work`` and ``draw`` do.
    """
    return estimate_many(trace, [gpu], fraction, seed, work, folder)[0]


def estimate_many(
    trace: Trace, gpus: Sequence[Gpu], fraction: float, seed: int = 1, work: Work | None = None,
    folder: Path | None = None, workers: int = 1, counts: tuple[int, int] | None = None,
) -> list[Estimate]:  # fmt: skip
    """Estimate several GPUs from the same sample, whose error cancels in comparisons.

    workers  replays at a time; the outcome does not depend on it.
    counts   SMs and memory controllers of the machine that replays the sample; from the fraction when ``None``.
    """
    if not 0.0 < fraction <= 1.0:
        raise UserError(f"--fraction must be greater than 0 and at most 1, not {fraction:g}")
    work = work or read_work(trace)
    chosen = sample(work, fraction, seed).chosen[work.cta]
    held = held_before(trace, work.stream, chosen)
    machines = [(machine_for(gpu, trace, 1.0), machine_for(gpu, trace, fraction)) for gpu in gpus]
    first_whole, first_part = machines[0]
    machines = [(whole, comparable(part, whole, first_part, first_whole)) for whole, part in machines]
    if counts:
        machines = [(whole, part._replace(sms=counts[0], controllers=counts[1])) for whole, part in machines]
    matched = find_machines(gpus, machines, work, chosen, *held)
    scaled = [build(gpu, part, own.share) for gpu, (_, part), own in zip(gpus, machines, matched, strict=True)]
    steps = int(work.stream.steps[chosen].sum())
    with tempfile.TemporaryDirectory(prefix="rayplay-estimate-", dir=folder) as name:
        path = Path(name) / "sample.trace"
        write_sample(trace, chosen, *held, path)
        jobs = [(path, gpu, _interval(steps, parts[1])) for gpu, parts in zip(scaled, machines, strict=True)]
        replays = replay_all(jobs, workers)
    instructions = float(work.thread_instructions.sum())
    taken = float(work.thread_instructions[chosen].sum() / instructions)
    found = []
    for gpu, parts, own, description, replayed in zip(gpus, machines, matched, scaled, replays, strict=True):
        metrics = extrapolate(gpu, *parts, work.stream, instructions, chosen, own, replayed)
        size = parts[1].sms / parts[0].sms
        likeness = min(float(chosen.mean()), size, 1.0 / size)
        rounds = len(chosen) / (parts[0].sms * parts[0].places)
        known = model_errors(ERRORS, int(chosen.sum()), rounds)
        intervals = confidence(metrics, replayed, known, float(chosen.mean()), likeness)
        found.append(Estimate(metrics, intervals, chosen, taken, rounds, parts[1], description, own.share, replayed))
    return found


def find_machines(
    gpus: Sequence[Gpu], machines: Sequence[tuple[Machine, Machine]], work: Work, chosen: np.ndarray,
    line: np.ndarray, sectors: np.ndarray,
) -> list[Matched]:  # fmt: skip
    """``match`` for each GPU; GPUs that the functional caches cannot tell apart are matched once."""
    known: dict[object, Matched] = {}
    found = []
    for gpu, (whole, part) in zip(gpus, machines, strict=True):
        key = whole, gpu.l1.bytes, gpu.l2.bytes, gpu.lsu.local_interleaved, gpu.rt.intersection_table
        if key not in work.whole:
            work.whole[key] = traffic_of_all(gpu, whole, work.stream)
        if (key, part) not in known:
            known[key, part] = match(gpu, whole, part, work.stream, work.whole[key], chosen, line, sectors)
        found.append(known[key, part])
    return found


def _interval(steps: int, part: Machine) -> int:
    """Cycles of a row of the timeline that give about ``INTERVALS`` rows."""
    return max(500, int(steps / (part.sms * part.places) * CYCLES_PER_STEP / INTERVALS))


def sample(work: Work, fraction: float, seed: int) -> Sample:
    """Draw CTAs balanced on steps, squared steps, requests and instructions."""
    columns = (work.stream.steps, work.stream.steps**2, work.stream.requests, work.warp_instructions)
    return draw(np.stack([np.bincount(work.cta, column) for column in columns], axis=1), fraction, seed)


def confidence(
    metrics: dict[str, float | None],
    replayed: Replayed,
    known: dict[str, ModelError],
    fraction: float,
    likeness: float,
) -> dict[str, Interval | None]:
    """95 % interval of each metric; ``None`` where the metric has no value.

    known  from ``model_errors``.

    The finite population leaves sqrt(1 - ``fraction``) of the sampling error, and 1 - ``likeness`` of the model error:
    the sample's machine lacks SMs, or warps to fill them.
    """
    found: dict[str, Interval | None] = {}
    for name, (error, degrees) in sampling_errors(replayed.intervals, fraction).items():
        value = metrics[name]
        has_one = value is not None and np.isfinite(error)
        found[name] = bounds(float(value or 0), error, degrees, known[name], 1.0 - likeness) if has_one else None
    return found
