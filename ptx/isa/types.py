"""The types that modifiers name, operands as values of a type, and which registers and constants fit it.

Source: PTX ISA 9.2 (strict) and its tables 27 and 28 (relaxed).
"""

import struct

from rayplay.ptx.ir import Immediate, Operand, Vector
from rayplay.ptx.numbers import TYPE_BYTES, f32_bits

HALVES = {name: 8 * TYPE_BYTES[name] for name in ("f16", "bf16", "f16x2", "bf16x2")}
TYPES = {name: 8 * size for name, size in TYPE_BYTES.items() if not name.endswith(("x4", "ref"))} | {"pred": 1}
"""Bits of a register operand of each type."""


def immediate_bits(immediate: Immediate, type_name: str) -> int:
    """The bits of a constant as an operand of ``type_name``; a double literal is rounded once for f32."""
    width = TYPES[type_name]
    bits = immediate.bits
    if immediate.kind == "f64" and width == 32:
        bits = f32_bits(struct.unpack("<d", struct.pack("<Q", bits))[0])
    elif immediate.kind == "f32" and width == 64 and type_name == "f64":
        bits = struct.unpack("<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<I", bits))[0]))[0]
    return bits & ((1 << width) - 1)


def elements(operand: Operand | None) -> tuple["Operand | None", ...]:
    """The registers of a scalar or vector operand."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


_FLOATS = frozenset(("f16", "f32", "f64"))


def register_fits(wanted: str, declared: str, relaxed: bool = False) -> bool:
    """Whether a register of type ``declared`` may hold an operand of type ``wanted``.

    ``relaxed`` is the rule of loads, stores and conversions, whose registers may be wider than the type.
    """
    if "pred" in (wanted, declared):
        return wanted == declared
    have, need = TYPE_BYTES[declared], TYPE_BYTES[wanted]
    if have < need or (have > need and not relaxed):
        return False
    if declared[0] == "b" or (wanted[0] == "b" and wanted[1:].isdigit()):
        return True
    if wanted[0] in "us" and wanted[1:].isdigit():
        return declared[0] in "us" or declared == "f16x2"  # ptxas counts .f16x2 registers as integers
    return declared == wanted or (wanted in ("u16x2", "s16x2") and declared == "f16x2")


def constant_fits(wanted: str, constant: Immediate) -> bool:
    """Whether a constant may stand where an operand of type ``wanted`` is read."""
    if wanted == "pred":
        return constant.kind == "int"
    if wanted in _FLOATS:
        return constant.kind != "int" and wanted != "f16"
    if constant.kind == "int":
        return wanted[0] in "usb" and wanted[1:].isdigit()
    return wanted[0] == "b" and wanted[1:].isdigit() and TYPE_BYTES[wanted] >= (4 if constant.kind == "f32" else 8)
