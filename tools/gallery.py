"""The gallery of ray-tracing programs: its pictures, and the page ``docs/programs/gallery.md``.

    python -m tools.gallery            # run all ten; write the pictures and the page (a minute of processor time)

Slang's program needs its compilers (``docs/programs/shaders.md``). Pictures and figures are the same on every machine.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.tracer.render import Request, render

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "programs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
KINDS = ("raygen", "closesthit", "anyhit", "intersection", "miss", "callable")
"""Kinds of program by the word in their names."""


@dataclass(frozen=True)
class Piece:
    """One program of the gallery: source below ``examples/``, scene and sampling of its picture, subject."""

    name: str
    source: str
    scene: str
    width: int
    height: int
    samples: int
    subject: str

    @property
    def program(self) -> Path:
        """Value of ``--program``: PTX with its TOML, a file of Slang or a folder."""
        path = ROOT / "examples" / self.source
        return path.with_suffix(".ptx") if path.suffix == ".cu" else path

    @property
    def command(self) -> str:
        """The command that traces the picture."""
        program = self.program.relative_to(ROOT)
        size = f"--size {self.width}x{self.height} --samples {self.samples}"
        return f"rayplay trace {self.scene} --program {program} {size}"


GALLERY = (
    Piece("normals", "gallery/normals.cu", "rabbit", 96, 96, 1,
          "The first hit's normal. Vertices and matrices come from calls of the interface; three payload registers."),
    Piece("whitted", "gallery/whitted.cu", "wknd", 128, 96, 1,
          "Whitted's ray tracing: closest-hit programs trace on, for reflection, refraction and the sun's shadow."),
    Piece("ambient occlusion", "gallery/ambient_occlusion.cu", "cornell", 96, 96, 4,
          "The open share of a hemisphere, by one short ray in each of eight strata."),
    Piece("next-event estimation", "gallery/next_event.cu", "cornell", 96, 96, 16,
          "Path tracing in which each diffuse hit asks for a point of the lamp."),
    Piece("foliage", "gallery/foliage.cu", "forest", 128, 96, 2,
          "An any-hit program cuts leaves out of rectangles, and dims the sun leaf by leaf."),
    Piece("procedural primitives", "gallery/procedural.cu", "wknd", 128, 96, 1,
          "An intersection program that steps along the ray to a ring in each sphere's box."),
    Piece("callables", "gallery/callables.cu", "wknd", 128, 96, 4,
          "Path tracing whose materials are direct callables; a continuation callable is the sky."),
    Piece("hit objects", "gallery/hit_objects.cu", "wknd", 128, 96, 4,
          "Path tracing by traverse, reorder and invoke; threads are reordered by the material that they met."),
    Piece("Slang", "shaders/lit.slang", "cornell", 96, 96, 1,
          "Materials under one sun, in Slang."),
    Piece("Vulkan-Sim", "shaders/vulkan-sim", "cornell", 96, 96, 1,
          "Shaders of Vulkan-Sim's dialect; an any-hit shader cuts corners off triangles."),
)  # fmt: skip
REORDERED = "hit objects"
REORDERS = (
    ("off", ()),
    ("1 warp, free", ("window_warps=1",)),
    ("8 warps, free", ("window_warps=8",)),
    ("8 warps by program, free", ("window_warps=8", "key=program")),
    ("8 warps by hint, free", ("window_warps=8", "key=hint")),
    ("8 warps, 64 B a thread, sort of 100 cycles", ("window_warps=8", "state_bytes=64", "sort_cycles=100")),
    ("32 warps, free", ("window_warps=32",)),
)
"""Rows of the table of reorders: name, and values of the section ``reorder`` of the GPU."""
REORDER_GPU = "rtx2060"
REORDER_TEXT = f"""
With and without reorders on `{REORDER_GPU}` (`rayplay replay TRACE --set reorder.window_warps=8`; the keys stand in
[replay](../replay.md#reordered-threads)). Warps get fuller and there are fewer instructions, but the launch takes
longer: the shaders are short, a window waits for its longest ray at every bounce, and 384 warps leave SMs idle
while windows end one after the other. One warp alone loses too: a thread whose path has ended begins its next sample
while the others wait at the call, where without a reorder all begin it together.

| reorder | cycles | to off | SIMT efficiency | warp instructions | RT efficiency |
|---|---|---|---|---|---|
"""
HEAD = """# Gallery of ray-tracing programs

Ten programs in ten styles, each a file to copy. They are CUDA C++ with the PTX that `nvcc` makes of it and the TOML
that binds it to a scene, except the last two ([shaders](shaders.md)). `python -m tools.gallery` makes this page and
its pictures; `tests/tracer/shading/test_gallery.py` holds each program to a law of its own, and pictures of equal
estimators to each other.

`nvcc -ptx -arch=compute_75 -O3 -std=c++17 -I tracer/programs examples/gallery/NAME.cu` compiles one; `callables.cu`
also needs `-rdc=true`, which keeps functions that nothing calls by name.

- **rays**: trace calls and their continuations after any-hit and intersection programs, by pixel.
- **records**: BVH records fetched by ray.
- **instructions**: thread instructions by pixel; **lanes**: active ones of 32 by warp instruction.
- **shares**: of thread instructions by kind of program.

| program | rays | records | instructions | lanes | shares |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Figures:
    """Statistics of a trace: per pixel rays and thread instructions, records per ray, active lanes, shares by kind."""

    rays: float
    records: float
    instructions: float
    lanes: float
    shares: dict[str, float]

    def cells(self) -> str:
        """The cells of its row."""
        shares = ", ".join(f"{kind} {share:.0%}" for kind, share in self.shares.items() if share >= 0.005)
        return f"{self.rays:.2f} | {self.records:.1f} | {self.instructions:,.0f} | {self.lanes:.1f} | {shares}"


def figures_of(trace: Trace, pixels: int) -> Figures:
    """Statistics of the trace of a picture."""
    blocks, visits = trace.read("blocks", ["program", "instruction_count"]), trace.read("visits")
    rays = trace.read("rays", ["node"])
    block, lanes = visits["block_id"], np.bitwise_count(visits["active_mask"])
    warp = blocks["instruction_count"][block].astype(np.int64)
    thread = warp * lanes
    by_program = dict.fromkeys(KINDS, 0.0)
    names = np.array(blocks["program"])
    for name in np.unique(names):
        kind = next((kind for kind in KINDS if f"{kind}__" in name), "raygen")
        by_program[kind] += float(thread[(names == name)[block]].sum() / thread.sum())
    count = trace.rows("rays")
    return Figures(
        count / pixels, len(rays["node"]) / count, float(thread.sum() / pixels), float(thread.sum() / warp.sum()),
        by_program,
    )  # fmt: skip


def run_piece(piece: Piece, out: Path) -> Figures:
    """Trace a program's picture to ``out``, with the picture beside it; the statistics of the trace."""
    render(Request(piece.scene, piece.program, None, out, piece.width, piece.height, piece.samples))
    return figures_of(open_trace(out), piece.width * piece.height)


def reorder_row(trace: Trace, row: int, cycles_off: float) -> tuple[str, float]:
    """A row of the table of reorders, and its cycles; ``cycles_off`` of the first row, 0 for that row itself."""
    name, values = REORDERS[row]
    found = simulate(trace, load(REORDER_GPU, [f"reorder.{value}" for value in values]))
    cycles = found.value("gpu_cycles")
    simt, rays = found.value("simt_efficiency"), found.value("rt_efficiency")
    cells = (
        f"{cycles:,.0f} | {cycles / (cycles_off or cycles):.2f} | {simt:.1%} | {found.value('warp_instructions'):,.0f}"
    )
    return f"| {name} | {cells} | {rays:.1%} |\n", cycles


def reorder_table(trace: Trace) -> str:
    """Text and table of the reorders of a trace."""
    first, off = reorder_row(trace, 0, 0)
    return REORDER_TEXT + first + "".join(reorder_row(trace, row, off)[0] for row in range(1, len(REORDERS)))


def row_of(piece: Piece, figures: Figures) -> str:
    """A program's row of the table."""
    return f"| [{piece.name}](#{piece.name.replace(' ', '-').lower()}) | {figures.cells()} |\n"


def page_of(found: Iterable[tuple[Piece, Figures]], reorders: str) -> str:
    """The text of the page; ``reorders`` of its table of reorders."""
    rows, parts = [], []
    for piece, figures in found:
        rows.append(row_of(piece, figures))
        place = f"../../examples/{piece.source}"
        picture = f"![{piece.name}](../images/gallery/{picture_of(piece).name})"
        parts.append(
            f"\n## {piece.name[0].upper()}{piece.name[1:]}\n\n{piece.subject} Source: [`{piece.source}`]({place}).\n\n"
            f"    {piece.command}\n\n{picture}\n" + (reorders if piece.name == REORDERED else "")
        )
    return HEAD + "".join(rows + parts)


def picture_of(piece: Piece) -> Path:
    """The committed picture of a program."""
    return PICTURES / f"{piece.name.replace(' ', '-').lower()}.png"


def main() -> None:
    """Write pictures and page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    found, reorders = [], ""
    with tempfile.TemporaryDirectory() as scratch:
        for piece in GALLERY:
            out = Path(scratch) / f"{picture_of(piece).stem}.trace"
            found.append((piece, run_piece(piece, out)))
            if piece.name == REORDERED:
                reorders = reorder_table(open_trace(out))
            picture_of(piece).write_bytes(out.with_suffix(".png").read_bytes())
    PAGE.write_text(page_of(found, reorders))


if __name__ == "__main__":
    main()
