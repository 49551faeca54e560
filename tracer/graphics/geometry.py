"""Vertex buffers of a draw, its vertex batches, and the kernel that shades them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.raster.batches import VertexBatches, cut_batches
from rayplay.tracer.scenes.textured import Draw

CTA_THREADS = 64
"""Threads of a CTA of either stage (``docs/sources/crisp.md#vertex-batches``)."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """A draw in device memory."""

    draw: Draw
    batches: VertexBatches
    addresses: dict[str, int]
    """Of its vertex buffers, by their names in ``DRAW``."""
    bytes: dict[str, int]

    @property
    def invocations(self) -> int:
        """Vertex invocations of all instances."""
        return len(self.batches.vertices) * len(self.draw.places)


class Shaded(NamedTuple):
    """Outputs of the vertex shader: a row an invocation."""

    clip: NDArray[np.float32]
    varyings: NDArray[np.float32]
    """float32[n, 8]: place in the world, normal, texture coordinates."""


VARYINGS = {"world": 3, "normal": 3, "coordinates": 2}
"""Columns of each varying."""
OUTPUTS = {"clip": 4, "world_out": 3, "normal_out": 3, "uv_out": 2}


def place_geometry(draw: Draw, memory: DeviceMemory, limits: dict[str, int | None]) -> Geometry:
    """Cut the index buffer into batches (``limits`` of ``cut_batches``) and put the buffers into memory."""
    batches = cut_batches(draw.indices, len(draw.positions), place=f"draw {draw.name}: index buffer", **limits)
    places = np.ascontiguousarray(draw.places, np.float32)
    held: dict[str, NDArray[Any]] = {
        "vertices": batches.vertices, "positions": draw.positions, "normals": draw.normals, "uv": draw.uv,
        "places": places,
    }  # fmt: skip
    named = {name: memory.allocate(values, name=f"{name} of draw {draw.name}") for name, values in held.items()}
    return Geometry(draw, batches, named, {name: values.nbytes for name, values in held.items()})


def lend_outputs(geometry: Geometry, memory: DeviceMemory) -> dict[str, int]:
    """Memory for the outputs of the vertex shader, until it is given back."""
    rows = geometry.invocations
    return {name: memory.lend(4 * width * rows, f"{name} of a draw") for name, width in OUTPUTS.items()}


def shaded(addresses: dict[str, int], rows: int, memory: DeviceMemory) -> Shaded:
    """Outputs at the addresses of ``lend_outputs``."""
    found = {name: memory.view(addresses[name], np.float32, (rows, width)) for name, width in OUTPUTS.items()}
    return Shaded(found["clip"].copy(), np.hstack([found["world_out"], found["normal_out"], found["uv_out"]]))
