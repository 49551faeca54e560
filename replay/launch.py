"""The launches of a trace: their CTAs, and how many of each an SM holds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from formats.errors import FormatError
from formats.reader import Trace
from replay.dispatch import occupancy
from replay.gpu_description import Gpu


@dataclass(frozen=True)
class Launch:
    """One kernel, ready to be dispatched.

    warps          int64[CTAs, 2]: first warp and end of each CTA that has work, in launch order.
    places         CTAs an SM holds at a time.
    """

    kernel_id: int
    name: str
    stream: int
    warps_per_cta: int
    places: int
    warps: np.ndarray
    instructions: int


def read_launches(trace: Trace, gpu: Gpu, block_instructions: np.ndarray) -> list[Launch]:
    """The launches in order. CTAs whose warps have no visits are left out, so that they change nothing."""
    kernels = trace.read("kernels")
    warps = trace.read("warps", ["kernel_id", "cta_id", "warp_in_cta"])
    visits, instructions = work_per_warp(trace, block_instructions)
    launches = []
    for row in range(len(kernels["name"])):
        mine = np.flatnonzero(warps["kernel_id"] == row)
        threads = int(kernels["block_x"][row]) * int(kernels["block_y"][row]) * int(kernels["block_z"][row])
        warps_per_cta = max(-(-threads // 32), 1)
        launches.append(
            Launch(
                row,
                str(kernels["name"][row]),
                int(kernels["stream"][row]),
                warps_per_cta,
                places(gpu, kernels, row, warps_per_cta),
                cta_bounds(trace, warps, mine, visits, warps_per_cta),
                int(instructions[mine].sum()),
            )
        )
    return launches


def work_per_warp(trace: Trace, block_instructions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Visits and warp-instructions of every warp: int64[warps] each."""
    count = trace.rows("warps")
    visits, instructions = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for batch in trace.batches("visits", ["warp_id", "block_id"]):
        warp, block = batch["warp_id"], batch["block_id"]
        if len(warp) and (int(warp.max()) >= count or int(block.max()) >= len(block_instructions)):
            raise FormatError(f"{trace.path}: table visits: warp_id must be below {count}, block_id below the blocks")
        visits += np.bincount(warp, minlength=count)
        instructions += np.bincount(warp, block_instructions[block], minlength=count).astype(np.int64)
    return visits, instructions


def places(gpu: Gpu, kernels: dict[str, Any], row: int, warps_per_cta: int) -> int:
    """CTAs of a launch that an SM holds at a time."""
    ctas = int(kernels["grid_x"][row]) * int(kernels["grid_y"][row]) * int(kernels["grid_z"][row])
    registers, shared = int(kernels["registers_per_thread"][row]), int(kernels["shared_bytes"][row])
    return occupancy(gpu.sm, warps_per_cta, registers, shared, ctas, str(kernels["name"][row]))


def cta_bounds(
    trace: Trace, warps: dict[str, Any], mine: np.ndarray, visits: np.ndarray, warps_per_cta: int
) -> np.ndarray:
    """Rows (first warp, end) of the CTAs with work: int64[CTAs, 2]. The warps of a CTA follow each other."""
    cta = warps["cta_id"][mine]
    first = np.flatnonzero(np.append(True, cta[1:] != cta[:-1])) if len(cta) else np.zeros(0, np.int64)
    end = np.append(first[1:], len(cta)).astype(np.int64)
    if len(first) and int((end - first).max()) > warps_per_cta:
        row = int(mine[first[int(np.argmax(end - first))]])
        raise FormatError(f"{trace.path}: table warps, row {row}: its CTA must have at most {warps_per_cta} warps")
    work = np.add.reduceat(visits[mine], first) if len(first) else np.zeros(0, np.int64)
    base = int(mine[0]) if len(mine) else 0
    return np.stack([base + first, base + end], axis=1)[work > 0].astype(np.int64).reshape(-1, 2)
