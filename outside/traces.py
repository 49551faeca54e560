"""Traces of other simulators: their folders, and their imports, cached between runs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.digest import file_digest, json_digest, source_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.trust import cache_root, own_folder

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


def cached(name: str, decided_by: Any) -> Path:
    """The path in the cache of a trace that the JSON value ``decided_by`` decides; its folder exists."""
    folder = own_folder(cache_root() / "reference")
    return folder / f"{name}-{json_digest(decided_by)[:16]}.trace"


def imported(folder: Path) -> Trace:
    """Import of a trace of Accel-Sim, from the cache while importer and files are unchanged."""
    files = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(folder.iterdir())]
    path = cached(folder.name, [source_digest(["formats"]), files])
    if not path.exists():
        import_accelsim(folder / "kernelslist.g", path)
    return open_trace(path)


def rendered(arguments: list[str]) -> Path:
    """The trace of ``python -m tracer render`` with the arguments, from the cache while the tracer is the same."""
    programs = [file_digest(file) for file in sorted((ROOT / "tracer" / "programs").rglob("*.*"))]
    path = cached(arguments[0], [arguments, source_digest(["formats", "ptx", "tracer"]), programs])
    if not path.exists():
        command = [sys.executable, "-m", "tracer", "render", *arguments, "--out", str(path)]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return path
