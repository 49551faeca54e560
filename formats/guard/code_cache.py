"""Cache of compiled machine code between runs.

numba's on-disk cache does not notice that a callee in another file was edited, so the cache folder is named by a
hash of the package's sources: an edit anywhere gives a fresh folder, and a stale kernel can never be run.
"""

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGES = Path(__file__).parents[2]  # the folder of all packages
_announced: dict[str, str] = {}


def cache_root() -> Path:
    """``RAYPLAY_CACHE``, or ``rayplay`` in the user's cache folder."""
    chosen = os.environ.get("RAYPLAY_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rayplay"


def use_numba_cache(package: str) -> None:
    """Point numba at the cache of this exact source text; call it before the package's own modules are imported.

    With several packages in one process each folder's name covers all packages that were announced before it, and a
    numba that is already imported is told: functions take the folder that is set when they are decorated.
    """
    if package not in _announced:
        _announced[package] = source_digest([package])
    covered = hashlib.sha256("".join(_announced.values()).encode()).hexdigest()
    os.environ["NUMBA_CACHE_DIR"] = str(cache_root() / f"numba-{package}-{covered[:16]}")
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.core.config.reload_config()


def source_digest(packages: Sequence[str], root: Path = PACKAGES) -> str:
    """SHA-256 over the Python sources of these packages of ``root``, sub-folders included."""
    digest = hashlib.sha256()
    for package in packages:
        for source in sorted((root / package).rglob("*.py")):
            digest.update(str(source.relative_to(root)).encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()
