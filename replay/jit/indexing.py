"""Places in arrays are never counted from the end: compiled code of the engine does without looking whether they are.

numba compares every signed index with 0 and adds the length where it is less, which in functions that do little but
look things up was much of the machine code, and of the registers.
"""

from typing import Any

from numba import types
from numba.np import arrayobj

from rayplay.replay.jit.link import PartLibrary, WholeLibrary

usual = arrayobj.fix_integer_index


def fixed_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index as it is in the engine's functions, and as numba has it in others."""
    if isinstance(context.active_code_library, (PartLibrary, WholeLibrary)):
        return context.cast(builder, index, kind, types.intp)
    return usual(context, builder, kind, index, size)


def install() -> None:
    """From now on, numba compiles the engine's functions so."""
    arrayobj.fix_integer_index = fixed_index
