"""Execution speed of the gallery's programs beside the built-in path tracer's: ``python -m bench.speed.gallery``.

Thread instructions per second of processor time, trace in memory, the least of a few runs on the scene of each program;
the program is compiled before. Slang's program needs its compilers.
"""

from dataclasses import replace

from bench.speed.clock import seconds
from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.shading.config import PROGRAM_FOLDER, read_config
from rayplay.tracer.shading.prepare import Prepared, Sampling, prepare_image
from rayplay.tracer.slang.bind import bind_shader
from rayplay.tracer.slang.compile import is_shader
from rayplay.tracer.vulkansim.bind import bind_folder
from tools.gallery import GALLERY, Piece

SHARE = 0.5


def prepared(piece: Piece, scene: Scene, sampling: Sampling) -> Prepared:
    """A program of the gallery, bound to its scene."""
    program = piece.program
    if program.is_dir() or is_shader(program):
        bound = bind_folder(program, None, scene) if program.is_dir() else bind_shader(program, scene)
        return prepare_image(scene, bound.module, bound.config, sampling, own=bound.place)
    return prepare_image(scene, ptx.parse_file(program), read_config(program.with_suffix(".toml")), sampling)


def rate(made: Prepared) -> float:
    """Millions of thread instructions per second."""
    sink = MemorySink(keep=False)
    work = run_image_launch(made.launch, sink, progress=False).thread_instructions
    return work / seconds(lambda: run_image_launch(made.launch, sink, progress=False), 3) / 1e6


def main() -> None:
    """A line per program."""
    built_in: dict[str, float] = {}
    file = PROGRAM_FOLDER / "path-tracing.ptx"
    for piece in GALLERY:
        scene, sampling = load(piece.scene), Sampling(128, 96, max(piece.samples, 2))
        if piece.scene not in built_in:
            config = read_config(file.with_suffix(".toml"))
            built_in[piece.scene] = rate(
                prepare_image(scene, ptx.parse_file(file), config, replace(sampling, samples=2))
            )
        try:
            found = rate(prepared(piece, scene, sampling))
        except UserError as error:
            print(f"{piece.name} on {piece.scene}: not run: {error}", flush=True)
            continue
        share = found / built_in[piece.scene]
        print(
            f"{piece.name} on {piece.scene}: {found:.0f} M thread-instructions/s, {share:.2f} of path tracing's "
            f"{built_in[piece.scene]:.0f} (target {SHARE})", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
