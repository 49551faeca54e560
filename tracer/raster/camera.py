"""From the world to clip space, as a camera sees it."""

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import Camera

NEAR_PART = 2.0**-12
"""The near plane's distance as a part of the far plane's."""


def clip_matrix(
    camera: Camera, width: int, height: int, low: NDArray[np.floating], high: NDArray[np.floating]
) -> NDArray[np.float32]:
    """float32[4, 4]: maps a column (x, y, z, 1) of the world to clip space, y upwards and 0 <= z <= w inside.

    camera      a pinhole, whatever its aperture.
    low, high   corners of the box around all that is seen; the far plane lies just behind it.

    Raises ``UserError`` for a camera that looks along its upward direction, or that has all of the box behind it.
    """
    eye, target = np.array(camera.eye, np.float64), np.array(camera.look_at, np.float64)
    backward = eye - target
    right = np.cross(np.array(camera.up, np.float64), backward)
    if not (np.isfinite(right).all() and np.linalg.norm(right) > 0):
        raise UserError(f"camera: look_at - eye must not be parallel to up, found {camera}")
    backward, right = backward / np.linalg.norm(backward), right / np.linalg.norm(right)
    view = np.eye(4)
    view[:3, :3] = [right, np.cross(backward, right), backward]
    view[:3, 3] = -view[:3, :3] @ eye
    corners = np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, 3)
    far = 1.01 * float((-(corners @ view[2, :3]) - view[2, 3]).max())
    if not far > 0:
        raise UserError(f"camera: must have a part of the scene before it, found {camera}")
    near, zoom = far * NEAR_PART, 1 / np.tan(np.deg2rad(camera.vfov_deg) / 2)
    projection = np.zeros((4, 4))
    projection[0, 0], projection[1, 1], projection[3, 2] = zoom * height / width, zoom, -1
    projection[2, 2:] = -far / (far - near), -far * near / (far - near)
    return (projection @ view).astype(np.float32)
