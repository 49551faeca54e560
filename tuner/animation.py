"""Paths of a camera: an orbit that closes in, a turn on the spot, or keyframes of a file."""

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import build
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.sound import check_camera

PATHS = ("orbit", "turn")
ORBIT_DEGREES, ORBIT_END = 360.0, 0.4
"""An orbit goes round once and ends at this share of its first distance (Ganestam and Doggett 5)."""


@dataclass(frozen=True)
class Key:
    """A camera on the way: ``frame`` counts from 0."""

    frame: int
    eye: tuple[float, ...]
    at: tuple[float, ...]


@dataclass(frozen=True)
class Keys:
    """The file of a path: keys in ascending order of their frames."""

    keys: tuple[Key, ...]


def cameras(camera: Camera, path: str, frames: int) -> list[Camera]:
    """The camera of each frame.

    path  "orbit": once round the point that ``camera`` looks at, and closer. "turn": on the spot, by 180 degrees in
          the middle of the frames. FILE.json: keys, with straight lines between them.

    Raises ``UserError`` for an unknown path, and for keys that are not in order or cannot see.
    """
    if path.endswith(".json"):
        return _along(camera, Path(path), frames)
    if path not in PATHS:
        raise UserError(f"--path {path}: must be a .json file or one of {', '.join(PATHS)}")
    return [
        _orbit(camera, frame / frames) if path == "orbit" else _turn(camera, frame, frames) for frame in range(frames)
    ]


def _orbit(camera: Camera, part: float) -> Camera:
    centre = np.array(camera.look_at, np.float64)
    away = _turned(np.array(camera.eye, np.float64) - centre, camera.up, ORBIT_DEGREES * part)
    return replace(camera, eye=_place(centre + away * (1 + (ORBIT_END - 1) * part)))


def _turn(camera: Camera, frame: int, frames: int) -> Camera:
    if frame < frames // 2:
        return camera
    eye = np.array(camera.eye, np.float64)
    return replace(camera, look_at=_place(eye + _turned(np.array(camera.look_at, np.float64) - eye, camera.up, 180.0)))


def _turned(vector: NDArray[np.float64], up: tuple[float, ...], degrees: float) -> NDArray[np.float64]:
    """Rotate about ``up`` (Rodrigues)."""
    axis = np.array(up, np.float64) / np.linalg.norm(up)
    angle = np.radians(degrees)
    along = axis * (axis @ vector)
    return along + (vector - along) * np.cos(angle) + np.cross(axis, vector) * np.sin(angle)


def _place(point: NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in point)
    return x, y, z


def _along(camera: Camera, path: Path, frames: int) -> list[Camera]:
    keys = build(Keys, _read(path), str(path)).keys
    numbers = [key.frame for key in keys]
    if not keys or any(one >= two for one, two in pairwise(numbers)):
        raise UserError(f"{path}: keys must be one or more, in ascending order of their frames, found {numbers}")
    if any(len(vector) != 3 for key in keys for vector in (key.eye, key.at)):
        raise UserError(f"{path}: eye and at of a key must be three numbers")
    at = np.arange(frames)
    eye, target = (
        np.stack([np.interp(at, numbers, [getattr(key, name)[axis] for key in keys]) for axis in range(3)], axis=1)
        for name in ("eye", "at")
    )
    made = [replace(camera, eye=_place(one), look_at=_place(two)) for one, two in zip(eye, target, strict=True)]
    for frame, each in enumerate(made):
        check_camera(each, f"{path}: frame {frame}")
    return made


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: must be a JSON file: {error}") from None
