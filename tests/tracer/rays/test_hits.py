"""Hits of the traversal against brute force and against an independent ray tracer."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay import tracer  # noqa: F401  (names the machine-code cache before numba is imported)
from rayplay.tracer.bvh.build import Acceleration, build_acceleration
from rayplay.tracer.bvh.layouts import LAYOUTS
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import (
    Camera,
    Instance,
    Material,
    Mesh,
    Scene,
    Spheres,
    Texture,
    moved_into_world,
    sort_by_kind,
)
from tests.reference.traversal_slow import closest_hits
from tools.ray_batch import trace_rays

BASE = 0x1000_0000
ORDERS = ("vulkan-sim", "nearest")


def random_scene(seed: int) -> Scene:
    """Triangle soup with holes, three transformed instances of it (one mirrored), and spheres."""
    random = np.random.default_rng(seed)
    middle = random.uniform(-1, 1, (60, 1, 3))
    corners = middle + random.normal(0, 0.7, (60, 3, 3))
    corners[::7, :, 1] = corners[::7, :1, 1]  # some are flat boxes
    soup = Mesh(
        "soup",
        corners.reshape(-1, 3).astype(np.float32),
        np.arange(180, dtype=np.uint32).reshape(-1, 3),
        (np.arange(60) % 2).astype(np.uint16),
        random.uniform(-2, 2, (180, 2)).astype(np.float32),
    )
    instances = []
    for scale in (1.0, 2.0, -1.5):
        turned, _ = np.linalg.qr(random.normal(size=(3, 3)))
        matrix = np.column_stack([scale * turned, random.uniform(-3, 3, 3)])
        instances.append(Instance(0, matrix.astype(np.float32)))
    materials = [Material("solid"), Material("holes", alpha_texture=0)]
    holes = Texture("holes", np.where(random.random((5, 9)) < 0.5, 255, 0).astype(np.uint8))
    spheres = Spheres(
        random.uniform(-4, 4, (12, 3)).astype(np.float32),
        random.uniform(0.1, 1.0, 12).astype(np.float32),
        np.zeros(12, np.uint16),
    )
    camera = Camera((0.0, 0.0, 9.0), (0.0, 0.0, 0.0))
    return sort_by_kind(Scene("random", [soup], instances, materials, camera, spheres, [holes]))


def random_rays(seed: int, count: int, spread: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """Origins around the scene, mostly towards its middle; directions of different lengths, some along an axis."""
    random = np.random.default_rng(seed)
    origins = random.uniform(-spread, spread, (count, 3)).astype(np.float32)
    directions = (random.normal(size=(count, 3)) - 0.3 * origins) * random.uniform(0.1, 3, (count, 1))
    directions[::11, :2] = 0
    directions[5::11, 1] = -0.0
    return origins, directions.astype(np.float32)


def assert_same_hits(t: np.ndarray, expected: np.ndarray) -> None:
    """Equal except for rays that pass an edge within rounding: none in 500 may hit another primitive."""
    same = np.isclose(t, expected, rtol=2e-4, atol=2e-5) | (np.isinf(t) & np.isinf(expected))
    assert np.count_nonzero(~same) <= len(t) // 500, np.flatnonzero(~same)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("seed", "named"), [(0, "bvh6"), (1, "bvh6"), (2, "bvh8"), (3, "cwbvh8")])
def test_equals_brute_force_on_random_scenes(seed: int, named: str, order: str) -> None:
    scene = random_scene(seed)
    origins, directions = random_rays(seed + 100, 3000)
    hits = trace_rays(
        build_acceleration(scene, BASE, named=LAYOUTS[named]), origins, directions, 0.01, 50.0, order=order
    )
    t, instance = closest_hits(scene, origins, directions, 0.01, 50.0)
    assert 0.3 < np.mean(np.isfinite(t)) < 0.95
    assert_same_hits(hits.t, t)
    near = np.isclose(hits.t, t, rtol=2e-4)
    assert np.mean(hits.instance[near] == instance[near]) > 0.999
    assert (hits.segments > 1).mean() > 0.3


def test_both_orders_find_the_same_hits_bit_for_bit() -> None:
    acceleration = build_acceleration(load("forest", trees=40), BASE)
    origins, directions = random_rays(3, 4000, spread=40.0)
    origins[:, 1] = np.abs(origins[:, 1]) / 10 + 1
    one, two = (trace_rays(acceleration, origins, directions, 1e-3, 200.0, order=order) for order in ORDERS)
    np.testing.assert_array_equal(one.t, two.t)
    assert np.isfinite(one.t).mean() > 0.3
    assert len(two.node) < len(one.node)


@pytest.mark.parametrize("name", ["bunny", "bath"])
def test_equals_embree_on_real_scenes(data: Path, name: str) -> None:
    scene = load(data / "scenes" / f"{name}.json")
    acceleration = build_acceleration(scene, BASE)
    low, high = scene.bounds()
    random = np.random.default_rng(4)
    origins = random.uniform(low, high, (20_000, 3)).astype(np.float32)
    directions = random.normal(size=(20_000, 3))
    directions = (directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.float32)
    hits = trace_rays(acceleration, origins, directions, 0.0, 1e30)
    expected = embree_distances(scene, origins, directions)
    assert np.mean(np.isfinite(hits.t) == np.isfinite(expected)) >= 0.9998
    both = np.isfinite(hits.t) & np.isfinite(expected)
    difference = np.abs(hits.t[both] - expected[both]) / np.maximum(expected[both], 1e-3 * np.max(high - low))
    assert np.mean(difference < 1e-4) >= 0.9995


def embree_distances(scene: Scene, origins: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Distance along each ray by embree, infinity for a miss."""
    mesh_construction = pytest.importorskip("embreex.mesh_construction")
    rtcore_scene = pytest.importorskip("embreex.rtcore_scene")
    embree = rtcore_scene.EmbreeScene(robust=True)
    for item in scene.instances:
        mesh, matrix = scene.meshes[item.mesh], item.object_to_world
        vertices = (mesh.vertices @ matrix[:, :3].T + matrix[:, 3]).astype(np.float32)
        mesh_construction.TriangleMesh(embree, vertices[mesh.triangles])
    found = embree.run(origins, directions, output=True)
    missed = found["geomID"] < 0
    return np.where(missed, np.inf, found["tfar"])


def test_no_ray_slips_between_triangles_of_a_closed_surface() -> None:
    """Rays aimed exactly at vertices, edge points and diagonals of the Cornell room from inside all hit."""
    scene = load("cornell")
    acceleration = build_acceleration(scene, BASE)
    room = scene.meshes[0]
    corners = room.vertices[room.triangles[:10]].astype(np.float64)
    weights = np.random.default_rng(0).random((10, 400, 1))
    along = np.concatenate([corners[:, [0]] * weights + corners[:, [2]] * (1 - weights)], axis=1).reshape(-1, 3)
    for eye in ([278.0, 278.0, -200.0], [120.0, 400.0, -20.0]):
        directions = (along - eye).astype(np.float32)
        origins = np.broadcast_to(np.array(eye, np.float32), directions.shape)
        hits = trace_rays(acceleration, origins, directions, 0.0, 2.0)
        open_side = np.isclose(along[:, 2], 0)
        assert (hits.instance[~open_side] >= 0).all()


def test_instances_move_what_they_place() -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    mesh = Mesh("one", corners, np.array([[0, 1, 2]], np.uint32), np.zeros(1, np.uint16))
    matrix = np.array([[2, 0, 0, 10], [0, 2, 0, 20], [0, 0, 2, 30]], np.float32)
    scene = Scene("placed", [mesh], [Instance(0), Instance(0, matrix)], [Material("grey")], Camera((0,) * 3, (1,) * 3))
    acceleration = build_acceleration(scene, BASE)
    origins = np.array([[0.25, 0.25, 4], [10.5, 21.0, 40], [10.5, 21.0, 20], [5, 5, 5]], np.float32)
    directions = np.array([[0, 0, -1], [0, 0, -4], [0, 0, 1], [0, 0, -1]], np.float32)
    hits = trace_rays(acceleration, origins, directions)
    np.testing.assert_array_equal(hits.t, np.array([4, 2.5, 10, np.inf], np.float32))
    np.testing.assert_array_equal(hits.instance, [0, 1, 1, -1])
    np.testing.assert_array_equal(hits.u, np.array([0.25, 0.25, 0.25, 0], np.float32))
    np.testing.assert_array_equal(hits.v, np.array([0.25, 0.5, 0.5, 0], np.float32))
    np.testing.assert_array_equal(hits.kind, [0xFE, 0xFE, 0xFF, -1])


def spheres_only() -> Acceleration:
    return build_acceleration(load("wknd"), BASE)


@pytest.mark.parametrize(
    ("origin", "direction"),
    [
        ((0, 1, 20), (0, 0, 0)),
        ((0, 1, 20), (np.nan, 0, -1)),
        ((np.nan, 1, 20), (0, 0, -1)),
        ((0, 1, np.inf), (0, 0, -1)),
        ((0, 1, 20), (0, 0, np.inf)),
    ],
)
def test_a_ray_that_is_none_misses_and_fetches_the_header_only(origin: tuple, direction: tuple) -> None:
    acceleration = spheres_only()
    hits = trace_rays(acceleration, np.array([origin], np.float32), np.array([direction], np.float32))
    assert hits.instance.tolist() == [-1]
    assert acceleration.node_kind[hits.node].tolist() == [0]


def test_t_min_and_t_max_bound_hits() -> None:
    acceleration = spheres_only()
    origins = np.tile(np.array([[0, 1, 5]], np.float32), (4, 1))
    directions = np.tile(np.array([[0, 0, -1]], np.float32), (4, 1))
    bounds = [(0, 100, 4.0), (4.5, 100, 6.0), (0, 3.9, np.inf), (6.1, 6.2, np.inf)]
    for row, (t_min, t_max, expected) in enumerate(bounds):
        hits = trace_rays(acceleration, origins[row : row + 1], directions[row : row + 1], t_min, t_max)
        assert hits.t[0] == pytest.approx(expected, rel=1e-6)


def test_meshes_moved_into_the_world_are_hit_from_the_same_side() -> None:
    scene = random_scene(4)
    mirrored = Instance(len(scene.meshes), np.array([[-2, 0, 0, 1], [0, 1, 0, 2], [0, 0, 3, 0]], np.float32))
    scene = replace(scene, meshes=[*scene.meshes, scene.meshes[0]], instances=[*scene.instances, mirrored])
    placed = [instance.mesh for instance in scene.instances]
    moved = moved_into_world(scene)
    identity = [instance.object_to_world.tolist() == np.eye(3, 4).tolist() for instance in moved.instances]
    assert identity == [placed.count(mesh) == 1 for mesh in placed]
    origins, directions = random_rays(77, 800)
    one, two = (trace_rays(build_acceleration(s, BASE), origins, directions, 0.01, 50.0) for s in (scene, moved))
    assert (one.instance == len(placed) - 1).any()
    same = (one.instance == two.instance) & (one.primitive == two.primitive) & (one.kind == two.kind)
    assert np.mean(same) > 0.995
    np.testing.assert_allclose(one.t[same], two.t[same], rtol=1e-4)
