"""Cost, overlap, reads and pictures of a structure, beside hands, random lines and the rays of a trace."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rayplay
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.build import Acceleration, build_acceleration
from rayplay.tracer.bvh.decode import Decoded, Level, decode
from rayplay.tracer.bvh.quality import quality
from rayplay.tracer.bvh.xray import x_ray
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Instance, Mesh, Spheres
from rayplay.tracer.shading.upload import pixel_rays
from tests.tracer.rays.test_hits import random_scene

LINES = 400_000
SIZE = (12, 9)


def soup() -> Acceleration:
    """Triangles at random, and no instance that turns them."""
    scene = random_scene(5)
    return build_acceleration(replace(scene, instances=[Instance(0)], spheres=Spheres.none()), 0)


def random_lines(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and directions of lines that meet the sphere around a box, uniform in direction and offset."""
    random = np.random.default_rng(1)
    direction = random.normal(size=(LINES, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = float(np.linalg.norm(high - low)) / 2
    side = np.cross(direction, random.normal(size=(LINES, 3)))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    offset = radius * np.sqrt(random.uniform(size=(LINES, 1)))
    return (low + high) / 2 + side * offset, direction


def meets(low: np.ndarray, high: np.ndarray, point: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """bool[lines]: whether the whole line meets the box."""
    first, last = (low - point) / direction, (high - point) / direction
    return np.minimum(first, last).max(axis=1) <= np.maximum(first, last).min(axis=1)


def counted(level: Level, point: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """int64[records]: lines that meet each box of a level, each of which lies in its parent's."""
    return np.array([meets(low, high, point, direction).sum() for low, high in zip(level.low, level.high, strict=True)])


def test_the_cost_is_what_random_lines_fetch() -> None:
    structure = soup()
    decoded = decode(structure)
    found = quality(structure, decoded)
    point, direction = random_lines(decoded.top.low[0].astype(float), decoded.top.high[0].astype(float))
    levels = (decoded.top, decoded.bottoms[0])
    top, bottom = (counted(level, point, direction) for level in levels)
    lines = top[0]
    assert found.cost == pytest.approx((lines + top.sum() + lines + bottom.sum()) / lines, rel=0.02)
    for depth in found.depths:
        level, met = (levels[0], top) if depth.level == "top" else (levels[1], bottom)
        assert depth.cost == pytest.approx(met[level.depth == depth.depth].sum() / lines, rel=0.05)


def two_triangles(shift: float) -> Acceleration:
    """Two triangles whose boxes are unit squares in a plane, side by side by ``shift``."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    vertices = np.concatenate([corners, corners + np.array([shift, 0, 0], np.float32)])
    mesh = Mesh("two", vertices, np.arange(6, dtype=np.uint32).reshape(2, 3), np.zeros(2, np.uint16))
    return build_acceleration(replace(load("cornell"), meshes=[mesh], instances=[Instance(0)]), 0)


@pytest.mark.parametrize(("shift", "shared"), [(0.0, 1.0), (0.5, 0.5 / 1.5), (1.0, 0.0), (3.0, 0.0)])
def test_the_overlap_of_two_squares(shift: float, shared: float) -> None:
    structure = two_triangles(shift)
    found = quality(structure, decode(structure))
    assert found.overlap("bottom") == pytest.approx(shared, abs=0.02)  # boxes are rounded outwards to 255 steps
    assert found.overlap("top") == 0.0


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> rayplay.Trace:
    out = tmp_path_factory.mktemp("quality") / "a.trace"
    return rayplay.trace("cornell", size=(16, 8), samples=1, out=out)


def test_every_fetch_is_counted_once(traced: rayplay.Trace) -> None:
    structure = build_acceleration(load("cornell"), 0)
    found = quality(structure, decode(structure), traced)
    node = traced.read("rays", ["node"])["node"] & np.uint32((1 << 31) - 1)
    assert found.reads is not None
    assert found.reads.tolist() == [int((node == record).sum()) for record in range(len(structure.node_kind))]
    assert found.rays == traced.rows("rays")
    headers = structure.node_kind == layout.HEADER
    descriptors = structure.node_kind == layout.DESCRIPTOR
    of_depths = sum(depth.reads or 0 for depth in found.depths)
    assert of_depths == found.reads[~headers & ~descriptors].sum()


def test_a_trace_of_another_tree_is_refused(traced: rayplay.Trace, tmp_path: Path) -> None:
    for scene in (load("wknd"), load("forest", trees=2)):
        structure = build_acceleration(scene, 0)
        with pytest.raises(UserError, match="must trace this scene with this tree"):
            quality(structure, decode(structure), traced)
    vector = rayplay.trace("vector_add", out=tmp_path / "v.trace")
    with pytest.raises(UserError, match="must be a trace of an image"):
        quality(structure, decode(structure), vector)


@pytest.mark.parametrize("name", ["cornell", "wknd", "forest"])
def test_a_picture_counts_the_boxes_of_each_ray(name: str) -> None:
    scene = load(name, **({"trees": 3} if name == "forest" else {}))
    decoded = decode(build_acceleration(scene, 0))
    width, height = SIZE
    eye, rays = pixel_rays(scene.camera, width, height)
    found = x_ray(decoded, eye, rays)
    for pixel in range(0, width * height, 7):
        y, x = divmod(pixel, width)
        top, bottom = slow_x_ray(decoded, eye, rays[y, x])
        assert found.top[:, y, x].tolist() == [top.count(depth) for depth in range(len(found.top))]
        assert found.bottom[:, y, x].tolist() == [bottom.count(depth) for depth in range(len(found.bottom))]
    assert found.bottom.any()


def slow_x_ray(decoded: Decoded, eye: np.ndarray, ray: np.ndarray) -> tuple[list[int], list[int]]:
    """Depths of the boxes that a ray meets on its way down, in both levels."""
    top, leaves = descend(decoded.top, eye, ray)
    number = np.cumsum(decoded.top.is_leaf) - 1
    bottom: list[int] = []
    for leaf in leaves:
        instance = number[leaf]
        matrix = decoded.to_object[instance].astype(np.float64)
        level = decoded.bottoms[decoded.bottom[instance]]
        bottom += descend(level, matrix[:, :3] @ eye + matrix[:, 3], matrix[:, :3] @ ray)[0]
    return top, bottom


def descend(level: Level, eye: np.ndarray, ray: np.ndarray) -> tuple[list[int], list[int]]:
    """Depths of the boxes, and rows of the leaves."""
    depths, leaves, waiting = [], [], [0]
    while waiting:
        row = waiting.pop()
        with np.errstate(divide="ignore", invalid="ignore"):
            first, last = (level.low[row] - eye) / ray, (level.high[row] - eye) / ray
        if max(np.fmin(first, last).max(), 0.0) > np.fmax(first, last).min():
            continue
        depths.append(int(level.depth[row]))
        leaves += [row] if level.is_leaf[row] else []
        waiting += range(int(level.first[row]), int(level.first[row] + level.children[row]))
    return depths, leaves
