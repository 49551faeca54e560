"""Instances on the way: poses by hand, and mistakes of a file of keys."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.free_space import Walls, world_triangles
from rayplay.tracer.motion import cameras, scenes
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene


def keys(tmp_path: Path, **content: object) -> str:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(content))
    return str(path)


def test_an_instance_moves_in_straight_lines_and_turns_about_itself(tmp_path: Path) -> None:
    scene = load("forest", trees=3)
    before = scene.instances[1].object_to_world.copy()
    poses = [{"frame": 0}, {"frame": 2, "move": [2, 0, -4], "turn_degrees": 90}]
    made = scenes(scene, keys(tmp_path, instances=[{"instance": 1, "keys": poses}]), 4)
    assert [each.camera for each in made] == [scene.camera] * 4
    assert all(each.instances[2] is scene.instances[2] for each in made)
    for frame, part in enumerate((0.0, 0.5, 1.0, 1.0)):
        now = made[frame].instances[1].object_to_world
        assert now[:, 3] == pytest.approx(before[:, 3] + part * np.array([2, 0, -4]), rel=1e-6)
        angle = np.radians(90 * part)
        turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
        assert now[:, :3] == pytest.approx(turn @ before[:, :3], abs=1e-5)
    assert (scene.instances[1].object_to_world == before).all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"instances": [{"instance": 99, "keys": [{"frame": 0}]}]},
            r"\[0\].instance must be 0 to \d+, not 99",
        ),
        ({"instances": [{"instance": -1, "keys": [{"frame": 0}]}]}, r"instance must be 0 to"),
        ({"instances": [{"instance": 0, "keys": []}]}, r"instances\[0\].keys must be one or more"),
        ({"instances": [{"instance": 0, "keys": [{"frame": 3}, {"frame": 1}]}]}, "ascending order .* found 3 before 1"),
        ({"instances": [{"instance": 0, "keys": [{"frame": 0, "move": [1]}]}]}, r"move must be three finite numbers"),
        ({"instances": [{"instance": 0, "keys": [{"frame": 0, "turn_degrees": float("nan")}]}]}, r"must be finite"),
        ({"instances": [{"instance": 0, "keys": [{"frame": 0, "move": [1e30, 0, 0]}]}]}, r"must be finite and at most"),
        ({"instances": [{"instance": 0, "kyes": []}]}, r"unknown name 'kyes'"),
        ({}, r"keys must be one or more"),
        ({"instances": [{"instance": 0, "keys": [{"frame": -1}]}]}, "frame must be 0 to 1000000, found -1 to -1"),
        ({"instances": [{"instance": 0, "keys": [{"frame": 1 << 70}]}]}, f"found {1 << 70} to {1 << 70}"),
        (
            {"keys": [{"frame": 0, "eye": [0, 0, 0], "at": [float("inf"), 0, 0]}]},
            "numbers must be finite, not Infinity",
        ),
    ],
)
def test_a_mistake_is_one_line(content: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message) as found:
        scenes(load("forest", trees=3), keys(tmp_path, **content), 4)
    assert "keys.json" in str(found.value)
    assert "\n" not in str(found.value)


def room(eye: tuple[float, float, float], size: float) -> Scene:
    """A cube of walls about the origin, and a camera that looks at it."""
    corners = np.array([(x, y, z) for x in (-size, size) for y in (-size, size) for z in (-size, size)], np.float32)
    faces = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))
    triangles = np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))], np.uint32)
    mesh = Mesh("walls", corners, triangles, np.zeros(12, np.uint16))
    return Scene("room", [mesh], [Instance(0)], [Material("plain")], Camera(eye, (0.0, 0.0, 0.0)))


def test_an_orbit_stays_in_a_closed_room() -> None:
    """Round it where there is space; from side to side or on the spot where a wall is near."""
    whole = cameras(room((0.0, 0.0, 2.0), 9.0), "orbit", 36)
    assert whole[18].eye[2] < -1
    narrow = room((0.0, 0.0, 8.0), 9.0)
    narrow = replace(narrow, camera=replace(narrow.camera, look_at=(0.0, 0.0, -8.0)))
    path = cameras(narrow, "orbit", 36)
    assert len({(camera.eye, camera.look_at) for camera in path}) == 36
    assert max(np.abs(camera.eye).max() for camera in path) < 9


def test_an_orbit_that_walls_block_turns_on_the_spot() -> None:
    scene = room((0.0, 0.0, 0.9), 1.0)
    scene = replace(scene, camera=replace(scene.camera, look_at=(0.0, 0.0, 40.0)))
    path = cameras(scene, "orbit", 4)
    assert {camera.eye for camera in path} == {scene.camera.eye}
    assert path[2].look_at == pytest.approx((0, 0, -38.2))


def test_lengths_of_rays_by_hand() -> None:
    walls = Walls(world_triangles(room((0.0, 0.0, 0.0), 2.0)))
    rays = np.array([(0.1, 0.2, 1.0), (0.0, 0.3, -4.0), (8.0, 0.1, 0.2)])
    assert walls.nearest(np.zeros(3), rays) == pytest.approx([2, 0.5, 0.25])
    assert walls.nearest(np.array([0.0, 0.1, 5.0]), np.array([(0.1, 0.2, 1.0)])) == [np.inf]


def test_boxes_pass_by_no_triangle() -> None:
    """Against one triangle after another, each in a box of its own."""
    random = np.random.default_rng(1)
    corners = random.uniform(-4, 4, (1000, 1, 3)) + random.uniform(-0.5, 0.5, (1000, 3, 3))
    corners[:300, :, 1] = corners[:300, :1, 1]  # flat boxes
    rays = np.concatenate([random.normal(size=(50, 3)), np.eye(3), -np.eye(3)])
    alone = [Walls(one[None]).nearest(np.zeros(3), rays) for one in corners]
    assert (Walls(corners).nearest(np.zeros(3), rays) == np.min(alone, axis=0)).all()
    assert np.isinf(Walls(corners[:0]).nearest(np.zeros(3), rays)).all()
