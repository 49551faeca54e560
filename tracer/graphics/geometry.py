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
    """Of its vertex buffers, by the names of their sources."""
    bytes: dict[str, int]

    @property
    def invocations(self) -> int:
        """Vertex invocations of all instances."""
        return len(self.batches.vertices) * self.draw.instance_count


class Shaded(NamedTuple):
    """Outputs of the vertex shader: a row an invocation."""

    clip: NDArray[np.float32]
    varyings: NDArray[np.float32]
    """float32[n, k]: all columns of all varyings, in their order."""


def place_geometry(draw: Draw, memory: DeviceMemory, limits: dict[str, int | None]) -> Geometry:
    """Cut the index buffer into batches (``limits`` of ``cut_batches``) and put the buffers into memory."""
    batches = cut_batches(draw.indices, len(draw.positions), place=f"draw {draw.name}: index buffer", **limits)
    places = np.ascontiguousarray(draw.places, np.float32)
    held: dict[str, NDArray[Any]] = {
        "vertices": batches.vertices, "positions": draw.positions, "normals": draw.normals, "uv": draw.uv,
        "places": places,
    }  # fmt: skip
    if draw.colors is not None:
        held["colors"] = draw.colors
    if draw.instances is not None:
        held["instances"] = draw.instances.view(np.float32)
    named = {name: memory.allocate(values, name=f"{name} of draw {draw.name}") for name, values in held.items()}
    return Geometry(draw, batches, named, {name: values.nbytes for name, values in held.items()})


def lend_outputs(geometry: Geometry, varyings: dict[str, int], memory: DeviceMemory) -> dict[str, int]:
    """Memory for the outputs of the vertex shader, until it is given back; varyings: columns of each."""
    sizes = output_bytes(geometry, varyings)
    return {name: memory.lend(size, f"{name} of a draw") for name, size in sizes.items()}


def output_bytes(geometry: Geometry, varyings: dict[str, int]) -> dict[str, int]:
    """Bytes of each output of the vertex shader."""
    columns = {"clip": 4} | {f"{name}_out": width for name, width in varyings.items()}
    return {name: 4 * width * geometry.invocations for name, width in columns.items()}


def fronts_first(triangles: NDArray[np.uint32], draw: Draw) -> NDArray[np.uint32]:
    """Triangles of all instances, uint32[n, 3], whose fronts run counter-clockwise: mirrored ones are turned.

    Source: glTF 2.0 specification, 3.7.4.
    """
    is_mirrored = draw.is_mirrored()
    if not is_mirrored.any():
        return triangles
    by_instance = triangles.reshape(len(is_mirrored), -1, 3).copy()
    by_instance[is_mirrored] = by_instance[is_mirrored][..., [0, 2, 1]]
    return by_instance.reshape(-1, 3)


def shaded(addresses: dict[str, int], varyings: dict[str, int], rows: int, memory: DeviceMemory) -> Shaded:
    """Outputs at the addresses of ``lend_outputs``."""
    found = [memory.view(addresses[f"{name}_out"], np.float32, (rows, width)) for name, width in varyings.items()]
    clip = memory.view(addresses["clip"], np.float32, (rows, 4)).copy()
    return Shaded(clip, np.hstack([np.empty((rows, 0), np.float32), *found]))
