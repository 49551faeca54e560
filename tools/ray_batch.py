"""Many rays at once, without programs in PTX: the suspended protocol with the alpha and sphere tests in numba.

For tests, measurements and questions about a scene; a launch drives ``traverse_lane`` itself.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import FRAME, HIT, HIT_ROWS, STATUS, VERDICT
from rayplay.tracer.abi.words import LOG_WORDS
from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.native.jit import compiled, entry_point
from rayplay.tracer.rays.lane import NO_INSTANCE
from rayplay.tracer.rays.state import STATE_WORDS, make_context
from rayplay.tracer.rays.traverse import ERRORS, traverse_lane

ALPHA_PROGRAM, SPHERE_PROGRAM = 1, 2
BUFFER_WORDS = 1 << 20


@dataclass(frozen=True, eq=False)
class Hits:
    """Hits of rays, one row per ray; -1 and infinity on a miss."""

    t: NDArray[np.float32]
    instance: NDArray[np.int32]
    primitive: NDArray[np.int32]
    geometry: NDArray[np.int32]
    u: NDArray[np.float32]
    v: NDArray[np.float32]
    kind: NDArray[np.int32]
    segments: NDArray[np.int32]
    """Segments of the ray: 1, and one more per suspension."""
    node: NDArray[np.uint32]
    node_offset: NDArray[np.int64]
    """Records of ray i, over all its segments: ``node[node_offset[i]:node_offset[i + 1]]``."""


class _Surfaces(NamedTuple):
    """Input of the alpha and sphere tests, by hit record."""

    first_row: np.ndarray  # int64[records], into uv and texture; -1 for opaque and procedural ones
    uv: np.ndarray  # float32[rows, 3, 2]
    material: np.ndarray  # int64[rows]
    texture: np.ndarray  # int64[materials, 3]: first texel, width, height; -1 without a texture
    cutoff: np.ndarray  # float32[materials], in texel units 0..255
    texels: np.ndarray  # uint8[texels]
    sphere: np.ndarray  # float64[spheres, 4]


def trace_rays(
    acceleration: Acceleration,
    origins: NDArray[np.float32],
    directions: NDArray[np.float32],
    t_min: float = 0.0,
    t_max: float = np.inf,
    flags: int = 0,
    order: str = "vulkan-sim",
    delayed: bool = False,
) -> Hits:
    """Closest hits (or first ones, with flag 4) of rays through a scene, alpha textures and spheres included.

    origins, directions: float32[n, 3] in world space; flags as in OptiX; order and delayed as for ``make_context``.
    Raises ``RuntimeError`` where a traversal fails (``tracer.rays.traverse.ERRORS``).
    """
    surfaces = _surfaces(acceleration)
    context = make_context(acceleration, _hit_records(acceleration), [-1], order, delayed=delayed)
    rays = np.empty((len(origins), 8), np.float32)
    rays[:, :3], rays[:, 3:6], rays[:, 6], rays[:, 7] = origins, directions, t_min, t_max
    hit = np.zeros((len(rays), HIT_ROWS), np.uint32)
    segments = np.zeros(len(rays), np.int32)
    node_count = np.zeros(len(rays), np.int64)
    buffer = np.empty(BUFFER_WORDS, np.uint32)
    done, chunks = 0, []
    while done < len(rays):
        done, written = _trace(context.words, surfaces, rays, flags, hit, segments, node_count, buffer, done)
        if written < 0:
            raise RuntimeError(f"ray {done}: {ERRORS[written]}")
        chunks.append(buffer[:written].copy())
    return _as_hits(hit, segments, np.concatenate([np.zeros(0, np.uint32), *chunks]), node_count)


def _as_hits(
    hit: NDArray[np.uint32], segments: NDArray[np.int32], node: NDArray[np.uint32], node_count: NDArray[np.int64]
) -> Hits:
    """hit: uint32[n, HIT_FIELDS], the committed fields of each ray's frame."""
    floats = hit.view(np.float32)
    missed = hit[:, HIT.instance] == NO_INSTANCE
    met = np.where(missed[:, None], -1, hit.astype(np.int64)).astype(np.int32)
    weight = np.where(missed[:, None], np.float32(0), floats[:, HIT.u : HIT.v + 1])
    return Hits(
        t=np.where(missed, np.float32(np.inf), floats[:, HIT.t]),
        instance=met[:, HIT.instance],
        primitive=met[:, HIT.primitive],
        geometry=met[:, HIT.geometry],
        u=weight[:, 0],
        v=weight[:, 1],
        kind=met[:, HIT.kind],
        segments=segments,
        node=node,
        node_offset=np.concatenate([[0], np.cumsum(node_count)]),
    )


def _hit_records(acceleration: Acceleration) -> NDArray[np.int32]:
    records = np.full((len(acceleration.geometries), 3), -1, np.int32)
    for row, geometry in enumerate(acceleration.geometries):
        records[row, 1] = -1 if geometry.opaque else ALPHA_PROGRAM
        records[row, 2] = SPHERE_PROGRAM if geometry.procedural else -1
    return records


def _surfaces(acceleration: Acceleration) -> _Surfaces:
    scene = acceleration.scene
    first, uv, material, rows = [], [np.zeros((0, 3, 2), np.float32)], [np.zeros(0, np.int64)], 0
    for geometry in acceleration.geometries:
        first.append(-1 if geometry.opaque else rows)
        if not geometry.opaque:
            mesh = scene.meshes[geometry.mesh]
            chosen = slice(geometry.first_primitive, geometry.first_primitive + geometry.primitive_count)
            assert mesh.uv is not None
            uv.append(mesh.uv[mesh.triangles[chosen]])
            material.append(mesh.material[chosen].astype(np.int64))
            rows += geometry.primitive_count
    start = np.cumsum([0] + [texture.alpha.size for texture in scene.textures])
    texture = np.full((len(scene.materials), 3), -1, np.int64)
    for row, entry in enumerate(scene.materials):
        if entry.alpha_texture >= 0:
            height, width = scene.textures[entry.alpha_texture].alpha.shape
            texture[row] = start[entry.alpha_texture], width, height
    texels = [np.zeros(0, np.uint8), *(item.alpha.reshape(-1) for item in scene.textures)]
    return _Surfaces(
        np.array(first, np.int64),
        np.concatenate(uv),
        np.concatenate(material),
        texture,
        np.array([255 * entry.alpha_cutoff for entry in scene.materials], np.float32),
        np.concatenate(texels),
        np.column_stack([scene.spheres.center, scene.spheres.radius]).astype(np.float64),
    )


@entry_point
def _trace(
    context: np.ndarray,
    surfaces: _Surfaces,
    rays: np.ndarray,
    flags: int,
    hit: np.ndarray,
    segments: np.ndarray,
    node_count: np.ndarray,
    buffer: np.ndarray,
    first: int,
) -> tuple[int, int]:
    """Trace rays from ``first`` on while the buffer has room; returns the next ray, and the words written or an
    error."""
    frame = np.zeros((FRAME.length, LANES), np.uint32)
    floats = frame.view(np.float32)
    state = np.zeros((LANES, STATE_WORDS), np.uint32)
    used = 0
    for row in range(first, rays.shape[0]):
        lane = row % LANES
        _start(frame, floats, lane, rays[row], flags)
        begin, segments[row] = used, 0
        while True:
            if used + LOG_WORDS > buffer.shape[0]:
                return row, begin if begin > 0 else -1
            segments[row] += 1
            written = traverse_lane(context, frame, state[lane], lane, buffer[used : used + LOG_WORDS])
            if written < 0:
                return row, written
            used += written
            status = frame[FRAME.status, lane]
            if status in (STATUS.hit, STATUS.miss):
                break
            if status == STATUS.any_hit:
                frame[FRAME.verdict, lane] = (
                    VERDICT.accepted if _opaque_here(surfaces, frame, lane) else VERDICT.ignored
                )
            elif status == STATUS.intersection:
                frame[FRAME.verdict, lane] = VERDICT.none
                _intersect_sphere(surfaces, frame, floats, lane)
        node_count[row] = used - begin
        hit[row] = frame[FRAME.committed_t : FRAME.committed_t + HIT_ROWS, lane]
    return rays.shape[0], used


@compiled
def _start(frame: np.ndarray, floats: np.ndarray, lane: int, ray: np.ndarray, flags: int) -> None:
    for word in range(8):
        floats[FRAME.origin_x + word, lane] = ray[word]
    frame[FRAME.flags, lane], frame[FRAME.visibility_mask, lane] = flags, 0xFF
    frame[FRAME.sbt_offset, lane], frame[FRAME.sbt_stride, lane], frame[FRAME.miss_index, lane] = 0, 1, 0
    frame[FRAME.status, lane] = STATUS.start
    floats[FRAME.committed_t + HIT.t, lane] = ray[7]


@compiled
def _opaque_here(surfaces: _Surfaces, frame: np.ndarray, lane: int) -> bool:
    """The candidate's texel against its cutoff; nearest texel, wrapped by repetition."""
    floats = frame.view(np.float32)
    row = surfaces.first_row[frame[FRAME.candidate_t + HIT.record, lane]] + np.int64(
        frame[FRAME.candidate_t + HIT.primitive, lane]
    )
    uv, material = surfaces.uv[row], surfaces.material[row]
    u, v = floats[FRAME.candidate_t + HIT.u, lane], floats[FRAME.candidate_t + HIT.v, lane]
    w = np.float32(1.0) - u - v
    across = uv[0, 0] * w + uv[1, 0] * u + uv[2, 0] * v
    down = uv[0, 1] * w + uv[1, 1] * u + uv[2, 1] * v
    first, width, height = surfaces.texture[material]
    x = min(int((across - np.floor(across)) * width), width - 1)
    y = min(int((down - np.floor(down)) * height), height - 1)
    return surfaces.texels[first + y * width + x] >= surfaces.cutoff[material]


@compiled
def _intersect_sphere(surfaces: _Surfaces, frame: np.ndarray, floats: np.ndarray, lane: int) -> None:
    """Commit the nearer meeting within the ray's interval, in double precision."""
    sphere = surfaces.sphere[frame[FRAME.candidate_t + HIT.primitive, lane]]
    a = b = c = 0.0
    for axis in range(3):
        offset = np.float64(floats[FRAME.object_origin_x + axis, lane]) - sphere[axis]
        direction = np.float64(floats[FRAME.object_origin_x + 3 + axis, lane])
        a += direction * direction
        b += offset * direction
        c += offset * offset
    c -= sphere[3] * sphere[3]
    discriminant = b * b - a * c
    if discriminant < 0.0:
        return
    for sign in (-1.0, 1.0):
        t = np.float32((-b + sign * np.sqrt(discriminant)) / a)
        if floats[FRAME.t_min, lane] <= t <= floats[FRAME.committed_t + HIT.t, lane]:
            for field in range(HIT_ROWS):
                frame[FRAME.committed_t + field, lane] = frame[FRAME.candidate_t + field, lane]
            floats[FRAME.committed_t + HIT.t, lane] = t
            return
