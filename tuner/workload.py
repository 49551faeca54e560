"""The load of a frame from a look at low resolution (Ganestam and Doggett 4.1, 4.2)."""

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.counts import REGION, Readings, Workload
from rayplay.tuner.kernel import SoftwareRenderer
from rayplay.tuner.settings import Settings


def look_at(
    renderer: SoftwareRenderer, camera: Camera, width: int, height: int, settings: Settings,
    readings: Readings | None = None, seed: int = 1,
) -> Workload:  # fmt: skip
    """The load of a frame of this size with the settings' radius, and a shadow ray where they have any."""
    readings = readings or Readings()
    small = max(width // readings.shrink, 1), max(height // readings.shrink, 1)
    shadow_rays = int(settings.shadow_rays > 0)
    visits = renderer.look(camera, *small, Settings(readings.probes, settings.radius, shadow_rays), seed)
    return workload_of(visits, readings.region, shadow_rays)


def workload_of(visits: NDArray[np.void], region: int = REGION, shadow_rays: int = 1) -> Workload:
    """Averages over what rays visited: ``VISIT``[rays, height, width], primary, shadow (one or none), then
    occlusion rays.

    Occlusion nodes count over all pixels, 0 where the primary ray misses; triangles over pixels that it hits, as the
    equations weigh them (docs/sources/tuner.md#instructions).
    """
    primary, occlusion = visits[0], visits[1 + shadow_rays :]
    shadow = visits[shadow_rays] if shadow_rays else np.zeros_like(primary)
    hit = primary["hit"] > 0
    share = float(hit.mean())
    return Workload(
        float(primary["nodes"].mean()),
        float(primary["triangles"].mean()),
        float(occlusion["nodes"].mean()),
        _mean(occlusion["triangles"][:, hit]),
        share,
        coherence(np.where(hit, primary["leaf"], -1), region),
        _mean(shadow["nodes"][hit]),
        _mean(shadow["triangles"][hit]),
    )


def coherence(leaf: NDArray[np.int32], region: int = REGION) -> float:
    """m: the share of rays that end in the commonest leaf of their region, mean over regions by their rays.

    leaf  int32[height, width], the last leaf of each ray; all misses have one number.
    """
    height, width = leaf.shape
    largest = sum(
        int(np.unique(leaf[y : y + region, x : x + region], return_counts=True)[1].max())
        for y in range(0, height, region)
        for x in range(0, width, region)
    )
    return largest / leaf.size


def _mean(values: NDArray[np.int32]) -> float:
    return float(values.mean()) if values.size else 0.0
