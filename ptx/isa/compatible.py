"""Which registers and constants an operand of a type takes: PTX ISA 9.2 (strict) and tables 27 and 28 (relaxed)."""

from rayplay.ptx.ir import Immediate
from rayplay.ptx.numbers import TYPE_BYTES

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
