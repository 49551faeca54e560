"""The RT units' metrics, with Vulkan-Sim's definitions; its names stand in brackets.

Source: ``docs/sources/vulkan-sim.md#rt-statistics``.
"""

from collections.abc import Iterator

import numpy as np

from rayplay.replay.input import rays
from rayplay.replay.input.work import LANES
from rayplay.replay.rt import state as rt

Metric = tuple[str, float | None, str, str, str]  # name, value, unit, kind, definition


def rt_metrics(
    counters: dict[str, np.ndarray], peak: np.ndarray, warps: int, cores: int, cycles: int
) -> Iterator[Metric]:
    """All metrics of the RT units.

    counters  int64[sms] of each of ``rt_unit_state.COUNTERS``.
    peak      int64[sms]: most stores that were queued at a time.
    warps     places of a unit; cores units of an SM; cycles of the GPU.
    """
    total = {name: int(values.sum()) for name, values in counters.items()}
    yield from of_warps(counters, total, warps, cores, cycles)
    yield from of_rays(total)
    yield from of_memory(total, peak)
    yield from of_lanes(total)


def of_warps(
    counters: dict[str, np.ndarray], total: dict[str, int], warps: int, cores: int, cycles: int
) -> Iterator[Metric]:
    """How long warps take, and how busy the units are."""
    yield "rt_warps", total["warps"], "count", "sum", "Warp-traces the RT units completed (rt_total_warps)"
    latency = quotient(total["warp_cycles"], total["warps"])
    yield "rt_warp_latency", latency, "cycles", "mean", "Cycles of a warp in the RT unit (rt_avg_warp_latency)"
    thread = quotient(total["lane_cycles"], LANES * total["warps"])
    text = "Mean over warp-traces of the active lanes' cycles until their last record / 32 (rt_avg_thread_latency)"
    yield "rt_thread_latency", thread, "cycles", "mean", text
    occupancy = quotient(total["warp_cycles"], total["busy_cycles"] * warps)
    text = "Warps in the RT unit while it is busy / its places (rt_avg_warp_occupancy)"
    yield "rt_occupancy", occupancy, "1", "ratio", text
    text = "Cycles in which an RT unit holds a warp, all units (rt_total_cycles_sum)"
    yield "rt_busy_cycles", total["busy_cycles"], "cycles", "sum", text
    units = len(counters["busy_cycles"]) * cores
    text = "Mean over units of their busy cycles / gpu_cycles (rt_cycles)"
    yield "rt_busy", quotient(total["busy_cycles"], units * cycles), "1", "ratio", text
    lanes = counters["intersection_lane_cycles"]
    text = "Mean over SMs with rays of the cycles lanes intersect / 32 B sectors fetched (rt_avg_op_intensity)"
    yield "rt_operation_intensity", mean_quotient(lanes, counters["cachelines"]), "1", "mean", text
    text = "Mean over SMs with rays of the cycles lanes intersect / busy cycles (rt_avg_performance)"
    yield "rt_performance", mean_quotient(lanes, counters["busy_cycles"]), "lanes", "mean", text


def of_rays(total: dict[str, int]) -> Iterator[Metric]:
    """Kinds of rays, and their records."""
    text = "Rays that look for the closest hit (rt_n_closesthit_rays)"
    yield "rt_closest_hit_rays", total["rays"] - total["early_out_rays"], "count", "sum", text
    text = "Rays that end at their first hit (rt_n_anyhit_rays)"
    yield "rt_any_hit_rays", total["early_out_rays"], "count", "sum", text
    yield "rt_records", total["records"], "count", "sum", "BVH records the lanes received"
    text = "Internal nodes, instances and primitives received / rays (rt_avg_nodes_per_ray)"
    yield "rt_nodes_per_ray", quotient(total["nodes"], total["rays"]), "1", "ratio", text


def of_memory(total: dict[str, int], peak: np.ndarray) -> Iterator[Metric]:
    """Requests by record kind, stores, and how the reads fared."""
    for kind in rays.KINDS:
        text = f"32 B requests for records of kind {kind} (gpgpu_n_rt_mem)"
        yield f"rt_requests_{kind}", total[f"reads_{kind}"], "count", "sum", text
    text = "32 B sectors that hits and responses brought (rt_total_cacheline_fetched)"
    yield "rt_sectors", total["cachelines"], "count", "sum", text
    yield "rt_writes", total["stores"], "count", "sum", "Stores of hits and intersection tables (rt_writes)"
    text = "Most stores that a unit had queued at a time (rt_max_mem_store_q)"
    yield "rt_store_queue_most", int(peak.max(initial=0)), "count", "max", text
    text = "Cycles in which stores were queued, all units (rt_mem_store_q_cycles)"
    yield "rt_store_queue_cycles", total["store_queue_cycles"], "cycles", "sum", text
    rate = quotient(total["read_misses"], total["read_hits"] + total["read_misses"])
    text = "RT reads that did not hit / RT reads; one that joins a miss is a miss (rt_read_miss_rate of the L1D)"
    yield "rt_l1d_read_miss_rate", rate, "1", "ratio", text
    misses = total["read_misses"] + total["write_misses"]
    rate = quotient(misses, misses + total["read_hits"] + total["write_hits"])
    text = "RT reads and stores that did not hit / all (rt_overall_miss_rate of the L1D)"
    yield "rt_l1d_miss_rate", rate, "1", "ratio", text


def of_lanes(total: dict[str, int]) -> Iterator[Metric]:
    """Activity of the lanes while their warp is stalled, waits or executes."""
    for warp in rt.WARP_DOINGS:
        for lane in rt.LANE_DOINGS:
            cycles = quotient(total[f"lane_cycles_{warp}_{lane}"], total["lanes"])
            text = f"Cycles a lane is {rt.LANE_DOINGS[lane]} while its warp {rt.WARP_DOINGS[warp]} (rt_latency_dist)"
            yield f"rt_lane_{warp}_{lane}", cycles, "cycles", "mean", text


def quotient(numerator: float, denominator: float) -> float | None:
    """None where it is not defined."""
    return numerator / denominator if denominator else None


def mean_quotient(numerator: np.ndarray, denominator: np.ndarray) -> float | None:
    """Mean of the quotients over the SMs whose denominator is not 0."""
    used = denominator > 0
    return float(np.mean(numerator[used] / denominator[used])) if used.any() else None
