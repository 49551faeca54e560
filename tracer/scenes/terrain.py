"""A single mesh with as many triangles as asked for: hills from sums of sines, under open sky."""

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene

MOST_TRIANGLES = 4_000_000
SIDE = 200.0
OCTAVES = 9


def terrain(triangles: int = 300_000, seed: int = 1) -> Scene:
    """A height field over a square of exactly as many triangles as asked for; lower rows first, one mesh."""
    if not 2 <= triangles <= MOST_TRIANGLES:
        raise UserError(f"terrain: the number of triangles must be from 2 to {MOST_TRIANGLES}, found {triangles}")
    cells = int(np.ceil(np.sqrt(triangles / 2)))
    axis = np.linspace(-SIDE / 2, SIDE / 2, cells + 1)
    x, z = np.meshgrid(axis, axis)
    vertices = np.stack([x, heights(x, z, seed), z], axis=-1).reshape(-1, 3).astype(np.float32)
    mesh = Mesh("terrain", vertices, grid_triangles(cells)[:triangles], np.zeros(triangles, np.uint16))
    eye_y = float(heights(np.array(0.0), np.array(0.45 * SIDE), seed)) + 0.08 * SIDE
    camera = Camera(eye=(0.0, eye_y, 0.45 * SIDE), look_at=(0.0, 0.0, 0.0), vfov_deg=50.0)
    return Scene("terrain", [mesh], [Instance(0)], [Material("rock", albedo=(0.45, 0.4, 0.33))], camera)


def heights(x: np.ndarray, z: np.ndarray, seed: int) -> np.ndarray:
    """Height above each point: octaves of sine ridges, each half as high and twice as fine, turned at random."""
    random = np.random.default_rng(seed)
    total = np.zeros(np.shape(x))
    amplitude, frequency = 0.05 * SIDE, 2 * np.pi * 1.5 / SIDE
    for _ in range(OCTAVES):
        angle, phase_x, phase_z = random.uniform(0, 2 * np.pi, 3)
        along = np.cos(angle) * x + np.sin(angle) * z
        across = -np.sin(angle) * x + np.cos(angle) * z
        total += amplitude * np.sin(frequency * along + phase_x) * np.cos(frequency * across + phase_z)
        amplitude, frequency = 0.5 * amplitude, 2.03 * frequency
    return total


def grid_triangles(cells: int) -> np.ndarray:
    """uint32[2 * cells * cells, 3] over a grid of (cells + 1)^2 vertices, x fastest, facing up."""
    column, row = np.meshgrid(np.arange(cells, dtype=np.uint32), np.arange(cells, dtype=np.uint32))
    corner = (row * np.uint32(cells + 1) + column).reshape(-1)
    right, below = corner + np.uint32(1), corner + np.uint32(cells + 1)
    opposite = below + np.uint32(1)
    pair = np.stack([corner, below, right, right, below, opposite], axis=1)
    return pair.reshape(-1, 3)
