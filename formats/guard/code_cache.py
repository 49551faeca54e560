"""Cache of compiled machine code between runs.

numba's on-disk cache does not notice that a callee in another file was edited. So each package names the sources that
decide its machine code, and keeps it in a folder named by their digest: an edit in one of them gives a fresh folder, an
edit elsewhere (a picture, a page) leaves it.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rayplay.formats.guard.digest import source_digest

# layers of formats that decide the content of files, read or written
FILES = tuple(f"formats/{layer}" for layer in ("guard", "schema", "place", "parquet", "hdf5", "dataset", "laws"))


def cache_root() -> Path:
    """``RAYPLAY_CACHE``, or ``rayplay`` in the user's cache folder."""
    chosen = os.environ.get("RAYPLAY_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rayplay"


def kept(decorator: Callable[[Any], Any], sources: Sequence[str]) -> Any:
    """A numba decorator whose functions keep their machine code in the folder of these sources.

    numba takes the folder of its configuration when a function is decorated. It is set for that moment only, so that
    packages with different sources share a process, and each finds the code it compiled in any other process.
    """

    def decorate(function: Any) -> Any:
        import numba

        config: Any = numba.config
        before = config.CACHE_DIR
        config.CACHE_DIR = str(code_folder(tuple(sources)))
        try:
            return decorator(function)
        finally:
            config.CACHE_DIR = before

    return decorate


@cache
def code_folder(sources: tuple[str, ...]) -> Path:
    """The folder of the machine code that these sources decide."""
    return cache_root() / f"numba-{sources[0].partition('/')[0]}-{source_digest(sources)[:16]}"
