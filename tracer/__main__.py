"""``python -m tracer``: a scene and a program, or a compute kernel, become a trace."""

import argparse
import sys
from pathlib import Path

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_instructions, add_limits, run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.hypa.verbs import add_network, network
from rayplay.tracer.graphics.choices import TARGETS, VARYINGS

DESCRIPTION = """Run ray-tracing programs on a scene, or compute kernels on buffers, and write what every warp did
as a trace: blocks visited, addresses accessed, rays traced and the BVH records they fetched."""

EXAMPLES = """examples:
  python -m tracer render cornell --workload path-tracing --size 256x256 --out traces/cornell.trace
  python -m tracer render ../shared/scenes/bunny.json --workload shadows --out traces/bunny.trace
  python -m tracer draw ../shared/scenes/textured/sponza_tex.glb --size 640x480 --out traces/sponza.trace
  python -m tracer launch tracer/kernels/reduction.toml --out traces/reduction.trace
  python -m tracer network examples/cnn/resnet50.toml
  python -m tracer scenes
  python -m tracer opcodes > docs/opcodes.md"""

LAUNCH = """Run the kernels of a launch file (docs/kernels.md) on its buffers, check what they made where the file says
what to expect, and write one trace of all launches."""
LAUNCH_EXAMPLE = "example: python -m tracer launch tracer/kernels/breadth_first_search.toml --out traces/search.trace"

SHADER = """Compile shaders in Slang or HLSL, or lower Vulkan-Sim's, and list their programs and parameters
(docs/programs/shaders.md); render --program runs them."""
SHADER_EXAMPLE = "example: python -m tracer shader examples/shaders/vulkan-sim --out build/shaders.ptx"

OPCODES = """Print the page docs/opcodes.md: the forms of every PTX opcode, whether they are executed (each is lowered
to find out, which takes seconds), class, unit and latency."""

WORKLOADS = ("path-tracing", "shadows", "ambient-occlusion")
BACKENDS = ("machine", "interpreter")
TRAVERSALS = ("nearest", "vulkan-sim")
HIT_PROGRAMS = ("during", "after")
RECORDS = ("visits", "distances", "culled")
SPHERES = ("together", "apart")
BVHS = ("bvh6", "bvh8", "cwbvh8")  # tracer.bvh.layouts.LAYOUTS
BVH_HELP = (
    "layout of the acceleration structure: Vulkan-Sim's, 6 children in 64 B; 8 in 128 B; 8 in 80 B, packed, leaves "
    "in 48 B (Ylitie and others 2017)"
)
RULES = ("hardware", "crisp")
TEXTURE_FORMATS = ("rgba8", "bc1", "bc3", "astc")
TILINGS = ("linear", "block", "crisp")
FILTERS = ("file", "nearest", "bilinear", "trilinear")
PROGRAM_VARIANTS = ("optimised", "vulkan-sim")
PREVIEW_SAMPLES = 64
TRACER_SECONDS = 20  # to compile it


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the verb it names."""
    return perform(parser().parse_args(arguments))


def perform(options: argparse.Namespace) -> int:
    """Run the verb that ``options`` name."""
    if options.verb == "scenes":
        return _scenes(options)
    if options.verb == "opcodes":
        return _opcodes()
    verb = {"launch": _launch, "draw": _draw, "network": network, "shader": _shader}.get(options.verb, _render)
    from rayplay.formats.guard.first_use import first_use

    with first_use("the tracer", TRACER_SECONDS):
        return verb(options)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    style = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser("python -m tracer", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=style)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_render(verbs)
    _add_draw(verbs)
    launch = verbs.add_parser("launch", help="a compute kernel to a trace", description=LAUNCH, epilog=LAUNCH_EXAMPLE)
    launch.add_argument(
        "launch", type=Path, metavar="LAUNCH.toml", help="kernel, grid, block, buffers, expected outputs"
    )
    launch.add_argument("--out", type=location, metavar="NAME.trace", help="default: traces/LAUNCH.trace")
    launch.add_argument("--backend", choices=BACKENDS, default="machine", help="as for render (default: %(default)s)")
    launch.add_argument("--resume", action="store_true", help="go on where a run of the same files was interrupted")
    launch.add_argument("--memcheck", nargs="?", choices=("on", "off"), const="on", default="on",
        help="off: an access outside buffers, up to 1 MiB from one, is counted and no error; memory there "
        "is zero until it is written (default: %(default)s)")  # fmt: skip
    launch.add_argument("--schedule", action="store_true", help="instructions of a basic block in the order in which "
        "an assembler issues them, loads early: for comparisons with hardware")  # fmt: skip
    add_network(verbs)
    shader = verbs.add_parser("shader", help="shaders to PTX", description=SHADER, epilog=SHADER_EXAMPLE)
    shader.add_argument("shader", type=Path, metavar="FILE", help="FILE.slang, FILE.hlsl, a shader of Vulkan-Sim, or a "
        "folder of them")  # fmt: skip
    shader.add_argument("--out", type=Path, metavar="FILE.ptx", help="write the programs as PTX")
    verbs.add_parser("scenes", help="list the scenes and their triangle counts")
    verbs.add_parser("opcodes", help="print the page docs/opcodes.md", description=OPCODES)
    add_limits(*verbs.choices.values())
    add_instructions(*(verbs.choices[name] for name in ("render", "draw", "launch", "network")))
    return made


def _add_render(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    render = verbs.add_parser(
        "render",
        help="a scene to a trace and a picture",
        description="Trace SCENE with a ray-tracing program; writes NAME.trace and NAME.png.",
    )
    add = render.add_argument
    default = " (default: %(default)s)"
    add("scene", metavar="SCENE", help="a name from `python -m tracer scenes`, terrain:TRIANGLES, "
        "rabbit:TRIANGLES, or a file: pack (.json), .glb, .gltf, .obj, .ply, .stl")  # fmt: skip
    add("--workload", choices=WORKLOADS, default="path-tracing", help="built-in program to run" + default)
    add("--program-variant", choices=PROGRAM_VARIANTS, default="optimised", help="built-in programs as nvcc optimises "
        "them, or with the instructions, accesses and secondary rays of Vulkan-Sim's LumiBench" + default)  # fmt: skip
    add("--size", type=_size, metavar="WxH", help="pixels (default: 512x512, or what Vulkan-Sim's folder says)")
    add("--samples", type=_positive, default=2, metavar="N", help="primary rays per pixel" + default)
    add("--bounces", type=_positive, metavar="N", help="longest path of path tracing (default: 16)")
    add("--seed", type=_natural, default=1, metavar="N", help="seed of the random numbers" + default)
    add("--camera", metavar="KEY=VALUE,...", help="change the scene's camera: eye=X,Y,Z at=X,Y,Z up=X,Y,Z vfov=DEGREES "
        "aperture=DIAMETER focus=DISTANCE, joined by commas")  # fmt: skip
    add("--traversal", choices=TRAVERSALS, default="nearest", help="which of a node's children a ray visits first: the "
        "nearest, or Vulkan-Sim's order of slots, with its tree and hit records" + default)  # fmt: skip
    add("--hit-programs", choices=HIT_PROGRAMS, default="during", help="when any-hit and intersection programs run: "
        "during the traversal, which waits for each of them, or after it as in Vulkan-Sim" + default)  # fmt: skip
    add("--spheres", choices=SPHERES, default="together", help="spheres in one bottom level of the acceleration "
        "structure, or each in its own with an instance, as in Vulkan-Sim's workloads" + default)  # fmt: skip
    add("--bvh", choices=BVHS, default="bvh6", help=BVH_HELP + default)
    add("--record", choices=RECORDS, default="visits", help="what a trace tells of traversals: the records visited; "
        "distances: also each record's parent and entry distance; culled: also the visits that culling removed, for "
        "policies of the RT unit" + default)  # fmt: skip
    add("--preview", type=_positive, metavar="N", nargs="?", const=PREVIEW_SAMPLES, default=0, help="also write "
        "NAME-preview.png, the picture with N samples per pixel (%(const)s), which is in no trace")  # fmt: skip
    add("--pixels", type=Path, metavar="FILE", help="trace only these pixels, one 'x y' per line (default: all)")
    add("--program", type=Path, metavar="FILE", help="run this program instead of a built-in one: FILE.ptx "
        "(docs/programs.md), FILE.slang, FILE.hlsl, or a folder of Vulkan-Sim's shaders")  # fmt: skip
    add("--program-config", type=Path, metavar="FILE.toml", help="how that program is bound to the scene (default: the "
        ".toml beside FILE.ptx); of Slang and HLSL the values of parameters that no scene fills")  # fmt: skip
    add("--backend", choices=BACKENDS, default="machine", help="compiled code, or the slow definition of it" + default)
    add("--out", type=location, metavar="NAME.trace", help="trace to write (default: traces/SCENE-WORKLOAD.trace)")
    add("--resume", action="store_true", help="go on where a run with the same arguments was interrupted; the trace is "
        "the same, byte for byte")  # fmt: skip


def _add_draw(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    draw = verbs.add_parser(
        "draw",
        help="a textured scene, rasterised, to a trace and a picture",
        description="Rasterise SCENE: vertex shader, triangles, early depth test and fragment shader of each draw; "
        "writes NAME.trace, a vertex and a fragment launch for each draw, and NAME.png.",
    )
    add = draw.add_argument
    default = " (default: %(default)s)"
    add("scene", metavar="SCENE", help="a glTF file (.glb, .gltf) with its textures, a folder of maps (a material "
        "ball), the name of one in the data folder's scenes/textured, or a scene as for render")  # fmt: skip
    add("--size", type=_size, default="640x480", metavar="WxH", help="pixels" + default)
    add("--shader", metavar="NAME", help="a pair of shaders: lit (base colour in the light), pbr (physically based, "
        "eight maps), ball (pbr with depth), or one of FILE.toml (default: lit, or the only one)")  # fmt: skip
    add("--shaders", type=Path, metavar="FILE.toml", help="shaders of your own, bound to draws (docs/raster.md)")
    add("--camera", metavar="KEY=VALUE,...", help="change the camera, which sees the whole scene: eye=X,Y,Z at=X,Y,Z "
        "up=X,Y,Z vfov=DEGREES, joined by commas")  # fmt: skip
    add("--rules", choices=RULES, default="hardware", help="how triangles are rasterised: as GPUs do, or as "
        "CRISP's released code" + default)  # fmt: skip
    add("--batch-indices", type=_positive, default=96, metavar="N", help="indices of a vertex batch, in which each "
        "vertex is shaded once" + default)  # fmt: skip
    add("--max-vertices", type=_positive, metavar="N", help="most different vertices of a batch (default: no limit)")
    add("--max-triangles", type=_positive, metavar="N", help="most triangles of a batch (default: no limit)")
    add("--output-traffic", choices=("on", "off"), default="off", help="whether fragment shaders also read and write "
        "depth, and read the colours that they blend with, as the output merger of a GPU does" + default)  # fmt: skip
    add("--varyings", choices=VARYINGS, default="l2", help="where outputs of vertices and inputs of fragments lie: in "
        "the L2, as CRISP has them, or on chip, in the shared memory of a CTA, as on GPUs" + default)  # fmt: skip
    add("--target", choices=TARGETS, default="rgba32f", help="what a pixel's colour takes in memory: 16 bytes, or 4 as "
        "most pictures" + default)  # fmt: skip
    add("--texture-format", choices=TEXTURE_FORMATS, default="rgba8", help="pictures in memory: texels, blocks of 4x4, "
        "or the addresses of ASTC's blocks of 8x8" + default)  # fmt: skip
    add("--texture-tiling", choices=TILINGS, help="order of texels or blocks: rows, NVIDIA's block-linear, or CRISP's "
        "tiles (default: linear; crisp with --rules crisp)")  # fmt: skip
    add("--lod", choices=("on", "off"), default="on", help="whether textures have mip chains, of which a look-up "
        "chooses the level of detail" + default)  # fmt: skip
    add("--filter", choices=FILTERS, default="file", help="how texels and levels are blended" + default)
    add("--anisotropy", type=_positive, default=1, metavar="N", help="most samples along the longer side of a pixel's "
        "footprint, up to 16" + default)  # fmt: skip
    add("--backend", choices=BACKENDS, default="machine", help="as for render" + default)
    add("--out", type=location, metavar="NAME.trace", help="trace to write (default: traces/SCENE-SHADER.trace)")


def _render(options: argparse.Namespace) -> int:
    if options.program_config and not options.program:
        raise UserError("--program-config needs --program")
    if options.program and options.program_variant != "optimised":
        raise UserError("--program-variant chooses among the built-in programs and must not be given with --program")
    if options.traversal == "vulkan-sim" and options.bvh != "bvh6":
        raise UserError(f"--bvh {options.bvh} must not be given with --traversal vulkan-sim, whose tree is bvh6")
    if options.bounces and not options.program and options.workload != "path-tracing":
        raise UserError(f"--bounces must not be given with --workload {options.workload}, whose paths have one length")
    from rayplay.tracer.render import Request, preview_of, render
    from rayplay.tracer.shading.config import PROGRAM_FOLDER, VARIANTS
    from rayplay.tracer.vulkansim.folder import launch_size

    size = options.size or (launch_size(options.program) if options.program else None) or (512, 512)
    built_in = PROGRAM_FOLDER / f"{options.workload}.toml"
    program = options.program or PROGRAM_FOLDER / VARIANTS[options.program_variant] / f"{options.workload}.ptx"
    same = (
        "scene", "record", "samples", "seed", "camera", "traversal", "hit_programs", "spheres", "program_variant",
        "bvh", "pixels", "backend", "resume", "preview",
    )  # fmt: skip
    request = Request(
        program=program,
        config=options.program_config or (None if options.program else built_in),
        width=size[0],
        height=size[1],
        bounces=options.bounces or Request.bounces,
        out=options.out or Path("traces") / f"{Path(options.scene).stem.replace(':', '-')}-{program.stem}.trace",
        **{name: getattr(options, name) for name in same},
    )
    summary = render(request)
    answer(options, [summary.text()], lambda: [summary.record(request.out)])
    wrote = [request.out, request.out.with_suffix(".png"), *([preview_of(request.out)] if request.preview else [])]
    print(f"wrote {', '.join(map(str, wrote[:-1]))} and {wrote[-1]}", file=sys.stderr)
    return 0


def _launch(options: argparse.Namespace) -> int:
    from rayplay.tracer.launch import memcheck_note, run_launch_file

    out = options.out or Path("traces") / f"{options.launch.stem}.trace"
    summary = run_launch_file(
        options.launch, out, options.backend, resume=options.resume, memcheck=options.memcheck == "on",
        schedule=options.schedule,
    )  # fmt: skip
    if summary.outside is not None:
        print(f"note: {memcheck_note(summary.outside)}", file=sys.stderr)
    answer(options, [summary.text()], lambda: [summary.record()])
    return 0


def _shader(options: argparse.Namespace) -> int:
    from rayplay.tracer.shader import read_shaders, write_ptx

    shaders = read_shaders(options.shader)
    answer(options, shaders.lines(), lambda: shaders.records(options.shader))
    if options.out is not None:
        write_ptx(shaders, options.out)
        print(f"wrote {options.out}", file=sys.stderr)
    return 0


def _draw(options: argparse.Namespace) -> int:
    from rayplay.tracer.draw import DrawRequest, draw
    from rayplay.tracer.graphics.maps import Filtering
    from rayplay.tracer.graphics.shaders import BUILT_IN
    from rayplay.tracer.graphics.stages import Rules
    from rayplay.tracer.graphics.stored import Storage

    shader = options.shader or (options.shaders.stem if options.shaders else "lit")
    out = options.out or Path("traces") / f"{Path(options.scene).stem.replace(':', '-')}-{shader}.trace"
    textures = Filtering(options.lod == "on", options.filter, options.anisotropy)
    storage = Storage(options.texture_format, options.texture_tiling)
    limits = options.batch_indices, options.max_vertices, options.max_triangles
    rules = Rules(options.rules, *limits, textures, storage, options.output_traffic == "on", options.varyings,
                  options.target)  # fmt: skip
    width, height = options.size
    summary = draw(
        DrawRequest(
            options.scene, out, width, height, options.shader, options.shaders or BUILT_IN, options.camera, rules,
            options.backend,
        )
    )  # fmt: skip
    answer(options, [summary.text()], lambda: [summary.record()])
    print(f"wrote {out} and {out.with_suffix('.png')}", file=sys.stderr)
    return 0


def _scenes(options: argparse.Namespace) -> int:
    from rayplay.tracer.scenes.catalogue import catalogue

    found = catalogue()
    lines = [f"{'scene':<12}{'triangles':>12}{'instanced':>12}{'spheres':>9}  what it is"]
    lines += [f"{row.name:<12}{row.triangles:>12,}{row.instanced:>12,}{row.spheres:>9,}  {row.note}" for row in found]
    answer(options, lines, lambda: [row._asdict() for row in found])
    return 0


def _opcodes() -> int:
    from rayplay.tracer.opcodes.page import page

    print(page(), end="")
    return 0


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal() and 0 < int(width) <= 65535 and 0 < int(height) <= 65535):
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT, such as 512x512, each 1 to 65535, not {text!r}")
    return int(width), int(height)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 65535, not {text!r}")
    return int(text)


def _natural(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 32:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 4294967295, not {text!r}")
    return int(text)


if __name__ == "__main__":
    run("tracer", lambda: main(sys.argv[1:]))
