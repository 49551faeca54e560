"""The camera option: what it changes, and what it refuses."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.camera_text import change_camera
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.sound import check_camera
from rayplay.tracer.shading.upload import camera_values

CAMERA = Camera((0.0, 1.0, 5.0), (0.0, 1.0, 0.0), vfov_deg=90.0, aperture=0.5, focus_distance=3.0)


def test_only_what_is_named_changes() -> None:
    changed = change_camera(CAMERA, "eye=1,2.5,-3e1, vfov=35")
    assert changed.eye == (1.0, 2.5, -30.0)
    assert changed.vfov_deg == 35.0
    assert (changed.look_at, changed.up, changed.aperture) == (CAMERA.look_at, CAMERA.up, CAMERA.aperture)
    assert change_camera(CAMERA, "at=0,0,1,up=1,0,0,aperture=0,focus=2").focus_distance == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eyes=1,2,3", "unknown name 'eyes'; did you mean 'eye'"),
        ("eye=1,2", "eye must be 3 finite numbers, found '1,2'"),
        ("vfov=wide", "vfov must be 1 finite number, found 'wide'"),
        ("eye=nan,0,0", "eye must be 3 finite numbers"),
        ("vfov=180", "vfov must be more than 0 and less than 180 degrees, found 180.0"),
        ("eye=0,1,0", "the eye must not be the point it looks at"),
        ("up=0,0,1", "up must not lie along the view"),
        ("focus=0", "focus must be positive"),
    ],
)
def test_what_cannot_be_a_camera_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match="--camera: ") as caught:
        change_camera(CAMERA, text)
    assert message in str(caught.value)


def test_the_image_plane_spans_the_field_of_view() -> None:
    check_camera(CAMERA, "test")
    values = {name: np.array(value) for name, value in camera_values(CAMERA, 200, 100).items()}
    assert np.allclose(values["camera_forward"], (0, 0, -1))
    assert np.allclose(values["camera_right"], (2, 0, 0)), "aspect 2 at 90 degrees"
    assert np.allclose(values["camera_up"], (0, 1, 0))
    assert values["lens_radius"] == 0.25
