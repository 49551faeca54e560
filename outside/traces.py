"""Traces of other simulators: their folders, and their imports, cached between runs."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.code_cache import cache_root
from rayplay.formats.guard.errors import UserError

ROOT = Path(__file__).resolve().parent.parent


def data_folder() -> Path:
    """``RAYPLAY_DATA``, or ``../shared``; ``UserError`` when it holds no traces of other simulators."""
    folder = Path(os.environ.get("RAYPLAY_DATA", ROOT.parent / "shared"))
    if not (folder / "reference").is_dir():
        raise UserError(f"{folder}: must be the data folder with the reference traces (reference/); set RAYPLAY_DATA")
    return folder


def accelsim_folder(kind: str, name: str) -> Path:
    """The folder of one of Accel-Sim's traces; ``kind`` is ``micro`` or ``traces``."""
    return data_folder() / "reference" / "accelsim" / kind / name


def imported(folder: Path) -> Trace:
    """Import of a trace of Accel-Sim, from the cache while importer and files are unchanged."""
    digest = hashlib.sha256()
    for source in sorted((ROOT / "formats").rglob("*.py")):
        digest.update(source.read_bytes())
    for file in sorted(folder.iterdir()):
        digest.update(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}".encode())
    path = cache_root() / "reference" / f"{folder.name}-{digest.hexdigest()[:16]}.trace"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        import_accelsim(folder / "kernelslist.g", path)
    return open_trace(path)


def rendered(arguments: list[str]) -> Path:
    """The trace of ``python -m tracer render`` with the arguments, from the cache while the tracer is the same."""
    digest = hashlib.sha256(" ".join(arguments).encode())
    for package in ("formats", "ptx", "tracer"):
        for source in sorted((ROOT / package).rglob("*")):
            if source.suffix in (".py", ".ptx", ".toml"):
                digest.update(source.read_bytes())
    path = cache_root() / "reference" / f"{arguments[0]}-{digest.hexdigest()[:16]}.trace"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tracer", "render", *arguments, "--out", str(path)]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return path
