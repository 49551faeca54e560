"""Acceleration structure: build and traversal speed, and how long the recorded lists are, one figure per line.

Command: ``python -m bench.speed.bvh [SCENE ...]``; without scenes ``terrain:300000``, and ``bunny``, ``bath``, ``park``
where the data folder has them (``RAYPLAY_DATA``). Rates are per second of process CPU time, the best of five, machine
code cached; rays are recorded, hit triangles only (flag 1, no programs), in both traversal orders. Targets:
``docs/sources/measurements.md#tree-prototype``. Primary rays: 512x512 through the scene's camera. Incoherent rays: from
where those hit, in random directions and random order.
"""

import sys
from functools import partial

import numpy as np

from bench.speed.clock import seconds
from rayplay.tracer.bvh.build import Acceleration, build_acceleration
from rayplay.tracer.bvh.layout import DESCRIPTOR, HEADER
from rayplay.tracer.bvh.split import boxes, split_boxes
from rayplay.tracer.rays.state import ORDERS
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.resolve import known_names
from tools.ray_batch import Hits, trace_rays

BASE = 0x1000_0000
IMAGE = 512
NO_ANY_HIT = 1
least = partial(seconds, warm=True)
BUILD_TARGET, PRIMARY_TARGET, INCOHERENT_TARGET = 2.0, 1.0, 0.5


def camera_rays(camera: Camera) -> tuple[np.ndarray, np.ndarray]:
    """Origins and unit directions, float32[IMAGE * IMAGE, 3], rows of the image from the top."""
    eye, forward = np.array(camera.eye), np.subtract(camera.look_at, camera.eye)
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, camera.up)
    right /= np.linalg.norm(right)
    upward = np.cross(right, forward)
    span = np.tan(np.deg2rad(camera.vfov_deg) / 2)
    axis = span * ((np.arange(IMAGE) + 0.5) / IMAGE * 2 - 1)
    x, y = np.meshgrid(axis, -axis)
    directions = forward + x[..., None] * right + y[..., None] * upward
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    flat = directions.reshape(-1, 3).astype(np.float32)
    return np.broadcast_to(eye.astype(np.float32), flat.shape), flat


def bounced(origins: np.ndarray, directions: np.ndarray, hits: Hits) -> tuple[np.ndarray, np.ndarray]:
    """Rays from just before each hit in random directions, shuffled."""
    random = np.random.default_rng(1)
    hit = random.permutation(np.flatnonzero(np.isfinite(hits.t)))
    turned = random.normal(size=(len(hit), 3))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    start = origins[hit] + directions[hit] * (np.float32(0.999) * hits.t[hit])[:, None]
    return start.astype(np.float32), turned.astype(np.float32)


def report(name: str, value: float, unit: str, target: float | None = None) -> None:
    print(f"{name}: {value:.2f} {unit}" + (f" (target {target:g})" if target else ""), flush=True)


def bench_build(name: str, acceleration: Acceleration) -> None:
    scene = acceleration.scene
    corners = np.concatenate([mesh.vertices[mesh.triangles] for mesh in scene.meshes])
    low, high, count = corners.min(axis=1), corners.max(axis=1), len(corners)
    node_box, node_child = np.empty((2 * count - 1, 8), np.float32), np.empty(2 * count - 1, np.int32)
    split = least(lambda: split_boxes(boxes(low, high), node_box, node_child, False))
    whole = least(lambda: build_acceleration(scene, BASE))
    report(f"{name} binned SAH", count / split / 1e6, "M triangles/s", BUILD_TARGET)
    report(f"{name} whole structure, bytes included", count / whole / 1e6, "M triangles/s", BUILD_TARGET)
    report(f"{name} image", acceleration.image.nbytes / count, "bytes/triangle")


def bench_rays(name: str, kind: str, acceleration: Acceleration, rays: tuple, order: str, target: float) -> Hits:
    hits = trace_rays(acceleration, *rays, 1e-3, 1e30, NO_ANY_HIT, order)
    seconds = least(lambda: trace_rays(acceleration, *rays, 1e-3, 1e30, NO_ANY_HIT, order))
    kinds = acceleration.node_kind[hits.node & 0x7FFFFFFF]
    nodes = np.count_nonzero((kinds != HEADER) & (kinds != DESCRIPTOR))
    prefix = f"{name} {kind}, {order} order"
    report(prefix, len(rays[0]) / seconds / 1e6, "M rays/s", target)
    report(f"{prefix}: records", len(hits.node) / len(rays[0]), "records/ray")
    report(f"{prefix}: nodes (no headers, no descriptors)", nodes / len(rays[0]), "nodes/ray")
    return hits


def main() -> None:
    names = sys.argv[1:] or ["terrain:300000", *(name for name in ("bunny", "bath", "park") if name in known_names())]
    for name in names:
        acceleration = build_acceleration(load(name), BASE)
        bench_build(name, acceleration)
        for order in ORDERS:
            primary = camera_rays(acceleration.scene.camera)
            hits = bench_rays(name, "primary", acceleration, primary, order, PRIMARY_TARGET)
            incoherent = bounced(*primary, hits)
            bench_rays(name, "incoherent", acceleration, incoherent, order, INCOHERENT_TARGET)


if __name__ == "__main__":
    main()
