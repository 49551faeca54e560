"""numba's cache of one function, kept among the sealed objects (``formats.guard.sealed``) and nowhere else.

An object holds its whole key beside the code. Its name is a digest of the key, of the function's file (tests compile
functions of their own, which no package's digest covers), of numba and of Python. numba unpickles what it keeps: here
only bytes whose seal was checked.
"""

import hashlib
import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import caching, ccallback, dispatcher
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from rayplay.formats.guard.sealed import keep, load, sealed_root

USERS = (dispatcher, ccallback)  # modules that make caches
VERSIONS = (numba.__version__, llvmlite.__version__, sys.version)


@cache
def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


class CodeCache(caching.FunctionCache):
    """The cache of ``function``, in ``folder`` of the sealed objects."""

    def __init__(self, folder: str, function: Any) -> None:
        self._py_func = function
        code = function.__code__
        module = function.__module__.rpartition(".")[2]
        self._file_digest = _digest(code.co_filename)
        self._folder = f"{folder}/{module}.{function.__qualname__}-{code.co_firstlineno}"
        self.enable()

    @property
    def cache_path(self) -> str:
        """The folder, whether or not it is there."""
        return str(sealed_root() / self._folder)

    def holds(self, signature: Any, target: Any) -> bool:
        """Whether there is code for these types."""
        target.refresh()
        return Path(sealed_root() / self._name(self._index_key(signature, target.codegen()))).exists()

    def _load_overload(self, signature: Any, target: Any) -> Any:
        key = self._index_key(signature, target.codegen())
        data = load(self._name(key)) if self._enabled else None
        if data is None:
            return None
        held, payload = pickle.loads(data)
        return CompileResult._rebuild(target, *payload) if held == key else None

    def _save_overload(self, signature: Any, made: Any) -> None:
        if self._enabled and not made.library.has_dynamic_globals and not any(not x.can_cache for x in made.lifted):
            key = self._index_key(signature, made.codegen)
            keep(self._name(key), dumps((key, made._reduce())))

    def _name(self, key: Any) -> str:
        return f"{self._folder}/{hashlib.sha256(repr((VERSIONS, self._file_digest, key)).encode()).hexdigest()[:32]}"
