"""The study: the paper's plots for two animations on simulated GPUs, and a verdict on each finding (Figures 5 to 8)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rayplay.formats.guard.code_cache import source_digest
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.replay.layers import RESULTS
from rayplay.tracer.motion import cameras
from rayplay.tracer.scenes import load
from rayplay.tuner.controller import Policy
from rayplay.tuner.fit import fit
from rayplay.tuner.kernel import Renderer, Settings
from rayplay.tuner.loop import CONTROLLERS, Loop, Plant
from rayplay.tuner.report import SETTLED, Row, run_controllers, write_rows

PUBLISHED = {  # docs/sources/tuner.md#controllers
    "feedback": "1.1, 0.7, 0.2 % and 1.7, 0.2, 1.3 %",
    "feed-forward": "6.3, 4.8, 2.1 % and 11.1, 12.8, 19.9 %",
    "none": "10.5 and 13.2 %",
    "previous": "-",
}


@dataclass(frozen=True)
class Plan:
    """The animations of a study: each scene's orbit, and a turn in the first, on each GPU.

    rays  of ambient occlusion, with which the first frame's time is the target.
    """

    scenes: Sequence[str]
    gpus: Sequence[str]
    frames: int
    size: tuple[int, int]
    rays: int


def run_study(plan: Plan, out: Path, store: Path) -> list[str]:
    """Run every animation, write its rows and picture to ``out``, and the page; returns the page's lines.

    store  keeps rendered frames, so that a study that was interrupted goes on.
    """
    out.mkdir(parents=True, exist_ok=True)
    parts = []
    for scene in plan.scenes:
        renderer = Renderer(load(scene))
        for path in ("orbit", "turn") if scene == plan.scenes[0] else ("orbit",):
            for name in plan.gpus:
                stem = f"{renderer.scene.name}-{path}-{name}"
                target, rows = _animation(plan, renderer, path, name, store)
                write_rows(out / f"{stem}.csv", rows, target)
                parts.append((stem, target, rows))
    lines = list(_page(plan, parts))
    with atomic_file(out / "README.md") as partial:
        partial.write_text("\n".join(lines) + "\n")
    return lines


def _animation(plan: Plan, renderer: Renderer, path: str, name: str, store: Path) -> tuple[float, list[Row]]:
    gpu = load_gpu(name)
    way = cameras(renderer.scene.camera, path, plan.frames)
    plant = Plant(renderer, gpu, plan.size, store)
    target = plant(way[0], Settings(plan.rays)).ms
    if path == "turn":
        way.reverse()  # towards the scene, where the rays of a frame before the turn may be far too many
    loop = Loop(
        renderer, fit(gpu).device, plant, plan.size, target, 4 * plan.rays, policy=Policy(hysteresis=0),
        resident_blocks=plant.resident_blocks,
    )  # fmt: skip
    return target, run_controllers(loop, way, CONTROLLERS)


@dataclass(frozen=True)
class Distances:
    """Of one controller on one animation, parts of 1: from the target, mean and worst after the first frames, and the
    longest frame above it; and of the prediction from the time, mean."""

    mean: float
    settled: float
    above: float
    prediction: float


def distances(rows: Sequence[Row], controller: str, target: float) -> Distances:
    """Distances of the rows of a controller."""
    own = [row for row in rows if row["controller"] == controller]
    measured, predicted = (np.array([row[key] for row in own]) for key in ("measured_ms", "predicted_ms"))
    away = np.abs(measured / target - 1)
    return Distances(
        float(away.mean()),
        float(away[min(SETTLED, len(away) - 1) :].max()),
        float(measured.max() / target - 1),
        float(np.abs(predicted / measured - 1).mean()),
    )


def _page(plan: Plan, parts: Sequence[tuple[str, float, list[Row]]]) -> Iterator[str]:
    found = {(stem, one): distances(rows, one, target) for stem, target, rows in parts for one in CONTROLLERS}
    orbits, turns = ([stem for stem, _, _ in parts if f"-{path}-" in stem] for path in ("orbit", "turn"))
    yield from (
        "# The tuner, end to end",
        "",
        f"Made by `{_command(plan)}`; engine {source_digest(RESULTS)[:16]}, numpy {np.__version__}.",
        "",
        f"{plan.frames} frames of {plan.size[0]}x{plan.size[1]} pixels; the target is the time of the scene's own view "
        f"with {plan.rays} rays. The model is `modern`; the GPUs are simulated.",
        "",
        "| the paper | here | figures |",
        "|---|---|---|",
    )
    for text, pairs in _findings(found, orbits, turns):
        holds = all(less < more for less, more in pairs)
        shown = ", ".join(f"{100 * less:.1f} < {100 * more:.1f} %" for less, more in pairs)
        yield f"| {text} | {'holds' if holds else '**does not hold**'} | {shown} |"
    yield from (
        "",
        "Distances in per cent; published ones are of other GPUs and scenes. At most "
        f"{4 * plan.rays} rays are traced: a view of little but background stays below the target "
        "whatever the controller does.",
        "",
    )
    yield (
        "| animation | controller | from the target, mean | worst after the fifth frame | longest above it "
        "| prediction | published |"
    )
    yield "|---|---|---|---|---|---|---|"
    for (stem, one), each in found.items():
        numbers = " | ".join(f"{100 * value:.1f}" for value in (each.mean, each.settled, each.above, each.prediction))
        yield f"| {stem} | {one} | {numbers} | {PUBLISHED[one]} |"
    yield from ("", *(f"![{stem}]({stem}.png)\n" for stem, _, _ in parts))


def _command(plan: Plan) -> str:
    scenes = " ".join(Path(scene).name for scene in plan.scenes)
    gpus = " ".join(f"--gpu {gpu}" for gpu in plan.gpus)
    size = f"{plan.size[0]}x{plan.size[1]}"
    return f"python -m tuner study {scenes} {gpus} --frames {plan.frames} --size {size} --rays {plan.rays}"


def _findings(
    found: dict[tuple[str, str], Distances], orbits: Sequence[str], turns: Sequence[str]
) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Sentence -> pairs of which the first is less where it holds."""
    yield (
        "Feedback brings the prediction nearer to the time",
        [(found[one, "feedback"].prediction, found[one, "feed-forward"].prediction) for one in orbits],
    )
    yield (
        "Without tuning frames leave the target",
        [(found[one, "feedback"].mean, found[one, "none"].mean) for one in orbits],
    )
    yield (
        "After a turn the last frame's time misleads, the model does not",
        [(found[one, "feed-forward"].above, found[one, "previous"].above) for one in turns],
    )
