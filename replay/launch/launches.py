"""The launches of a trace: their CTAs, and how many of each an SM holds."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import FormatError
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sm.ctas import Needs, needs, occupancy


@dataclass(frozen=True)
class Launch:
    """One kernel, ready to be dispatched.

    need           what a CTA takes from an SM.
    places         CTAs an SM holds at a time.
    grid           its CTAs, with work or without.
    ctas           rows (first, end) of its CTAs with work in the table of all CTAs, in launch order.
    instructions   warp-instructions.
    work_class     number of its class of work.
    tests          pixels whose depth is tested before it, of a fragment shader.
    """

    kernel_id: int
    name: str
    stream: int
    need: Needs
    places: int
    grid: int
    ctas: tuple[int, int]
    instructions: int
    work_class: int = 0
    tests: int = 0


def read_launches(
    trace: Trace, gpu: Gpu, block_instructions: np.ndarray, alone: bool
) -> tuple[list[Launch], np.ndarray]:
    """The launches in order, and int64[CTAs, 2]: first warp and end of every CTA that has work.

    alone  whether each has the GPU to itself, and an SM no more CTAs of it than its even share.

    CTAs whose warps have no visits are left out, so that they change nothing.
    """
    kernels, tests = trace.read("kernels"), depth_tests(trace)
    warps = trace.read("warps", ["kernel_id", "cta_id", "warp_in_cta"])
    visits, instructions = work_per_warp(trace, block_instructions)
    bounds = np.searchsorted(warps["kernel_id"], np.arange(len(kernels["name"]) + 1))
    launches, ctas, count = [], [np.zeros((0, 2), np.int64)], 0
    for row in range(len(kernels["name"])):
        mine = slice(int(bounds[row]), int(bounds[row + 1]))
        need, places = places_of(gpu, kernels, row, alone)
        ctas.append(cta_bounds(trace, warps["cta_id"][mine], visits[mine], mine.start, need.warps))
        rows = (count, count + len(ctas[-1]))
        count = rows[1]
        launches.append(
            Launch(
                row, str(kernels["name"][row]), int(kernels["stream"][row]), need, places, grid_of(kernels, row), rows,
                int(instructions[mine].sum()), tests=tests.get(row, 0),
            )
        )  # fmt: skip
    return launches, np.concatenate(ctas)


def depth_tests(trace: Trace) -> dict[int, int]:
    """Covered pixels of the launches that are fragment shaders, by launch."""
    if "stages" not in trace.tables:
        return {}
    stages = trace.read("stages", ["kernel_id", "stage", "covered"])
    of_pixels = stages["stage"] == "fragment"
    columns = (stages[name][of_pixels].tolist() for name in ("kernel_id", "covered"))
    return dict(zip(*columns, strict=True))


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


def grid_of(kernels: dict[str, Any], row: int) -> int:
    """CTAs of a launch's grid."""
    return math.prod(int(kernels[f"grid_{axis}"][row]) for axis in "xyz")


def places_of(gpu: Gpu, kernels: dict[str, Any], row: int, alone: bool) -> tuple[Needs, int]:
    """Needs of a launch's CTA, and the CTAs of it that an SM holds at a time."""
    name = str(kernels["name"][row])
    threads, ctas = math.prod(int(kernels[f"block_{axis}"][row]) for axis in "xyz"), grid_of(kernels, row)
    registers, shared = int(kernels["registers_per_thread"][row]), int(kernels["shared_bytes"][row])
    need = needs(gpu.sm, threads, registers, shared, name)
    return need, occupancy(gpu.sm, need, ctas) if alone else gpu.sm.ctas


def cta_bounds(trace: Trace, cta: np.ndarray, visits: np.ndarray, base: int, warps_per_cta: int) -> np.ndarray:
    """Rows (first warp, end) of the CTAs with work: int64[CTAs, 2]. The warps of a CTA follow each other."""
    if not len(cta):  # a launch without warps takes no more than its latency
        return np.zeros((0, 2), np.int64)
    first = np.flatnonzero(np.append(True, cta[1:] != cta[:-1]))
    end = np.append(first[1:], len(cta)).astype(np.int64)
    if int((end - first).max()) > warps_per_cta:
        row = base + int(first[int(np.argmax(end - first))])
        raise FormatError(f"{trace.path}: table warps, row {row}: its CTA must have at most {warps_per_cta} warps")
    work = np.add.reduceat(visits, first)
    return np.stack([base + first, base + end], axis=1)[work > 0].astype(np.int64).reshape(-1, 2)
