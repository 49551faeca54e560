"""Which family of ``tracer.interp`` and of ``tracer.lower`` executes an instruction: by opcode, then by type.

A family is a module of either package with the same stem, whose HANDLERS have the opcodes of ``OPCODES`` here.
"""

from functools import cache

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Instruction, Module
from rayplay.ptx.isa.types import HALVES, TYPES

_VIDEO = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset")
SCALAR_VIDEO = (*_VIDEO, "vshl", "vshr")
SIMD_VIDEO = tuple(f"{name}{count}" for name in (*_VIDEO, "vavrg") for count in (2, 4))
OPCODES: dict[str, tuple[str, ...]] = {
    # numbers, by the kind of their type
    "integer": ("mul", "div", "rem", "min", "max", "neg", "abs", "cnot", "sad", "and", "or", "xor", "not", "popc",
                "clz", "bfind", "brev"),
    "carry": ("add", "sub", "addc", "subc", "mad", "madc", "mul24", "mad24", "dp4a", "dp2a"),
    "packed": ("add", "min", "max"),
    "floats": ("add", "sub", "mul", "div", "fma", "mad", "min", "max", "neg", "abs", "copysign", "testp", "sqrt", "rcp",
               "tanh"),
    "pair": ("add", "sub", "mul", "fma"),
    "half": ("add", "sub", "mul", "fma", "min", "max", "neg", "abs", "ex2", "tanh"),
    "approx": ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "div"),
    # one family each
    "bits": ("shl", "shr", "shf", "bfe", "bfi", "bmsk", "szext", "fns", "lop3", "prmt"),
    "compare": ("selp", "slct", "setp", "set", "mov"), "convert": ("cvt",),
    "video": (*SCALAR_VIDEO, *SIMD_VIDEO, "vmad"),
    "address": ("cvta", "isspacep", "mapa", "getctarank", "createpolicy"),
    "memory": ("ld", "ldu", "st", "filter_shader"), "atomic": ("atom", "red"), "mbarrier": ("mbarrier",),
    "unit": ("tex", "tld4", "txq", "suld", "sust", "sured", "suq", "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix",
             "cp"),
    "shuffle": ("shfl", "vote", "activemask", "match", "redux", "elect"),
    # warps run one after another and memory is always coherent
    "nothing": ("membar", "fence", "prefetch", "prefetchu", "pmevent", "griddepcontrol", "discard", "applypriority"),
}  # fmt: skip
BY_KIND = ("integer", "carry", "packed", "floats", "pair", "half", "approx")
RECORDING = ("memory", "atomic", "unit")
"""Families whose instructions may record an access."""
_FAMILY = {opcode: name for name, opcodes in OPCODES.items() if name not in BY_KIND for opcode in opcodes}
_NOT_ASYNCHRONOUS = ("st", "red")
_KINDS = {"f32x2": "pair", "u16x2": "packed", "s16x2": "packed"}


def family_of(i: Instruction) -> str | None:
    """The family that executes an instruction; None for control flow and for opcodes that are not executed."""
    return _family(i.opcode, i.modifiers)


@cache
def _family(opcode: str, modifiers: tuple[str, ...]) -> str | None:
    if opcode in _FAMILY:
        return None if opcode in _NOT_ASYNCHRONOUS and {"async", "bulk"} & set(modifiers) else _FAMILY[opcode]
    types = [modifier for modifier in modifiers if modifier in TYPES]
    if not types:
        return None
    if {"approx", "full"} & set(modifiers) and opcode in OPCODES["approx"] and types[0] in ("f32", "f64"):
        return "approx"
    if types[0] in ("f32", "f64"):  # also with half precision factors
        kinds: tuple[str, ...] = ("floats",)
    elif types[-1] in HALVES:
        kinds = ("half",)
    else:
        kinds = (_KINDS[types[-1]],) if types[-1] in _KINDS else ("integer", "carry")
    return next((kind for kind in kinds if opcode in OPCODES[kind]), None)


def accesses_memory(i: Instruction) -> bool:
    """Whether an instruction may record an access."""
    return family_of(i) in RECORDING and i.opcode != "filter_shader"


def is_packed_conversion(i: Instruction) -> bool:
    """Whether a cvt makes or takes several numbers at once."""
    return "pack" in i.modifiers or any(name.endswith("x2") for name in i.modifiers if name in TYPES)


def unknown(module: Module, instruction: Instruction, name: str | None = None) -> UserError:
    """The error for an opcode that the executor lacks."""
    where = instruction.position
    opcode = name or instruction.full_opcode
    return UserError(f"{module.source_name}:{where.line}:{where.column}: the executor does not know {opcode}")
