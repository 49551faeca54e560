"""Modifiers that early PTX implies: defaults of PTX 1.0 to 1.3, flushing on sm_10 to sm_13, ``.aligned`` before 6.3.

Source: PTX ISA, the notes "PTX ISA Notes" and "Target ISA Notes" of each floating point instruction: for PTX 1.0 to 1.3
``div.f32`` is ``div.approx.ftz.f32``, ``rcp.f64`` is ``rcp.rn.f64`` and ``rsqrt.f64`` is ``rsqrt.approx.f64``; f32
instructions of sm_1x targets flush subnormal operands and results. ``mad.f32`` is computed as a fused one there: no
machine that truncated is left.
"""

from dataclasses import replace

from rayplay.ptx.ir import Instruction, Module
from rayplay.ptx.isa.form import form_of, problem

FLUSHING_TARGETS = frozenset(("sm_10", "sm_11", "sm_12", "sm_13"))
FIRST_EXPLICIT_VERSION = (1, 4)
FIRST_ALIGNED_VERSION = (6, 3)
APPROXIMATE = frozenset(("div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"))
ROUNDED = frozenset(("div", "rcp", "sqrt"))


def with_defaults(opcode: str, modifiers: tuple[str, ...], version: tuple[int, int]) -> tuple[str, ...]:
    """The modifiers of an instruction of a module of that PTX version, default ones spelled out."""
    if version >= FIRST_EXPLICIT_VERSION:
        return modifiers
    if modifiers == ("f32",) and opcode in APPROXIMATE:
        return ("approx", "ftz", "f32")
    if modifiers == ("f64",) and opcode in ROUNDED:
        return ("rn", "f64")
    return ("approx", "f64") if modifiers == ("f64",) and opcode == "rsqrt" else modifiers


def spelled_out(instruction: Instruction, module: Module) -> Instruction:
    """The instruction with the ``.ftz`` and ``.aligned`` that target and version imply; mostly itself."""
    modifiers = instruction.modifiers
    if instruction.opcode == "wmma" and module.version < FIRST_ALIGNED_VERSION and "aligned" not in modifiers:
        place = modifiers.index("sync") + 1 if "sync" in modifiers else len(modifiers)
        meant = (*modifiers[:place], "aligned", *modifiers[place:])
    elif module.target and module.target[0] in FLUSHING_TARGETS and "f32" in modifiers and "ftz" not in modifiers:
        meant = (*modifiers[:-1], "ftz", modifiers[-1])
        if _keeps_subnormals(instruction, module) or problem(instruction.opcode, meant):
            return instruction
    else:
        return instruction
    return replace(instruction, modifiers=meant, form=form_of(instruction.opcode, meant))


def _keeps_subnormals(instruction: Instruction, module: Module) -> bool:
    """Up to PTX 1.4 cvt flushed nothing on its way to 64 bits."""
    to_64_bits = any(name.endswith("64") for name in instruction.modifiers[-2:-1])
    return instruction.opcode == "cvt" and module.version <= (1, 4) and to_64_bits
