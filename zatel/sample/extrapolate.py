"""Extrapolate the counts of a sample's replay to the replay of all warps.

The replay measures effects that the functional model lacks: the cycles of a step, requests that coincide. The model
knows how the sample differs from all warps. It serves as a control variate: each figure is the replay's, corrected by
the model of all warps against the model of the sample.
"""

from collections.abc import Sequence

import numpy as np

from rayplay.formats.guard import exact
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.schedule import Machine, schedule
from rayplay.zatel.model.traffic import SECTOR_BYTES, Stream, Traffic
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.l2_slices import least_cycles, unhindered, window_steps
from rayplay.zatel.sample.machine import Modelled
from rayplay.zatel.sample.replay import Replayed
from rayplay.zatel.sample.rules import EVERY, Rules


def extrapolate(
    gpu: Gpu, parts: tuple[Machine, Machine], stream: Stream, chosen: np.ndarray, model: Modelled, replayed: Replayed,
    rules: Rules = EVERY, is_paced: bool = False,
) -> dict[str, float | None]:  # fmt: skip
    """Metrics of all warps on the whole GPU, from the replay of the chosen warps on a part of it.

    parts     the whole GPU, and its part.
    is_paced  whether the cycles of a step are the replay's / the steps of the sample's schedule, which suits a machine
              that the sample fills as often as all warps fill the whole GPU (``proportion``).
    """
    found = {name: replayed.summary[name] for name in RULES}
    if parts[0] == parts[1] and chosen.all():
        return found
    counted = counted_traffic(replayed.totals, gpu.dram.atom_bytes)
    expected = correct(model, counted, float(stream.steps.sum() / stream.steps[chosen].sum()))
    waits = later(gpu, expected, counted) if rules.later and stream.is_traced else 0.0
    busy = [least_cycles(of, gpu) * rules.bounds for of in model]
    cycles, longer = all_cycles(gpu, parts, stream, chosen, busy, replayed, waits, is_paced)
    moving = data_cycles(gpu, expected)
    cycles = max(cycles, moving) if rules.bounds else cycles
    efficiency, used = (float(found[name] or 0) for name in ("dram_efficiency", "bandwidth_utilisation"))
    scaled = {
        "l1d_miss_rate": expected.l1_miss_rate,
        "l2_miss_rate": expected.miss_rate,
        "gpu_cycles": cycles,
        "gpu_ipc": float(stream.executed.sum()) / cycles,
        "rt_efficiency": float(found["rt_efficiency"] or 0) / longer,
        "bandwidth_utilisation": moving / cycles,
        "dram_efficiency": rescale_efficiency(efficiency, used, moving / cycles) if rules.load else efficiency,
    }
    return {name: None if found[name] is None else scaled[name] for name in RULES}


def all_cycles(
    gpu: Gpu, parts: tuple[Machine, Machine], stream: Stream, chosen: np.ndarray, busy: Sequence[np.ndarray],
    replayed: Replayed, later: float, is_paced: bool = False,
) -> tuple[float, float]:  # fmt: skip
    """Cycles of all warps: steps of their schedule times the cycles of a step in the replay of the ``chosen``.

    busy   float64[WINDOWS] each, ``least_cycles`` of all warps on the whole and of the chosen on the part.
    later  correction to the cycles of a step.

    is_paced  as of ``extrapolate``.

    Cost of an access = resident time outside the RT unit / accesses. Without rays a step is an instruction, which takes
    the resident time of a warp / instructions. Also returns the hold-up by busy L2 slices relative to the sample's:
    rays of a held-up warp are finished, so its RT efficiency falls by this factor.
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
    windows, own = (
        window_steps(stream, schedule(phases, warps, machine, cost), cost, warps)
        for warps, machine in zip((np.ones(len(chosen), bool), chosen), parts, strict=True)
    )
    free = unhindered(sampled, own, busy[1]) / sampled
    pace = sampled / float(own.sum()) if is_paced else step
    windows *= max(pace * free + later, 1.0)
    cycles = float(np.maximum(windows, busy[0]).sum())
    return launch + cycles, free * cycles / float(windows.sum())


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


def correct(model: Modelled, counted: Traffic, scale: float) -> Traffic:
    """Estimate the whole GPU's traffic with the functional caches as control variate.

    scale  work of all warps / work of the sample.

    Ratio estimator, for L2 accesses: model of all x replay / model of the sample.
    Difference estimator, for misses, write-backs and the L1s: model of all + scale x (replay - model of the sample). A
    sample may have hardly any misses, so their ratio is unstable. 1,000 misses of all warps and 90 of the sample in the
    model, 100 in the replay, a scale of 10: 1000 + 10 x (100 - 90) = 1,100.
    When the sample is everything, both equal the replay.
    """
    whole, part = model
    reads, writes = (
        getattr(counted, name) * (getattr(whole, name) / few if (few := getattr(part, name)) else scale)
        for name in ("reads", "writes")
    )
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
