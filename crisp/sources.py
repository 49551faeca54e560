"""Origins of traces: a rasterised picture, a ray-traced one, a launch file. Each makes its trace where it is told."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.crisp.suite import PARTNER_FOLDER, PARTNERS, Workload
from rayplay.formats.guard.digest import file_digest, source_digest
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.resolve import scene_files

CODE = ("tracer", "ptx")  # sources that decide a trace, beside its programs


@dataclass(frozen=True)
class Drawn:
    """A picture of the suite, rasterised."""

    workload: Workload
    size: tuple[int, int]

    @property
    def name(self) -> str:
        """A name for people."""
        return f"{self.workload.name}-{self.size[0]}x{self.size[1]}"

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the trace."""
        return {"draw": described(self.workload), "size": self.size, "code": source_digest(CODE)}

    def make(self, out: Path) -> None:
        """Draw it."""
        from rayplay.tracer.draw import DrawRequest, draw

        one = self.workload
        draw(DrawRequest(one.scene, out, *self.size, shader=one.shader, camera=one.camera))


@dataclass(frozen=True)
class Shadowed:
    """The same picture's shadows, ray-traced: one primary ray a pixel, and one to the light."""

    workload: Workload
    size: tuple[int, int]

    @property
    def name(self) -> str:
        """A name for people."""
        return f"{self.workload.name}-shadows-{self.size[0]}x{self.size[1]}"

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the trace."""
        return {"shadows": described(self.workload), "size": self.size, "code": source_digest(CODE)}

    def make(self, out: Path) -> None:
        """Trace it."""
        from rayplay.tracer.render import Request, render
        from rayplay.tracer.shading.config import PROGRAM_FOLDER

        program, config = (PROGRAM_FOLDER / f"shadows.{kind}" for kind in ("ptx", "toml"))
        one = self.workload
        render(Request(one.scene, program, config, out, *self.size, samples=1, camera=one.camera))


@dataclass(frozen=True)
class Launched:
    """A compute partner, by its name in the suite."""

    partner: str

    @property
    def name(self) -> str:
        """A name for people."""
        return self.partner

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the trace; ``UserError`` without the launch files, which stand in a checkout."""
        files = [PARTNER_FOLDER / f"{PARTNERS[self.partner]}.{kind}" for kind in ("toml", "ptx")]
        if not all(file.is_file() for file in files):
            raise UserError(f"{PARTNER_FOLDER}: must hold the launch files of the partners, as a checkout does")
        return {"launch": [file_digest(file) for file in files], "code": source_digest(CODE)}

    def make(self, out: Path) -> None:
        """Run it."""
        from rayplay.tracer.launch import run_launch_file

        run_launch_file(PARTNER_FOLDER / f"{PARTNERS[self.partner]}.toml", out, progress=False)


Source = Drawn | Shadowed | Launched


def described(workload: Workload) -> dict[str, Any]:
    """A picture by content: its files' digests in place of their names."""
    files = {path.name: file_digest(path) for path in scene_files(workload.scene)}
    return {"scene": files or workload.scene, "shader": workload.shader, "camera": workload.camera}
