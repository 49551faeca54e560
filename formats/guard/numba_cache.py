"""numba's cache of one function, kept among the sealed objects (``formats.guard.sealed``) and nowhere else.

An object holds its whole key beside the code. Its name is a digest of the key, of the function's file (tests compile
functions of their own, which no package's digest covers), of numba and of Python. numba unpickles what it keeps: here
only bytes whose seal was checked.

What a function needs to run is its machine code. numba also parses the bitcode kept beside it, which only a function
that links it needs, and imports its implementations of every function, which only its compiler needs. Both took a
quarter of a second a process; here they wait until they are needed.
"""

import hashlib
import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite.binding import parse_bitcode
from numba.core import caching, ccallback, dispatcher
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from rayplay.formats.guard.sealed import keep, load, sealed_root

USERS = (dispatcher, ccallback)  # modules that make caches
VERSIONS = (numba.__version__, llvmlite.__version__, sys.version)


@cache
def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


class KeptLibrary(JITCodeLibrary):
    """Kept machine code, whose bitcode is parsed when another library links it."""

    bitcode: bytes | None = None  # of a loaded library; another thread may make one while this class is in force

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        """As numba's, without the bitcode."""
        name, _, (code, bitcode) = state  # numba keeps functions as machine code and bitcode
        made = codegen.create_library(name)
        made.enable_object_caching()
        made.bitcode = bitcode
        made._set_compiled_object(code)
        made._finalize_final_module()
        return made

    def get_pointer_to_function(self, name: str) -> int:
        """Address of a function; 0 without a function of the name."""
        if self.bitcode is None:
            return int(super().get_pointer_to_function(name))
        return int(self._codegen._engine.get_function_address(name))

    def _get_module_for_linking(self) -> Any:
        if self.bitcode is None:
            return super()._get_module_for_linking()
        if self._shared_module is None:
            self._shared_module = parse_bitcode(self.bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return self._shared_module


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
        rtsys.initialize(target)
        return Path(sealed_root() / self._name(self._index_key(signature, target.codegen()))).exists()

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function for these types; None when it is not kept."""
        rtsys.initialize(target)
        return self._load_overload(signature, target)

    def _load_overload(self, signature: Any, target: Any) -> Any:
        key = self._index_key(signature, target.codegen())
        data = load(self._name(key)) if self._enabled else None
        if data is None:
            return None
        held, payload = pickle.loads(data)
        if held != key:
            return None
        codegen = target.codegen()
        before, codegen._library_class = codegen._library_class, KeptLibrary
        try:
            return CompileResult._rebuild(target, *payload)
        finally:
            codegen._library_class = before

    def _save_overload(self, signature: Any, made: Any) -> None:
        if self._enabled and not made.library.has_dynamic_globals and not any(not x.can_cache for x in made.lifted):
            key = self._index_key(signature, made.codegen)
            keep(self._name(key), dumps((key, made._reduce())))

    def _name(self, key: Any) -> str:
        return f"{self._folder}/{hashlib.sha256(repr((VERSIONS, self._file_digest, key)).encode()).hexdigest()[:32]}"
