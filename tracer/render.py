"""From a request to a trace and a picture: the verb ``render``."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay import ptx
from rayplay.formats.dataset.resume import ResumableTraceWriter
from rayplay.formats.edit.pixels import read_pixels
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.text import confined
from rayplay.tracer.bvh.build import Structure
from rayplay.tracer.bvh.parents import parent_table
from rayplay.tracer.record.checkpoint import code
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.camera_text import change_camera
from rayplay.tracer.scenes.description import Scene, moved_into_world
from rayplay.tracer.scenes.resolve import scene_files
from rayplay.tracer.scenes.sound import check_camera
from rayplay.tracer.shading.config import read_config
from rayplay.tracer.shading.picture import read_image, write_png
from rayplay.tracer.shading.prepare import Prepared, Sampling, prepare_image
from rayplay.tracer.slang import bind as slang
from rayplay.tracer.slang.compile import is_shader
from rayplay.tracer.vulkansim import bind as vulkansim
from rayplay.tracer.vulkansim.folder import folder_files
from rayplay.tracer.warp.services import after_printed

TOOL_VERSION = "0.1.0"


@dataclass(frozen=True)
class Request:
    """One rendering, as the command line describes it."""

    scene: str
    program: Path
    config: Path | None
    """Of a folder of Vulkan-Sim's shaders None, where its own file binds them."""
    out: Path
    width: int = 512
    height: int = 512
    samples: int = 2
    bounces: int = 16
    seed: int = 1
    camera: str | None = None
    pixels: Path | None = None
    traversal: str = "nearest"
    hit_programs: str = "during"
    spheres: str = "together"
    program_variant: str = "optimised"
    record: str = "visits"
    bvh: str = "bvh6"
    backend: str = "machine"
    resume: bool = False
    preview: int = 0
    """Samples per pixel of a picture to look at, made apart from the trace; 0 for none."""
    frame: dict[str, Any] | None = None
    """Of an animation: what the provenance says of it."""


@dataclass
class Summary:
    """Result of a rendering, for the terminal. Seconds are wall time by phase; they are in no file.

    ``rays_before`` and ``thread_instructions_before`` belong to the interrupted run that this one resumes.
    """

    rays: int = 0
    thread_instructions: int = 0
    rays_before: int = 0
    thread_instructions_before: int = 0
    bytes_on_disk: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    printed: str = ""

    def text(self) -> str:
        """A short table."""
        run = max(self.seconds.get("run", 0.0), 1e-9) * 1e6
        rays, instructions = self.rays - self.rays_before, self.thread_instructions - self.thread_instructions_before
        rows = [
            ("rays traced", f"{self.rays:,}", f"{rays / run:.3f} M/s, continuations after programs included"),
            ("thread instructions", f"{self.thread_instructions:,}", f"{instructions / run:.1f} M/s"),
            ("bytes on disk", f"{self.bytes_on_disk:,}", f"{self.bytes_on_disk / max(self.rays, 1):.1f} per ray"),
        ]
        lines = [f"{name:<22}{value:>18}  {rate}" for name, value, rate in rows]
        lines.append("  ".join(f"{name} {value:.2f} s" for name, value in self.seconds.items()))
        return after_printed(self.printed, "\n".join(lines))

    def record(self, out: Path) -> dict[str, Any]:
        """The same for a program, with the trace ``out``."""
        counts = {"rays": self.rays, "thread_instructions": self.thread_instructions, "bytes": self.bytes_on_disk}
        return {"out": str(out)} | counts | {f"{name}_seconds": value for name, value in self.seconds.items()}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the wall time of a block under ``name``."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def render(request: Request) -> Summary:
    """Load the scene, run the program on it, and write the trace and the picture beside it.

    Raises ``UserError`` for whatever the user can mend; a ray that hits nothing anywhere is a warning.
    """
    summary = Summary()
    with summary.phase("load"):
        scene = load(request.scene)
    if scene.unused:
        print(f"warning: {request.scene}: programs do not use {', '.join(scene.unused)}", file=sys.stderr)
    return render_scene(scene, request, summary)


def render_scene(
    scene: Scene, request: Request, summary: Summary | None = None, structure: Structure | None = None
) -> Summary:
    """``render`` of a scene that is already there; ``structure``: trees of the animation of which it is a frame."""
    summary = summary or Summary()
    if request.camera:
        scene = replace(scene, camera=change_camera(scene.camera, request.camera))
    if request.spheres == "apart":
        scene = replace(scene, spheres=replace(scene.spheres, apart=True))
    if request.traversal == "vulkan-sim":
        scene = moved_into_world(scene)
    check_camera(scene.camera, request.scene)
    selected = read_pixels(request.pixels, (request.width, request.height)) if request.pixels else None
    with summary.phase("prepare"):
        prepared = _prepared(scene, request, request.samples, selected, structure, request.record)
    size = (request.width, request.height)
    request.out.parent.mkdir(parents=True, exist_ok=True)
    writer = ResumableTraceWriter(
        request.out, _provenance(request, selected), size, [code(), request.backend], request.resume
    )
    with summary.phase("run"), writer:
        if request.resume:
            _go_on(writer, summary)
        counts = run_image_launch(prepared.launch, writer, backend=request.backend)
        writer.put("nodes", prepared.acceleration.node_table())
        if request.record != "visits":
            writer.put("parents", parent_table(prepared.acceleration))
        picture = read_image(prepared.launch.memory, prepared.image_address, *size, prepared.image_format)
        writer.put("image", _image_table(picture))
    write_png(request.out.with_suffix(".png"), picture)
    summary.rays, summary.thread_instructions = counts.rays, counts.thread_instructions
    summary.printed = "".join(prepared.launch.memory.printed)
    summary.bytes_on_disk = sum(file.stat().st_size for file in request.out.iterdir())
    if request.preview:
        with summary.phase("preview"):
            _write_preview(scene, request)
    if counts.rays and not counts.hits:
        print(f"warning: no ray hit anything: does the camera see the scene {request.scene}?", file=sys.stderr)
    return summary


def _prepared(
    scene: Scene,
    request: Request,
    samples: int,
    selected: NDArray[np.bool_] | None = None,
    structure: Structure | None = None,
    record: str = "visits",
) -> Prepared:
    sampling = Sampling(request.width, request.height, samples, request.bounces, request.seed)
    chosen = request.traversal, request.hit_programs == "after", structure, record, request.bvh
    bound = _bound(scene, request)
    if bound is not None:
        place = str(request.program)
        return prepare_image(scene, bound.module, bound.config, sampling, selected, place, *chosen, bound.place)
    file = config_of(request)
    config = read_config(file)
    modules = [ptx.parse_file(path) for path in (request.program, *config.modules)]
    return prepare_image(scene, modules, config, sampling, selected, str(file), *chosen)


def _bound(scene: Scene, request: Request) -> vulkansim.Bound | slang.Bound | None:
    """A program that brings its own binding; None for PTX with the TOML beside it."""
    if request.program.is_dir():
        return vulkansim.bind_folder(request.program, request.config, scene)
    if is_shader(request.program):
        return slang.bind_shader(request.program, scene, request.config)
    return None


def preview_of(out: Path) -> Path:
    """Path of the preview of a trace."""
    return out.with_name(f"{out.stem}-preview.png")


def _write_preview(scene: Scene, request: Request) -> None:
    """The whole picture with many samples; nothing is recorded."""
    prepared = _prepared(scene, request, request.preview)
    run_image_launch(prepared.launch, None, backend=request.backend)
    size = (request.width, request.height)
    picture = read_image(prepared.launch.memory, prepared.image_address, *size, prepared.image_format)
    write_png(preview_of(request.out), picture)


def _go_on(writer: ResumableTraceWriter, summary: Summary) -> None:
    """Say where the rendering begins, and keep what the interrupted run had done before."""
    was = writer.notes.resumed
    before = was.facts["counts"] if was else {"rays": 0, "thread_instructions": 0}
    print(writer.notes.standing(f"after {before['visits']:,} visits" if was else ""), file=sys.stderr)
    summary.rays_before, summary.thread_instructions_before = before["rays"], before["thread_instructions"]


def _image_table(picture: NDArray[np.float32]) -> dict[str, NDArray[np.generic]]:
    """Columns of the image table, row by row from the top."""
    rows, columns = np.indices(picture.shape[:2], dtype=np.uint16).reshape(2, -1)
    colours = np.ascontiguousarray(picture.reshape(-1, 3).T)
    return {"pixel_x": columns, "pixel_y": rows, "red": colours[0], "green": colours[1], "blue": colours[2]}


def _provenance(request: Request, selected: NDArray[np.bool_] | None) -> dict[str, Any]:
    """How the trace was made; nothing in it depends on the machine or on where files lie."""
    inputs = [*program_files(request), *scene_files(request.scene)]
    return {
        "command": "tracer render",
        "tool_version": TOOL_VERSION,
        "scene": Path(request.scene).name,
        "program": request.program.stem,
        "size": [request.width, request.height],
        "samples": request.samples,
        "bounces": request.bounces,
        "seed": request.seed,
        "traversal": request.traversal,
        **_chosen(request),
        **({"frame": request.frame} if request.frame else {}),
        "camera": request.camera,
        "pixels": None if selected is None else int(selected.sum()),
        "inputs": {path.name: file_digest(path) for path in inputs},
    }


def program_files(request: Request) -> list[Path]:
    """Files that decide the program of a rendering."""
    if request.program.is_dir():
        return [*folder_files(request.program), *([request.config] if request.config else [])]
    if is_shader(request.program):
        return [request.program, *([request.config] if request.config else [])]
    config = config_of(request)
    read = read_config(config)
    arrays = [
        confined(config, each.file, f"buffers.{name}.file", "program's file")
        for name, each in read.resources.buffers.items()
        if each.file
    ]
    return [request.program, config, *read.modules, *arrays]


def config_of(request: Request) -> Path:
    """The file that binds a program of PTX."""
    return request.config or request.program.with_suffix(".toml")


def _chosen(request: Request) -> dict[str, str]:
    """Choices that older traces lack, where they differ from the default: so the same trace is the same file."""
    old = {"hit_programs": "during", "spheres": "together", "program_variant": "optimised", "record": "visits",
           "bvh": "bvh6"}  # fmt: skip
    return {name: value for name in old if (value := getattr(request, name)) != old[name]}
