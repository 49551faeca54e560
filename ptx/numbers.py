"""Constants as PTX writes them: decimal, 0x, 0b and octal integers, 0f and 0d floats by their bits, decimal floats."""

import struct

from rayplay.ptx.ir import Immediate


class Unsigned(int):
    """An integer constant of type ``u64``, as the suffix ``U`` makes it; a plain ``int`` is an ``s64``."""


def immediate(digits: str) -> Immediate:
    """The constant that a NUMBER of the grammar stands for. A decimal float is ``f64``, as PTX has it."""
    prefix = digits[:2].lower()
    if prefix in ("0f", "0d"):
        return Immediate(int(digits[2:], 16), "f32" if prefix == "0f" else "f64")
    if prefix not in ("0x", "0b") and any(letter in digits for letter in ".eE"):
        return Immediate(f64_bits(float(digits)), "f64")
    value = integer(digits)
    return Immediate(Unsigned(value) if digits[-1] == "U" else value, "int")


def integer(digits: str) -> int:
    """The value of an unsigned integer constant; a leading 0 means octal, a trailing U is allowed."""
    digits = digits.rstrip("U")
    prefix = digits[:2].lower()
    if prefix == "0x":
        return int(digits[2:], 16)
    if prefix == "0b":
        return int(digits[2:], 2)
    if digits[0] == "0" and len(digits) > 1 and not set(digits) & {"8", "9"}:
        return int(digits, 8)
    return int(digits)


def f64_bits(value: float) -> int:
    """The 64 bits of a double."""
    return int.from_bytes(struct.pack("<d", value), "little")


def f32_bits(value: float) -> int:
    """The 32 bits of the nearest single; a value too large for one is infinity."""
    try:
        return int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        return 0x7F80_0000 if value > 0 else 0xFF80_0000


def as_f32(constant: Immediate) -> Immediate:
    """The same constant where an f32 is wanted."""
    if constant.kind != "f64":
        return constant
    value = struct.unpack("<d", constant.bits.to_bytes(8, "little"))[0]
    return Immediate(f32_bits(value), "f32")


def encode(constant: Immediate, type_name: str) -> bytes:
    """The little-endian bytes of a constant stored as a variable of that type; integers wrap as C's do."""
    size = TYPE_BYTES[type_name]
    if type_name in ("f32", "f64") and constant.kind == "int":
        bits = (f32_bits if size == 4 else f64_bits)(float(constant.bits))
    elif type_name == "f32":
        bits = as_f32(constant).bits
    elif type_name == "f64" and constant.kind == "f32":
        bits = f64_bits(struct.unpack("<f", constant.bits.to_bytes(4, "little"))[0])
    else:
        bits = constant.bits
    return (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")


TYPE_BYTES = {
    "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4, "s32": 4,
    "f32": 4, "tf32": 4, "f16x2": 4, "bf16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16, "u128": 16,
    "s128": 16, "e4m3": 1, "e5m2": 1, "e4m3x2": 2, "e5m2x2": 2, "e4m3x4": 4, "e5m2x4": 4, "e2m1x2": 1, "e2m3x2": 2,
    "e3m2x2": 2, "e2m1x4": 2, "e2m3x4": 4, "e3m2x4": 4, "ue8m0x2": 2, "u16x2": 4, "s16x2": 4, "f32x2": 8, "pred": 1,
    "texref": 8, "samplerref": 8, "surfref": 8,
}  # fmt: skip
