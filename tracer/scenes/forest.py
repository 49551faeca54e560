"""A forest of instanced trees whose leaves are quads with alpha textures: two levels, much any-hit work, sky.

Recipe: a hilly ground, four tree meshes grown by recursive branching, one clump of grass, all placed at random.
"""

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene, Texture, turned
from rayplay.tracer.scenes.terrain import grid_triangles
from rayplay.tracer.scenes.tree import BARK, BLADES, GROUND, LEAVES, grass_clump, grow_tree

SIDE = 120.0
GROUND_CELLS = 96
TREE_KINDS = 4
TEXTURE_SIZE = 64
CLUMPS_PER_TREE = 4
CLEARING = 5.0


def forest(trees: int = 420, seed: int = 7) -> Scene:
    """Trees, by default 420, each with four clumps of grass: more than a million triangles; stands in for park."""
    if not 1 <= trees <= 20_000:
        raise UserError(f"forest: the number of trees must be from 1 to 20000, found {trees}")
    random = np.random.default_rng(seed)
    meshes = [_ground(), *(grow_tree(f"tree-{kind}", random) for kind in range(TREE_KINDS)), grass_clump(random)]
    instances = [Instance(0)]
    for index in range(trees):
        instances.append(_place(1 + index % TREE_KINDS, random, 0.7, 1.3))
    for _ in range(CLUMPS_PER_TREE * trees):
        instances.append(_place(1 + TREE_KINDS, random, 0.6, 1.4))
    eye_y = float(ground_height(np.array(0.0), np.array(0.0))) + 1.8
    camera = Camera(eye=(0.0, eye_y, 0.0), look_at=(4.0, eye_y + 2.0, -20.0), vfov_deg=60.0)
    return Scene("forest", meshes, instances, _materials(), camera, textures=[_leaf_texture(), _blade_texture()])


def ground_height(x: NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.6 * np.sin(0.06 * x + 0.4) * np.cos(0.05 * z) + 0.4 * np.sin(0.17 * x + 0.13 * z)


def _ground() -> Mesh:
    axis = np.linspace(-SIDE / 2, SIDE / 2, GROUND_CELLS + 1)
    x, z = np.meshgrid(axis, axis)
    vertices = np.stack([x, ground_height(x, z), z], axis=-1).reshape(-1, 3).astype(np.float32)
    triangles = grid_triangles(GROUND_CELLS)
    return Mesh("ground", vertices, triangles, np.full(len(triangles), GROUND, np.uint16))


def _place(mesh: int, random: np.random.Generator, smallest: float, largest: float) -> Instance:
    """Somewhere on the ground outside the clearing around the camera, turned about y, evenly scaled."""
    while True:
        x, z = random.uniform(-SIDE / 2, SIDE / 2, 2)
        if x * x + z * z > CLEARING**2:
            break
    angle, scale = random.uniform(0, 2 * np.pi), random.uniform(smallest, largest)
    return turned(mesh, angle, (x, float(ground_height(x, z)) - 0.05, z), scale)


def _materials() -> list[Material]:
    by_number = {
        GROUND: Material("ground", albedo=(0.34, 0.26, 0.16)),
        BARK: Material("bark", albedo=(0.16, 0.11, 0.07)),
        LEAVES: Material("leaves", albedo=(0.12, 0.25, 0.06), alpha_texture=0),
        BLADES: Material("blades", albedo=(0.22, 0.33, 0.09), alpha_texture=1),
    }
    return [by_number[number] for number in sorted(by_number)]


def _texels() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    axis = (np.arange(TEXTURE_SIZE) + 0.5) / TEXTURE_SIZE
    u, v = np.meshgrid(axis, axis)
    return u, v


def _leaf_texture() -> Texture:
    """Five lobed leaves on a stalk that runs up the middle of the quad."""
    u, v = _texels()
    opaque = (np.abs(u - 0.5) < 0.02) & (v > 0.15)
    leaves = ((0.5, 0.2, 0.0), (0.28, 0.42, -0.9), (0.72, 0.42, 0.9), (0.3, 0.72, -1.2), (0.7, 0.72, 1.2))
    for middle_u, middle_v, angle in leaves:
        along = (u - middle_u) * np.sin(angle) - (v - middle_v) * np.cos(angle)
        across = (u - middle_u) * np.cos(angle) + (v - middle_v) * np.sin(angle)
        opaque |= (along / 0.2) ** 2 + (across / (0.1 + 0.03 * np.cos(40 * along))) ** 2 < 1
    return Texture("leaf", np.where(opaque, np.uint8(255), np.uint8(0)))


def _blade_texture() -> Texture:
    """Seven blades of grass, wide at the root (v = 1) and bent towards the tip."""
    u, v = _texels()
    height = 1 - v
    opaque = np.zeros(u.shape, bool)
    for blade in range(7):
        root, tall, bend = 0.1 + 0.13 * blade, 0.6 + 0.06 * ((blade * 3) % 7), 0.05 * ((blade * 5) % 7 - 3)
        middle = root + bend * height**2
        opaque |= (np.abs(u - middle) < 0.035 * (1 - height / tall)) & (height < tall)
    return Texture("blades", np.where(opaque, np.uint8(255), np.uint8(0)))
