"""Subjects of a trace: a scene, a launch file of compute kernels, or a network, told apart by name or file."""

from pathlib import Path

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint
from rayplay.formats.guard.text import read_toml

KERNELS = Path(__file__).parent / "tracer" / "kernels"
PROGRAMS = (KERNELS, KERNELS.with_name("programs"))


def known_kernels() -> dict[str, Path]:
    """Name to launch file of the kernels that come with the package."""
    return {path.stem: path for path in sorted(KERNELS.glob("*.toml"))}


def verb_for(subject: str) -> str:
    """The tracer's verb for ``subject``: ``launch``, ``network`` (a TOML file with layers), or ``render``.

    Raises ``UserError`` for a bare name that is neither a scene nor a kernel, with the nearest of both.
    """
    if subject in known_kernels():
        return "launch"
    if subject.endswith(".toml"):
        return "network" if "layers" in read_toml(Path(subject)) else "launch"
    from rayplay.tracer.scenes.resolve import known_names

    names = [*known_names(), *known_kernels()]
    is_bare = not set(subject) & set("/.:")
    if is_bare and subject not in names and not Path(subject).is_file():
        raise UserError(f"no scene or kernel is called {subject}; {hint(subject, names)}")
    return "render"


def launch_file(given: str) -> Path:
    """The launch file that ``given`` names: a path, or a kernel that comes with the package."""
    return known_kernels().get(given, Path(given))


def program_file(given: str) -> Path:
    """The program that ``given`` names: a path, or one that comes with the package (kernels and ray tracing)."""
    named = next((folder / f"{given}.ptx" for folder in PROGRAMS if (folder / f"{given}.ptx").is_file()), None)
    return named or Path(given)
