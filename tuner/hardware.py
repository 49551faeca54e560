"""The ray tracer for GPUs with a ray-tracing unit: the same rays, traced by the unit through the scene's BVH."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay import ptx
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sm.ctas import needs, occupancy
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.link.link import link_launch
from rayplay.tracer.record.recorder import Sink
from rayplay.tracer.record.visits import AnySink
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes.description import Camera, Scene
from rayplay.tracer.shading.config import read_config
from rayplay.tracer.shading.prepare import Sampling, prepare_image
from rayplay.tracer.shading.upload import camera_values
from rayplay.tuner.device import Caches
from rayplay.tuner.executed import KINDS, Executed, block_work, sampled_step
from rayplay.tuner.kernel import scaled
from rayplay.tuner.settings import RANKS, Settings
from rayplay.tuner.traced import Marks, TracedRays

PROGRAM = Path(__file__).parent / "programs" / "occlusion-rt.ptx"
LANES = 32
MOST_SIDE = 4096
"""Pixels of an image in x and in y."""
CHUNK_BYTES = 32
"""Bytes of one request of the unit."""


class HardwareRenderer:
    """A scene in device memory and the program whose rays the ray-tracing unit traces; a block is a warp of 32x1
    pixels."""

    def __init__(self, scene: Scene) -> None:
        """Build the acceleration structure; errors as of ``prepare_image``."""
        self.scene = scene
        self._config = read_config(PROGRAM.with_suffix(".toml"))
        module = ptx.parse_file(PROGRAM)
        prepared = prepare_image(scene, module, self._config, Sampling(MOST_SIDE, MOST_SIDE))
        self._launch, self._image = prepared.launch, prepared.image_address
        self._nodes = prepared.acceleration.node_table()
        self._chunks = -(-self._nodes["bytes"].astype(np.int64) // CHUNK_BYTES)
        self._marks = Marks(len(self._chunks))
        self._linked = link_launch(self._launch.programs, self._launch.memory, self._launch.constants)
        self._block_work: dict[Caches, NDArray[np.float64]] = {}
        texts = [path.read_bytes() for path in (PROGRAM, PROGRAM.with_suffix(".toml"))]
        content = [prepared.acceleration.image.tobytes(), *texts, repr(scene.lights).encode()]
        self.digest = hashlib.blake2b(b"".join(content), digest_size=16).hexdigest()
        low, high = scene.bounds()
        self._diagonal = float(np.linalg.norm(np.subtract(high, low)))

    def render(
        self, camera: Camera, size: tuple[int, int], settings: Settings, sink: AnySink = None, seed: int = 1
    ) -> NDArray[np.float32]:
        """Render an image, float32[height, width, 4], of the scaled size; ``sink`` takes the trace of the launch."""
        width, height = scaled(settings, size)
        run_image_launch(self._frame(camera, (width, height), settings, seed), sink, progress=False)
        if isinstance(sink, Sink):
            sink.put("nodes", self._nodes)
        return self._launch.memory.view(self._image, np.float32, (height, width, 4)).copy()

    def blocks(self, size: tuple[int, int]) -> int:
        """Blocks of a launch."""
        return -(-size[0] // LANES) * size[1]

    def resident_blocks(self, gpu: Gpu, size: tuple[int, int]) -> int:
        """Blocks of the program that an SM of the GPU holds at a time."""
        registers = self._linked.program.registers_per_thread
        return occupancy(gpu.sm, needs(gpu.sm, LANES, registers, 0, "occlusion-rt"), self.blocks(size))

    def execute(
        self, camera: Camera, size: tuple[int, int], settings: Settings, caches: Caches, warps: int = 192
    ) -> Executed:
        """Count the work of some warps of a frame, at equal distances."""
        width, height = scaled(settings, size)
        blocks, columns = self.blocks((width, height)), -(-width // LANES)
        step = sampled_step(blocks, 1, warps, columns)
        sampled = np.arange(0, blocks, step)
        selected = np.zeros((height, columns * LANES), bool)
        selected.reshape(-1, LANES)[sampled] = True
        frame = self._frame(camera, (width, height), settings, 1)
        if caches not in self._block_work:
            functions = [each.function for each in self._linked.functions]
            self._block_work[caches] = block_work(zip(functions, self._linked.program.cfgs, strict=True), caches)
        per_block = self._block_work[caches]
        sink = TracedRays(sampled, np.zeros((len(sampled), len(per_block)), np.int64), self._chunks, self._marks)
        run_image_launch(replace(frame, selected=selected[:, :width].copy()), sink, progress=False)
        work = np.zeros((len(sampled), 1, len(KINDS)))
        work[:, 0, : per_block.shape[1]] = sink.visits @ per_block
        work[:, 0, per_block.shape[1] :] = sink.rays
        return Executed(work, step)

    def _frame(self, camera: Camera, size: tuple[int, int], settings: Settings, seed: int) -> ImageLaunch:
        """The launch of a frame: other pixels, camera and numbers of rays in the launch parameters."""
        values: dict[str, Any] = {
            **camera_values(camera, *size), "width": size[0], "height": size[1], "seed": seed,
            "samples": int(settings.samples * RANKS), "bounces": int(settings.shadow_rays * RANKS),
            "secondary_rays": int(settings.occlusion_rays * RANKS),
            "secondary_tmax": settings.radius * self._diagonal,
        }  # fmt: skip
        ((symbol, before),) = self._launch.constants.items()
        data = bytearray(before)
        for field in self._config.params:
            if field.name in values:
                packed = np.atleast_1d(np.asarray(values[field.name])).astype(field.dtype).tobytes()
                data[field.offset : field.offset + field.bytes] = packed
        return replace(self._launch, width=size[0], height=size[1], constants={symbol: bytes(data)})
