"""Replay of a sample, with counters for each interval of its timeline.

Like ``replays.simulate``, this file imports nothing compiled: a worker process uses the machine code of
``python -m replay``.
"""

from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.memory import MemorySource
from rayplay.formats.dataset.reader import Trace
from rayplay.formats.schema.trace import TRACE
from rayplay.zatel.replays.pool import processes

BUSY = (
    "issue",
    "data",
    "unit",
    "lsu",
    "rt_unit",
    "memory",
    "barrier",
    "fetch",
)  # REASONS of the cycle stack without "idle"
COUNTED = {
    "cycles": (),
    "instructions": (("sm", "warp_instructions"),),
    "records": (("rt_unit", "records"),),
    "l1d_misses": tuple(("l1d", f"{of}_{kind}_misses") for of in ("read", "write") for kind in ("line", "sector")),
    "l1d_hits": tuple(("l1d", f"{of}_{kind}hits") for of in ("read", "write") for kind in ("", "pending_")),
    "l2_misses": tuple(("l2", f"{of}_{kind}_misses") for of in ("read", "write") for kind in ("line", "sector")),
    "l2_hits": tuple(("l2", f"{of}_{kind}hits") for of in ("read", "write") for kind in ("", "pending_")),
    "rt_efficiency_sum": (("rt_unit", "efficiency_sum"),),
    "rt_warps": (("rt_unit", "warps"),),
    "data_ticks": (("dram", "data_ticks"),),
    "active_ticks": (("dram", "active_ticks"),),
    "l2_read_hits": tuple(("l2", f"read_{kind}hits") for kind in ("", "pending_")),
    "l2_read_misses": tuple(("l2", f"read_{kind}_misses") for kind in ("line", "sector")),
    "l2_write_hits": tuple(("l2", f"write_{kind}hits") for kind in ("", "pending_")),
    "l2_write_misses": tuple(("l2", f"write_{kind}_misses") for kind in ("line", "sector")),
    "dram_writes": (("dram", "writes"),),
    "rt_warp_cycles": (("rt_unit", "warp_cycles"),),
    "resident_warp_cycles": (("sm", "resident_warp_cycles"),),
    "waits_for_rt": (("stack", "rt_unit"),),
    "waits_or_issues": tuple(("stack", reason) for reason in BUSY),
}  # fmt: skip


class Replayed(NamedTuple):
    """Outcome of a replay.

    summary      metric -> value, as in ``summary.json``.
    intervals    name of ``COUNTED`` -> float64[intervals], increments after the launch.
    totals       name of ``COUNTED`` -> total of the replay.
    cpu_seconds  processor time of the replay.
    """

    summary: dict[str, float | None]
    intervals: dict[str, np.ndarray]
    totals: dict[str, float]
    cpu_seconds: float


def replay_all(jobs: list[tuple[MemorySource, Any, int]], workers: int = 1) -> list[Replayed]:
    """``replay_one`` of each job, in order: container of a trace, GPU, cycles of an interval.

    workers  more than one are processes, which are given copies of the containers; they change no outcome.

    Raises the errors of ``replay``, and ``UserError`` when a process dies.
    """
    workers = min(workers, len(jobs))
    if workers == 1:
        return [replay_one(*job) for job in tqdm(jobs, desc="replay", unit="sample", disable=None, leave=False)]
    with processes(workers, "a sample") as pool:
        futures = [pool.submit(replay_one, *job) for job in jobs]
        return [one.result() for one in tqdm(futures, desc="replay", unit="sample", disable=None, leave=False)]


def replay_one(source: MemorySource, gpu: Any, interval: int) -> Replayed:
    """``replay_trace`` of the trace of a container."""
    return replay_trace(Trace(source, TRACE), gpu, interval)


def replay_trace(trace: Trace, gpu: Any, interval: int) -> Replayed:
    """Replay a trace in this process, with a row of the timeline for each ``interval`` cycles."""
    from rayplay.replay import simulate

    result = simulate(trace, gpu, interval=interval, stalls=False)
    kept = [added for added in result.ledger.intervals if added.end > gpu.sm.kernel_launch_cycles]
    rows = [result.ledger.totals(added) for added in kept]
    intervals = {
        name: np.array([sum(row[unit][counter] for unit, counter in counters) for row in rows], float)
        for name, counters in COUNTED.items()
    }
    intervals["cycles"] = np.array([added.end - added.start for added in kept], float)
    whole = [result.ledger.by_name(added) for added in result.ledger.kernels]
    totals = {
        name: float(sum(found[unit][counter].sum() for found in whole for unit, counter in counters))
        for name, counters in COUNTED.items()
    }
    summary = {name: metric["value"] for name, metric in result.summary.items()}
    return Replayed(summary, intervals, totals, result.host["replay_cpu_seconds"])
