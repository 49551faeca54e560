"""Why a launch took its cycles: the tables ``stack``, ``utilisation`` and ``roofline`` of a result.

All of it follows from what the launch added to the units' counters, from its cycles and from the GPU description.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input.work import LANES, SECTOR_BYTES
from rayplay.replay.unit import cycle_stack as stack

Counters = dict[str, dict[str, np.ndarray]]  # unit -> counter -> int64[instances]
Columns = dict[str, np.ndarray]

# unit -> what it uses, what it has; a row of the page docs/replay.md each
UTILISATION = {
    "issue": ("scheduler-cycles", "slots in which an instruction issued / schedulers x cycles"),
    "warps": ("warp-cycles", "live warps x cycles / warp slots x cycles: the occupancy"),
    "lsu": ("cycles", "memory instructions, and the cycles that bank conflicts of shared memory add / cycles"),
    "l1d": ("sectors", "sectors accessed / banks x cycles"),
    "rt_unit": ("cycles", "cycles with a warp inside / cycles"),
    "rt_warps": ("warp-cycles", "warps inside x cycles / places x cycles"),
    "crossbar": ("packets", "packets the SMs sent / SMs x cycles"),
    "l2": ("sectors", "sectors accessed / slices x L2 cycles"),
    "dram": ("DRAM ticks", "ticks of the data bus / channels x ticks"),
}  # fmt: skip


def accesses(cache: dict[str, np.ndarray]) -> int:
    """Accesses of a cache's counters: hits, pending hits, misses; a sector each.

    Source: ``docs/sources/accel-sim.md#cache-counters``.
    """
    kinds = ("hits", "pending_hits", "line_misses", "sector_misses", "misses", "merges")
    return sum(int(found.sum()) for name, found in cache.items() if name.partition("_")[2] in kinds)


def stack_rows(added: Counters, kernel_id: int) -> Columns:
    """Columns of ``stack`` for one launch: a row per SM and reason."""
    parts = np.stack([added["stack"][reason] for reason in stack.REASONS], axis=1)
    sms, reasons = parts.shape
    return {
        "kernel_id": np.full(sms * reasons, kernel_id, np.int32),
        "sm": np.repeat(np.arange(sms), reasons).astype(np.uint32),
        "reason": np.tile(np.array(stack.REASONS, object), sms),
        "slots": stack.whole_slots(parts).ravel(),
    }


def amounts(added: Counters) -> dict[str, int]:
    """Unit -> what it used, of a launch's or an interval's events."""
    sm, lsu, rt = added["sm"], added["lsu"], added["rt_unit"]
    taken = {
        "issue": sm["warp_instructions"], "warps": sm["resident_warp_cycles"],
        "rt_unit": rt["busy_cycles"], "rt_warps": rt["warp_cycles"], "crossbar": added["port"]["requests"],
        "dram": added["dram"]["data_ticks"],
    }  # fmt: skip
    found = {unit: int(events.sum()) for unit, events in taken.items()}
    found["lsu"] = int(lsu["instructions"].sum() + lsu["bank_conflict_cycles"].sum())
    found |= {cache: accesses(added[cache]) for cache in ("l1d", "l2")}
    return {unit: found[unit] for unit in UTILISATION}


def used(added: Counters, gpu: Gpu, cycles: int) -> Iterator[tuple[str, int, float]]:
    """Unit, what it used, what it could have used."""
    sms = gpu.sm.count
    capacity = {
        "issue": gpu.issue_per_cycle * cycles, "warps": sms * gpu.sm.warps * cycles, "lsu": sms * cycles,
        "l1d": sms * gpu.l1.banks * cycles, "rt_unit": sms * cycles, "rt_warps": sms * gpu.rt.warps * cycles,
        "crossbar": sms * cycles, "l2": gpu.l2_slices * (cycles * gpu.memory.l2_clock_khz / gpu.sm.clock_khz),
        "dram": gpu.memory.count * (cycles * gpu.dram.clock_khz / gpu.sm.clock_khz),
    }  # fmt: skip
    for unit, amount in amounts(added).items():
        yield unit, amount, float(capacity[unit])


def utilisation_rows(added: Counters, gpu: Gpu, cycles: int, kernel_id: int) -> Columns:
    """Columns of ``utilisation`` for one launch: a row per kind of unit."""
    unit, use, capacity = zip(*used(added, gpu, cycles), strict=True)
    return {
        "kernel_id": np.full(len(unit), kernel_id, np.int32), "unit": np.array(unit, object),
        "used": np.array(use, np.int64), "capacity": np.array(capacity, np.float64),
        "measure": np.array([UTILISATION[name][0] for name in unit], object),
    }  # fmt: skip


def levels(added: Counters, gpu: Gpu) -> Sequence[tuple[str, int, float]]:
    """Level of memory, bytes moved there, peak bytes per second."""
    hertz, l2_hertz = gpu.sm.clock_khz * 1000, gpu.memory.l2_clock_khz * 1000
    columns = int(added["dram"]["reads"].sum() + added["dram"]["writes"].sum())
    return (
        ("l1", accesses(added["l1d"]) * SECTOR_BYTES, float(gpu.sm.count * gpu.l1.banks * SECTOR_BYTES * hertz)),
        ("l2", accesses(added["l2"]) * SECTOR_BYTES, float(gpu.l2_slices * SECTOR_BYTES * l2_hertz)),
        ("dram", columns * gpu.dram.atom_bytes, float(gpu.dram_bytes_per_second)),
    )


def roofline_rows(added: Counters, gpu: Gpu, cycles: int, kernel_id: int) -> Columns:
    """Columns of ``roofline`` for one launch: a row per level of memory."""
    level, moved, peak = zip(*levels(added, gpu), strict=True)
    hertz, rows = gpu.sm.clock_khz * 1000, len(level)
    threads = int(added["sm"]["thread_instructions"].sum())
    return {
        "kernel_id": np.full(rows, kernel_id, np.int32), "level": np.array(level, object),
        "bytes": np.array(moved, np.int64), "thread_instructions": np.full(rows, threads, np.int64),
        "seconds": np.full(rows, cycles / hertz), "peak_bytes_per_second": np.array(peak),
        "peak_instructions_per_second": np.full(rows, float(gpu.issue_per_cycle * LANES * hertz)),
    }  # fmt: skip


def stack_slots(parts: dict[str, Any]) -> dict[str, int]:
    """The parts of all SMs together, by reason, in whole slots whose sum is exact."""
    total = np.array([[np.asarray(parts[reason]).sum() for reason in stack.REASONS]], np.int64)
    return dict(zip(stack.REASONS, stack.whole_slots(total)[0].tolist(), strict=True))
