"""Better than the paper: a stratified sample on a machine of its size, and what is known of all pixels as control.

1. ``control`` reads what all warps ask of the memory; ``strata`` draws CTAs that represent them.
2. ``estimate_machine`` makes a GPU of the sample's size whose L2 misses as the whole one does.
3. The sample is replayed once, in one piece: no K cold starts, and an IPC that is not lowered by K drains.
4. Instructions are known exactly. Cycles are the sample's times the ratio of two runs of the same simple model of
   warps on SMs (``control_schedule``): all warps on all SMs, and the sample on its own.
5. ``intervals`` says how sure each metric is.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from formats.errors import UserError
from formats.reader import Trace
from replay.gpu_description import Gpu
from zatel.combine import RULES
from zatel.control import Stream, Traffic, held_before, read_stream
from zatel.control_schedule import fit_saturation, makespan
from zatel.estimate_machine import Machine, Matched, build, machine_for, match, traffic_of_all
from zatel.estimate_replay import Replayed, replay_all
from zatel.estimate_trace import write_sample
from zatel.intervals import Interval, interval, model_errors, read_table, sampling_errors
from zatel.strata import Sample, draw

CYCLES_PER_STEP = 300  # about, for the length of an interval of the timeline
INTERVALS = 200
SECTOR_BYTES = 32
MODEL_ERROR = model_errors(read_table())


class Work(NamedTuple):
    """What is known of every warp without a replay.

    stream               what it asks of the memory.
    cta                  int64[warps], its CTA in launch order.
    thread_instructions, warp_instructions  int64[warps].
    whole                what all warps do to the functional caches of GPUs, filled as it is asked for.
    """

    stream: Stream
    cta: np.ndarray
    thread_instructions: np.ndarray
    warp_instructions: np.ndarray
    whole: dict[object, Traffic]


class Estimate(NamedTuple):
    """What is estimated, and from what.

    metrics    the seven metrics of Table I.
    intervals  95 % confidence interval of each.
    warps      bool[warps], those that were replayed; share of all thread instructions: ``share``.
    machine    what they were replayed on, ``gpu`` its description, ``l2_share`` its share of the L2.
    replayed   what the replay says.
    """

    metrics: dict[str, float | None]
    intervals: dict[str, Interval | None]
    warps: np.ndarray
    share: float
    machine: Machine
    gpu: Gpu
    l2_share: float
    replayed: Replayed


def read_work(trace: Trace) -> Work:
    """What all pixels do, in two passes over the trace; ``UserError`` unless it is one launch that traces rays."""
    if trace.rows("kernels") != 1:
        raise UserError(f"{trace.path}: must be one launch, to be estimated, but has {trace.rows('kernels')}")
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

    work    of ``read_work``, if known. folder  where the sample's trace may lie meanwhile.

    Raises ``UserError`` as ``read_work`` and ``draw`` do.
    """
    return estimate_many(trace, [gpu], fraction, seed, work, folder)[0]


def estimate_many(
    trace: Trace, gpus: Sequence[Gpu], fraction: float, seed: int = 1, work: Work | None = None,
    folder: Path | None = None, workers: int = 1, counts: tuple[int, int] | None = None,
) -> list[Estimate]:  # fmt: skip
    """``estimate`` for several GPUs, all from the same CTAs, so that what a sample is off by cancels in comparisons.

    workers  replays at a time; the outcome does not depend on it.
    counts   SMs and memory controllers of the machine that replays the sample; by the fraction when ``None``.
    """
    if not 0.0 < fraction <= 1.0:
        raise UserError(f"--fraction must be greater than 0 and at most 1, not {fraction:g}")
    work = work or read_work(trace)
    chosen = sample(work, fraction, seed).chosen[work.cta]
    held = held_before(trace, work.stream, chosen)
    machines = [(machine_for(gpu, trace, 1.0), machine_for(gpu, trace, fraction)) for gpu in gpus]
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
    taken = float(work.thread_instructions[chosen].sum() / work.thread_instructions.sum())
    found = []
    for gpu, parts, own, description, replayed in zip(gpus, machines, matched, scaled, replays, strict=True):
        metrics = extrapolate(gpu, *parts, work, chosen, own, replayed)
        size = parts[1].sms / parts[0].sms
        bounds = confidence(metrics, replayed, float(chosen.mean()), min(size, 1.0 / size))
        found.append(Estimate(metrics, bounds, chosen, taken, parts[1], description, own.share, replayed))
    return found


def find_machines(
    gpus: Sequence[Gpu], machines: Sequence[tuple[Machine, Machine]], work: Work, chosen: np.ndarray,
    line: np.ndarray, sectors: np.ndarray,
) -> list[Matched]:  # fmt: skip
    """``match`` for each GPU; those that differ in nothing that the functional caches know are matched once."""
    known: dict[object, Matched] = {}
    found = []
    for gpu, (whole, part) in zip(gpus, machines, strict=True):
        key = whole, gpu.l1.bytes, gpu.l2.bytes, gpu.lsu.local_interleaved
        if key not in work.whole:
            work.whole[key] = traffic_of_all(gpu, whole, work.stream)
        if (key, part) not in known:
            known[key, part] = match(gpu, whole, part, work.stream, work.whole[key], chosen, line, sectors)
        found.append(known[key, part])
    return found


def _interval(steps: int, part: Machine) -> int:
    """Cycles of a row of the timeline, so that there are about ``INTERVALS`` of them."""
    return max(500, int(steps / (part.sms * part.places) * CYCLES_PER_STEP / INTERVALS))


def sample(work: Work, fraction: float, seed: int) -> Sample:
    """CTAs balanced by their steps, the squares of these, their requests and instructions."""
    columns = (work.stream.steps, work.stream.steps**2, work.stream.requests, work.warp_instructions)
    return draw(np.stack([np.bincount(work.cta, column) for column in columns], axis=1), fraction, seed)


def extrapolate(
    gpu: Gpu, whole: Machine, part: Machine, work: Work, chosen: np.ndarray, matched: Matched, replayed: Replayed
) -> dict[str, float | None]:
    """The metrics of all warps on the whole GPU, from those of the chosen ones on a part of it."""
    found = {name: replayed.summary[name] for name in RULES}
    launch, sampled = gpu.sm.kernel_launch_cycles, float(replayed.summary["gpu_cycles"] or 0)
    steps = work.stream.steps + 1.0
    resident = float(replayed.summary["occupancy"] or 0) * gpu.sm.warps * sampled / max(sampled - launch, 1.0)
    saturation = fit_saturation(steps[chosen], part.sms, part.places, resident)
    longer = makespan(steps, whole.sms, whole.places, saturation)[0]
    longer /= makespan(steps[chosen], part.sms, part.places, saturation)[0]
    cycles = launch + (sampled - launch) * longer
    counted = counted_traffic(replayed.totals, gpu.dram.atom_bytes)
    expected_traffic = correct(matched, counted, float(steps.sum() / steps[chosen].sum()))
    more = expected_traffic.dram_sectors / max(counted.dram_sectors, 1.0) * part.controllers / whole.controllers
    used = float(found["bandwidth_utilisation"] or 0)
    expected = used * sampled * more / cycles
    longer_active = 1.0
    if counted.rows_opened and not work.stream.shift:  # lines without their neighbours do not show how rows are shared
        longer_active = expected_traffic.rows_per_sector / counted.rows_per_sector
    return found | {
        "l2_miss_rate": expected_traffic.miss_rate if found["l2_miss_rate"] is not None else None,
        "gpu_cycles": cycles,
        "gpu_ipc": float(work.thread_instructions.sum()) / cycles,
        "bandwidth_utilisation": expected,
        "dram_efficiency": rescale_efficiency(float(found["dram_efficiency"] or 0), used, expected, longer_active),
    }


def counted_traffic(totals: dict[str, float], atom_bytes: int) -> Traffic:
    """What a replay counted (``Replayed.totals``), in sectors."""
    reads, writes = (totals[f"l2_{kind}_hits"] + totals[f"l2_{kind}_misses"] for kind in ("read", "write"))
    written = totals["dram_writes"] * atom_bytes / SECTOR_BYTES
    missed = totals["l2_read_misses"], totals["l2_write_misses"]
    return Traffic(reads, missed[0], writes, missed[1], written, totals["activates"])


def correct(matched: Matched, counted: Traffic, scale: float) -> Traffic:
    """The whole GPU's traffic, from the functional caches' and from where the replay of the sample departs from theirs.

    scale  work of all warps for that of the sample.

    Accesses and rows for a sector: theirs of all warps, times the ratio of the replay's to theirs of the sample. Misses
    and write-backs, of which a sample with more L2 for each warp may have hardly any: theirs of all warps, plus the
    difference. Either is the replay itself when the sample is everything.
    """
    whole, part = matched.whole, matched.part
    reads, writes = (
        all_of_them * number / few if few else scale * number
        for all_of_them, few, number in (
            (whole.reads, part.reads, counted.reads), (whole.writes, part.writes, counted.writes),
        )
    )  # fmt: skip
    missed = [
        max(getattr(whole, name) + scale * (getattr(counted, name) - getattr(part, name)), 0.0)
        for name in ("read_misses", "write_misses", "write_backs")
    ]
    found = Traffic(reads, missed[0], writes, missed[1], missed[2], 0.0)
    rows = whole.rows_per_sector / part.rows_per_sector if part.rows_opened else 1.0
    return found._replace(rows_opened=counted.rows_per_sector * rows * found.dram_sectors)


def rescale_efficiency(efficiency: float, used: float, expected: float, longer: float = 1.0) -> float:
    """The efficiency of a DRAM channel that is used for the share ``expected`` of its ticks instead of ``used``.

    longer  for how long a request keeps the channel active, relative to the channel that is known.

    A sample's channels serve more or fewer SMs than the whole GPU's, and hold other rows. Requests that arrive at
    random, each of which keeps the channel active for a while, leave it idle with the probability exp(-rate x while):
    so the idle share is raised to the power by which rate and while grow.
    """
    if used <= 0.0 or efficiency <= 0.0:
        return efficiency
    idle = max(1.0 - used / efficiency, 1e-9)
    return float(expected / (1.0 - idle ** (expected / used * longer)))


def confidence(
    metrics: dict[str, float | None], replayed: Replayed, fraction: float, size: float
) -> dict[str, Interval | None]:
    """The 95 % interval of each metric; ``None`` where it has no value.

    Of the sampling error the finite population leaves sqrt(1 - ``fraction``), of the machine's what it lacks to the
    whole: 1 - ``size``.
    """
    found: dict[str, Interval | None] = {}
    for name, (error, degrees) in sampling_errors(replayed.intervals, fraction).items():
        value = metrics[name]
        known = value is not None and np.isfinite(error)
        found[name] = interval(float(value or 0), error, degrees, MODEL_ERROR[name] * (1.0 - size)) if known else None
    return found
