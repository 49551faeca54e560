"""Extrapolate the counts of a sample's replay to the replay of all warps.

The replay measures effects that the functional model lacks: the cycles of a step, requests that coincide. The model
knows how the sample differs from all warps. It serves as a control variate: each figure is the replay's, corrected by
the model of all warps against the model of the sample.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.guard import exact
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.schedule import Machine, schedule
from rayplay.zatel.model.traffic import SECTOR_BYTES, Stream, Traffic
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.l2_slices import asked_more, least_cycles, unhindered, window_steps
from rayplay.zatel.sample.machine import Matched
from rayplay.zatel.sample.replay import Replayed
from rayplay.zatel.sample.rules import EVERY, Rules


def extrapolate(
    gpu: Gpu, whole: Machine, part: Machine, stream: Stream, instructions: float, chosen: np.ndarray,
    matched: Matched, replayed: Replayed, rules: Rules = EVERY,
) -> dict[str, float | None]:  # fmt: skip
    """Metrics of all warps on the whole GPU, from the replay of the chosen warps on a part of it.

    instructions  thread instructions of all warps.
    """
    found = {name: replayed.summary[name] for name in RULES}
    if part == whole and chosen.all():
        return found
    sampled = float(replayed.summary["gpu_cycles"] or 0)
    counted = counted_traffic(replayed.totals, gpu.dram.atom_bytes)
    expected_traffic = correct(matched, counted, float(stream.steps.sum() / stream.steps[chosen].sum()))
    asked = asked_more(matched.part, counted)
    busy = tuple(least_cycles(of, gpu, asked) * rules.slices for of in (matched.part, matched.whole))
    waits = later(gpu, expected_traffic, counted) if rules.later and stream.is_traced else 0.0
    time = all_cycles(gpu, whole, part, stream, chosen, busy, replayed, waits)
    more = expected_traffic.dram_sectors / max(counted.dram_sectors, 1.0) * part.controllers / whole.controllers
    used = float(found["bandwidth_utilisation"] or 0)
    moving = max(used * sampled * more, data_cycles(gpu, expected_traffic))
    cycles = max(time.cycles, moving)  # the DRAM's channels move data all the time, at most
    expected = moving / cycles
    efficiency = float(found["dram_efficiency"] or 0)
    return found | {
        "l1d_miss_rate": expected_traffic.l1_miss_rate if found["l1d_miss_rate"] is not None else None,
        "l2_miss_rate": expected_traffic.miss_rate if found["l2_miss_rate"] is not None else None,
        "gpu_cycles": cycles,
        "gpu_ipc": instructions / cycles,
        "rt_efficiency": None if found["rt_efficiency"] is None else found["rt_efficiency"] / time.longer,
        "bandwidth_utilisation": expected,
        "dram_efficiency": rescale_efficiency(efficiency, used, expected) if rules.load else efficiency,
    }


class Time(NamedTuple):
    """Cycles of all warps, and the hold-up by busy L2 slices relative to the sample's (``longer``).

    Rays of a held-up warp are finished, so its RT efficiency falls by the factor ``longer``.
    """

    cycles: float
    longer: float


def all_cycles(
    gpu: Gpu, whole: Machine, part: Machine, stream: Stream, chosen: np.ndarray, busy: tuple[np.ndarray, ...],
    replayed: Replayed, later: float,
) -> Time:  # fmt: skip
    """Cycles of all warps: steps of their schedule times the cycles of a step in the replay of the ``chosen``.

    busy   float64[WINDOWS] each, ``least_cycles`` of the chosen warps on the part and of all on the whole.
    later  correction to the cycles of a step.

    Cost of an access = resident time outside the RT unit / accesses. Without rays a step is an instruction, which takes
    the resident time of a warp / instructions.
    """
    totals, launch, phases = replayed.totals, gpu.sm.kernel_launch_cycles, stream.phases
    owner = np.repeat(chosen, np.diff(phases.first))
    accesses, records = (max(float((phases.length * owner)[kind::2].sum()), 1.0) for kind in (0, 1))
    elsewhere = 1.0 - totals["waits_for_rt"] / max(totals["waits_or_issues"], 1.0)
    step, cost = max(totals["rt_warp_cycles"] / records, 1.0), 1.0
    if stream.is_traced:
        cost = totals["resident_warp_cycles"] * elsewhere / accesses / step
    else:
        step = max(totals["resident_warp_cycles"] / accesses, 1.0)
    sampled = float(replayed.summary["gpu_cycles"] or 0) - launch
    plan = schedule(phases, chosen, part, cost)
    free = unhindered(sampled, window_steps(stream, plan, cost, chosen), busy[0]) / sampled
    everybody = np.ones(len(chosen), bool)
    windows = window_steps(stream, schedule(phases, everybody, whole, cost), cost, everybody)
    windows *= max(step * free + later, 1.0)
    cycles = float(np.maximum(windows, busy[1]).sum())
    return Time(launch + cycles, free * cycles / float(windows.sum()))


def later(gpu: Gpu, expected: Traffic, counted: Traffic) -> float:
    """Extra cycles of a step when caches miss as ``expected`` instead of as ``counted``.

    An L1 miss waits for the L2, an L2 miss also for a row of the DRAM. Warps of a sample lie further apart in the
    image, so they share fewer lines in the L1 than all warps do.
    """
    ticks = gpu.dram.rcd + gpu.dram.cl
    dram = gpu.dram.latency_cycles + ticks * gpu.sm.clock_khz / gpu.dram.clock_khz
    missed = [(of.l1_miss_rate, of.l1_miss_rate * of.read_misses / max(of.reads, 1.0)) for of in (expected, counted)]
    return gpu.l2.latency_cycles * (missed[0][0] - missed[1][0]) + dram * (missed[0][1] - missed[1][1])


def data_cycles(gpu: Gpu, expected: Traffic) -> float:
    """Cycles in which all DRAM channels together move the sectors of ``expected``, at their peak."""
    return expected.dram_sectors * SECTOR_BYTES / gpu.dram_bytes_per_second * gpu.sm.clock_khz * 1000


def counted_traffic(totals: dict[str, float], atom_bytes: int) -> Traffic:
    """Traffic of a replay (``Replayed.totals``) in sectors."""
    reads, writes = (totals[f"l2_{kind}_hits"] + totals[f"l2_{kind}_misses"] for kind in ("read", "write"))
    written = totals["dram_writes"] * atom_bytes / SECTOR_BYTES
    missed = totals["l2_read_misses"], totals["l2_write_misses"]
    l1 = totals["l1d_hits"] + totals["l1d_misses"], totals["l1d_misses"]
    return Traffic(reads, missed[0], writes, missed[1], written, *l1)


def correct(matched: Matched, counted: Traffic, scale: float) -> Traffic:
    """Estimate the whole GPU's traffic with the functional caches as control variate.

    scale  work of all warps / work of the sample.

    Ratio estimator, for L2 accesses: model of all x replay / model of the sample.
    Difference estimator, for misses, write-backs and the L1s: model of all + scale x (replay - model of the sample). A
    sample may have hardly any misses, so their ratio is unstable. 1,000 misses of all warps and 90 of the sample in the
    model, 100 in the replay, a scale of 10: 1000 + 10 x (100 - 90) = 1,100.
    When the sample is everything, both equal the replay.
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
        for name in ("read_misses", "write_misses", "write_backs", "l1_accesses", "l1_misses")
    ]
    return Traffic(reads, missed[0], writes, missed[1], *missed[2:])


def rescale_efficiency(efficiency: float, used: float, expected: float) -> float:
    """Efficiency of a DRAM channel at the utilisation ``expected`` instead of ``used``.

    A sample's channels serve more or fewer requests than the whole GPU's. With random arrivals a channel idles with
    probability exp(-rate x active time per request). So the idle share is raised to the power by which the rate grows.
    """
    if used <= 0.0 or efficiency <= 0.0:
        return efficiency
    idle = max(1.0 - used / efficiency, 1e-9)
    return min(1.0, float(expected / (1.0 - exact.power(idle, expected / used))))
