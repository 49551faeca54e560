"""The forms of memory instructions: which modifiers there are, and which operations an atomic has on which type.

Source: PTX ISA 9.0, 9.7.9.8 to 9.7.9.13 (ld, st), 9.7.13.5 and 9.7.13.6 (atom, red). Memory order, scope and cache
hints change nothing here: warps run one after another and memory is always coherent.
"""

from rayplay.ptx.ir import Instruction

SPACES = ("global", "shared", "local", "const", "param")
SPACE_SPELLINGS = frozenset((
    *SPACES, "shared::cta", "shared::cluster", "param::entry", "param::func", *(f"const[{bank}]" for bank in range(11)),
))  # fmt: skip
ORDERS = frozenset(("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"))
SCOPES = frozenset(("cta", "cluster", "gpu", "sys"))
VECTORS = {"v2": 2, "v4": 4, "v8": 8}
PRIORITIES = frozenset(
    f"{level}::{word}"
    for level in ("L1", "L2")
    for word in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
)
HINTS = PRIORITIES | {"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"}
CACHES = frozenset(("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified"))
LOAD_STORE = SPACE_SPELLINGS | ORDERS | SCOPES | HINTS | CACHES | VECTORS.keys()

ATOMICS = ("add", "and", "or", "xor", "min", "max", "inc", "dec", "exch", "cas")
ATOMIC = SPACE_SPELLINGS | ORDERS | SCOPES | VECTORS.keys() | {"L2::cache_hint", "noftz"}
_HALVES = ("f16", "bf16", "f16x2", "bf16x2")
ATOMIC_TYPES: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "s64", "f32", "f64", *_HALVES),
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
    "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"),
    "inc": ("u32",), "dec": ("u32",),
    "exch": ("b32", "b64", "b128", "u32", "s32", "u64", "s64", "f32", "f64"),
    "cas": ("b16", "b32", "b64", "b128", "u32", "s32", "u64", "s64", "f32", "f64"),
}  # fmt: skip
VECTOR_TYPES: dict[str, tuple[str, ...]] = {"add": ("f32", *_HALVES), "min": _HALVES, "max": _HALVES}


def space_of(instruction: Instruction) -> str:
    """The memory space named by the modifiers, ``generic`` without one."""
    return next((_base(m) for m in instruction.modifiers if _base(m) in SPACES), "generic")


def _base(word: str) -> str:
    """The space of a spelling: ``shared::cta``, and ``const[2]`` of old PTX."""
    return word.split("::")[0].split("[")[0]


def lanes_of_vector(instruction: Instruction) -> int:
    """Elements of a vector access, 1 without one."""
    return next((VECTORS[m] for m in instruction.modifiers if m in VECTORS), 1)


def knows_load_store(instruction: Instruction) -> bool:
    """Whether every modifier of an ld, ldu or st but its one type is understood; ptxas takes them in any order."""
    return sum(word not in LOAD_STORE for word in instruction.modifiers) == 1


def atomic_operation(instruction: Instruction) -> str | None:
    """The operation of an atom or red; None for a form that PTX does not have or the executor does not know."""
    words = instruction.modifiers
    found = [word for word in words if word in ATOMICS]
    types = [word for word in words if word not in ATOMIC and word not in ATOMICS]
    if len(found) != 1 or len(types) != 1:
        return None
    table = VECTOR_TYPES if lanes_of_vector(instruction) > 1 else ATOMIC_TYPES
    return found[0] if types[0] in table.get(found[0], ()) else None
