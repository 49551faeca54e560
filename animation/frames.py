"""The frames of an animation: a folder of traces, rendered one after another; a run that ended early goes on."""

import filecmp
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.formats.place.publish import atomic_file
from rayplay.tracer.bvh.build import Structure, build_acceleration
from rayplay.tracer.motion import scenes
from rayplay.tracer.record.checkpoint import code
from rayplay.tracer.render import Request, program_files, render_scene
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.scenes.resolve import scene_files

STRUCTURES = ("rebuild", "refit")
PLAN = "animation.json"
"""What the frames of the folder were rendered from."""


@dataclass(frozen=True)
class Plan:
    """An animation, as the command line describes it.

    request    of each frame; ``out`` is the folder of all.
    path       as ``tracer.motion.scenes`` has it.
    structure  of ``STRUCTURES``: the top level of the acceleration structure is built for each frame, or keeps the
               first frame's shape.
    """

    request: Request
    frames: int
    path: str
    structure: str = "rebuild"

    @property
    def folder(self) -> Path:
        return self.request.out

    def trace(self, number: int) -> Path:
        """The trace of a frame."""
        return self.folder / f"{number:04}.trace"

    def facts(self) -> dict[str, Any]:
        """Everything that decides the frames, without places of files; JSON."""
        request = self.request
        files = [*program_files(request), *scene_files(request.scene)]
        files += [Path(self.path)] if self.path.endswith(".json") else []
        own = {name: value for name, value in asdict(request).items() if not isinstance(value, Path)}
        own |= {"scene": Path(request.scene).name, "resume": None}
        facts = {"frames": self.frames, "path": Path(self.path).name, "structure": self.structure, "request": own}
        inputs = {path.name: file_digest(path) for path in files}
        return json.loads(json.dumps({**facts, "inputs": inputs, "code": code()}))


@dataclass(frozen=True)
class Rendered:
    """A frame that is there; ``seconds`` of its rendering, None where an earlier run made it."""

    number: int
    trace: Path
    seconds: float | None


def render_frames(plan: Plan) -> Iterator[Rendered]:
    """Render the frames that are missing, in order.

    What a frame's trace has in common with the first one's is stored once: its files are links to the first's.

    Raises ``UserError`` for a folder of another animation, and as ``render`` does.
    """
    if plan.structure == "refit" and plan.request.traversal == "vulkan-sim":
        raise UserError("--structure refit must not be given with --traversal vulkan-sim, whose tree has no instances")
    made = scenes(load(plan.request.scene), plan.path, plan.frames)
    goes_on = claim(plan)
    structure = None if plan.request.traversal == "vulkan-sim" else Structure(plan.structure == "refit")
    for number, scene in enumerate(made):
        if plan.trace(number).exists():
            yield Rendered(number, plan.trace(number), None)
            continue
        if number and structure and not structure.has_begun:
            build_acceleration(made[0], 0, structure=structure)
        began = time.perf_counter()
        _render(plan, number, scene, structure, goes_on)
        goes_on = False
        yield Rendered(number, plan.trace(number), time.perf_counter() - began)


def claim(plan: Plan) -> bool:
    """Write the plan into the folder, or find it there, as True says. Raises ``UserError`` for another's folder."""
    path, facts = plan.folder / PLAN, plan.facts()
    if path.exists():
        before = parse_json(read_text(path), path)
        differs = [name for name, value in facts.items() if not isinstance(before, dict) or before.get(name) != value]
        if differs:
            raise UserError(
                f"{plan.folder}: must be a new folder, or the same animation's; its {', '.join(differs)} differ from "
                f"what {PLAN} says"
            )
        return True
    if plan.folder.exists() and (not plan.folder.is_dir() or any(plan.folder.iterdir())):
        raise UserError(f"{plan.folder}: must be a new folder, or one of an animation with its {PLAN}")
    plan.folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as partial:
        partial.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return False


def _render(plan: Plan, number: int, scene: Scene, structure: Structure | None, goes_on: bool) -> None:
    frame = {"number": number, "path": Path(plan.path).name, "structure": plan.structure}
    camera = {key: getattr(scene.camera, key) for key in ("eye", "look_at")}
    request = replace(plan.request, out=plan.trace(number), frame=frame | camera, resume=goes_on)
    render_scene(scene, request, structure=structure)
    if number:
        link_equal_files(plan.trace(0), plan.trace(number))


def link_equal_files(first: Path, other: Path) -> None:
    """Replace files of ``other`` by links to those of ``first`` of the same name and content, where links are had."""
    for path in sorted(other.iterdir()):
        model = first / path.name
        if not model.is_file() or not filecmp.cmp(model, path, shallow=False):
            continue
        with suppress(OSError), tempfile.TemporaryDirectory(dir=other.parent, prefix=".link-") as folder:
            link = Path(folder) / path.name
            os.link(model, link)
            link.replace(path)


def shared_bytes(trace: Path) -> int:
    """Bytes of a trace's files that other traces hold too."""
    return sum(file.stat().st_size for file in trace.iterdir() if file.stat().st_nlink > 1)
