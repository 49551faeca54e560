"""Grid and block of a launch and the memory of its threads."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import SHARED_BYTES, WARPS
from rayplay.ptx.ir import Function, Module
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.link.launches import ComputeLaunch, ImageLaunch
from rayplay.tracer.link.link import LinkedLaunch, image_chain
from rayplay.tracer.link.programs import RECURSION_DEPTH

MOST_RECURSIVE_LOCAL_BYTES = 1 << 34
LEAST_RECURSION = 32
MOST_COOPERATIVE_WARPS = 9216  # 144 SMs of 64 warps, as many as the largest GPUs have


@dataclass(frozen=True)
class Shape:
    """Grid and block of a launch and what its threads need; ``entry`` is the number of the function to start."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    entry: int
    parameters: bytes
    dynamic_shared_bytes: int
    stream: int
    local_bytes: int
    stack_bytes: int
    cooperative: bool = False

    @property
    def ctas(self) -> int:
        """CTAs of the launch."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        """Warps of a CTA."""
        return -(-self.threads // LANES)

    @property
    def slots(self) -> int:
        """CTAs that run in turns."""
        return self.ctas if self.cooperative else 1

    def warp_tables(self, kernel_id: int, first_warp: int, image: ImageLaunch | None) -> dict[str, Any]:
        """Columns of ``warps``, and of ``threads`` for an image."""
        cta = np.repeat(np.arange(self.ctas, dtype=np.uint32), self.warps)
        in_cta = np.tile(np.arange(self.warps, dtype=np.uint16), self.ctas)
        warp = first_warp + np.arange(len(cta), dtype=np.uint32)
        width = image.width if image else self.threads
        position = cta % np.uint32(self.grid[0]) if image else in_cta.astype(np.uint32)
        lanes = np.minimum(width - LANES * position.astype(np.int64), LANES)
        masks = ((np.uint64(1) << lanes.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
        kernels = np.full(len(cta), kernel_id, np.uint32)
        made = {"warps": {"kernel_id": kernels, "warp_id": warp, "cta_id": cta, "warp_in_cta": in_cta,
                          "launched_mask": masks}}  # fmt: skip
        if image:
            row, lane = np.nonzero(np.arange(LANES) < lanes[:, None])
            made["threads"] = {
                "warp_id": warp[row], "lane": lane.astype(np.uint8),
                "pixel_x": (position[row] * LANES + lane).astype(np.uint16),
                "pixel_y": (cta[row] // self.grid[0]).astype(np.uint16),
            }  # fmt: skip
        return made


def image_shape(linked: LinkedLaunch, launch: ImageLaunch) -> Shape:
    """A warp per 32x1 pixels, a CTA each."""
    name = launch.name or launch.programs[launch.raygen_index][1].name
    WARPS.check(-(-launch.width // LANES) * launch.height, f"warps of {launch.width}x{launch.height} pixels", file=name)
    return Shape(
        name, (-(-launch.width // LANES), launch.height, 1), (LANES, 1, 1), launch.raygen_index, b"", 0, 0,
        image_chain(linked, launch, lambda f: f.layout.local_bytes),
        image_chain(linked, launch, lambda f: f.layout.bytes),
    )  # fmt: skip


def compute_shape(linked: LinkedLaunch, launch: ComputeLaunch) -> Shape:
    """The launch's own grid and block. Raises ``UserError`` for parameters of a wrong number or size, and for a grid of
    too many warps or a CTA of too much shared memory."""
    source = launch.module.source_name
    warps = math.prod(launch.grid) * -(-math.prod(launch.block) // LANES)
    WARPS.check(warps, f"warps of {launch.entry}", file=source)
    if launch.cooperative and warps > MOST_COOPERATIVE_WARPS:
        raise UserError(
            f"{source}: {launch.entry}: a cooperative launch must fit a GPU as a whole, "
            f"{MOST_COOPERATIVE_WARPS:,} warps at most, found {warps:,}"
        )
    shared = linked.shared_bytes + launch.dynamic_shared_bytes
    SHARED_BYTES.check(shared, f"{launch.entry}: shared memory of a CTA", file=source)
    return Shape(
        launch.entry, launch.grid, launch.block, 0, _parameter_bytes(launch, linked.functions[0].function),
        launch.dynamic_shared_bytes, launch.stream, _local_bytes(linked, launch),
        linked.chain(lambda f: f.layout.bytes, 0), launch.cooperative,
    )  # fmt: skip


def _local_bytes(linked: LinkedLaunch, launch: ComputeLaunch) -> int:
    """Local memory of a thread; where functions call themselves, threads have to share what there is."""
    threads = int(np.prod(launch.grid, dtype=np.int64) * np.prod(launch.block, dtype=np.int64))
    once = linked.chain(lambda f: f.layout.local_bytes, 0, 1)
    depth = MOST_RECURSIVE_LOCAL_BYTES // max(threads * once, 1)
    return linked.chain(lambda f: f.layout.local_bytes, 0, min(max(depth, LEAST_RECURSION), RECURSION_DEPTH))


def entry_of(module: Module, name: str) -> Function:
    """The entry called ``name``; ``UserError`` with the known names for another one."""
    function = module.functions.get(name)
    if function is None or not function.is_entry:
        entries = ", ".join(f.name for f in module.functions.values() if f.is_entry) or "none"
        raise UserError(f"{module.source_name}: no entry is called {name}; there are: {entries}")
    return function


def _parameter_bytes(launch: ComputeLaunch, entry: Function) -> bytes:
    """The parameter buffer, each value where its ``.param`` lies."""
    place = f"{launch.module.source_name}: {entry.name}"
    if len(launch.params) != len(entry.parameters):
        raise UserError(f"{place}: needs {len(entry.parameters)} parameters, {len(launch.params)} are given")
    buffer = b""
    for variable, value in zip(entry.parameters, launch.params, strict=True):
        if len(value) != variable.bytes:
            raise UserError(f"{place}: {variable.name} has {variable.bytes} bytes, {len(value)} are given")
        buffer += b"\0" * (-len(buffer) % variable.align) + value
    return buffer
