"""Cache of compiled machine code between runs.

numba's on-disk cache does not notice that a callee in another file was edited, nor that a file was damaged, and moves
to other folders by itself. So each package names the sources that decide its machine code, and keeps it, sealed, in a
folder named by their digest: an edit in one of them gives a fresh folder, an edit elsewhere (a picture, a page) leaves
it.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from rayplay.formats.guard.digest import source_digest

# layers of formats that decide the content of files, read or written
FILES = tuple(f"formats/{layer}" for layer in ("guard", "schema", "place", "parquet", "hdf5", "dataset", "laws"))


def kept(decorator: Callable[[Any], Any], sources: Sequence[str]) -> Any:
    """A numba decorator, of ``cache=True``, whose functions keep their machine code in the folder of these sources.

    numba makes the cache of a function when it is decorated. Ours stands in for it for that moment only, so that
    packages with different sources share a process, and each finds the code it compiled in any other process.
    """

    def decorate(function: Any) -> Any:
        from rayplay.formats.guard.numba_cache import USERS, CodeCache

        users: tuple[Any, ...] = USERS
        before = [user.FunctionCache for user in users]
        for user in users:
            user.FunctionCache = partial(CodeCache, code_folder(tuple(sources)))
        try:
            return decorator(function)
        finally:
            for user, own in zip(users, before, strict=True):
                user.FunctionCache = own

    return decorate


@cache
def code_folder(sources: tuple[str, ...]) -> str:
    """The folder, in the sealed cache, of the machine code that these sources decide."""
    return f"numba-{sources[0].partition('/')[0]}-{source_digest(sources)[:16]}"
