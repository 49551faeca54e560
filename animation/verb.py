"""The verb ``animate``: its options, and what it runs."""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from rayplay.animation.measure import METHODS
from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_verb
from rayplay.formats.guard.errors import UserError

SIZE = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})")
WORKLOADS = ("path-tracing", "shadows", "ambient-occlusion")


def add_animate(verbs: Any) -> argparse.ArgumentParser:
    """Options of ``animate``."""
    made = add_verb(verbs, animate_verb)
    add = made.add_argument
    default = " (default: %(default)s)"
    add("scene", metavar="SCENE", help="a name of rayplay scenes, or a scene file")
    add("--frames", type=_positive, default=100, metavar="N", help="of the animation" + default)
    add("--path", default="orbit", metavar="PATH", help="orbit, turn, or FILE.json of keyframes" + default)
    add("--structure", choices=("rebuild", "refit"), default="rebuild", help="where instances move: build the top "
        "level of the acceleration structure for each frame, or keep the first frame's shape" + default)  # fmt: skip
    add("--workload", choices=WORKLOADS, default="path-tracing", help="built-in program to run" + default)
    add("--program", type=Path, metavar="FILE.ptx", help="run this program instead, bound by the .toml beside it")
    add("--size", type=_size, default="320x240", metavar="WxH", help="pixels" + default)
    add("--samples", type=_positive, default=1, metavar="N", help="primary rays per pixel" + default)
    add("--seed", type=int, default=1, metavar="N", help="of the random numbers, and of samples" + default)
    add("--traversal", choices=("nearest", "vulkan-sim"), default="nearest", help="as for rayplay trace" + default)
    add("--gpu", metavar="GPU", help="measure each frame on this GPU (default: render alone)")
    add("--method", choices=METHODS[1:], default="estimate", help="how a frame is measured; look traces nothing, "
        "and says by the paper's model which frames are heavy" + default)  # fmt: skip
    add("--fraction", type=float, default=0.1, metavar="F", help="part of the CTAs that an estimate replays" + default)
    add("--out", type=Path, metavar="FOLDER", help="folder of the frames (default: animations/SCENE-WORKLOAD)")
    return made


def _size(text: str) -> tuple[int, int]:
    if not (match := SIZE.fullmatch(text)):
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT, such as 320x240, found {text!r}")
    return int(match[1]), int(match[2])


def _positive(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more, found {text!r}")
    return int(text)


def animate_verb(arguments: argparse.Namespace) -> int:
    """A scene and a path -> a folder of traces, a table of frames and a film strip.

    Each frame is traced as rayplay trace does, into FOLDER/NNNN.trace with its picture beside it; files that equal the
    first frame's are links to them. With --gpu each frame is estimated or replayed; frames.csv has a line a frame,
    strip.png shows them. Frames and figures that are there are not made again, so that a run that was interrupted
    goes on with the same command.

    --method look is a cheap first look: no frame is traced, each is looked at at an eighth of its size, and the paper's
    model (docs/tuner.md) says which frames are heavy: looks.csv and looks.png. The same folder takes the frames later.

    A path is orbit (once round what the camera looks at, and closer), turn (half round, in the middle of the frames) or
    a JSON file with keys of the camera, and of instances (docs/animations.md).

    examples:
      python -m animation animate cornell --frames 3 --size 32x24
      python -m animation animate cornell --frames 3 --size 32x24 --gpu mobile --method replay
      python -m animation animate cornell --frames 100 --gpu mobile --method look
    """
    from tqdm import tqdm

    from rayplay.animation.frames import render_frames
    from rayplay.animation.measure import measure, summary
    from rayplay.animation.strip import draw_strip, write_table
    from rayplay.replay.gpu.description import load as load_gpu
    from rayplay.zatel.replays.result_cache import Store

    if not 0.0 < arguments.fraction <= 1.0:
        raise UserError(f"--fraction must be greater than 0 and at most 1, not {arguments.fraction:g}")
    if arguments.seed < 0:
        raise UserError(f"--seed must not be negative, but is {arguments.seed}")
    gpu = load_gpu(arguments.gpu) if arguments.gpu else None
    if arguments.method == "look":
        return _look(arguments, gpu)
    plan, method = _plan(arguments), _method(arguments, gpu)
    rows, seconds = [], 0.0
    with tqdm(total=plan.frames, unit="frame", disable=None, delay=2) as progress:
        for frame in render_frames(plan):
            seconds += frame.seconds or 0.0
            rows.append(measure(frame.number, frame.trace, method, Store(plan.folder / "measured")))
            progress.update()
    write_table(plan.folder / "frames.csv", rows)
    title = f"{Path(arguments.scene).stem}, {arguments.path}{f' on {gpu.name} ({arguments.method})' if gpu else ''}"
    pictures = [plan.trace(number).with_suffix(".png") for number in range(plan.frames)]
    draw_strip(plan.folder / "strip.png", rows, pictures, title)
    answer(arguments, [*summary(rows), *_bytes(plan)], lambda: rows)
    print(f"wrote {plan.folder / 'frames.csv'} and strip.png; {seconds:.1f} s of rendering", file=sys.stderr)
    return 0


def _look(arguments: argparse.Namespace, gpu: Any) -> int:
    from tqdm import tqdm

    from rayplay.animation.frames import claim
    from rayplay.animation.look import device_of, first_looks
    from rayplay.animation.measure import summary
    from rayplay.animation.strip import draw_strip, write_table
    from rayplay.tracer.motion import scenes
    from rayplay.tracer.scenes import load

    if gpu is None or arguments.program:
        raise UserError("--method look must be given with --gpu, and not with --program, whose rays it does not know")
    plan = _plan(arguments)
    made = scenes(load(arguments.scene), plan.path, plan.frames)
    claim(plan)
    looked = first_looks(made, device_of(gpu, arguments.gpu), arguments.size, arguments.samples, arguments.workload)
    rows = list(tqdm(looked, total=plan.frames, unit="frame", disable=None, delay=2))
    write_table(plan.folder / "looks.csv", rows)
    title = f"{Path(arguments.scene).stem}, {arguments.path}: a first look, on {gpu.name}"
    draw_strip(plan.folder / "looks.png", rows, (), title)
    answer(arguments, summary(rows), lambda: rows)
    print(f"wrote {plan.folder / 'looks.csv'} and looks.png; no frame was traced", file=sys.stderr)
    return 0


def _plan(arguments: argparse.Namespace) -> Any:
    from rayplay.animation.frames import Plan
    from rayplay.tracer.render import Request
    from rayplay.tracer.shading.config import PROGRAM_FOLDER

    program = arguments.program or PROGRAM_FOLDER / f"{arguments.workload}.ptx"
    out = arguments.out or Path("animations") / f"{Path(arguments.scene).stem.replace(':', '-')}-{program.stem}"
    request = Request(
        scene=arguments.scene, program=program, config=None if program.is_dir() else program.with_suffix(".toml"),
        out=out, width=arguments.size[0],
        height=arguments.size[1], samples=arguments.samples, seed=arguments.seed, traversal=arguments.traversal,
    )  # fmt: skip
    return Plan(request, arguments.frames, arguments.path, arguments.structure)


def _method(arguments: argparse.Namespace, gpu: Any) -> Any:
    from rayplay.animation.measure import Method

    return Method(arguments.method if gpu else "none", gpu, arguments.fraction, arguments.seed)


def _bytes(plan: Any) -> list[str]:
    from rayplay.animation.frames import shared_bytes

    sizes = [sum(file.stat().st_size for file in plan.trace(number).iterdir()) for number in range(plan.frames)]
    saved = sum(shared_bytes(plan.trace(number)) for number in range(1, plan.frames))
    return [f"traces: {(sum(sizes) - saved) / 1e6:,.1f} MB on disk; {saved / 1e6:,.1f} MB that frames share lie once"]
