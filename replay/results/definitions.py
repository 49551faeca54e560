"""Definition of every metric and counter of a result: the text of ``summary.json`` and of ``docs/replay.md``."""

from typing import NamedTuple


class Metric(NamedTuple):
    """Unit, how values of several runs combine, and what it is."""

    unit: str
    kind: str
    definition: str


class Counter(NamedTuple):
    """Unit of the value, and the event counted."""

    measure: str
    definition: str


# Zatel's Table I, as Vulkan-Sim and Accel-Sim compute it (the name of the statistic is in brackets), then the rest.
METRICS = {
    "gpu_cycles": Metric(
        "cycles", "sum",
        "Core cycles from the first launch to the end of the last kernel, launch latency included (gpu_tot_sim_cycle)",
    ),
    "gpu_ipc": Metric("thread-instructions/cycle", "ratio", "thread_instructions / gpu_cycles (gpu_tot_ipc)"),
    "l1d_miss_rate": Metric(
        "1", "ratio",
        "L1D sector accesses that missed / all, reads and writes, RT unit included (L1D_total_cache_miss_rate); a read"
        " that joins an outstanding miss of its line is a pending hit, with l1.allocate = on_fill a miss",
    ),
    "l2_miss_rate": Metric(
        "1", "ratio",
        "L2 sector accesses that missed / all; a read that joins an outstanding miss is an access but no miss"
        " (L2_total_cache_miss_rate)",
    ),
    "rt_efficiency": Metric(
        "1", "mean",
        "Mean over warp-traces of the active lanes' cycles until their last record / (32 x the warp's cycles in the RT"
        " unit) (rt_avg_efficiency)",
    ),
    "dram_efficiency": Metric(
        "1", "mean",
        "Mean over channels of data ticks / ticks with a request or a running bank timer, 0 for a channel that was"
        " never active (dram_eff)",
    ),
    "bandwidth_utilisation": Metric("1", "mean", "Mean over channels of data ticks / all DRAM ticks (bwutil)"),
    "seconds": Metric("s", "sum", "gpu_cycles / core clock"),
    "thread_instructions": Metric(
        "count", "sum",
        "Instructions of active threads (gpu_tot_sim_insn); lanes that a guard kept out (the trace's table predicates)"
        " do not count in the model pipeline, and do in characterised and gatsim",
    ),
    "warp_instructions": Metric("count", "sum", "Instructions issued by warps (gpgpu_n_tot_w_icount)"),
    "sm_ipc": Metric("warp-instructions/cycle", "ratio", "warp_instructions / (gpu_cycles x SMs)"),
    "simt_efficiency": Metric("1", "ratio", "thread_instructions / (32 x warp_instructions)"),
    "occupancy": Metric("1", "ratio", "Live warps x cycles / (warp slots of all SMs x gpu_cycles)"),
    "warps": Metric("count", "sum", "Warps that ran"),
    "dram_bytes": Metric("bytes", "sum", "Bytes moved by DRAM column commands"),
}  # fmt: skip

EVENTS, CYCLES, TICKS = "count", "cycles", "DRAM ticks"
CACHE = {
    "read_hits": Counter(EVENTS, "Sectors read that were valid"),
    "read_pending_hits": Counter(EVENTS, "Sectors read whose line was there and whose fetch was under way"),
    "read_line_misses": Counter(EVENTS, "Sectors read whose line was not there"),
    "read_sector_misses": Counter(EVENTS, "Sectors read whose line was there, but not the sector"),
    "read_fails": Counter(EVENTS, "Tries to read that found no line, queue place or MSHR entry; no accesses"),
    "write_hits": Counter(EVENTS, "Sectors written that were valid"),
    "write_pending_hits": Counter(EVENTS, "Sectors written whose fetch was under way"),
    "write_line_misses": Counter(EVENTS, "Sectors written whose line was not there"),
    "write_sector_misses": Counter(EVENTS, "Sectors written whose line was there, but not the sector"),
    "write_fails": Counter(EVENTS, "Tries to write that found no line or queue place; no accesses"),
    "fills": Counter(EVENTS, "Sectors that came from the next level"),
    "evictions": Counter(EVENTS, "Lines that were replaced"),
    "write_backs": Counter(EVENTS, "Replaced lines with dirty sectors"),
    "merges": Counter(EVENTS, "Reads that joined an MSHR entry; counted among hits or misses, too"),
    **{
        f"texture_read_{name}": Counter(EVENTS, f"Texture accesses among read_{name}, of traces with textures")
        for name in ("hits", "pending_hits", "line_misses", "sector_misses", "fails")
    },
    "read_misses": Counter(EVENTS, "Lines read that were not there, with the model gatsim"),
    "write_misses": Counter(EVENTS, "Lines written that were not there, with the model gatsim"),
}
L1I = {
    "hits": Counter(EVENTS, "Fetches whose line was there, of an instruction cache that is not perfect"),
    "misses": Counter(EVENTS, "Fetches that wait for their line"),
    "fails": Counter(EVENTS, "Tries to fetch that found no queue place or MSHR entry; no fetches"),
    "merges": Counter(EVENTS, "Misses that joined an MSHR entry"),
    "fills": Counter(EVENTS, "Lines that came from the L2"),
    "evictions": Counter(EVENTS, "Lines that were replaced"),
}
SM = {
    "warp_instructions": Counter(EVENTS, "Instructions issued"),
    "thread_instructions": Counter(EVENTS, "Their active threads: the sum of threads_*"),
    "issue_cycles": Counter(CYCLES, "Cycles in which any scheduler issued"),
    "retired_instructions": Counter(EVENTS, "Instructions of the warps that are over"),
    "retired_warps": Counter(EVENTS, "Warps that are over"),
    "retired_ctas": Counter(EVENTS, "CTAs that are over"),
    "barrier_releases": Counter(EVENTS, "Barriers that opened"),
    "resident_warp_cycles": Counter("warp-cycles", "Live warps, summed over the cycles"),
}
LSU = {
    "instructions": Counter(EVENTS, "Memory instructions taken"),
    "sectors": Counter(EVENTS, "Sectors sent to the L1's tags"),
    "shared_cycles": Counter(CYCLES, "Cycles that shared-memory accesses took their banks"),
    "bank_conflict_cycles": Counter(CYCLES, "Those beyond the first of each access"),
    "texture_hits": Counter(EVENTS, "Lines that texture instructions looked up and found asked for before"),
    "texture_misses": Counter(EVENTS, "Lines that they had to ask for"),
    "texture_instructions": Counter(EVENTS, "Texture instructions that the texture unit took"),
    "texture_requests": Counter(EVENTS, "Groups of quads whose texels they asked for"),
    "texture_sectors": Counter(EVENTS, "Sectors of these sent to the L1's tags; among sectors"),
    "blocked_cycles": Counter(CYCLES, "Cycles in which the oldest access of a bank found no room in the L1"),
}
RT_UNIT = {
    "warps": Counter(EVENTS, "Warp-traces completed"),
    "warp_cycles": Counter(CYCLES, "Cycles of those warps in the unit"),
    "lane_cycles": Counter(CYCLES, "Cycles of their active lanes until each lane's last record"),
    "efficiency_sum": Counter("2^-30", "Sum over the warps of lane_cycles / (32 x warp_cycles)"),
    "reads": Counter(EVENTS, "Chunks of 32 B asked for"),
    "stores": Counter(EVENTS, "Stores sent"),
    "busy_cycles": Counter(CYCLES, "Cycles with a warp inside"),
    "records": Counter(EVENTS, "BVH records the lanes received"),
    "cachelines": Counter(EVENTS, "Sectors of 32 B that hits and responses brought"),
    "intersection_lane_cycles": Counter(CYCLES, "Cycles of intersection tests, summed over lanes"),
    "lanes": Counter(EVENTS, "Active lanes of the completed warps"),
    "rays": Counter(EVENTS, "Rays, continued ones counted once"),
    "early_out_rays": Counter(EVENTS, "Rays that end at any hit"),
    "store_queue_cycles": Counter(CYCLES, "Cycles with a store queued"),
    "read_hits": Counter(EVENTS, "Chunks that hit the cache"),
    "read_misses": Counter(EVENTS, "Chunks that missed it"),
    "write_hits": Counter(EVENTS, "Stores that hit it"),
    "write_misses": Counter(EVENTS, "Stores that missed it"),
    "nodes": Counter(EVENTS, "Internal nodes, instances and primitives among the records"),
    "refused": Counter(EVENTS, "Requests that the cache could not take and that were tried again"),
}
ROP = {
    "colour_bytes": Counter(
        EVENTS, "Bytes of colours that fragment shaders stored, where colours or depth have a rate"
    ),
    "colour_cycles": Counter(CYCLES, "Cycles that they took of the SM's share of the raster units"),
    "colour_wait_cycles": Counter(
        CYCLES, "Cycles in which a store of colours at the LSU's front waited for those before"
    ),
    "depth_tests": Counter(
        EVENTS, "Pixels whose depth was tested before the CTAs that started, where depth has a rate"
    ),
    "depth_cycles": Counter(CYCLES, "Cycles that the tests took of the SM's share of the depth units"),
}
PORT = {
    "requests": Counter(EVENTS, "Packets the SM sent to the L2"),
    "responses": Counter(EVENTS, "Packets it received"),
}
L2 = CACHE | {
    "longest_reply_wait_cycles": Counter(CYCLES, "Longest that a reply waited for the crossbar"),
    "request_wait_cycles": Counter(CYCLES, "Cycles that requests waited in the slice's queues"),
}
DRAM = {
    "reads": Counter(EVENTS, "Read column commands"),
    "writes": Counter(EVENTS, "Write column commands"),
    "activates": Counter(EVENTS, "Rows opened"),
    "precharges": Counter(EVENTS, "Rows closed"),
    "row_hits": Counter(EVENTS, "Column commands whose row was open when they arrived"),
    "requests": Counter(EVENTS, "Requests that arrived"),
    "data_ticks": Counter(TICKS, "Ticks in which the data bus was taken"),
    "active_ticks": Counter(TICKS, "Ticks with a request or a running bank timer"),
}
COUNTERS = {
    "sm": SM,
    "lsu": LSU,
    "l1d": CACHE,
    "rt_unit": RT_UNIT,
    "port": PORT,
    "l2": L2,
    "dram": DRAM,
    "l1i": L1I,
    "rop": ROP,
}
FAMILIES = {
    ("sm", "issued_"): Counter(EVENTS, "Instructions issued to the unit"),
    ("sm", "threads_"): Counter(EVENTS, "Active threads of the instructions issued to the unit"),
    ("rt_unit", "reads_"): Counter(EVENTS, "Chunks asked for, by the kind of record"),
    ("rt_unit", "lane_cycles_"): Counter(
        CYCLES, "Cycles of lanes by what their warp did (executing: the unit has chosen it; waiting: it could ask;"
        " stalled) and what the lane did meanwhile",
    ),
}  # fmt: skip


def counter(unit: str, name: str) -> Counter:
    """The definition of a counter; ``KeyError`` when it has none."""
    if name in COUNTERS[unit]:
        return COUNTERS[unit][name]
    families = (found for (of, prefix), found in FAMILIES.items() if of == unit and name.startswith(prefix))
    if (found := next(families, None)) is None:
        raise KeyError(f"counter {name} of unit {unit} has no definition in replay/results/definitions.py")
    return found


def measure(unit: str, name: str) -> str:
    """Unit of a counter's value; a count where it has no definition."""
    try:
        return counter(unit, name).measure
    except KeyError:
        return EVENTS
