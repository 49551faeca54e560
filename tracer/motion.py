"""Animations of a scene: a camera that orbits and closes in, turns on the spot, or follows the keyframes of a file,
which may move instances too."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import build
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.tracer.free_space import ENDS, SWINGS, Way, first_free
from rayplay.tracer.scenes.description import LARGEST_COORDINATE, Camera, Instance, Scene
from rayplay.tracer.scenes.sound import check_camera

PATHS = ("orbit", "turn")
LARGEST = sys.float_info.max
LAST_FRAME = 1_000_000  # that a key may name
ORBIT_DEGREES, ORBIT_END = 360.0, 0.4
"""An orbit goes round once and ends at this share of its first distance (Ganestam and Doggett 5)."""


@dataclass(frozen=True)
class Key:
    """A camera on the way: ``frame`` counts from 0."""

    frame: int
    eye: tuple[float, ...]
    at: tuple[float, ...]


@dataclass(frozen=True)
class Pose:
    """An instance on the way: how far it has moved in the world, and turned about y through its own origin."""

    frame: int
    move: tuple[float, ...] = (0.0, 0.0, 0.0)
    turn_degrees: float = 0.0


@dataclass(frozen=True)
class Moving:
    """An instance, by its position in the scene, and its poses."""

    instance: int
    keys: tuple[Pose, ...]


@dataclass(frozen=True)
class Keys:
    """The file of a path: keys in ascending order of their frames, with straight lines between them."""

    keys: tuple[Key, ...] = ()
    instances: tuple[Moving, ...] = ()


def scenes(scene: Scene, path: str, frames: int) -> list[Scene]:
    """The scene of each frame: its camera moved, and the instances that the file ``path`` names.

    Raises ``UserError`` as ``cameras`` does, and for instances that the scene lacks, or whose poses are not in order.
    """
    placed = [list(scene.instances) for _ in range(frames)]
    for number, moving in enumerate(_keys(Path(path)).instances if path.endswith(".json") else ()):
        place = f"{path}: instances[{number}]"
        if not 0 <= moving.instance < len(scene.instances):
            raise UserError(f"{place}.instance must be 0 to {len(scene.instances) - 1}, not {moving.instance}")
        moves = _between(moving.keys, "move", frames, f"{place}.keys")
        if not all(abs(key.turn_degrees) <= LARGEST for key in moving.keys):
            raise UserError(f"{place}.keys: turn_degrees must be a finite number")
        degrees_of = [float(key.turn_degrees) for key in moving.keys]
        turns = np.interp(range(frames), [key.frame for key in moving.keys], degrees_of)
        for instances, offset, degrees in zip(placed, moves, turns, strict=True):
            instances[moving.instance] = _moved(scene.instances[moving.instance], offset, float(degrees), place)
    return [
        replace(scene, camera=camera, instances=instances)
        for camera, instances in zip(_cameras(scene, path, frames), placed, strict=True)
    ]


def cameras(scene: Scene, path: str, frames: int) -> list[Camera]:
    """The camera of each frame of a scene that stands.

    path  "orbit": once round the point that the scene's camera looks at, and closer; where walls are in the way, it
          swings from side to side in the free space before them or, without such, turns on the spot. "turn": on the
          spot, by 180 degrees in the middle of the frames. FILE.json: keys, with straight lines between them.

    Raises ``UserError`` for an unknown path, for keys that are not in order or cannot see, and for a file that moves
    instances.
    """
    if path.endswith(".json") and _keys(Path(path)).instances:
        raise UserError(f"{path}: instances must be left out: the camera alone moves here")
    return _cameras(scene, path, frames)


def _cameras(scene: Scene, path: str, frames: int) -> list[Camera]:
    if path.endswith(".json"):
        return _along(scene.camera, Path(path), frames)
    if path not in PATHS:
        raise UserError(f"--path {path}: must be a .json file or one of {', '.join(PATHS)}")
    if path == "turn":
        return [_turn(scene.camera, frame, frames) for frame in range(frames)]
    way = orbit_of(scene)
    return [way(frame / frames) for frame in range(frames)]


def orbit_of(scene: Scene) -> Way:
    """The orbit through a scene: part of the way, 0 to 1 -> camera."""
    camera = scene.camera

    def round_it(part: float) -> Camera:
        return _orbit(camera, ORBIT_DEGREES * part, 1 + (ORBIT_END - 1) * part)

    def swing(degrees: float, end: float) -> Way:
        return lambda part: _orbit(camera, degrees * math.sin(2 * math.pi * part), 1 + (end - 1) * part)

    def on_the_spot(part: float) -> Camera:
        return _looking(camera, ORBIT_DEGREES * part)

    ways = [round_it, *(swing(degrees, end) for degrees in SWINGS for end in ENDS)]
    return first_free(scene, ways) or on_the_spot


def _orbit(camera: Camera, degrees: float, distance: float) -> Camera:
    centre = np.array(camera.look_at, np.float64)
    away = _turned(np.array(camera.eye, np.float64) - centre, camera.up, degrees)
    return replace(camera, eye=_place(centre + away * distance))


def _turn(camera: Camera, frame: int, frames: int) -> Camera:
    if frame < frames // 2:
        return camera
    return _looking(camera, 180.0)


def _looking(camera: Camera, degrees: float) -> Camera:
    """Turned on the spot."""
    eye = np.array(camera.eye, np.float64)
    ahead = _turned(np.array(camera.look_at, np.float64) - eye, camera.up, degrees)
    return replace(camera, look_at=_place(eye + ahead))


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
    keys = _keys(path).keys
    if not keys and _keys(path).instances:
        return [camera] * frames
    eye, target = (_between(keys, name, frames, f"{path}: keys") for name in ("eye", "at"))
    made = [replace(camera, eye=_place(one), look_at=_place(two)) for one, two in zip(eye, target, strict=True)]
    for frame, each in enumerate(made):
        check_camera(each, f"{path}: frame {frame}")
    return made


def _between(keys: Sequence[Key | Pose], name: str, frames: int, place: str) -> NDArray[np.float64]:
    """float64[frames, 3]: a vector of the keys, in straight lines from frame to frame."""
    numbers = [key.frame for key in keys]
    if not keys:
        raise UserError(f"{place} must be one or more")
    if not 0 <= min(numbers) <= max(numbers) <= LAST_FRAME:
        raise UserError(f"{place}: frame must be 0 to {LAST_FRAME}, found {min(numbers)} to {max(numbers)}")
    for one, two in pairwise(numbers):
        if one >= two:
            raise UserError(f"{place} must be in ascending order of their frames, found {one} before {two}")
    given = [getattr(key, name) for key in keys]
    if any(len(vector) != 3 or not all(abs(each) <= LARGEST for each in vector) for vector in given):
        raise UserError(f"{place}: {name} must be three finite numbers")
    vectors = [[float(each) for each in vector] for vector in given]
    return np.stack([np.interp(np.arange(frames), numbers, axis) for axis in zip(*vectors, strict=True)], axis=1)


def _moved(instance: Instance, offset: NDArray[np.float64], degrees: float, place: str) -> Instance:
    matrix = instance.object_to_world.astype(np.float64)
    matrix[:, :3] = np.stack([_turned(column, (0.0, 1.0, 0.0), degrees) for column in matrix[:, :3].T], axis=1)
    matrix[:, 3] += offset
    if not np.abs(matrix).max() <= LARGEST_COORDINATE:
        raise UserError(f"{place}: poses must be finite and at most {LARGEST_COORDINATE:g} away")
    return replace(instance, object_to_world=matrix.astype(np.float32))


def _keys(path: Path) -> Keys:
    made: Keys = build(Keys, parse_json(read_text(path, "file of keys"), path), str(path))
    return made
