"""Parts of the engine that are machine code of their own: several processes compile them at the same time.

A function marked ``separate`` is called by a name that the loader resolves, so that its callers are compiled without
it, and models that share it (memory partitions, RT units) find it in the cache. It must not raise, and takes
references to states and whole numbers.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import llvmlite.binding
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, builtin_registry, signature

from rayplay.formats.guard.beside import beside
from rayplay.replay.jit.bits import entry_point, plain

Types = tuple[Any, ...]
DISPATCHERS: dict[Callable[..., Any], Any] = {}
LOADED: set[str] = set()
WAITING: list[Callable[[], None]] = []  # for the processes that compile for us


def separate(function: Callable[..., Any]) -> Any:
    """Decorator of a function with machine code of its own; its result is an int, or None."""
    result = types.none if function.__annotations__["return"] is None else types.int64
    DISPATCHERS[function] = entry_point(function)

    class Call(AbstractTemplate):
        key = function

        def generic(self, given: Types, named: dict[str, Any]) -> Any:
            """The same types wherever it is called."""
            return signature(result, *map(plain, given))

    builtin_registry.register_global(function, types.Function(Call))

    @lower_builtin(function, types.VarArg(types.Any))
    def _(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        conventions, library = context.call_conv, context.active_code_library
        library._reload_init.add(partial(load, function.__module__, function.__name__, call.args))
        kind = conventions.get_function_type(call.return_type, call.args)
        callee = cgutils.get_or_insert_function(builder.module, kind, symbol(function, call.args))
        return conventions.call_function(builder, callee, call.return_type, call.args, arguments)[1]

    return function


def symbol(function: Callable[..., Any], given: Types) -> str:
    """Its name in machine code, for these types of arguments."""
    digest = hashlib.sha256(" ".join(str(kind) for kind in given).encode()).hexdigest()[:16]
    return f"rayplay.{function.__module__}.{function.__name__}.{digest}"


def load(module: str, name: str, given: Types) -> None:
    """Have a function's machine code loaded, or compiled where the cache lacks it, before one that calls it."""
    function = getattr(import_module(module), name)
    wanted = symbol(function, given)
    if wanted not in LOADED:
        for wait in WAITING:
            wait()
        compiled = compile_function(function, given)
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        llvmlite.binding.add_symbol(wanted, address)
        LOADED.add(wanted)


def compile_function(function: Callable[..., Any], given: Types) -> Any:
    """Machine code of a separate function."""
    DISPATCHERS[function].compile(given)
    return DISPATCHERS[function].overloads[given]


Call = tuple[Callable[..., Any], Types]


def compile_with(entry: Any, given: Types, calls: Sequence[Call]) -> None:
    """Compile an entry point, or load it: the separate functions that it calls, in a second process meanwhile."""
    works: list[Callable[[], Any]] = []
    if not hasattr(entry, "compile"):
        return  # where nothing is compiled
    if not is_cached(entry, given):
        works = [partial(compile_function, *call) for call in calls if not is_cached(DISPATCHERS[call[0]], call[1])]
    with beside(works) as wait:
        WAITING.append(wait)
        try:
            entry.compile(given)
        finally:
            WAITING.remove(wait)


def is_cached(dispatcher: Any, given: Types) -> bool:
    """Whether the cache holds machine code for these types."""
    return given in dispatcher.overloads or dispatcher._cache.holds(given, dispatcher.targetctx)
