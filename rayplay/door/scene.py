"""``rayplay scene``: the acceleration structure of a scene as a page."""

import argparse
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rayplay.door.parser import Parser
from rayplay.door.report import SUFFIX, check_target
from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.command import add_limits
from rayplay.formats.guard.first_use import first_use
from rayplay.formats.place.location import location
from rayplay.formats.place.names import trace_name
from rayplay.tracer.__main__ import BVHS, SPHERES, TRACER_SECONDS, TRAVERSALS

if TYPE_CHECKING:
    from rayplay.report.tree import Survey

WIDTH, HEIGHT = 256, 192  # of the pictures of boxes
STEPS = 4  # loaded, built, rated, drawn


def parser(verb: str) -> Parser:
    """The parser."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("scene", metavar="SCENE", help="a name from rayplay scenes, or a file: .json, .glb, .obj, .ply")
    made.add_argument("--trace", type=trace_name, metavar="TRACE", help="trace of the scene, whose reads are counted")
    made.add_argument("--traversal", choices=TRAVERSALS, default="nearest", help="vulkan-sim: the tree that Embree "
                      "builds for Vulkan-Sim, as with rayplay trace (default: %(default)s)")  # fmt: skip
    made.add_argument("--spheres", choices=SPHERES, default="together", help="spheres in one bottom level, or each in "
                      "its own (default: %(default)s)")  # fmt: skip
    made.add_argument(
        "--bvh", choices=BVHS, default="bvh6", help="layout, as with rayplay trace (default: %(default)s)"
    )
    made.add_argument("--out", type=location, metavar="NAME.html", help="page to write (default: SCENE-bvh.html, here)")
    add_limits(made)
    made.set_defaults(perform=perform)
    return made


def perform(arguments: argparse.Namespace) -> int:
    """Build the structure, rate it, write the page, say where it is."""
    name = Path(arguments.scene).name.partition(".")[0].replace(":", "-")
    out = arguments.out or Path(f"{name}-bvh{SUFFIX}")
    check_target(out)
    from tqdm import tqdm

    from rayplay.formats.place.publish import atomic_file
    from rayplay.report.tree import said, tree_page

    with tqdm(total=STEPS, desc="scene", unit="step", disable=None, leave=False) as progress:
        with first_use("the tracer", TRACER_SECONDS):
            survey = surveyed(arguments, progress.update)
        written = tree_page(survey).encode()
    with atomic_file(out) as partial:
        partial.write_bytes(written)
    answer(arguments, [said(survey), *table(survey), f"{out}: open it with a browser"], lambda: [record(survey, out)])
    return 0


def surveyed(arguments: argparse.Namespace, progress: Callable[[], object]) -> "Survey":
    """The structure that ``rayplay trace`` would build, its quality, its pictures; ``progress``: called STEPS times."""
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.report.tree import Survey
    from rayplay.tracer.bvh.build import build_acceleration
    from rayplay.tracer.bvh.decode import decode
    from rayplay.tracer.bvh.layouts import LAYOUTS
    from rayplay.tracer.bvh.quality import quality
    from rayplay.tracer.bvh.xray import x_ray
    from rayplay.tracer.scenes import load
    from rayplay.tracer.scenes.description import moved_into_world
    from rayplay.tracer.shading.upload import pixel_rays

    trace = open_trace(arguments.trace) if arguments.trace is not None else None
    scene = load(arguments.scene)
    progress()
    as_embree = arguments.traversal == "vulkan-sim"
    if arguments.spheres == "apart":
        scene = replace(scene, spheres=replace(scene.spheres, apart=True))
    if as_embree:
        scene = moved_into_world(scene)
    acceleration = build_acceleration(scene, 0, as_embree, named=LAYOUTS[arguments.bvh])
    progress()
    decoded = decode(acceleration)
    found = quality(acceleration, decoded, trace)
    progress()
    boxes = x_ray(decoded, *pixel_rays(scene.camera, WIDTH, HEIGHT))
    progress()
    return Survey(Path(arguments.scene).name, acceleration, found, boxes, trace)


def table(survey: "Survey") -> list[str]:
    """Lines for the terminal: a row a depth."""
    lines = [f"{'depth':<10}{'internal':>12}{'leaves':>12}{'cost':>12}{'overlap':>12}{'fetches':>14}"]
    for at in survey.quality.depths:
        overlap = f"{at.overlap:,.3f}" if at.internal else ""
        reads = "" if at.reads is None else f"{at.reads:,}"
        name = f"{at.level} {at.depth}"
        lines.append(f"{name:<10}{at.internal:>12,}{at.leaves:>12,}{at.cost:>12,.2f}{overlap:>12}{reads:>14}".rstrip())
    return lines


def record(survey: "Survey", out: Path) -> Record:
    """The same for a program."""
    found = survey.quality
    counts: dict[str, Any] = asdict(survey.acceleration.statistics)
    overlaps = {f"overlap_{level}": found.overlap(level) for level in ("top", "bottom")}
    return {"scene": survey.name, "out": str(out), "cost": found.cost, **overlaps, "records_per_ray": survey.per_ray,
            **counts}  # fmt: skip
