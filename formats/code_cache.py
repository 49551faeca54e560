"""Where compiled machine code is kept between runs.

numba's on-disk cache does not notice that a callee in another file was edited, so the cache folder is named by a
hash of the package's sources: an edit anywhere gives a fresh folder, and a stale kernel can never be run.
"""

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_announced = hashlib.sha256()


def cache_root() -> Path:
    """``RAYPLAY_CACHE``, or ``rayplay`` in the user's cache folder."""
    chosen = os.environ.get("RAYPLAY_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rayplay"


def use_numba_cache(package_folder: Path) -> None:
    """Point numba at the cache of this exact source text; call it before the package's own modules are imported.

    With several packages in one process each folder's name covers all packages that were announced before it, and a
    numba that is already imported is told: functions take the folder that is set when they are decorated.
    """
    for source in sorted(package_folder.rglob("*.py")):
        _announced.update(source.name.encode())
        _announced.update(source.read_bytes())
    folder = cache_root() / f"numba-{package_folder.name}-{_announced.hexdigest()[:16]}"
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.core.config.reload_config()


def source_digest(packages: Sequence[str]) -> str:
    """SHA-256 over the Python sources of these packages, which lie beside this one."""
    digest = hashlib.sha256()
    for package in packages:
        for source in sorted((Path(__file__).parent.parent / package).rglob("*.py")):
            digest.update(source.name.encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()
