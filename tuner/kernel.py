"""The ray tracer in software: a scene as a binary tree in device memory, its launches, looks at low resolution."""

import hashlib
import math
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.flow.liveness import register_count
from rayplay.ptx.ir import Function
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sm.ctas import needs, occupancy
from rayplay.tracer.api import Device
from rayplay.tracer.bvh.split import split_boxes, triangle_boxes
from rayplay.tracer.record.visits import AnySink
from rayplay.tracer.scenes.description import Camera, Scene
from rayplay.tracer.shading.upload import camera_values
from rayplay.tracer.warp.shape import entry_of
from rayplay.tuner.counts import KernelCounts
from rayplay.tuner.device import Caches
from rayplay.tuner.executed import KINDS, Executed, WarpVisits, block_work, sampled_step
from rayplay.tuner.host_look import look
from rayplay.tuner.loops import count_loops
from rayplay.tuner.settings import Settings

PROGRAM = Path(__file__).parent / "programs" / "occlusion.ptx"
TILE = 8
"""A block is TILE x TILE pixels."""
MOST_PIXELS = 1 << 24
"""Of an image."""
WARPS = TILE * TILE // 32
"""Of a block."""
MOST_LEVELS = 63
"""Of the tree: entries of the program's stack."""
VISIT = np.dtype([("nodes", np.int32), ("triangles", np.int32), ("leaf", np.int32), ("hit", np.int32)])


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


def scaled(settings: Settings, size: tuple[int, int]) -> tuple[int, int]:
    """Width and height of an image. Raises ``UserError`` for more than ``MOST_PIXELS``."""
    width, height = settings.scaled(size)
    if width * height > MOST_PIXELS:
        raise UserError(f"--size {width}x{height}: must have at most {MOST_PIXELS:,} pixels, not {width * height:,}")
    return width, height


def _rays(settings: Settings) -> tuple[int]:
    """Rays of a pixel at most."""
    return (1 + math.ceil(settings.shadow_rays) + math.ceil(settings.occlusion_rays),)


def _levels(child: NDArray[np.int32]) -> int:
    """Levels of inner nodes."""
    level, depth = np.array([0]), 0
    while len(level := child[level][child[level] >= 0]):
        level, depth = np.concatenate([level, level + 1]), depth + 1
    return depth


class SoftwareRenderer:
    """A scene in device memory and the program that traces rays in software."""

    def __init__(self, scene: Scene) -> None:
        """Build the tree; errors as of ``build_tree``."""
        self.scene = scene
        tree = build_tree(scene)
        self._device = Device(PROGRAM)
        self._boxes, self._triangles = self._device.buffer(tree.boxes), self._device.buffer(tree.triangles)
        self._image = self._device.memory.allocate(MOST_PIXELS * 16)  # at one place, so that replays compare
        self._block_work: dict[Caches, NDArray[np.float64]] = {}
        self._tree = tree
        content = [tree.boxes.tobytes(), tree.triangles.tobytes(), PROGRAM.read_bytes(), repr(scene.lights).encode()]
        self.digest = hashlib.blake2b(b"".join(content), digest_size=16).hexdigest()
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
        self, camera: Camera, size: tuple[int, int], settings: Settings, sink: AnySink = None, seed: int = 1
    ) -> NDArray[np.float32]:
        """Render an image, float32[height, width, 4], of the scaled size; ``sink`` takes the trace of the launch."""
        width, height = scaled(settings, size)
        arguments = [*self._structs(camera, width, height, settings, seed), self._image]
        self._device.launch("occlusion", arguments, self.blocks((width, height)), (TILE, TILE), sink=sink)
        return self._device.memory.view(self._image, np.float32, (height, width, 4)).copy()

    def look(self, camera: Camera, width: int, height: int, settings: Settings, seed: int = 1) -> NDArray[np.void]:
        """Visits of each ray: ``VISIT``[1 + shadow rays + occlusion rays, height, width]; rays not traced are 0."""
        visits = np.zeros((*_rays(settings), height, width, len(VISIT.names or ())), np.int32)
        counts = np.array([settings.shadow_rays, settings.occlusion_rays], np.float32)
        child, places = self._tree.boxes.view(np.int32)[:, 3], np.array(self._places(camera, width, height), np.float32)
        radius = settings.radius * self._diagonal
        look(self._tree.boxes, child, self._tree.triangles, self._tree.root, places, counts, radius, seed, visits)
        return visits.view(VISIT)[..., 0]

    def look_by_program(
        self, camera: Camera, width: int, height: int, settings: Settings, seed: int = 1
    ) -> NDArray[np.void]:
        """The same by the program itself, three times slower."""
        visits = self._device.buffer(np.zeros((*_rays(settings), height, width), VISIT).view(np.int32))
        arguments = [*self._structs(camera, width, height, settings, seed), self._image, visits.address]
        self._device.launch("look", arguments, self.blocks((width, height)), (TILE, TILE))
        return visits.array.view(VISIT).reshape(-1, height, width).copy()

    def blocks(self, size: tuple[int, int]) -> int:
        """Blocks of a launch."""
        return -(-size[0] // TILE) * -(-size[1] // TILE)

    def resident_blocks(self, gpu: Gpu, size: tuple[int, int]) -> int:
        """Blocks of the program that an SM of the GPU holds at a time."""
        registers = register_count(self.function, build(self.function))
        return occupancy(gpu.sm, needs(gpu.sm, TILE * TILE, registers, 0, "occlusion"), self.blocks(size))

    def execute(
        self, camera: Camera, size: tuple[int, int], settings: Settings, caches: Caches, warps: int = 192
    ) -> Executed:
        """Count the work of some warps of a frame: blocks at equal distances are rendered at full size."""
        width, height = scaled(settings, size)
        blocks = self.blocks((width, height))
        step = sampled_step(blocks, WARPS, warps, -(-width // TILE))
        sampled = -(-blocks // step)
        if caches not in self._block_work:
            self._block_work[caches] = block_work([(self.function, build(self.function))], caches)
        per_block = self._block_work[caches]
        sink = WarpVisits(np.zeros((sampled * WARPS, len(per_block)), np.int64))
        arguments = [*self._structs(camera, width, height, settings, 1, step), self._image]
        self._device.launch("occlusion", arguments, sampled, (TILE, TILE), sink=sink)
        work = np.zeros((sampled, WARPS, len(KINDS)))
        work[..., : per_block.shape[1]] = (sink.visits @ per_block).reshape(sampled, WARPS, -1)
        return Executed(work, step)

    def _structs(
        self, camera: Camera, width: int, height: int, settings: Settings, seed: int, step: int = 1
    ) -> list[Any]:
        """``Scene`` and ``Frame`` of the program, as bytes."""
        numbers = [number for vector in self._places(camera, width, height) for number in vector]
        places = struct.pack("<2Q15fi", self._boxes.address, self._triangles.address, *numbers, self._tree.root)
        rays = (settings.occlusion_rays, settings.shadow_rays, settings.samples, settings.radius * self._diagonal)
        return [places, struct.pack("<2i4fIi", width, height, *rays, seed, step)]

    def _places(self, camera: Camera, width: int, height: int) -> list[Any]:
        """The camera's eye, right, up and forward, and the light: three numbers each."""
        view = camera_values(camera, width, height)
        vectors = [view[f"camera_{name}"] for name in ("eye", "right", "up", "forward")]
        return [*vectors, self.scene.lights[0].position if self.scene.lights else self._above(camera)]

    def _above(self, camera: Camera) -> tuple[float, ...]:
        """A light above the camera, for scenes without one."""
        size = float(np.linalg.norm(np.subtract(camera.eye, camera.look_at)))
        return tuple(np.add(camera.eye, size * np.array(camera.up)))
