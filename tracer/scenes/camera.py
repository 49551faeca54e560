"""A camera that sees the whole scene, for files that bring none."""

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import LARGEST_COORDINATE, Camera, triple

FITTED_VFOV_DEG = 40.0
VIEW = np.array([0.5, 0.35, 1.0])


def fit_camera(low: NDArray[np.float32], high: NDArray[np.float32]) -> Camera:
    """Look at a box, float32[3] its corners, from the front, a little from the right and above, so that the sphere
    around it fills the view."""
    first, last = low.astype(np.float64), high.astype(np.float64)
    middle = 0.5 * (first + last)
    radius = max(0.5 * float(np.linalg.norm(last - first)), 1e-6)
    distance = radius / np.sin(np.deg2rad(FITTED_VFOV_DEG / 2))
    eye = middle + VIEW / np.linalg.norm(VIEW) * distance
    # without an aperture the focus changes nothing, so that another eye needs no other focus
    focus = min(float(distance), LARGEST_COORDINATE / 2)
    return Camera(triple(eye), triple(middle), vfov_deg=FITTED_VFOV_DEG, focus_distance=focus)
