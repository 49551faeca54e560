"""Instructions that warps execute, from some blocks of a frame at full size: divergence is in the count."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.ptx.flow.cfg import build
from rayplay.ptx.flow.liveness import Liveness
from rayplay.ptx.ir import Function
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.device import Caches
from rayplay.tuner.kernel import TILE, Renderer, Settings, tiles

SAMPLE_BLOCKS = 96
"""Blocks of a frame that are executed."""
PROBES = 4
"""Rays of ambient occlusion for the second of two points of a line."""
WARPS = TILE * TILE // 32


@dataclass(frozen=True)
class Executed:
    """Of each warp of the sampled blocks: float64[sampled blocks, WARPS, candidates].

    instructions  warp instructions.
    alone         cycles of the warp alone, without waits for memory.
    waits         block visits that wait for memory: a load, and loads of the same visit with it.
    loads         memory instructions.
    step          every step-th block of the launch is sampled.
    """

    instructions: NDArray[np.float64]
    alone: NDArray[np.float64]
    waits: NDArray[np.float64]
    loads: NDArray[np.float64]
    step: int


class BlockVisits:
    """A ``VisitSink`` that counts each warp's visits of each basic block: int64[warps, basic blocks]."""

    def __init__(self, warps: int, blocks: int) -> None:
        self.visits = np.zeros((warps, blocks), np.int64)

    def put_visits(self, warp_id: NDArray[np.int64], end: NDArray[np.int64], visits: NDArray[np.uint32]) -> None:
        """Count visits as they are made."""
        warp = np.repeat(warp_id, np.diff(end, prepend=0))
        places = warp * self.visits.shape[1] + visits[:, 0]
        self.visits += np.bincount(places, minlength=self.visits.size).reshape(self.visits.shape)


def execute(
    renderer: Renderer,
    camera: Camera,
    size: tuple[int, int],
    settings: Settings,
    occlusion_rays: NDArray[np.int64],
    caches: Caches,
) -> Executed:
    """Count what warps of a frame execute with each number of occlusion rays.

    Two runs of the sampled blocks, without occlusion rays and with ``PROBES``, give a straight line.
    """
    step = max(tiles(*size) // SAMPLE_BLOCKS, 1)
    sampled = -(-tiles(*size) // step)
    per_block = _per_block(renderer.function, caches.dependent_cycles, caches.alone_cycles)
    ends = []
    for rays in (0, PROBES):
        sink = BlockVisits(sampled * WARPS, len(per_block))
        renderer.sample(camera, *size, Settings(rays, settings.radius, settings.shadow_rays), sink, step)
        ends.append((sink.visits @ per_block).reshape(sampled, WARPS, 4))
    slope = (ends[1] - ends[0]) / PROBES
    lines = ends[0][..., None] + slope[..., None] * occlusion_rays
    return Executed(lines[:, :, 0], lines[:, :, 1], lines[:, :, 2], lines[:, :, 3], step)


def _per_block(function: Function, latency: float, issue: float) -> NDArray[np.float64]:
    """float64[blocks, 4]: instructions, cycles alone, whether a visit waits for memory, memory instructions."""
    cfg, rows = build(function), []
    live = Liveness(function, cfg)
    for block in cfg.blocks:
        places = range(block.first, block.first + block.count)
        body = function.body[block.first : block.first + block.count]
        loads = [i.opcode == "ld" and not {"param", "shared"} & set(i.modifiers) for i in body]
        stores = [i.opcode == "st" and "shared" not in i.modifiers for i in body]
        chain = in_order_cycles(
            [live.reads[p] for p in places], [live.writes[p] for p in places], loads, latency, issue
        )
        rows.append((len(body), chain, any(loads), sum(loads) + sum(stores)))
    return np.array(rows, np.float64)


def in_order_cycles(
    reads: Sequence[int], writes: Sequence[int], loads: Sequence[bool], latency: float, issue: float
) -> float:
    """Cycles of a warp alone in a basic block: it issues in order, an instruction ``issue`` cycles after the one
    before it at least, and ``latency`` cycles after arithmetic that it needs; a load's latency counts apart.
    Registers are bits.
    """
    ready: dict[int, float] = {}
    now = end = 0.0
    for read, written, load in zip(reads, writes, loads, strict=True):
        now = max([now, *(cycle for bits, cycle in ready.items() if bits & read)])
        ready = {rest: cycle for bits, cycle in ready.items() if (rest := bits & ~written)}
        ready[written] = now + (issue if load else latency)
        now += issue
        end = max(end, now)
    return end
