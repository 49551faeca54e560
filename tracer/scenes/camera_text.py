"""``--camera eye=X,Y,Z,at=X,Y,Z,vfov=DEGREES``: a scene's camera, changed in part."""

import re
from dataclasses import replace

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.tracer.scenes.description import Camera

_KEYS = {
    "eye": ("eye", 3), "at": ("look_at", 3), "up": ("up", 3),
    "vfov": ("vfov_deg", 1), "aperture": ("aperture", 1), "focus": ("focus_distance", 1),
}  # fmt: skip


def change_camera(camera: Camera, text: str) -> Camera:
    """``camera`` with what ``text`` names replaced; ``UserError`` for an unknown key, a wrong number of numbers, or a
    camera that cannot see: an eye at the point it looks at, ``up`` along the view, a field of view outside 0 to 180."""
    changes: dict[str, object] = {}
    for part in re.split(r",(?=\s*[A-Za-z_]+\s*=)", text):
        key, _, value = (word.strip() for word in part.partition("="))
        check_choice(key, _KEYS, "--camera")
        name, count = _KEYS[key]
        numbers = _numbers(key, value, count)
        changes[name] = numbers if count == 3 else numbers[0]
    changed = replace(camera, **changes)  # type: ignore[arg-type]
    check_camera(changed, "--camera")
    return changed


def check_camera(camera: Camera, place: str) -> None:
    """Raise ``UserError`` where the camera has no view."""
    forward = tuple(a - b for a, b in zip(camera.look_at, camera.eye, strict=True))
    if not any(forward):
        raise UserError(f"{place}: the eye must not be the point it looks at, found both at {camera.eye}")
    right = tuple(
        forward[(i + 1) % 3] * camera.up[(i + 2) % 3] - forward[(i + 2) % 3] * camera.up[(i + 1) % 3] for i in range(3)
    )
    if not any(right):
        raise UserError(f"{place}: up must not lie along the view {forward}, found {camera.up}")
    if not 0.0 < camera.vfov_deg < 180.0:
        raise UserError(f"{place}: vfov must be more than 0 and less than 180 degrees, found {camera.vfov_deg}")
    if camera.aperture < 0.0 or camera.focus_distance <= 0.0:
        found = f"{camera.aperture} and {camera.focus_distance}"
        raise UserError(f"{place}: aperture must not be negative and focus must be positive, found {found}")


def _numbers(key: str, value: str, count: int) -> tuple[float, ...]:
    words = value.split(",")
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(abs(number) < 1e30 for number in numbers):
        raise UserError(f"--camera: {key} must be {count} finite number{'s' * (count > 1)}, found {value!r}")
    return numbers
