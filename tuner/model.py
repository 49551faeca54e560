"""The simplified model of a GPU (Ganestam and Doggett 3, equations 1 to 4, Tables 1 to 3): cycles of a launch.

One call evaluates any number of candidates: the counts of instructions are arrays.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tuner.counts import Instructions, Readings
from rayplay.tuner.device import Device

ARITHMETIC, MEMORY, BALANCED = range(3)
CASES = ("arithmetic", "memory", "balanced")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Launch:
    """Shape of a launch.

    threads_per_block  t_b.
    blocks             b_t.
    resident_blocks    b_o that the kernel's resources allow; at most the device's.
    """

    threads_per_block: int
    blocks: Any
    resident_blocks: int | None = None


def launch_of_image(width: int, height: int, tile: int = 8) -> Launch:
    """A thread a pixel, a block of ``tile`` x ``tile`` threads."""
    return Launch(tile * tile, -(-width // tile) * -(-height // tile))


@dataclass(frozen=True)
class Prediction:
    """Cycles of a launch and what leads to them; float64 arrays of one shape.

    warps                warps resident per core, W_d.
    latency_cycles       of one memory instruction, c_ml.
    departure_cycles     between the memory instructions of two warps, c_dd.
    compute_cycles       c_c.
    memory_cycles        c_m.
    compute_demand       w_c.
    compute_parallelism  CWP, min(w_c, W_d).
    by_delay             w_md.
    warp_gbytes_per_s    M_w.
    by_bandwidth         w_mb.
    memory_parallelism   MWP, min(w_md, w_mb, W_d).
    case                 index into ``CASES``.
    periods              of computing that are not hidden, w_t.
    exposed_cycles       of memory, c_b.
    repetitions          b_t / (b_o D_c).
    cycles               c_t.
    """

    warps: float
    latency_cycles: Floats
    departure_cycles: Floats
    compute_cycles: Floats
    memory_cycles: Floats
    compute_demand: Floats
    compute_parallelism: Floats
    by_delay: Floats
    warp_gbytes_per_s: Floats
    by_bandwidth: Floats
    memory_parallelism: Floats
    case: NDArray[np.int64]
    periods: Floats
    exposed_cycles: Floats
    repetitions: Any
    cycles: Floats


def predict(device: Device, launch: Launch, instructions: Instructions, readings: Readings | None = None) -> Prediction:
    """Predict the cycles of a launch whose threads execute ``instructions``.

    A launch without memory instructions is arithmetic and waits for none. Fractions of a repetition count as they are
    unless the readings say otherwise. ``launch.blocks`` may be an array as well.
    """
    readings = readings or Readings()
    blocks = min(device.max_blocks, launch.resident_blocks or device.max_blocks)
    warps = blocks * launch.threads_per_block / device.warp_size
    with np.errstate(divide="ignore", invalid="ignore"):
        latency, departure = _memory(device, instructions, readings)
        compute_cycles = device.issue_cycles * (instructions.compute + instructions.memory)
        memory_cycles = latency * instructions.memory
        warp_gbytes_per_s = device.clock_ghz * readings.load_bytes * device.warp_size / latency
        by_delay = latency / departure
        by_bandwidth = device.bandwidth_gbytes_per_s / (warp_gbytes_per_s * device.cores)
        without = instructions.memory == 0
        mwp = np.where(without, warps, np.minimum(np.minimum(by_delay, by_bandwidth), warps))
        demand = (memory_cycles + compute_cycles) / compute_cycles
        cwp = np.minimum(demand, warps)
        case = np.select([mwp > cwp, (mwp == cwp) & (cwp == warps) & ~without], [ARITHMETIC, BALANCED], MEMORY)
        case = np.where(without, ARITHMETIC, case)
        periods = np.choose(case, [warps, (mwp - 1) / instructions.memory, (mwp - 1) / instructions.memory + 1])
        exposed = np.choose(case, [latency, warps * memory_cycles / mwp, memory_cycles])
    repetitions = launch.blocks / (blocks * device.cores)
    if readings.repetitions == "whole":
        repetitions = np.maximum(repetitions, 1.0)
    cycles = repetitions * (periods * compute_cycles + exposed)
    return Prediction(
        warps, latency, departure, compute_cycles, memory_cycles, demand, cwp, by_delay, warp_gbytes_per_s,
        by_bandwidth, mwp, case, periods, exposed, repetitions, cycles,
    )  # fmt: skip


def _memory(device: Device, instructions: Instructions, readings: Readings) -> tuple[Floats, Floats]:
    """c_ml and c_dd: means over coalesced instructions and instructions of one access a lane; 0 without any."""
    share = np.where(instructions.memory > 0, instructions.uncoalesced / instructions.memory, 0.0)
    accesses = readings.accesses or device.warp_size
    latency = device.latency_cycles + (accesses - 1) * device.uncoalesced_delay_cycles * share
    departure = accesses * device.uncoalesced_delay_cycles * share + device.coalesced_delay_cycles * (1 - share)
    return np.where(instructions.memory > 0, latency, 0.0), departure
