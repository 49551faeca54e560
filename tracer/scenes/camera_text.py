"""``--camera eye=X,Y,Z,at=X,Y,Z,vfov=DEGREES``: a scene's camera, changed in part."""

import re
from dataclasses import replace

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.sound import check_camera

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


def _numbers(key: str, value: str, count: int) -> tuple[float, ...]:
    words = value.split(",")
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(abs(number) < 1e30 for number in numbers):
        raise UserError(f"--camera: {key} must be {count} finite number{'s' * (count > 1)}, found {value!r}")
    return numbers
