"""Work that warps do, from some blocks of a frame at full size: divergence is in the count."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rayplay.ptx.flow.liveness import Liveness
from rayplay.ptx.graph import Cfg
from rayplay.ptx.ir import Function
from rayplay.replay.gpu.description import Gpu
from rayplay.tracer.record.visits import AnySink
from rayplay.tracer.scenes.description import Camera, Scene
from rayplay.tuner.device import Caches
from rayplay.tuner.settings import Settings

KINDS = ("instructions", "alone", "waits", "loads", "records", "requests")


LEAST_WARPS, MOST_COST, REQUEST_COST = 64, 7e6, 100.0
"""Warps of a look in any case, else warp instructions of one (some 30 ms of a processor), and what a request of the
ray-tracing unit counts for."""


@dataclass(frozen=True)
class Look:
    """How much of a frame is executed before it is predicted.

    warps   of it at most, at equal distances; fewer where that costs more than ``MOST_COST``.
    probes  rays of the second of two looks; the time of other numbers of rays lies on the straight line through both.
    """

    warps: int = 192
    probes: float = 4


@dataclass(frozen=True)
class Executed:
    """Work of each warp of the sampled blocks: ``work``, float64[sampled blocks, warps of a block, ``KINDS``].

    instructions  warp instructions.
    alone         cycles of the warp alone, without waits for memory and for the ray-tracing unit.
    waits         block visits that wait for memory: a load, and loads of the same visit with it.
    loads         memory instructions.
    records       BVH records that the ray-tracing unit visits one after another: of each trace the lane's with most.
    requests      different records of a trace, that the unit asks for.
    step          every step-th block of the launch is sampled.
    """

    work: NDArray[np.float64]
    step: int

    def __getattr__(self, name: str) -> NDArray[np.float64]:
        if name not in KINDS:
            raise AttributeError(name)
        return self.work[..., KINDS.index(name)]

    def towards(self, other: "Executed", part: float) -> "Executed":
        """On the straight line from this (``part`` 0) to ``other`` (1), and behind it."""
        return replace(self, work=self.work + part * (other.work - self.work))


class Renderer(Protocol):
    """A scene in device memory and a program that renders it."""

    scene: Scene
    digest: str

    def render(
        self, camera: Camera, size: tuple[int, int], settings: Settings, sink: AnySink = None, seed: int = 1
    ) -> NDArray[np.float32]:
        """Render an image, float32[height, width, 4], of the scaled size; ``sink`` takes the trace of the launch."""

    def blocks(self, size: tuple[int, int]) -> int:
        """Blocks of a launch."""

    def resident_blocks(self, gpu: Gpu, size: tuple[int, int]) -> int:
        """Blocks of the program that an SM of the GPU holds at a time."""

    def execute(
        self, camera: Camera, size: tuple[int, int], settings: Settings, caches: Caches, warps: int = 192
    ) -> Executed:
        """Count the work of ``warps`` warps of a frame."""


@dataclass
class WarpVisits:
    """A ``VisitSink`` that counts visits of each basic block: int64[warps, basic blocks]."""

    visits: NDArray[np.int64]

    def put_visits(self, warp_id: NDArray[np.int64], end: NDArray[np.int64], visits: NDArray[np.uint32]) -> None:
        """Count visits as they are made."""
        add_visits(self.visits, np.repeat(warp_id, np.diff(end, prepend=0)), visits[:, 0])


def add_visits(counts: NDArray[np.int64], warp: NDArray[np.integer[Any]], block: NDArray[np.integer[Any]]) -> None:
    """Count visits of basic blocks by warps, in place."""
    width = counts.shape[1]
    counts += np.bincount(warp.astype(np.int64) * width + block, minlength=counts.size).reshape(counts.shape)


def block_work(functions: Iterable[tuple[Function, Cfg]], caches: Caches) -> NDArray[np.float64]:
    """float64[basic blocks, 4]: instructions, cycles alone, whether a visit waits for memory, memory instructions."""
    rows = []
    for function, cfg in functions:
        live = Liveness(function, cfg)
        for block in cfg.blocks:
            places = range(block.first, block.first + block.count)
            body = function.body[block.first : block.first + block.count]
            loads = [i.opcode == "ld" and not {"param", "shared", "const"} & set(i.modifiers) for i in body]
            stores = [i.opcode == "st" and "shared" not in i.modifiers for i in body]
            chain = in_order_cycles(
                [live.reads[p] for p in places], [live.writes[p] for p in places], loads,
                caches.dependent_cycles, caches.alone_cycles,
            )  # fmt: skip
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


def sampled_step(blocks: int, warps_per_block: int, warps: int, columns: int) -> int:
    """Every how many blocks one is sampled for ``warps`` warps or more; samples fall into all ``columns`` of blocks."""
    step = max(blocks * warps_per_block // warps, 1)
    while math.gcd(step, columns) > 1:
        step -= 1
    return step


def affordable(renderer: Renderer, size: tuple[int, int], settings: Settings, caches: Caches, look: Look) -> Look:
    """``look`` with as many warps as ``MOST_COST`` allows, by some warps of the scene's own view."""
    probed = replace(settings, occlusion_rays=look.probes)
    pilot = renderer.execute(renderer.scene.camera, size, probed, caches, LEAST_WARPS)
    cost = float(pilot.instructions.mean() + REQUEST_COST * pilot.requests.mean())
    return replace(look, warps=min(max(int(MOST_COST / max(cost, 1.0)), LEAST_WARPS), look.warps))
