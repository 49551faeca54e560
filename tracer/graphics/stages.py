"""All draws of a scene, one after another: shade vertices, rasterise, shade fragments, merge into the picture.

Each stage is a launch of the trace; both of a draw are on the stream of its number (``docs/sources/crisp.md#streams``).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.tracer.graphics.choices import TARGETS, VARYINGS
from rayplay.tracer.graphics.environment import place_environment
from rayplay.tracer.graphics.fragments import BESIDE, COLOUR_BYTES, Target, lend_varyings, lend_window
from rayplay.tracer.graphics.frame import surface_values, view_values
from rayplay.tracer.graphics.geometry import (
    CTA_THREADS,
    Geometry,
    fronts_first,
    lend_outputs,
    output_bytes,
    place_geometry,
    shaded,
)
from rayplay.tracer.graphics.maps import Filtering, PlacedMaps
from rayplay.tracer.graphics.shaders import AROUND, Entries, Shaders
from rayplay.tracer.graphics.stored import Storage
from rayplay.tracer.graphics.traffic import OnChip, Packed, StageSink
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.raster.crisp import partner_steps
from rayplay.tracer.raster.fragments import Fragments
from rayplay.tracer.raster.output import write_colours
from rayplay.tracer.raster.pipeline import rasterise
from rayplay.tracer.raster.state import DrawState, Framebuffer
from rayplay.tracer.record.recorder import Sink
from rayplay.tracer.record.visits import AnySink, VisitSink
from rayplay.tracer.run import Numbering, run_compute_launch
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.textured import Draw, TexturedScene

BACKGROUND = (0.45, 0.55, 0.7, 1.0)
COORDINATES = "coordinates"
"""The varying that decides levels of detail by CRISP's rules."""


@dataclass(frozen=True)
class Rules:
    """How draws are cut, rasterised and textured."""

    rules: str = "hardware"
    batch_indices: int | None = 96
    max_vertices: int | None = None
    max_triangles: int | None = None
    textures: Filtering = field(default_factory=Filtering)
    storage: Storage = field(default_factory=Storage)
    merges: bool = False
    """Whether fragment shaders also make the traffic of depth tests and blending."""
    varyings: str = "l2"
    """One of ``VARYINGS``: where outputs of vertices and inputs of fragments lie, in the L2 or in shared memory."""
    target: str = "rgba32f"
    """One of ``TARGETS``: what a pixel of the target takes in the trace."""

    def __post_init__(self) -> None:
        for name, known in (("varyings", VARYINGS), ("target", TARGETS)):
            check_choice(getattr(self, name), known, name)


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
    view = view_values(scene, camera, *size)
    limits = {"batch_indices": rules.batch_indices, "max_vertices": rules.max_vertices,
              "max_triangles": rules.max_triangles}  # fmt: skip
    placed = [place_geometry(draw, memory, limits) for draw in scene.draws]
    maps = PlacedMaps(scene, memory, rules.textures, rules.storage, rules.rules)
    chosen = [_entries(draw, shaders) for draw in scene.draws]
    handles = [maps.of_draw(draw, entries.maps) for draw, entries in zip(scene.draws, chosen, strict=True)]
    if any(name in entries.maps for entries in chosen for name in AROUND):
        view |= place_environment(memory)
    for number, (geometry, entries) in enumerate(zip(placed, chosen, strict=True)):
        surface = surface_values(scene.surfaces[geometry.draw.surface])
        stages.extend(running.draw(number, geometry, entries, view | surface | handles[number]))
    return Picture(running.framebuffer, stages, running.thread_instructions)


def _entries(draw: Draw, shaders: Shaders) -> Entries:
    """The pair that shades a draw."""
    entries = shaders.entries if draw.instances is None else shaders.instanced
    if entries is None:
        raise UserError(
            f"{shaders.place}: instanced: must name the entries of draws whose instances have records, as {draw.name}"
        )
    return entries if draw.colors is None else entries.colored or entries


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
        self.depth = memory.allocate(4 * size[0] * size[1], name="depth") if rules.merges else 0
        self.numbering = Numbering()
        self.thread_instructions = 0

    def draw(self, number: int, geometry: Geometry, entries: Entries, values: dict[str, Any]) -> Iterator[Stage]:
        """Run a draw; a stage for each kernel it launched. A draw without live fragments has no fragment kernel.

        values   sources of the constants other than addresses.
        """
        if not geometry.invocations:
            return
        counts = {"length": len(geometry.batches.vertices), "invocations": geometry.invocations}
        values, widths = values | geometry.addresses | counts, self.shaders.columns(entries)
        outputs, sizes = lend_outputs(geometry, widths, self.memory), output_bytes(geometry, widths)
        triangles = geometry.batches.triangles(geometry.draw.instance_count)
        if self.rules.rules != "crisp":  # which draws both sides
            triangles = fronts_first(triangles, geometry.draw)
        kernel = self.numbering.kernels
        if self.rules.rules == "crisp":
            self._find_in_l2(
                geometry.addresses | outputs, geometry.bytes | (sizes if self.rules.varyings == "l2" else {})
            )
        rows = {name: size // geometry.invocations for name, size in sizes.items()}
        self._launch(entries.vertex, number, geometry.invocations, values | outputs, rows)
        vertices = shaded(outputs, widths, geometry.invocations, self.memory)
        for address in outputs.values():
            self.memory.give_back(address)
        yield Stage(kernel, "vertex", number, geometry.draw.name, len(triangles), geometry.invocations,
                    geometry.invocations, 0)  # fmt: skip
        state = self._state(geometry)
        fragments = rasterise(vertices.clip, triangles, self.framebuffer, state)
        if len(fragments):
            kernel = self.numbering.kernels
            varyings = fragments.interpolate(vertices.varyings, triangles)
            slots, behind = self.target.slots(fragments)
            lent = lend_varyings(varyings, widths, slots, self.memory)
            if self.rules.rules == "crisp" and COORDINATES in widths:
                lent["steps"] = self._lend_steps(fragments, varyings, widths)
            if self.rules.merges:
                lent["window"] = lend_window(fragments, self.framebuffer.width, self.memory)
                values |= {"depth": self.depth, "depth_write": state.depth_write, "blends": state.blend != "opaque"}
            rows = self._find_rasterised(lent, widths, len(fragments))
            self._shade(self._entry(entries), number, fragments, slots, values | lent, state, rows)
            for address in (*lent.values(), *behind):
                self.memory.give_back(address)
            yield Stage(kernel, "fragment", number, geometry.draw.name, len(triangles), len(fragments),
                        int(fragments.live.sum()), fragments.counts["covered"])  # fmt: skip

    def _entry(self, entries: Entries) -> str:
        """The fragment shader that a draw runs."""
        if not self.rules.merges:
            return entries.fragment
        if entries.merged is None:
            raise UserError(
                f"{self.shaders.place}: --output-traffic on needs the key merged beside fragment {entries.fragment}"
            )
        return entries.merged

    def _lend_steps(self, fragments: Fragments, varyings: NDArray[np.float32], widths: dict[str, int]) -> int:
        """Address of the steps of texture coordinates by CRISP's rules, until they are given back."""
        first = sum(widths[name] for name in list(widths)[: list(widths).index(COORDINATES)])
        size = self.framebuffer.width, self.framebuffer.height
        steps = partner_steps(fragments, varyings[:, first : first + 2], size)
        address = self.memory.lend(8 * -(-len(steps) // CTA_THREADS) * CTA_THREADS, "steps of fragments")
        self.memory.view(address, np.float32, steps.shape)[:] = steps
        return address

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
        self, entry: str, number: int, fragments: Fragments, slots: NDArray[np.uint32], values: dict[str, Any],
        state: DrawState, rows: dict[str, int],
    ) -> None:  # fmt: skip
        self.target.clear(slots)
        values = values | {"target": self.target.address}
        self._launch(entry, number, len(fragments), values, rows, self._packed(fragments, slots))
        colours, kept = self.target.colours(slots)
        write_colours(self.framebuffer, state, fragments, colours, kept if state.discards else None)

    def _find_rasterised(self, lent: dict[str, int], widths: dict[str, int], fragments: int) -> dict[str, int]:
        """Bytes of a fragment in each buffer that the rasteriser lends.

        It writes them into the L2, where varyings are not on chip; by CRISP's rules varyings of whole CTAs alone.
        """
        varyings = {name: 4 * width for name, width in widths.items()}
        sizes = varyings | {name: size for name, size in BESIDE.items() if name in lent}
        if self.rules.varyings == "l2":
            by_crisp = self.rules.rules == "crisp"
            rows = fragments if by_crisp else -(-fragments // CTA_THREADS) * CTA_THREADS
            found = varyings if by_crisp else {name: size for name, size in sizes.items() if name != "steps"}
            self._find_in_l2(lent, {name: rows * size for name, size in found.items()}, rows)
        return sizes

    def _packed(self, fragments: Fragments, slots: NDArray[np.uint32]) -> Packed | None:
        """The target as the trace is to have it, where that is not as shaders write it."""
        pixel_bytes = TARGETS[self.rules.target]
        if pixel_bytes == COLOUR_BYTES:
            return None
        first, behind = self.target.behind(fragments, slots)
        return Packed(self.target.address, self.target.pixels, pixel_bytes, behind, first)

    def _find_in_l2(self, addresses: dict[str, int], sizes: dict[str, int], fragments: int = 0) -> None:
        """Buffers, with their bytes, that the next launch finds in the L2.

        fragments  of the launch; their CTAs have slices of the buffers; a vertex shader reads whole ones.
        Source: ``docs/sources/crisp.md#traffic-between-stages``.
        """
        if self.sink is None or isinstance(self.sink, VisitSink):
            return
        found = [
            (self.numbering.kernels, addresses[name], size, size // fragments * CTA_THREADS if fragments else 0)
            for name, size in sizes.items()
            if size
        ]
        rows = np.array(found, np.uint64).reshape(-1, 4)
        columns = dict(zip(("kernel_id", "address", "bytes", "cta_bytes"), rows.T, strict=True))
        self.sink.put("fills", columns | {"kind": ["buffer"] * len(found)})

    def _launch(
        self, entry: str, number: int, threads: int, values: dict[str, Any], rows: dict[str, int],
        target: Packed | None = None,
    ) -> None:  # fmt: skip
        """Run a stage. rows: bytes that a thread has in each buffer with a row for each."""
        launch = ComputeLaunch(
            module=self.shaders.module, entry=entry, grid=(-(-threads // CTA_THREADS), 1, 1),
            block=(CTA_THREADS, 1, 1), params=(), memory=self.memory, stream=number,
            constants=self.shaders.constants(values),
        )  # fmt: skip
        is_on_chip, sink = self.rules.varyings == "chip", self.sink
        if isinstance(sink, Sink) and (is_on_chip or target):
            on_chip = OnChip.of({name: values[name] for name in rows}, rows, threads) if is_on_chip else None
            sink = StageSink(sink, self.shaders.place, self.numbering.warps, on_chip, target)
        counts = run_compute_launch(launch, sink, self.backend, self.progress, self.numbering)
        self.thread_instructions += counts.thread_instructions
        if isinstance(sink, StageSink):
            sink.finish()
