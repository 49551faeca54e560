"""All draws of a scene, one after another: shade vertices, rasterise, shade fragments, merge into the picture.

Each stage is a launch of the trace; both of a draw are on the stream of its number (``docs/sources/crisp.md#streams``).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rayplay.ptx.ir import Module
from rayplay.tracer.abi.words import RECORD_ALL
from rayplay.tracer.graphics.fragments import Target, lend_varyings
from rayplay.tracer.graphics.frame import DRAW, surface_constants, view_constants
from rayplay.tracer.graphics.geometry import (
    CTA_THREADS,
    OUTPUTS,
    VARYINGS,
    Geometry,
    lend_outputs,
    place_geometry,
    shaded,
)
from rayplay.tracer.graphics.maps import Filtering, place_maps
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.raster.fragments import Fragments
from rayplay.tracer.raster.output import write_colours
from rayplay.tracer.raster.pipeline import rasterise
from rayplay.tracer.raster.state import DrawState, Framebuffer
from rayplay.tracer.record.visits import AnySink, records_of
from rayplay.tracer.run import Numbering, run_compute_launch
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.textured import TexturedScene

BACKGROUND = (0.45, 0.55, 0.7, 1.0)


@dataclass(frozen=True)
class Shaders:
    """A program and its entries."""

    module: Module
    vertex: str = "vertex_main"
    fragment: str = "fragment_lit"


@dataclass(frozen=True)
class Rules:
    """How draws are cut, rasterised and textured."""

    rules: str = "hardware"
    batch_indices: int | None = 96
    max_vertices: int | None = None
    max_triangles: int | None = None
    textures: Filtering = field(default_factory=Filtering)


@dataclass
class Stage:
    """A launch and its part of a draw: a row of the table of stages."""

    kernel_id: int
    stage: str
    draw: int
    draw_name: str
    triangles: int
    shaded: int
    live: int
    covered: int


@dataclass(eq=False)
class Picture:
    """A framebuffer, the launches that filled it, and how much they executed."""

    framebuffer: Framebuffer
    stages: list[Stage]
    thread_instructions: int


def draw_scene(
    scene: TexturedScene,
    shaders: Shaders,
    camera: Camera,
    size: tuple[int, int],
    rules: Rules,
    sink: AnySink,
    backend: str = "machine",
    progress: bool = True,
) -> Picture:
    """Draw everything and send the launches' tables to ``sink``.

    Raises ``UserError`` for an index beyond a vertex buffer, a picture too large, or what a shader does wrong.
    """
    memory = DeviceMemory()
    running = _Running(scene, shaders, rules, memory, sink, backend, progress, size)
    stages: list[Stage] = []
    view = view_constants(scene, camera, *size)
    limits = {"batch_indices": rules.batch_indices, "max_vertices": rules.max_vertices,
              "max_triangles": rules.max_triangles}  # fmt: skip
    placed = [place_geometry(draw, memory, limits) for draw in scene.draws]
    maps = place_maps(scene, memory, rules.textures, rules.rules)
    for number, geometry in enumerate(placed):
        constants = np.zeros((), DRAW)
        surface = scene.surfaces[geometry.draw.surface]
        surface_constants(constants, surface, maps[geometry.draw.surface])
        stages.extend(running.draw(number, geometry, constants, view))
    return Picture(running.framebuffer, stages, running.thread_instructions)


class _Running:
    """A picture that is being drawn."""

    def __init__(
        self, scene: TexturedScene, shaders: Shaders, rules: Rules, memory: DeviceMemory, sink: AnySink, backend: str,
        progress: bool, size: tuple[int, int],
    ) -> None:  # fmt: skip
        self.scene, self.shaders, self.rules, self.memory = scene, shaders, rules, memory
        self.sink, self.backend, self.progress = sink, backend, progress
        self.framebuffer = Framebuffer.cleared(*size)
        self.framebuffer.colour[:] = BACKGROUND
        self.target = Target(memory, *size)
        self.numbering = Numbering()
        self.thread_instructions = 0

    def draw(self, number: int, geometry: Geometry, constants: NDArray[np.void], view: bytes) -> Iterator[Stage]:
        """Run a draw; a stage for each kernel it launched. A draw without live fragments has no fragment kernel."""
        for name, address in geometry.addresses.items():
            constants[name] = address
        constants["length"], constants["invocations"] = len(geometry.batches.vertices), geometry.invocations
        outputs = lend_outputs(geometry, self.memory)
        for name, address in outputs.items():
            constants[name] = address
        triangles = geometry.batches.triangles(len(geometry.draw.places))
        if not geometry.invocations:
            return
        kernel = self.numbering.kernels
        read = [(address, geometry.bytes[name]) for name, address in geometry.addresses.items()]
        written = [(outputs[name], 4 * width * geometry.invocations) for name, width in OUTPUTS.items()]
        self._find_in_l2([*read, *written])
        self._launch(self.shaders.vertex, number, geometry.invocations, constants, view)
        vertices = shaded(outputs, geometry.invocations, self.memory)
        for address in outputs.values():
            self.memory.give_back(address)
        yield Stage(kernel, "vertex", number, geometry.draw.name, len(triangles), geometry.invocations,
                    geometry.invocations, 0)  # fmt: skip
        state = self._state(geometry)
        fragments = rasterise(vertices.clip, triangles, self.framebuffer, state)
        if len(fragments):
            kernel = self.numbering.kernels
            varyings = fragments.interpolate(vertices.varyings, triangles)
            self._shade(number, fragments, varyings, constants, view, state)
            yield Stage(kernel, "fragment", number, geometry.draw.name, len(triangles), len(fragments),
                        int(fragments.live.sum()), fragments.counts["covered"])  # fmt: skip

    def _state(self, geometry: Geometry) -> DrawState:
        surface = self.scene.surfaces[geometry.draw.surface]
        return DrawState(
            rules=self.rules.rules,
            cull="none" if surface.is_double_sided else "back",
            depth_write=surface.alpha != "BLEND",
            discards=surface.alpha == "MASK",
            blend="alpha" if surface.alpha == "BLEND" else "opaque",
        )

    def _shade(
        self, number: int, fragments: Fragments, varyings: NDArray[np.float32], constants: NDArray[np.void],
        view: bytes, state: DrawState,
    ) -> None:  # fmt: skip
        slots, behind = self.target.slots(fragments)
        lent = lend_varyings(varyings, slots, self.memory)
        for name, address in (lent | {"target": self.target.address}).items():
            constants[name] = address
        self.target.clear(slots)
        rows = len(fragments) // CTA_THREADS * CTA_THREADS  # a last CTA that is not whole finds nothing
        self._find_in_l2([(lent[name], 4 * width * rows) for name, width in VARYINGS.items()])
        self._launch(self.shaders.fragment, number, len(fragments), constants, view)
        colours, kept = self.target.colours(slots)
        write_colours(self.framebuffer, state, fragments, colours, kept if state.discards else None)
        for address in (*lent.values(), *behind):
            self.memory.give_back(address)

    def _find_in_l2(self, stretches: list[tuple[int, int]]) -> None:
        """By CRISP's rules: what the next launch finds in the L2, (address, bytes), as host copies leave it there.

        Source: ``docs/sources/crisp.md#traffic-between-stages``.
        """
        if self.rules.rules != "crisp" or records_of(self.sink) != RECORD_ALL:
            return
        rows = np.array([(self.numbering.kernels, *stretch) for stretch in stretches if stretch[1]], np.uint64)
        names = ("kernel_id", "address", "bytes")
        self.sink.put("copies", dict(zip(names, rows.reshape(-1, 3).T, strict=True)))

    def _launch(self, entry: str, number: int, threads: int, constants: NDArray[np.void], view: bytes) -> None:
        launch = ComputeLaunch(
            module=self.shaders.module, entry=entry, grid=(-(-threads // CTA_THREADS), 1, 1),
            block=(CTA_THREADS, 1, 1), params=(), memory=self.memory, stream=number,
            constants={"draw": constants.tobytes(), "view": view},
        )  # fmt: skip
        counts = run_compute_launch(launch, self.sink, self.backend, self.progress, self.numbering)
        self.thread_instructions += counts.thread_instructions
