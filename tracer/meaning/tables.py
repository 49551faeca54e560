"""Tables of modifiers that both backends read."""

from collections.abc import Mapping

from rayplay.ptx.ir import Function, Module

PACKED_BITS = {"u2": 2, "s2": 2, "u4": 4, "s4": 4, "u8": 8, "s8": 8, "u16": 16, "s16": 16}
"""Bits of the targets of cvt.pack."""
PERMUTATIONS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543), "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333), "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210), "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}  # fmt: skip
"""Selectors of the modes of prmt, by the low two bits of c."""
ATOMIC_OPERANDS = {"cas": 2}  # one for all others
WINDOWS = {
    "shared": ("shared_base", "shared_bytes"), "local": ("local_base", "local_total_bytes"),
    "param": ("param_base", "param_bytes"),
}  # fmt: skip
"""Words of the machine with the first address and the bytes of a space."""


def constants_of(module: Module, function: Function, names: Mapping[str, int]) -> dict[str, int]:
    """Bytes of the constant variables that have an address."""
    known = module.variables | function.variables
    return {name: v.bytes for name, v in known.items() if v.space == "const" and name in names}
