"""Hashes that spread addresses over sets, banks and slices: parities of address bits.

``ipoly`` gives bit b of an index the parity of the address bits k with bit b in x^k modulo an irreducible polynomial
(Rau, Pseudo-randomly interleaved memory, ISCA 1991).
"""

import numpy as np

from rayplay.replay.jit.bits import count_bits, inlined

# By number of places: the polynomial over GF(2), and how many address bits above the index are hashed.
IPOLY = {16: (0b10011, 13), 32: (0b100101, 15), 64: (0b1000011, 19)}


def parity_masks(name: str, places: int) -> np.ndarray:
    """For each bit of an index, the address bits whose parity it is: int64; ``places`` is a power of two.

    name  linear, xor (the bits above the index are added), or ipoly (16, 32 or 64 places).
    """
    bits = places.bit_length() - 1
    masks = [1 << bit for bit in range(bits)]
    if name == "xor":
        masks = [mask | mask << bits for mask in masks]
    elif name == "ipoly":
        polynomial, above = IPOLY[places]
        rest = 1
        for place in range(bits + above):
            masks = [mask | (rest >> bit & 1) << place for bit, mask in enumerate(masks)]
            rest <<= 1
            rest ^= polynomial * (rest >> bits)
    return np.array(masks, np.int64)


def fermi_masks(sets: int, line_bytes: int) -> np.ndarray:
    """The same of the line number for the set hash of Fermi's L1 (32 or 64 sets); other numbers use set 0 alone.

    Source: ``docs/sources/accel-sim.md#cache-strings``.
    """
    if sets not in (32, 64):
        return np.zeros(1, np.int64)
    shift = line_bytes.bit_length() - 1
    masks = [1 << bit | 1 << above >> shift for bit, above in enumerate((13, 14, 15, 17, 19))]
    return np.array([*masks, 1 << 12 >> shift][: sets.bit_length() - 1], np.int64)


@inlined
def parities(masks: np.ndarray, address: int) -> int:
    """The index whose bits are the parities of an address under ``masks``."""
    index = 0
    for bit in range(masks.shape[0]):
        index |= (count_bits(address & masks[bit]) & 1) << bit
    return index
