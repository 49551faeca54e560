"""The verbs ``fit``, ``choose`` and ``run``: their options, and what they run."""

import argparse
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_verb
from rayplay.formats.guard.errors import UserError
from rayplay.tuner.loop import CONTROLLERS, MODELS, ORACLE

SIZE = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})")


def add_fit(verbs: Any) -> None:
    """Options of ``fit``."""
    made = add_verb(verbs, fit_verb)
    made.add_argument("--gpu", required=True, metavar="GPU", help="rtx2060, mobile, or a GPU description (TOML)")
    made.add_argument("--out", type=Path, metavar="FILE.toml", help="device to write (default: print it only)")


def add_choose(verbs: Any) -> None:
    """Options of ``choose``."""
    made = add_verb(verbs, choose_verb)
    made.add_argument("scene", metavar="SCENE", help="a name of rayplay scenes, or a scene file")
    made.add_argument("--device", required=True, metavar="DEVICE", help="geforce-580, ..., or a .toml that fit wrote")
    _add_frame(made, "640x480")


def add_run(verbs: Any) -> None:
    """Options of ``run``."""
    made = add_verb(verbs, run_verb)
    made.add_argument("scene", metavar="SCENE", help="a name of rayplay scenes, or a scene file")
    made.add_argument("--gpu", required=True, metavar="GPU", help="the simulated GPU that renders the frames")
    made.add_argument("--frames", type=int, default=20, metavar="N", help="of the animation (default: %(default)s)")
    made.add_argument("--path", default="orbit", metavar="PATH", help="orbit, turn, or FILE.json (default: orbit)")
    made.add_argument(
        "--controller",
        action="append",
        choices=(*CONTROLLERS, ORACLE),
        help="repeatable; oracle renders several frames for each (default: feedback and none)",
    )
    made.add_argument(
        "--model",
        choices=MODELS,
        default="modern",
        help="the paper's, or ours that knows caches (default: %(default)s)",
    )
    made.add_argument("--out", type=Path, metavar="FILE.csv", help="a row a frame, and a picture beside it")
    _add_frame(made, "320x240")


def add_study(verbs: Any) -> None:
    """Options of ``study``."""
    made = add_verb(verbs, study_verb)
    made.add_argument("scenes", nargs="+", metavar="SCENE", help="names of rayplay scenes, or scene files")
    made.add_argument("--gpu", action="append", required=True, metavar="GPU", help="a simulated GPU; repeatable")
    made.add_argument("--frames", type=int, default=100, metavar="N", help="of an animation (default: %(default)s)")
    made.add_argument("--size", type=_size, default="320x240", metavar="WxH", help="pixels (default: %(default)s)")
    made.add_argument("--rays", type=int, default=16, metavar="N", help="the target is the first frame's time with N occlusion rays, enough that one is a small step (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="study to write")
    made.add_argument("--store", type=Path, required=True, metavar="FOLDER", help="keeps what was rendered")


def _add_frame(made: argparse.ArgumentParser, size: str) -> None:
    made.add_argument("--size", type=_size, default=size, metavar="WxH", help="pixels (default: %(default)s)")
    made.add_argument("--target-ms", type=_above_zero, required=True, metavar="MS", help="time that a frame may take")
    made.add_argument("--most-rays", type=int, default=64, metavar="N", help="candidates are 0 to N occlusion rays a pixel (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--radius", type=_above_zero, default=0.1, metavar="SHARE", help="length of occlusion rays, of the scene's diagonal (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--shadow-rays", type=int, default=0, metavar="N", help="rays to the light a pixel (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--prefer", choices=("nearest", "below"), default="nearest", help="nearest to the target, or never above it (default: %(default)s)")  # fmt: skip # noqa: E501


def _size(text: str) -> tuple[int, int]:
    if not (match := SIZE.fullmatch(text)):
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT, such as 320x240, found {text!r}")
    return int(match[1]), int(match[2])


def _above_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, found {text!r}")
    return value


def fit_verb(arguments: argparse.Namespace) -> int:
    """A GPU description -> the device that the analytical model needs.

    Programs that chase pointers, stream, gather and compute run through the replay; slopes of their cycles are the
    latency, the departure delays and the issue cost. The residual is how far a measurement half-way is off the line.

    examples:
      python -m tuner fit --gpu rtx2060 --out rtx2060-device.toml
      python -m tuner choose cornell --device rtx2060-device.toml --target-ms 1
    """
    from rayplay.formats.place.publish import atomic_file
    from rayplay.replay.gpu.description import load as load_gpu
    from rayplay.tuner.device import as_toml
    from rayplay.tuner.fit import fit

    made = fit(load_gpu(arguments.gpu))
    text = as_toml(made.device) + "\n# Distance of a measurement half-way from the line:\n"
    text += "".join(f"# {name:<28}{100 * value:>10.3f} %\n" for name, value in made.residuals.items())
    answer(arguments, [text], lambda: [asdict(made.device)])
    if arguments.out:
        with atomic_file(arguments.out) as partial:
            partial.write_text(text)
    return 0


def choose_verb(arguments: argparse.Namespace) -> int:
    """A scene and a device -> the occlusion rays that meet a target, by the paper's model.

    The scene is traced at an eighth of the size with four rays of ambient occlusion a pixel; the model predicts the
    time of every candidate.

    examples:
      python -m tuner choose cornell --device geforce-580 --target-ms 10
      python -m tuner choose forest --device radeon-5870 --target-ms 40 --prefer below --shadow-rays 1
    """
    from rayplay.tracer.scenes import load
    from rayplay.tuner.controller import Policy, choose
    from rayplay.tuner.device import read_device
    from rayplay.tuner.kernel import Renderer
    from rayplay.tuner.loop import Loop, no_plant

    device, scene = read_device(arguments.device), load(arguments.scene)
    policy = Policy(arguments.prefer)
    loop = Loop(
        Renderer(scene), device, no_plant, arguments.size, arguments.target_ms,
        _most_rays(arguments), _settings(arguments), policy, model="paper",
    )  # fmt: skip
    times = loop.times(scene.camera)
    chosen = choose(times, arguments.target_ms, policy)
    lines = [
        f"{'rays':>6}{'ms':>14}",
        *(f"{rays:>6}{times[rays]:>14.6f}{'  <- chosen' * (rays == chosen)}" for rays in _shown(len(times), chosen)),
    ]
    answer(arguments, lines, lambda: [
        {"rays": rays, "ms": float(time), "is_chosen": rays == chosen} for rays, time in enumerate(times)
    ])  # fmt: skip
    return 0


def _shown(count: int, chosen: int) -> list[int]:
    """Powers of two, the neighbours of the choice, and the last."""
    powers = {1 << power for power in range(count.bit_length())}
    return sorted(rays for rays in {0, count - 1, chosen - 1, chosen, chosen + 1, *powers} if 0 <= rays < count)


def run_verb(arguments: argparse.Namespace) -> int:
    """An animation on a simulated GPU -> the time of each frame under each controller.

    Each frame the controller chooses occlusion rays, the replay says how long the frame took. feedback: the model,
    corrected by the frames before; feed-forward: the model alone; previous: rays in proportion to the last frame's
    time; none: the first frame's rays.

    examples:
      python -m tuner run cornell --gpu mobile --frames 5 --size 64x64 --target-ms 0.05
      python -m tuner run forest --gpu rtx2060 --path turn --target-ms 2 --controller feedback --controller previous
    """
    from rayplay.replay.gpu.description import load as load_gpu
    from rayplay.tracer.motion import cameras
    from rayplay.tracer.scenes import load
    from rayplay.tuner.controller import Policy
    from rayplay.tuner.fit import fit
    from rayplay.tuner.kernel import Renderer
    from rayplay.tuner.loop import Loop, Plant
    from rayplay.tuner.report import run_controllers, table_text, write_rows

    if arguments.frames < 1:
        raise UserError(f"--frames {arguments.frames}: must be 1 or more")
    scene, gpu = load(arguments.scene), load_gpu(arguments.gpu)
    path, renderer = cameras(scene.camera, arguments.path, arguments.frames), Renderer(scene)
    plant = Plant(renderer, gpu, arguments.size)
    loop = Loop(
        renderer, fit(gpu).device, plant, arguments.size, arguments.target_ms,
        _most_rays(arguments), _settings(arguments), Policy(arguments.prefer), arguments.model, plant.resident_blocks,
    )  # fmt: skip
    rows = run_controllers(loop, path, arguments.controller or ["feedback", "none"])
    answer(arguments, table_text(rows, arguments.target_ms), lambda: rows)
    if arguments.out:
        write_rows(arguments.out, rows, arguments.target_ms)
    return 0


def study_verb(arguments: argparse.Namespace) -> int:
    """Scenes and GPUs -> the paper's plots, and a verdict on each of its findings.

    Every scene's orbit, and a turn in the first one, run on each GPU under every controller. The same
    command resumes an interrupted study.

    examples:
      python -m tuner study cornell terrain --gpu mobile --frames 8 --size 96x64 --out build/tuner --store build/frames
      make tuner QUICK=1
    """
    from rayplay.tuner.study import Plan, run_study

    if arguments.frames < 2:
        raise UserError(f"--frames {arguments.frames}: must be 2 or more")
    if not 1 <= arguments.rays <= 1024:
        raise UserError(f"--rays {arguments.rays}: must be 1 to 1024")
    plan = Plan(arguments.scenes, arguments.gpu, arguments.frames, arguments.size, arguments.rays)
    lines = run_study(plan, arguments.out, arguments.store)
    answer(arguments, lines, lambda: [{"page": str(arguments.out / "README.md")}])
    return 0


def _most_rays(arguments: argparse.Namespace) -> int:
    if not 0 <= arguments.most_rays <= 4096:
        raise UserError(f"--most-rays {arguments.most_rays}: must be 0 to 4096")
    return int(arguments.most_rays)


def _settings(arguments: argparse.Namespace) -> Any:
    from rayplay.tuner.kernel import Settings

    if not 0 <= arguments.shadow_rays <= 64:
        raise UserError(f"--shadow-rays {arguments.shadow_rays}: must be 0 to 64")
    return Settings(0, arguments.radius, arguments.shadow_rays)
