"""From a scene to a trace of a rasterised picture: the verb ``draw``."""

import sys
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint
from rayplay.formats.schema.column import STRING
from rayplay.formats.schema.trace import STAGES
from rayplay.tracer.graphics.shaders import BUILT_IN, read_shaders
from rayplay.tracer.graphics.stages import Rules, Stage, draw_scene
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.ball import map_files, read_ball
from rayplay.tracer.scenes.camera import fit_camera
from rayplay.tracer.scenes.camera_text import change_camera
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.drawn import drawn
from rayplay.tracer.scenes.gltf.file import files_of
from rayplay.tracer.scenes.instances import records_of, with_instances
from rayplay.tracer.scenes.resolve import data_folder, is_unknown, known_names, scene_files
from rayplay.tracer.scenes.textured import TexturedScene, read_textured
from rayplay.tracer.shading.picture import write_png

TOOL_VERSION = "0.1.0"
TEXTURED = (".glb", ".gltf")
BALL = "_pbr"
"""End of the name of a folder with the maps of a material ball, in the data folder."""


@dataclass(frozen=True)
class DrawRequest:
    """One picture, as the command line describes it."""

    scene: str
    out: Path
    width: int = 640
    height: int = 480
    shader: str | None = None
    """A pair of entries of ``shaders``; None is the first or only one."""
    shaders: Path = BUILT_IN
    camera: str | None = None
    rules: Rules = field(default_factory=Rules)
    backend: str = "machine"


@dataclass
class DrawSummary:
    """Result of a drawing, for the terminal. Seconds are in no file."""

    out: Path
    draws: int
    vertices: int
    fragments: int
    live: int
    thread_instructions: int
    bytes_on_disk: int
    seconds: float

    def text(self) -> str:
        """A short table."""
        rate = self.thread_instructions / max(self.seconds, 1e-9) / 1e6
        rows = [
            ("draws", f"{self.draws:,}", ""),
            ("vertex invocations", f"{self.vertices:,}", ""),
            ("fragments", f"{self.fragments:,}", f"{self.live:,} live, the others help their quads"),
            ("thread instructions", f"{self.thread_instructions:,}", f"{rate:.1f} M/s"),
            ("bytes on disk", f"{self.bytes_on_disk:,}", str(self.out)),
        ]
        return "\n".join(f"{name:<22}{value:>18}  {note}".rstrip() for name, value, note in rows)

    def record(self) -> dict[str, Any]:
        """The same for a program."""
        counts = {each.name: getattr(self, each.name) for each in fields(self)[1:-2]}
        return {"out": str(self.out)} | counts | {"bytes": self.bytes_on_disk}


def draw(request: DrawRequest) -> DrawSummary:
    """Rasterise a scene; write the trace of its stages and the picture beside it.

    Raises ``UserError`` for a scene that is unknown, damaged or without anything to draw, and for a wrong camera.
    """
    begun = time.perf_counter()
    scene, camera, inputs = load_drawn(request.scene)
    if scene.unused:
        print(f"warning: {request.scene}: draws do not use {', '.join(scene.unused)}", file=sys.stderr)
    if request.camera:
        camera = change_camera(camera, request.camera)
    shaders, size = read_shaders(request.shaders, request.shader), (request.width, request.height)
    inputs += [request.shaders, Path(shaders.module.source_name)]
    request.out.parent.mkdir(parents=True, exist_ok=True)
    with TraceWriter(request.out, _provenance(request, inputs)) as writer:
        picture = draw_scene(scene, shaders, camera, size, request.rules, writer, request.backend)
        writer.put("stages", stage_table(picture.stages))
    write_png(request.out.with_suffix(".png"), picture.framebuffer.colour[..., :3])
    vertex, fragment = ([each for each in picture.stages if each.stage == name] for name in ("vertex", "fragment"))
    return DrawSummary(
        request.out, len(scene.draws), sum(each.shaded for each in vertex), sum(each.shaded for each in fragment),
        sum(each.live for each in fragment), picture.thread_instructions,
        sum(file.stat().st_size for file in request.out.iterdir()), time.perf_counter() - begun,
    )  # fmt: skip


def load_drawn(name: str) -> tuple[TexturedScene, Camera, list[Path]]:
    """A scene, its camera and its files.

    A glTF file with its textures and the records of its instances, a folder of maps (a material ball), the name of
    either in the data folder's ``scenes/textured``, or a scene for rays. A file without a camera is seen whole.
    """
    path = textured_file(name)
    if path is None:
        if is_unknown(name):
            raise UserError(f"no scene is called {name}; {hint(name, [*known_names(), *textured_names()])}")
        scene = load(name)
        made = drawn(scene)
        if not made.draws:
            raise UserError(f"{name}: must have triangles or spheres to draw, found none")
        return made, scene.camera, scene_files(name)
    if path.is_dir():
        textured, inputs = read_ball(path), [*map_files(path).values()]
    else:
        textured, inputs = read_textured(path), files_of(path, ("buffers", "images"))
        if records_of(path).is_file():
            textured, inputs = with_instances(textured, records_of(path)), [*inputs, records_of(path)]
    return textured, textured.camera or fit_camera(*textured.bounds()), inputs


def textured_file(name: str) -> Path | None:
    """The glTF file or folder of maps that a name stands for."""
    given, folder = Path(name), data_folder() / "scenes" / "textured"
    known = [folder / f"{name}.glb", folder / f"{name}{BALL}"] if "/" not in name else []
    files = [given] if given.suffix.lower() in TEXTURED else []
    folders = [given] if "/" in name else []
    found = [path for path in (*files, *known[:1]) if path.is_file()]
    return next(iter([*found, *(path for path in (*folders, *known[1:]) if path.is_dir())]), None)


def textured_names() -> list[str]:
    """Names of the glTF files and folders of maps in the data folder's ``scenes/textured``."""
    folder = data_folder() / "scenes" / "textured"
    balls = (path.name.removesuffix(BALL) for path in folder.glob(f"*{BALL}") if path.is_dir())
    return sorted([*(path.stem for path in folder.glob("*.glb")), *balls])


def stage_table(stages: list[Stage]) -> dict[str, Any]:
    """Columns of the table of stages."""
    dtypes = {column.name: object if column.dtype == STRING else column.dtype for column in STAGES.columns}
    return {name: np.array([getattr(stage, name) for stage in stages], dtype) for name, dtype in dtypes.items()}


def _provenance(request: DrawRequest, inputs: list[Path]) -> dict[str, Any]:
    """How the trace was made; nothing in it depends on the machine or on where files lie."""
    return {
        "command": "tracer draw",
        "tool_version": TOOL_VERSION,
        "scene": Path(request.scene).name,
        "shader": request.shader,
        "size": [request.width, request.height],
        "camera": request.camera,
        "rules": asdict(request.rules),
        "inputs": {path.name: file_digest(path) for path in inputs},
    }
