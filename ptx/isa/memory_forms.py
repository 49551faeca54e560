"""Modifiers of memory instructions: the space, the length of the vector, the operation of an atomic.

Memory order, scope and cache hints change nothing in execution: warps run one after another and memory is always
coherent.
"""

from rayplay.ptx.ir import Instruction

SPACES = ("global", "shared", "local", "const", "param")
VECTORS = {"v2": 2, "v4": 4, "v8": 8}
ATOMICS = ("add", "and", "or", "xor", "min", "max", "inc", "dec", "exch", "cas")


def space_of(instruction: Instruction) -> str:
    """The memory space named by the modifiers, ``generic`` without one."""
    return next((_base(m) for m in instruction.modifiers if _base(m) in SPACES), "generic")


def _base(word: str) -> str:
    """The space of a spelling: ``shared::cta``, and ``const[2]`` of old PTX."""
    return word.split("::")[0].split("[")[0]


def lanes_of_vector(instruction: Instruction) -> int:
    """Elements of a vector access, 1 without one."""
    return next((VECTORS[m] for m in instruction.modifiers if m in VECTORS), 1)


def atomic_operation(instruction: Instruction) -> str:
    """The operation of an atom or red."""
    return next(word for word in instruction.modifiers if word in ATOMICS)
