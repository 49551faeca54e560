"""What early PTX leaves unsaid, spelled out: PTX 1.0 to 1.3 has default modifiers, and targets sm_10 to sm_13 flush.

Source: PTX ISA, the notes "PTX ISA Notes" and "Target ISA Notes" of each floating point instruction: for PTX 1.0 to 1.3
``div.f32`` is ``div.approx.ftz.f32`` and so on, ``rcp.f64`` is ``rcp.rn.f64``; f32 instructions of sm_1x targets flush
subnormal operands and results. ``mad.f32`` is computed as a fused one there, too: no machine that truncated is left.
"""

from dataclasses import replace

from rayplay.ptx.ir import Instruction, Module
from rayplay.ptx.isa.modifiers import problem

FLUSHING_TARGETS = frozenset(("sm_10", "sm_11", "sm_12", "sm_13"))
FIRST_EXPLICIT_VERSION = (1, 4)
APPROXIMATE = frozenset(("div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"))
ROUNDED = frozenset(("div", "rcp", "sqrt", "fma"))


def spelled_out(instruction: Instruction, module: Module) -> Instruction:
    """The instruction with the modifiers that its module's version and target imply; mostly itself."""
    flushes = module.target[:1] and module.target[0] in FLUSHING_TARGETS
    if not flushes and module.version >= FIRST_EXPLICIT_VERSION:
        return instruction
    modifiers = instruction.modifiers
    if module.version < FIRST_EXPLICIT_VERSION:
        if modifiers == ("f32",) and instruction.opcode in APPROXIMATE:
            modifiers = ("approx", "ftz", "f32")
        elif modifiers == ("f64",) and instruction.opcode in ROUNDED:
            modifiers = ("rn", "f64")
        elif modifiers == ("f64",) and instruction.opcode == "rsqrt":
            modifiers = ("approx", "f64")
    if flushes and "f32" in modifiers and "ftz" not in modifiers and not _keeps_subnormals(instruction, module):
        flushed = (*modifiers[:-1], "ftz", modifiers[-1])
        modifiers = modifiers if problem(instruction.opcode, flushed) else flushed
    return instruction if modifiers is instruction.modifiers else replace(instruction, modifiers=modifiers)


def _keeps_subnormals(instruction: Instruction, module: Module) -> bool:
    """Up to PTX 1.4 cvt flushed nothing on its way to 64 bits."""
    to_64_bits = any(name.endswith("64") for name in instruction.modifiers[-2:-1])
    return instruction.opcode == "cvt" and module.version <= (1, 4) and to_64_bits
