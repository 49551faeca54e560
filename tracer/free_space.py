"""An orbit through the free space of a scene: where walls are in the way, it swings, or turns on the spot."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rayplay.formats.guard.code_cache import kept
from rayplay.tracer.scenes.description import Camera, Scene

PLACES = 32
"""Cameras of a way that are looked through."""
SWINGS = (90.0, 50.0, 20.0, 10.0)
"""Degrees to either side."""
ENDS = (0.4, 0.7)
"""Last distance, as a share of the first."""
FAN = 3
"""Rays of a look, in x and in y."""
FARTHEST = 2.0
"""Distances to what the camera looks at, beyond which a ray sees no farther."""
CHUNK = 64
"""Triangles, one after another, that a ray passes by at once where it misses their box."""
LEAST_VIEW = 0.8
"""A camera sees at least this share of how far the first one does, by the distances to what they look at."""

Way = Callable[[float], Camera]
compiled: Any = kept(njit(cache=True), ["tracer/free_space.py"])


class Walls:
    """Triangles, in boxes of ``CHUNK``."""

    def __init__(self, corners: NDArray[np.float64]) -> None:
        """``corners``: float64[triangles, 3, 3]."""
        self.corners = corners
        first = np.arange(0, len(corners), CHUNK)
        low, high = corners.min(axis=1), corners.max(axis=1)
        room = 1e-9 * (1 + np.abs(corners).max(initial=0.0))  # else rounding could pass by a triangle
        self.low = np.minimum.reduceat(low, first) - room if len(first) else low
        self.high = np.maximum.reduceat(high, first) + room if len(first) else high

    def nearest(self, origin: NDArray[np.float64], rays: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lengths, in their own, of rays[n, 3] from a point until the first triangle: float64[n], inf for none."""
        places = np.asarray(origin, np.float64), np.asarray(rays, np.float64)
        found: NDArray[np.float64] = _nearest(*places, self.corners, self.low, self.high)
        return found


def first_free(scene: Scene, ways: Sequence[Way]) -> Way | None:
    """The first of some ways, part of the way (0 to 1) -> camera, that passes no triangle and sees as far as its first
    camera does; None where all are blocked."""
    walls = Walls(world_triangles(scene))
    return next((way for way in ways if _is_free(walls, [way(part / PLACES) for part in range(PLACES)])), None)


def _is_free(walls: Walls, cameras: Sequence[Camera]) -> bool:
    """Looks are tried far apart first, so that a way that is not free costs few."""
    least = LEAST_VIEW * _view(walls, cameras[0])
    spread = sorted(range(1, len(cameras)), key=lambda place: f"{place:06b}"[::-1])
    return all(_view(walls, cameras[place]) >= least for place in spread) and not any(
        _is_blocked(walls, before, camera) for before, camera in pairwise(cameras)
    )


def _is_blocked(walls: Walls, before: Camera, camera: Camera) -> bool:
    step = np.subtract(camera.eye, before.eye)
    return bool(step.any() and walls.nearest(np.array(before.eye), step[None])[0] <= 1)


def _view(walls: Walls, camera: Camera) -> float:
    """How far a camera sees, the mean of some rays, by the distance to what it looks at; 0 where it sees nothing."""
    forward = np.subtract(camera.look_at, camera.eye)
    right = np.cross(forward, camera.up)
    right *= np.linalg.norm(forward) / np.linalg.norm(right)
    up = np.cross(right, forward) / np.linalg.norm(forward)
    places = np.linspace(-0.5, 0.5, FAN) * np.tan(np.radians(camera.vfov_deg) / 2)
    rays = np.array([forward + x * right + y * up for x in places for y in places])
    depth = walls.nearest(np.array(camera.eye, np.float64), rays)
    return float(np.minimum(depth, FARTHEST, where=np.isfinite(depth), out=np.zeros_like(depth)).mean())


def world_triangles(scene: Scene) -> NDArray[np.float64]:
    """Corners of all triangles in world space: float64[triangles, 3, 3]."""
    made = [np.zeros((0, 3, 3))]
    for each in scene.instances:
        mesh, matrix = scene.meshes[each.mesh], each.object_to_world.astype(np.float64)
        made.append((mesh.vertices @ matrix[:, :3].T + matrix[:, 3])[mesh.triangles])
    return np.concatenate(made)


@compiled
def _minus(a: Any, b: Any) -> Any:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@compiled
def _dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def _cross(a: Any, b: Any) -> Any:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@compiled
def _meets(origin: Any, ray: Any, low: Any, high: Any, most: Any) -> Any:
    """Whether a ray, up to a length, meets a box."""
    near, far = 0.0, most
    for axis in range(3):
        below, above = low[axis] - origin[axis], high[axis] - origin[axis]
        if ray[axis] == 0.0:
            if below > 0.0 or above < 0.0:
                return False
        else:
            one, other = below / ray[axis], above / ray[axis]
            near, far = max(near, min(one, other)), min(far, max(one, other))
    return near <= far


@compiled
def _nearest(origin: Any, rays: Any, corners: Any, low: Any, high: Any) -> Any:
    """Moeller and Trumbore, every ray against every triangle of the boxes that it meets."""
    found = np.full(len(rays), np.inf)
    for chunk in range(len(low)):
        for ray in range(len(rays)):
            if _meets(origin, rays[ray], low[chunk], high[chunk], found[ray]):
                for row in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(corners))):
                    found[ray] = min(found[ray], _length(origin, rays[ray], corners[row]))
    return found


@compiled
def _length(origin: Any, ray: Any, corners: Any) -> Any:
    """Length of a ray until a triangle; inf where it misses."""
    a = corners[0]
    one, other, start = _minus(corners[1], a), _minus(corners[2], a), _minus(origin, a)
    along, across = _cross(start, one), _cross(ray, other)
    scale = _dot(one, across)
    if scale == 0.0:
        return np.inf
    u, v, t = _dot(start, across) / scale, _dot(ray, along) / scale, _dot(other, along) / scale
    return t if u >= 0.0 and v >= 0.0 and u + v <= 1.0 and t > 1e-6 else np.inf
