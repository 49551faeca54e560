"""How numba compiles the tracer's functions.

``compiled``     what only compiled code calls: no wrapper for Python, which halves the time to compile it.
``inlined``      small leaves of a hot loop that take many arrays: a call would copy them all, LLVM does not inline it.
``entry_point``  what Python calls; its cached machine code holds what it calls.
``callback``     what machine code of programs calls.
``inlined_entry_point``  an entry point that compiled code takes in, as it does ``inlined``.

Division by zero gives infinity or NaN, as on the GPU.
"""

from typing import Any

from numba import cfunc, njit

from rayplay.formats.guard.code_cache import kept
from rayplay.tracer import CODE

# numba's own annotations leave the wrapper options out
_INNER: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
_OUTER: Any = {"cache": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
compiled: Any = njit(**_INNER)
inlined: Any = njit(inline="always", **_INNER)
entry_point: Any = kept(njit(**_OUTER), CODE)
inlined_entry_point: Any = kept(njit(forceinline=True, **_OUTER), CODE)


def callback(signature: Any) -> Any:
    """Decorator of a function that machine code of programs calls by its address."""
    return kept(cfunc(signature, cache=True), CODE)
