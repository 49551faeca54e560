"""Rasterised scenes against rays through the same pixel centres, and the quads that real geometry needs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.bvh.build import build_acceleration
from rayplay.tracer.raster import DrawState, Framebuffer, clip_matrix, cut_batches, rasterise
from rayplay.tracer.scenes.camera import fit_camera
from rayplay.tracer.scenes.description import Camera, Material, Scene
from rayplay.tracer.scenes.glb import read_glb
from rayplay.tracer.scenes.textured import read_textured
from tools.ray_batch import trace_rays

INSIDE = Camera((-500.0, 200.0, 0.0), (500.0, 300.0, 50.0), vfov_deg=60.0)
CAMERAS = {"sponza_tex": INSIDE, "flight_helmet": None, "planets": None}


def drawn(path: Path, camera: Camera, scene: Scene, framebuffer: Framebuffer) -> list[dict[str, int]]:
    """Rasterise all draws of a textured scene, opaque; threads and live fragments of each are added to its counts."""
    matrix = clip_matrix(camera, framebuffer.width, framebuffer.height, *scene.bounds()).astype(np.float64)
    found = []
    for draw in read_textured(path).draws:
        batches = cut_batches(draw.indices, len(draw.positions))
        points = np.column_stack([draw.positions, np.ones(len(draw.positions))])[batches.vertices]
        places = np.concatenate([draw.places, np.broadcast_to([[[0, 0, 0, 1]]], (len(draw.places), 1, 4))], axis=1)
        positions = np.concatenate([points @ (matrix @ place).T for place in places])
        made = rasterise(positions, batches.triangles(len(places)), framebuffer, DrawState())
        found.append(made.counts | {"threads": len(made), "live": int(made.live.sum())})
    return found


def opened(data: Path, name: str) -> tuple[Path, Scene, Camera]:
    """A scene's file, its geometry and a camera."""
    path = data / "scenes" / "textured" / f"{name}.glb"
    meshes, instances = read_glb(path)
    scene = Scene(name, meshes, instances, [Material("grey")], INSIDE)
    return path, scene, CAMERAS[name] or fit_camera(scene)


def centre_rays(camera: Camera, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Origins and directions through pixel centres; a direction has the length 1 along the view."""
    eye, forward = np.array(camera.eye), np.array(camera.look_at) - np.array(camera.eye)
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, camera.up)
    right /= np.linalg.norm(right)
    up, half = np.cross(right, forward), np.tan(np.deg2rad(camera.vfov_deg) / 2)
    x, y = (np.arange(width) + 0.5) * 2 / width - 1, 1 - (np.arange(height) + 0.5) * 2 / height
    across = x[None, :, None] * (half * width / height) * right
    directions = (forward + across + y[:, None, None] * half * up).reshape(-1, 3).astype(np.float32)
    return np.broadcast_to(eye.astype(np.float32), directions.shape).copy(), directions


@pytest.mark.parametrize("name", CAMERAS)
def test_depths_are_distances_of_rays(data: Path, name: str) -> None:
    """All but pixels at silhouettes, where centres and rays round to different sides: 1 in 200 at most."""
    path, scene, camera = opened(data, name)
    framebuffer = Framebuffer.cleared(160, 120)
    drawn(path, camera, scene, framebuffer)
    hits = trace_rays(build_acceleration(scene, 0x1000_0000), *centre_rays(camera, 160, 120), 0.0, 1e30)
    low, high = scene.bounds()
    m = clip_matrix(camera, 160, 120, low, high).astype(np.float64)
    scale = np.linalg.norm(m[2, :3])  # far / (far - near), and the offset beside it: -far near / (far - near)
    offset = (m[2, 3] - scale * m[3, 3]) if scale else 0.0
    depth = framebuffer.depth.ravel().astype(np.float64)
    seen = depth < 1
    assert seen.mean() > 0.2
    assert np.mean(seen == np.isfinite(hits.t)) > 0.995
    both = seen & np.isfinite(hits.t)
    near = np.isclose(offset / (depth[both] - scale), hits.t[both], rtol=5e-3)
    assert near.mean() > 0.995


@pytest.mark.parametrize("name", ["sponza_tex", "flight_helmet"])
def test_helpers_are_as_many_as_geometry_needs(data: Path, name: str) -> None:
    """Threads over live ones; an RTX 3070 has 1.05 to 1.31 (docs/sources/crisp.md#fragments-and-warps)."""
    path, scene, camera = opened(data, name)
    counts = drawn(path, camera, scene, Framebuffer.cleared(1280, 960))
    live = sum(each["live"] for each in counts)
    assert live > 100_000
    assert 1.02 < sum(each["threads"] for each in counts) / live < 1.4
    assert all(each["threads"] == 4 * each["quads"] <= 4 * max(each["live"], 0) for each in counts)


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        (replace(INSIDE, look_at=(-500.0, 900.0, 0.0)), "must not be parallel to up"),
        (replace(INSIDE, look_at=INSIDE.eye), "must not be parallel to up"),
        (Camera((0.0, 0.0, 9.0), (0.0, 0.0, 10.0)), "must have a part of the scene before it"),
    ],
)
def test_a_camera_that_sees_nothing_is_one_line(camera: Camera, message: str) -> None:
    with pytest.raises(UserError, match=message):
        clip_matrix(camera, 64, 64, np.array([-1.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0]))
