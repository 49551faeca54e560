"""A camera that sees the whole scene, for files that bring none."""

import numpy as np

from rayplay.tracer.scenes.description import Camera, Scene, triple

FITTED_VFOV_DEG = 40.0
VIEW = np.array([0.5, 0.35, 1.0])


def fit_camera(scene: Scene) -> Camera:
    """Look from the front, a little from the right and above, so that the bounding sphere fills the view."""
    low, high = (corner.astype(np.float64) for corner in scene.bounds())
    middle = 0.5 * (low + high)
    radius = max(0.5 * float(np.linalg.norm(high - low)), 1e-6)
    distance = radius / np.sin(np.deg2rad(FITTED_VFOV_DEG / 2))
    eye = middle + VIEW / np.linalg.norm(VIEW) * distance
    return Camera(triple(eye), triple(middle), vfov_deg=FITTED_VFOV_DEG, focus_distance=float(distance))
