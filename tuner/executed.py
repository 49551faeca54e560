"""Instructions that warps execute, from some blocks of a frame at full size: divergence is in the count."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.ptx.flow.cfg import build
from rayplay.ptx.ir import Function
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.kernel import TILE, Renderer, Settings, tiles

SAMPLE_BLOCKS = 96
"""Blocks of a frame that are executed."""
PROBES = 4
"""Rays of ambient occlusion for the second of two points of a line."""
WARPS = TILE * TILE // 32


@dataclass(frozen=True)
class Executed:
    """Per warp, mean over the sample.

    instructions  warp instructions.
    waits         block visits that wait for memory: a load, and loads of the same visit with it.
    loads         memory instructions.
    """

    instructions: NDArray[np.float64]
    waits: NDArray[np.float64]
    loads: NDArray[np.float64]


class BlockVisits:
    """A ``VisitSink`` that counts the visits of each basic block by warps."""

    def __init__(self, blocks: int) -> None:
        self.visits = np.zeros(blocks, np.int64)

    def put_visits(self, warp_id: NDArray[np.int64], end: NDArray[np.int64], visits: NDArray[np.uint32]) -> None:
        """Count visits as they are made."""
        self.visits += np.bincount(visits[:, 0], minlength=len(self.visits))


def execute(
    renderer: Renderer, camera: Camera, size: tuple[int, int], settings: Settings, occlusion_rays: NDArray[np.int64]
) -> Executed:
    """Count what warps of a frame execute with each number of occlusion rays.

    Two runs of the sampled blocks, without occlusion rays and with ``PROBES``, give a straight line.
    """
    step = max(tiles(*size) // SAMPLE_BLOCKS, 1)
    per_block = _per_block(renderer.function)
    ends = []
    for rays in (0, PROBES):
        sink = BlockVisits(len(per_block))
        blocks = renderer.sample(camera, *size, Settings(rays, settings.radius, settings.shadow_rays), sink, step)
        ends.append(sink.visits @ per_block / (blocks * WARPS))
    slope = (ends[1] - ends[0]) / PROBES
    return Executed(*(ends[0][:, None] + slope[:, None] * occlusion_rays))


def _per_block(function: Function) -> NDArray[np.float64]:
    """float64[blocks, 3]: instructions, whether a visit waits for memory, memory instructions."""
    rows = []
    for block in build(function).blocks:
        body = function.body[block.first : block.first + block.count]
        loads = [i for i in body if i.opcode == "ld" and not {"param", "shared"} & set(i.modifiers)]
        stores = [i for i in body if i.opcode == "st" and "shared" not in i.modifiers]
        rows.append((len(body), bool(loads), len(loads) + len(stores)))
    return np.array(rows, np.float64)
