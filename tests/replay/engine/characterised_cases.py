"""Random small GPUs and traces for the model ``characterised``, drawn as structures that shrink.

A kernel has a few blocks of instructions, and its warps go along a few paths through them. An access has a shape in
place of addresses, so that one draw stands for the addresses of all its lanes, and so has what the lanes trace.
"""

from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from rayplay.formats.schema.trace import NODE_KINDS, UNITS
from tests.replay.engine import twin_cases

FULL = (1 << 32) - 1
MASKS = (FULL, 1, 0x55555555, 0xFFFF0000, 0x80000001)
BASE, SHARED_BASE, LOCAL_BASE, LOCAL_BYTES = 0x1000_0000, 1 << 40, 1 << 41, 64
SHARED_SPAN, NODE_BASE = 4096, BASE + 1024
# opcode, class, space as traced, space that a generic address is in
MEMORY = (
    ("ld.global.u32", "load", "global"), ("st.global.u32", "store", "global"), ("ld.shared.u32", "load", "shared"),
    ("st.shared.u32", "store", "shared"), ("ld.local.u32", "load", "local"), ("st.local.u32", "store", "local"),
    ("ld.u32", "load", "generic"), ("st.u32", "store", "generic"), ("ld.volatile.global.u32", "load", "global"),
    ("ld.relaxed.gpu.global.u32", "load", "global"), ("atom.global.add.u32", "atomic", "global"),
    ("red.global.add.u32", "atomic", "global"), ("atom.shared.add.u32", "atomic", "shared"),
    ("red.shared.add.u32", "atomic", "shared"), ("tex.2d.v4.f32.f32", "texture", "texture"),
    ("tex.level.cube.v4.f32.f32", "texture", "texture"),
)  # fmt: skip
OTHERS = (
    ("add.s32", "int"), ("bar.sync", "barrier"), ("membar.gl", "fence"), ("mul.f32", "fp32"), ("bra", "branch"),
    ("sin.approx.f32", "sfu"), ("bar.warp.sync", "barrier"), ("ld.param.u32", "load"),
)  # fmt: skip
SIZES = {0: 64, 1: 64, 2: 128, 3: 8, 4: 64, 5: 64}  # bytes of a BVH record, by kind


@dataclass(frozen=True)
class Shape:
    """Addresses of an access's lanes: ``first + lane x step + warp x of_warp + visit x of_visit``, in sizes."""

    first: int
    step: int
    of_warp: int
    of_visit: int
    span: int
    mask: int

    def place(self, warp: int, visit: int, lane: int, size: int) -> int:
        """Offset in bytes, aligned to the size."""
        place = self.first + lane * self.step + warp * self.of_warp + visit * self.of_visit
        return place * size % self.span // size * size


@dataclass(frozen=True)
class Line:
    """A static instruction; ``inside`` is the space that its generic addresses are in."""

    opcode: str
    kind: str
    space: str
    unit: str
    stall: int
    initiation: int
    slot: int
    waits: int
    size: int = 0
    shape: Shape | None = None
    inside: str = ""


@dataclass(frozen=True)
class Block:
    """Instructions; after the last one of a tracing block, lane l of a warp follows ray ``l % len(rays)``."""

    lines: tuple[Line, ...]
    rays: tuple[tuple[tuple[int, bool], ...], ...] = ()  # records of each ray: number, whether a triangle is hit


@dataclass(frozen=True)
class Kernel:
    """A launch: ``paths`` are visits (block, lanes), of which warp w of the launch has number ``w % len(paths)``."""

    blocks: tuple[Block, ...]
    paths: tuple[tuple[tuple[int, int], ...], ...]
    ctas: int
    warps: int
    stream: int
    registers: int
    shared_bytes: int


@dataclass(frozen=True)
class Program:
    """A trace: its kernels, the BVH records (address, kind) that rays meet, and a copy (address, bytes) before it all.

    The engine's L2 is ahead of its SMs: it is exact for a copy while no request is under way.
    """

    kernels: tuple[Kernel, ...]
    nodes: tuple[tuple[int, int], ...]
    copy: tuple[int, int] | None = None


@dataclass(frozen=True)
class Case:
    """A trace, the values of a GPU by the names of its description, and a quantum; 0 for the longest."""

    program: Program
    gpu: dict[str, Any]
    quantum: int


def timing(draw: st.DrawFn, unit: str, slots: tuple[int, ...]) -> dict[str, Any]:
    """A row of the characterisation."""
    return {
        "unit": unit, "stall": draw(st.sampled_from((1, 2, 3, 5, 20, 63, 64, 200))),
        "initiation": draw(st.sampled_from((1, 2, 0, 8, 30))), "slot": draw(st.sampled_from(slots)),
        "waits": draw(st.sampled_from((0, 1, 2, 3, 33, 63))),
    }  # fmt: skip


@st.composite
def lines(draw: st.DrawFn, with_memory: bool) -> Line:
    """An instruction; memory accesses are the LSU's."""
    if not with_memory or draw(st.booleans()):
        opcode, kind = draw(st.sampled_from(OTHERS))
        units = [unit for unit in UNITS if unit != "rt"]
        return Line(opcode, kind, "none", **timing(draw, draw(st.sampled_from(units)), (-1, -1, 0, 5)))
    opcode, kind, space = draw(st.sampled_from(MEMORY))
    size = draw(st.sampled_from((4, 8) if kind == "atomic" else (4, 1, 2, 8, 16)))
    shape = Shape(
        draw(st.integers(0, 40)), draw(st.sampled_from((1, 0, 8, 32, 37))), draw(st.sampled_from((0, 32, 1, 500))),
        draw(st.sampled_from((0, 32, 999))), draw(st.sampled_from((512, 4096, 1 << 16))),
        draw(st.sampled_from((*MASKS, 0))),
    )  # fmt: skip
    inside = draw(st.sampled_from(("global", "shared", "local"))) if space == "generic" else space
    slots = (0, 1, 5) if kind != "store" else (-1, 0, 5)
    return Line(opcode, kind, space, **timing(draw, "lsu", slots), size=size, shape=shape, inside=inside)


@st.composite
def blocks(draw: st.DrawFn, with_memory: bool, nodes: int) -> Block:
    """A block, which may end in the tracing of rays."""
    found = draw(st.lists(lines(with_memory), min_size=1, max_size=6))
    if not nodes or not draw(st.booleans()):
        return Block(tuple(found))
    record = st.tuples(st.integers(0, nodes - 1), st.booleans())
    rays = draw(st.lists(st.lists(record, max_size=5).map(tuple), min_size=1, max_size=4))
    trace = Line("traceRayEXT", "trace", "none", **timing(draw, "rt", (-1,)))
    return Block((*found, trace), tuple(rays))


@st.composite
def kernels(draw: st.DrawFn, with_memory: bool, nodes: int) -> Kernel:
    """A launch that an SM of 4 warps can hold."""
    code = draw(st.lists(blocks(with_memory, nodes), min_size=1, max_size=3))
    visit = st.tuples(st.integers(0, len(code) - 1), st.sampled_from(MASKS))
    paths = draw(st.lists(st.lists(visit, max_size=5).map(tuple), min_size=1, max_size=3))
    return Kernel(
        tuple(code), tuple(paths), draw(st.integers(1, 8)), draw(st.integers(1, 4)), draw(st.integers(0, 2)),
        draw(st.sampled_from((8, 32, 120))), draw(st.sampled_from((0, 256, 4096))),
    )  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A trace of one to three kernels; without memory, with it, or with rays as well."""
    content = draw(st.sampled_from(("plain", "memory", "memory", "rays", "rays")))
    nodes: tuple[tuple[int, int], ...] = ()
    if content == "rays":
        node = st.tuples(st.integers(0, 24).map(lambda place: NODE_BASE + 128 * place), st.integers(0, len(SIZES) - 1))
        nodes = tuple(draw(st.lists(node, min_size=1, max_size=8)))
    copy = None
    if content != "plain" and draw(st.booleans()):
        copy = BASE + 32 * draw(st.integers(0, 63)), 32 * draw(st.integers(1, 64))
    return Program(tuple(draw(st.lists(kernels(content != "plain", len(nodes)), min_size=1, max_size=3))), nodes, copy)


SM_VALUES = {
    "scheduler.count": (4, 1, 2), "scheduler.policy": ("lrr", "gto", "oldest", "two-level", "gtlrr", "gty"),
    "sm.warps": (4, 8, 16), "sm.registers": (65536, 16384), "sm.concurrent_kernels": (1, 1, 2, 3),
    "sm.kernel_launch_cycles": (0, 7, 100), "lsu.queue_entries": (8, 1, 2), "lsu.issue_cycles": (4, 1, 9),
    "lsu.perfect_memory": (False, False, False, True), "texture.path": ("cache", "l1", "unit"),
    "texture.latency_cycles": (150, 1, 7), "texture.quads_per_cycle": (1, 2, 8),
    "texture.quads_per_request": (2, 1, 4, 8), "texture.quads_per_wide_request": (1, 2, 4),
    "texture.queue_entries": (8, 1, 2),
}  # fmt: skip
RT_VALUES = {
    "rt.cores": (1, 2), "rt.warps": (4, 1, 9), "rt.cache": ("l1", "l1", "private", "none"),
    "rt.perfect_memory": (False, False, False, True), "rt.hit_cycles": (0, 3, 20), "rt.mshr_entries": (64, 0, 1, 4),
    "rt.coalescing": ("warp", "unit"), "rt.refused_chunk": ("vulkan-sim", "retried"),
    "rt.response": ("waiter", "vulkan-sim"), "rt.hit_stores": ("vulkan-sim", "every-hit", "none"),
    "rt.intersection_table": ("baseline", "none"), "rt.private.sets": (16, 32), "rt.private.ways": (1, 4),
    "rt.private.mshr_entries": (256, 2), "rt.private.mshr_merges": (256, 2), "rt.private.miss_queue": (32, 3),
}  # fmt: skip
# of the model pipeline: what fits any number of schedulers
FIXED = {"pipeline.collector_owner": "scheduler", "pipeline.collectors": 8, "pipeline.register_banks": 8}
RT_KINDS = (*NODE_KINDS, "triangle_hit", "table")


@st.composite
def gpus(draw: st.DrawFn) -> dict[str, Any]:
    """Values of a GPU."""
    values = twin_cases.random_values(draw(st.randoms(use_true_random=False)))
    for name, choices in {**SM_VALUES, **RT_VALUES}.items():
        values[name] = draw(st.sampled_from(choices))
    values |= {f"rt.{kind}_cycles": draw(st.integers(1, 9)) for kind in RT_KINDS}
    write_allocate = draw(st.sampled_from(("lazy_fetch_on_read", "lazy_whole_sectors")))
    return values | FIXED | {"l2.write_allocate": write_allocate}


def first_values(**changed: Any) -> dict[str, Any]:
    """A GPU of the first choices and, for the rest, of a fixed seed. changed: as ``sm_warps`` for ``sm.warps``."""
    values = twin_cases.random_values(Random(1)) | FIXED
    values |= {name: choices[0] for name, choices in {**SM_VALUES, **RT_VALUES}.items()}
    values |= {f"rt.{kind}_cycles": 4 for kind in RT_KINDS} | {"l2.write_allocate": "lazy_fetch_on_read"}
    return values | {name.replace("_", ".", 1): value for name, value in changed.items()}


def cases() -> st.SearchStrategy[Case]:
    """Traces on GPUs."""
    return st.builds(Case, programs(), gpus(), st.sampled_from((0, 0, 1)))
