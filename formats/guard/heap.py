"""The C library's heap."""

import ctypes


def trim_heap() -> None:
    """Give the heap's free pages back to the system, where the C library can (glibc).

    Arrays of some megabytes that come and go leave holes that later, larger arrays do not fit into.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
