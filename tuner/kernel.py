"""The ray tracer that is tuned: a scene as a binary tree in device memory, its launches, looks at low resolution."""

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function
from rayplay.tracer.api import Device
from rayplay.tracer.bvh.split import split_boxes, triangle_boxes
from rayplay.tracer.record.visits import AnySink, VisitSink
from rayplay.tracer.scenes.description import Camera, Scene
from rayplay.tracer.shading.upload import camera_values
from rayplay.tracer.warp.shape import entry_of
from rayplay.tuner.counts import KernelCounts
from rayplay.tuner.loops import count_loops

PROGRAM = Path(__file__).parent / "programs" / "occlusion.ptx"
TILE = 8
"""A block is TILE x TILE pixels."""
MOST_LEVELS = 63
"""Of the tree: entries of the program's stack."""
VISIT = np.dtype([("nodes", np.int32), ("triangles", np.int32), ("leaf", np.int32), ("hit", np.int32)])


@dataclass(frozen=True)
class Settings:
    """Rendering parameters: what the tuner chooses.

    occlusion_rays  rays of ambient occlusion a pixel, 0 or more.
    radius          their length, as a share of the diagonal of the scene.
    shadow_rays     rays to the light a pixel, 0 or more.
    """

    occlusion_rays: int = 8
    radius: float = 0.1
    shadow_rays: int = 0


@dataclass(frozen=True)
class Tree:
    """A binary tree over a scene's triangles.

    boxes      float32[n, 8]: low, child, -high, 0; a child is the first of a pair of boxes, or ~triangle.
    triangles  float32[m, 12]: corner, edge, edge, each with a fourth number.
    root       the root's child.
    """

    boxes: NDArray[np.float32]
    triangles: NDArray[np.float32]
    root: int


def build_tree(scene: Scene) -> Tree:
    """The tree of all triangles in world space. Spheres and alpha textures are left out.

    Raises ``UserError`` for a scene without triangles, and for one whose tree is deeper than the program's stack.
    """
    corners = [
        each.object_to_world[:, :3] @ mesh.vertices[mesh.triangles][..., None] + each.object_to_world[:, 3][:, None]
        for each in scene.instances
        for mesh in [scene.meshes[each.mesh]]
    ]
    placed = np.concatenate([np.zeros((0, 3, 3), np.float32), *(each[..., 0] for each in corners)]).astype(np.float32)
    if not len(placed):
        raise UserError(f"scene {scene.name}: must have triangles, which the tuned program traces")
    rows = triangle_boxes(placed.reshape(-1, 3), np.arange(3 * len(placed), dtype=np.uint32).reshape(-1, 3))
    boxes, child = np.zeros((2 * len(placed) - 1, 8), np.float32), np.zeros(2 * len(placed) - 1, np.int32)
    split_boxes(rows, boxes, child, False)
    if _levels(child) > MOST_LEVELS:
        raise UserError(f"scene {scene.name}: its tree must have at most {MOST_LEVELS} levels, not {_levels(child)}")
    boxes[:, 7] = 0
    boxes.view(np.int32)[:, 3] = child
    triangles = np.zeros((len(placed), 3, 4), np.float32)
    triangles[:, 0, :3], triangles[:, 1:, :3] = placed[:, 0], placed[:, 1:] - placed[:, :1]
    return Tree(boxes, triangles.reshape(-1, 12), int(child[0]))


def _levels(child: NDArray[np.int32]) -> int:
    """Levels of inner nodes."""
    level, depth = np.array([0]), 0
    while len(level := child[level][child[level] >= 0]):
        level, depth = np.concatenate([level, level + 1]), depth + 1
    return depth


class Renderer:
    """A scene in device memory and the program that renders it."""

    def __init__(self, scene: Scene) -> None:
        """Build the tree; errors as of ``build_tree``."""
        self.scene = scene
        tree = build_tree(scene)
        self._device = Device(PROGRAM)
        self._boxes, self._triangles = self._device.buffer(tree.boxes), self._device.buffer(tree.triangles)
        self._root = tree.root
        content = b"".join(each.tobytes() for each in (tree.boxes, tree.triangles))
        self.digest = hashlib.blake2b(content + PROGRAM.read_bytes(), digest_size=16).hexdigest()
        self._diagonal = float(np.linalg.norm(tree.boxes[0, 4:7] + tree.boxes[0, :3]))

    @property
    def function(self) -> Function:
        """The program."""
        return entry_of(self._device.module, "occlusion")

    @cached_property
    def counts(self) -> KernelCounts:
        """Static instructions of the program."""
        return count_loops(self.function)

    def render(
        self, camera: Camera, width: int, height: int, settings: Settings, sink: AnySink = None, seed: int = 1
    ) -> NDArray[np.float32]:
        """Render an image, float32[height, width, 4]; ``sink`` takes the trace of the launch."""
        image = np.zeros((height, width, 4), np.float32)
        arguments = [*self._structs(camera, width, height, settings, seed), image]
        made = self._device.launch("occlusion", arguments, tiles(width, height), (TILE, TILE), sink=sink)
        return made[0].reshape(height, width, 4)

    def look(self, camera: Camera, width: int, height: int, settings: Settings, seed: int = 1) -> NDArray[np.void]:
        """Visits of each ray: ``VISIT``[1 + shadow rays + occlusion rays, height, width]; rays not traced are 0."""
        image = np.zeros((height, width, 4), np.float32)
        visits = np.zeros((1 + settings.shadow_rays + settings.occlusion_rays, height, width), VISIT)
        arguments = [*self._structs(camera, width, height, settings, seed), image, visits.view(np.int32)]
        made = self._device.launch("look", arguments, tiles(width, height), (TILE, TILE))
        return made[1].reshape(-1).view(VISIT).reshape(visits.shape)

    def sample(
        self, camera: Camera, width: int, height: int, settings: Settings, sink: VisitSink, step: int, seed: int = 1
    ) -> int:
        """Render every ``step``-th block at full size; ``sink`` takes its visits. Returns how many blocks were."""
        image = np.zeros((height, width, 4), np.float32)
        blocks = -(-tiles(width, height) // step)
        arguments = [*self._structs(camera, width, height, settings, seed, step), image]
        self._device.launch("occlusion", arguments, blocks, (TILE, TILE), sink=sink)
        return blocks

    def _structs(
        self, camera: Camera, width: int, height: int, settings: Settings, seed: int, step: int = 1
    ) -> list[Any]:
        """``Scene`` and ``Frame`` of the program, as bytes."""
        view = camera_values(camera, width, height)
        vectors = [view[f"camera_{name}"] for name in ("eye", "right", "up", "forward")]
        light = self.scene.lights[0].position if self.scene.lights else self._above(camera)
        numbers = [number for vector in (*vectors, light) for number in vector]
        places = struct.pack("<2Q15fi", self._boxes.address, self._triangles.address, *numbers, self._root)
        rays = (settings.occlusion_rays, settings.shadow_rays, settings.radius * self._diagonal)
        return [places, struct.pack("<4ifIi", width, height, *rays, seed, step)]

    def _above(self, camera: Camera) -> tuple[float, ...]:
        """A light above the camera, for scenes without one."""
        size = float(np.linalg.norm(np.subtract(camera.eye, camera.look_at)))
        return tuple(np.add(camera.eye, size * np.array(camera.up)))


def tiles(width: int, height: int) -> int:
    """Blocks of a launch."""
    return -(-width // TILE) * -(-height // TILE)
