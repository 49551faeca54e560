"""Origins of traces: a rasterised picture, a ray-traced one, a launch file. Each makes its trace where it is told."""

from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rayplay.crisp.suite import PARTNER_FOLDER, PARTNERS, Workload, size_text
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.select import select
from rayplay.formats.guard.digest import file_digest, source_digest
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.draw import DrawRequest, draw, load_drawn, textured_file

CODE = ("tracer", "ptx")  # sources that decide a trace, beside its programs
ON_CHIP, AS_GPUS = "on chip", "as GPUs"


@dataclass(frozen=True)
class Drawn:
    """A picture of the suite, rasterised.

    lod      with levels of detail, or from the first level of textures alone.
    traffic  between stages: as the paper has it; ``ON_CHIP``: varyings on chip and pixels of four bytes; ``AS_GPUS``:
             also the output merger's accesses, and textures in tiles.
    """

    workload: Workload
    size: tuple[int, int]
    lod: bool = True
    traffic: str = ""

    @property
    def name(self) -> str:
        """A name for people."""
        return (
            f"{self.workload.name}-{size_text(self.size)}{'' if self.lod else '-lod-off'}{'-' * bool(self.traffic)}"
            + (self.traffic.replace(" ", "-").lower())
        )

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the trace."""
        how = {"size": self.size, "lod": self.lod, "traffic": self.traffic}
        return {"draw": described(self.workload), "code": source_digest(CODE)} | how

    def make(self, out: Path) -> None:
        """Draw it."""
        from rayplay.tracer.graphics.maps import Filtering
        from rayplay.tracer.graphics.stages import Rules
        from rayplay.tracer.graphics.stored import Storage

        one, rules = self.workload, Rules(textures=Filtering(self.lod))
        if self.traffic:
            rules = replace(rules, varyings="chip", target="rgba8")
        if self.traffic == AS_GPUS:
            rules = replace(rules, merges=True, storage=Storage(tiling="block"))
        draw(DrawRequest(one.scene, out, *self.size, shader=one.shader, camera=one.camera, rules=rules))


@dataclass(frozen=True)
class Shadowed:
    """The same picture's shadows, ray-traced: one primary ray a pixel, and one to the light."""

    workload: Workload
    size: tuple[int, int]

    @property
    def name(self) -> str:
        """A name for people."""
        return f"{self.workload.name}-shadows-{size_text(self.size)}"

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the trace."""
        return {"shadows": described(self.workload), "size": self.size, "code": source_digest(CODE)}

    def make(self, out: Path) -> None:
        """Trace it."""
        from rayplay.tracer.render import Request, render
        from rayplay.tracer.shading.config import PROGRAM_FOLDER

        program, config = (PROGRAM_FOLDER / f"shadows.{kind}" for kind in ("ptx", "toml"))
        one = self.workload
        scene = str(textured_file(one.scene) or one.scene)
        render(Request(scene, program, config, out, *self.size, samples=1, camera=one.camera))


@dataclass(frozen=True)
class Launched:
    """A compute partner, by its name in the suite; with ``kernels`` only these of its launches, as ``data select``."""

    partner: str
    kernels: str | None = None

    @property
    def name(self) -> str:
        """A name for people."""
        return f"{self.partner}-{self.kernels}" if self.kernels else self.partner

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the trace; ``UserError`` without the launch files, which stand in a checkout."""
        files = [PARTNER_FOLDER / f"{PARTNERS[self.partner]}.{kind}" for kind in ("toml", "ptx")]
        if not all(file.is_file() for file in files):
            raise UserError(f"{PARTNER_FOLDER}: must hold the launch files of the partners, as a checkout does")
        digests = [file_digest(file) for file in files]
        return {"launch": digests, "kernels": self.kernels, "code": source_digest(CODE)}

    def make(self, out: Path) -> None:
        """Run it, and keep the launches."""
        from rayplay.tracer.launch import run_launch_file

        file = PARTNER_FOLDER / f"{PARTNERS[self.partner]}.toml"
        if self.kernels is None:
            run_launch_file(file, out, progress=False)
            return
        with TemporaryDirectory(dir=out.parent) as folder:
            whole = Path(folder) / "whole.trace"
            run_launch_file(file, whole, progress=False)
            select(open_trace(whole), out, self.kernels)


Source = Drawn | Shadowed | Launched


@cache
def described(workload: Workload) -> dict[str, Any]:
    """A picture by content: the digests of its files beside its scene's name."""
    files = {path.name: file_digest(path) for path in load_drawn(workload.scene)[2]}
    return asdict(workload) | {"name": "", "files": files}
