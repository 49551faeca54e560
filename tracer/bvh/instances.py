"""The top level's leaves: where a bottom level is put into the world."""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.bvh import layout
from rayplay.tracer.scenes.description import IDENTITY, Scene


class Placed(NamedTuple):
    """Instances: bottom level int64[n], number int64[n], object-to-world float32[n, 3, 4]."""

    bottom: NDArray[np.int64]
    number: NDArray[np.int64]
    matrix: NDArray[np.float32]


def all_instances(scene: Scene) -> Placed:
    """The scene's instances, then the instances of its spheres and of its curves."""
    procedural = range(len(scene.meshes), len(scene.meshes) + len(scene.procedural_meshes))
    bottom = [*(item.mesh for item in scene.instances), *procedural]
    matrices = [item.object_to_world for item in scene.instances] + [IDENTITY] * len(procedural)
    return Placed(np.array(bottom, np.int64), np.arange(len(bottom)), np.array(matrices, np.float32).reshape(-1, 3, 4))


BOX_SLACK = 1e-6
"""Share of the coordinates: a few roundings, because a ray is transformed with the inverse of an instance's matrix."""


def world_boxes(
    placed: Placed, bounds: NDArray[np.float64], slack: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Low and high corners float32[n, 3] in world space, from the eight corners of each instance's bottom level.

    bounds: float64[bottom levels, 2, 3], low and high in object space. slack: share by which boxes are widened.
    """
    choice = np.array(list(itertools.product((0, 1), repeat=3)))
    corners = bounds[:, choice, np.arange(3)][placed.bottom]
    matrix = placed.matrix.astype(np.float64)
    world = corners @ matrix[:, :, :3].transpose(0, 2, 1) + matrix[:, None, :, 3]
    margin = slack * np.abs(world).max(axis=(1, 2))[:, None]
    low, high = world.min(axis=1) - margin, world.max(axis=1) + margin
    return low.astype(np.float32), high.astype(np.float32)


def write_instances(
    words: NDArray[np.uint32],
    leaf: NDArray[np.int64],
    placed: Placed,
    bottom_address: NDArray[np.int64],
    first_geometry: NDArray[np.uint32],
) -> None:
    """Bytes of the instance records, at the blocks ``leaf``."""
    records = np.zeros((len(leaf), 2 * layout.BLOCK_WORDS), np.uint32)
    floats = records.view(np.float32)
    floats[:, layout.INSTANCE_OBJECT_TO_WORLD : layout.INSTANCE_OBJECT_TO_WORLD + 12] = placed.matrix.reshape(-1, 12)
    floats[:, layout.INSTANCE_WORLD_TO_OBJECT : layout.INSTANCE_WORLD_TO_OBJECT + 12] = _inverse(placed.matrix).reshape(
        -1, 12
    )
    child = np.ascontiguousarray(bottom_address[placed.bottom], dtype=np.uint64)
    records[:, layout.INSTANCE_CHILD : layout.INSTANCE_CHILD + 2] = child.view(np.uint32).reshape(-1, 2)
    records[:, layout.INSTANCE_INDEX] = placed.number
    records[:, layout.INSTANCE_RECORD] = first_geometry[placed.bottom]
    records[:, layout.INSTANCE_MASK] = 0xFF
    words[leaf], words[leaf + 1] = records[:, : layout.BLOCK_WORDS], records[:, layout.BLOCK_WORDS :]


def _inverse(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """World-to-object float64[n, 3, 4]."""
    linear = np.linalg.inv(matrix[:, :, :3].astype(np.float64))
    return np.concatenate([linear, -linear @ matrix[:, :, 3:]], axis=2)
