"""The verbs ``fit``, ``choose`` and ``run``: their options, and what they run."""

import argparse
import re
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_verb
from rayplay.formats.guard.errors import UserError
from rayplay.tuner.counts import Readings
from rayplay.tuner.knobs import KNOBS, STEP
from rayplay.tuner.loop import CONTROLLERS
from rayplay.tuner.plant import PLANTS
from rayplay.tuner.times import MODELS

MOST_DELAY = 16
TRACINGS = ("software", "rt-unit")
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
        choices=CONTROLLERS,
        help="repeatable; oracle renders several frames for each (default: feedback and none)",
    )
    made.add_argument("--tracing", choices=TRACINGS, default="software", help="who traces the rays: the program in software, as the paper, or the GPU's ray-tracing unit (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--model", choices=MODELS, help="the paper's; ours that knows caches; ours that also knows the ray-tracing unit (default: modern, of --tracing rt-unit rt-unit)")  # fmt: skip # noqa: E501
    made.add_argument("--plant", choices=PLANTS, default="replay", help="who says how long a frame takes: a whole replay, or an estimate from a tenth of the CTAs, with --tracing rt-unit (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--delay", type=int, default=0, metavar="N", help="frames that begin before a frame's time is known, as a GPU's timers answer late (default: %(default)s)")  # fmt: skip # noqa: E501
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
    made.add_argument("--first", type=int, metavar="N", help="render the first N frames of each orbit, and turns of N (default: all)")  # fmt: skip # noqa: E501
    made.add_argument("--tracing", choices=TRACINGS, default="software", help="as for run (default: %(default)s)")
    made.add_argument("--no-oracle", action="store_true", help="leave out the oracle, which renders several frames for each one: the study is shorter, and lacks the rows of the best possible choice")  # fmt: skip # noqa: E501
    made.add_argument("--part", type=int, default=1, metavar="K", help="a K-th of each GPU's SMs and memory partitions, at least two SMs: a small frame keeps them as busy as a large one the whole (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--no-turn", action="store_true", help="leave out the turn of the first scene")
    made.add_argument("--others", type=int, metavar="N", help="controllers besides feedback render the first N frames (default: all)")  # fmt: skip # noqa: E501
    made.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="study to write")
    made.add_argument("--store", type=Path, required=True, metavar="FOLDER", help="keeps what was rendered")


def _add_frame(made: argparse.ArgumentParser, size: str) -> None:
    made.add_argument("--size", type=_size, default=size, metavar="WxH", help="pixels (default: %(default)s)")
    made.add_argument("--target-ms", type=_above_zero, required=True, metavar="MS", help="time that a frame may take")
    made.add_argument("--knob", action="append", choices=[name.replace("_", "-") for name in KNOBS], help="what is chosen; repeatable: where the least of the first is too slow, the next one is lowered (default: occlusion-rays)")  # fmt: skip # noqa: E501
    made.add_argument("--most-rays", type=int, default=64, metavar="N", help="candidates have up to N occlusion rays, shadow rays or samples a pixel (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--step", type=_above_zero, default=STEP, metavar="RAYS", help="between two candidates: a quarter of a ray is one ray in a quarter of the warps (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--reading", action="append", default=[], metavar="NAME=VALUE", help="of an unclear place of the paper; repeatable: " + ", ".join(f"{each.name}={each.default}" for each in fields(Readings)))  # fmt: skip # noqa: E501
    made.add_argument("--radius", type=_above_zero, default=0.1, metavar="SHARE", help="length of occlusion rays, of the scene's diagonal (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--shadow-rays", type=int, default=0, metavar="N", help="rays to the light a sample (default: %(default)s)")  # fmt: skip # noqa: E501
    made.add_argument("--samples", type=int, default=1, metavar="N", help="primary rays a pixel (default: %(default)s)")
    made.add_argument("--occlusion-rays", type=int, default=8, metavar="N", help="a sample, where another knob is chosen (default: %(default)s)")  # fmt: skip # noqa: E501
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
    """A scene and a device -> the rendering parameter that meets a target, by the paper's model.

    The scene is traced at an eighth of the size with four rays of ambient occlusion a pixel; the model predicts the
    time of every candidate.

    examples:
      python -m tuner choose cornell --device geforce-580 --target-ms 10
      python -m tuner choose forest --device radeon-5870 --target-ms 40 --prefer below --shadow-rays 1
      python -m tuner choose cornell --device geforce-8800 --target-ms 5 --knob occlusion-rays --knob scale
    """
    from tqdm import tqdm

    from rayplay.tracer.scenes import load
    from rayplay.tuner.controller import Policy, choose
    from rayplay.tuner.device import read_device
    from rayplay.tuner.kernel import SoftwareRenderer
    from rayplay.tuner.loop import Loop
    from rayplay.tuner.plant import no_plant

    policy, found = Policy(arguments.prefer), _candidates(arguments)
    readings, device = _readings(arguments.reading), read_device(arguments.device)
    with tqdm(total=3, desc="scene, tree, look", unit="step", disable=None, leave=False) as progress:
        scene = load(arguments.scene)
        progress.update()
        renderer = SoftwareRenderer(scene)
        progress.update()
        loop = Loop(
            renderer, device, no_plant, arguments.size, arguments.target_ms, found, policy, "paper", readings=readings
        )
        times = loop.times(scene.camera)
        progress.update()
    chosen = choose(times, arguments.target_ms, policy)
    rows = [(*found.place(number), float(times[number]), number == chosen) for number in range(len(times))]
    lines = [
        f"{'knob':<16}{'value':>8}{'ms':>14}",
        *(
            f"{name.replace('_', '-'):<16}{value:>8.4g}{time:>14.6f}{'  <- chosen' * is_chosen}"
            for name, value, time, is_chosen in (rows[number] for number in _shown(len(times), chosen))
        ),
    ]
    answer(arguments, lines, lambda: [
        {"knob": name, "value": value, "ms": time, "is_chosen": is_chosen} for name, value, time, is_chosen in rows
    ])  # fmt: skip
    return 0


def _shown(count: int, chosen: int) -> list[int]:
    """Some candidates over all, the neighbours of the choice, and the last."""
    spread = range(0, count, max(count // 16, 1))
    return sorted(number for number in {count - 1, chosen - 1, chosen, chosen + 1, *spread} if 0 <= number < count)


def run_verb(arguments: argparse.Namespace) -> int:
    """An animation on a simulated GPU -> the time of each frame under each controller.

    Each frame the controller chooses a rendering parameter, the simulator says how long the frame took. feedback: the
    model, corrected by the frames before; feed-forward: the model alone; previous: work in proportion to the last
    frame's time; none: the first frame's parameter; oracle: what comes nearest, by rendering all that may.

    examples:
      python -m tuner run cornell --gpu mobile --frames 5 --size 64x64 --target-ms 0.05
      python -m tuner run forest --gpu rtx2060 --path turn --target-ms 2 --controller feedback --controller previous
      python -m tuner run cornell --gpu mobile --frames 5 --size 64x64 --target-ms 0.02 --tracing rt-unit --knob radius
    """
    from rayplay.replay.gpu.description import load as load_gpu
    from rayplay.tracer.motion import cameras
    from rayplay.tracer.scenes import load
    from rayplay.tuner.controller import Policy
    from rayplay.tuner.fit import fit
    from rayplay.tuner.hardware import HardwareRenderer
    from rayplay.tuner.kernel import SoftwareRenderer
    from rayplay.tuner.loop import Loop
    from rayplay.tuner.plant import Plant
    from rayplay.tuner.report import run_controllers, table_text, write_rows

    if arguments.frames < 1:
        raise UserError(f"--frames {arguments.frames}: must be 1 or more")
    if not 0 <= arguments.delay <= MOST_DELAY:
        raise UserError(f"--delay {arguments.delay}: must be 0 to {MOST_DELAY}")
    if arguments.plant == "estimate" and arguments.tracing != "rt-unit":
        raise UserError("--plant estimate must be given with --tracing rt-unit: an estimate needs traced rays")
    found, readings = _candidates(arguments), _readings(arguments.reading)
    model = arguments.model or ("rt-unit" if arguments.tracing == "rt-unit" else "modern")
    scene, gpu = load(arguments.scene), load_gpu(arguments.gpu)
    path = cameras(scene, arguments.path, arguments.frames)
    renderer = (HardwareRenderer if arguments.tracing == "rt-unit" else SoftwareRenderer)(scene)
    plant = Plant(renderer, gpu, arguments.size, how=arguments.plant)
    loop = Loop(
        renderer, fit(gpu).device, plant, arguments.size, arguments.target_ms, found, Policy(arguments.prefer), model,
        plant.resident_blocks, readings, delay=arguments.delay,
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
    from rayplay.tuner.study.plan import Plan
    from rayplay.tuner.study.run import run_study

    if arguments.frames < 2:
        raise UserError(f"--frames {arguments.frames}: must be 2 or more")
    if not 1 <= arguments.rays <= 1024:
        raise UserError(f"--rays {arguments.rays}: must be 1 to 1024")
    first = arguments.frames if arguments.first is None else arguments.first
    if not 2 <= first <= arguments.frames:
        raise UserError(f"--first {first}: must be 2 to the {arguments.frames} frames")
    if not 1 <= arguments.part <= 64:
        raise UserError(f"--part {arguments.part}: must be 1 to 64")
    if arguments.others is not None and arguments.others < 2:
        raise UserError(f"--others {arguments.others}: must be 2 or more")
    plan = Plan(
        arguments.scenes, arguments.gpu, arguments.frames, first, arguments.size, arguments.rays, arguments.tracing,
        not arguments.no_oracle, arguments.part, arguments.others, not arguments.no_turn,
    )  # fmt: skip
    lines = run_study(plan, arguments.out, arguments.store)
    answer(arguments, lines, lambda: [{"page": str(arguments.out / "README.md")}])
    return 0


def _candidates(arguments: argparse.Namespace) -> Any:
    from rayplay.tuner.knobs import candidates, knob
    from rayplay.tuner.settings import Settings

    for name, low, high in (
        ("most_rays", 0, 4096),
        ("shadow_rays", 0, 64),
        ("samples", 1, 1024),
        ("occlusion_rays", 0, 4096),
    ):
        if not low <= getattr(arguments, name) <= high:
            raise UserError(f"--{name.replace('_', '-')} {getattr(arguments, name)}: must be {low} to {high}")
    if not 1 / 256 <= arguments.step <= 64:
        raise UserError(f"--step {arguments.step:g}: must be 1/256 to 64")
    names = list(dict.fromkeys(name.replace("-", "_") for name in arguments.knob or ["occlusion-rays"]))
    settings = Settings(arguments.occlusion_rays, arguments.radius, arguments.shadow_rays, arguments.samples)
    return candidates([knob(name, arguments.most_rays, arguments.step) for name in names], settings)


def _readings(words: list[str]) -> Readings:
    made = Readings()
    for word in words:
        name, _, text = word.partition("=")
        kinds: dict[str, Any] = {each.name: type(each.default) for each in fields(Readings)}
        if name not in kinds or not text:
            raise UserError(f"--reading {word}: must be NAME=VALUE, with a name of {', '.join(kinds)}")
        try:
            made = replace(made, **{name: kinds[name](text)})
        except ValueError as error:
            raise UserError(f"--reading {word}: {error}") from None
    return made
