"""Index buffers cut into vertex batches: which vertices a draw shades, in which order.

Within a batch each distinct vertex is shaded once; nothing is reused between batches, so that batches can run on
different SMs (``docs/sources/crisp.md#vertex-batches``). Batches are cut after a number of indices, as CRISP does, or
before a triangle that would bring a batch over a number of distinct vertices or of triangles.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.native.jit import entry_point

BATCH_INDICES = 96
"""CRISP's batch, of 32 triangles."""
_NO_LIMIT = 1 << 62
MOST_VERTICES = 1 << 32


@dataclass(frozen=True, eq=False)
class VertexBatches:
    """The vertex invocations of one instance of a draw."""

    vertices: NDArray[np.uint32]
    """uint32[n]: the vertex that each invocation shades, batch after batch, in order of first use."""
    invocations: NDArray[np.uint32]
    """uint32[m]: the invocation that each index of the buffer refers to."""
    starts: NDArray[np.uint32]
    """uint32[batches + 1]: first invocation of each batch, and their number."""

    def triangles(self, instances: int = 1) -> NDArray[np.uint32]:
        """uint32[instances * (m // 3), 3]: invocations of each triangle, instance after instance.

        Invocation ``i`` of instance ``k`` has the number ``k * n + i``. Indices that make no whole triangle at the
        end are left out, as Vulkan discards incomplete primitives.
        """
        whole = self.invocations[: len(self.invocations) // 3 * 3].reshape(-1, 3)
        count = len(self.vertices)
        if instances * count > MOST_VERTICES:
            raise UserError(f"a draw must have at most {MOST_VERTICES} vertex invocations, found {instances * count}")
        first = (np.arange(instances, dtype=np.uint64) * count).astype(np.uint32)
        return (first[:, None, None] + whole[None]).reshape(-1, 3)


def cut_batches(
    indices: NDArray[Any],
    vertex_count: int,
    *,
    batch_indices: int | None = BATCH_INDICES,
    max_vertices: int | None = None,
    max_triangles: int | None = None,
    place: str = "index buffer",
) -> VertexBatches:
    """Cut an index buffer of a triangle list into batches.

    indices         whole numbers [m]; all are used.
    vertex_count    vertices of the vertex buffer.
    batch_indices   a batch ends after this many indices, within a triangle where it is no multiple of three.
    max_vertices    a batch ends before a triangle that would bring it over this many distinct vertices.
    max_triangles   a batch ends before it would begin more triangles than this.
    place           names the buffer in messages.

    None is no limit; all three may hold at once. Raises ``UserError`` for an index beyond the vertex buffer.
    """
    limits = {
        "batch_indices": (batch_indices, 1),
        "max_vertices": (max_vertices, 3),
        "max_triangles": (max_triangles, 1),
    }
    for name, (value, least) in limits.items():
        if value is not None and value < least:
            raise UserError(f"{name} must be at least {least}, found {value}")
    if not 0 <= vertex_count <= MOST_VERTICES:
        raise UserError(f"{place}: a vertex buffer must have 0 to {MOST_VERTICES} vertices, found {vertex_count}")
    flat = np.ascontiguousarray(indices).reshape(-1)
    beyond = (flat < 0) | (flat >= vertex_count)
    if beyond.any():
        at = int(np.argmax(beyond))
        raise UserError(f"{place}: index {at} must be below the {vertex_count} vertices, found {int(flat[at])}")
    vertices, invocations, first = (np.empty(len(flat) + 1, np.uint32) for _ in range(3))
    first_use = np.full(vertex_count, -1, np.int64)
    most = [_NO_LIMIT if value is None else value for value, _ in limits.values()]
    batches, count = _cut(flat.astype(np.uint32), *most, first_use, vertices, invocations, first)
    first[batches] = count
    return VertexBatches(vertices[:count].copy(), invocations[: len(flat)], first[: batches + 1].copy())


@entry_point
def _cut(
    indices: np.ndarray, most_indices: int, most_vertices: int, most_triangles: int,
    first_use: np.ndarray, vertices: np.ndarray, invocations: np.ndarray, starts: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Fill ``vertices``, ``invocations`` and ``starts``; returns how many batches and invocations there are.

    first_use: int64[vertex_count], the last invocation of each vertex; it counts from the batch's start on.
    """
    batches, count = 0, 0
    start, begun, triangles = 0, -most_indices, 0  # first invocation, first index and triangles of the batch
    for at in range(len(indices)):
        full = at - begun >= most_indices
        if at % 3 == 0:
            fresh = 0
            for corner in range(at, min(at + 3, len(indices))):
                seen = first_use[indices[corner]] >= start
                for other in range(at, corner):
                    seen = seen or indices[other] == indices[corner]
                fresh += not seen
            full = full or triangles >= most_triangles or count - start + fresh > most_vertices
        if full:
            starts[batches], start, begun, triangles = count, count, at, 0
            batches += 1
        triangles += at % 3 == 0
        vertex = indices[at]
        if first_use[vertex] < start:
            first_use[vertex], vertices[count] = count, vertex
            count += 1
        invocations[at] = first_use[vertex]
    return batches, count
