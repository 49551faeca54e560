"""Fragments of ``mma`` element by element, as the figures of the PTX ISA say (9.7.15.5), and exact products.

A fragment is a list of elements per lane; ``a(lane, i)``, ``b(lane, i)`` and ``c(lane, i)`` give (row, column).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Where = Callable[[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Fragments:
    """``a_count``, ``b_count``, ``c_count`` elements per lane of an ``m x n x k`` product."""

    m: int
    n: int
    k: int
    a_count: int
    b_count: int
    c_count: int
    a: Where
    b: Where
    c: Where


def group(lane: int) -> int:
    return lane >> 2


def thread(lane: int) -> int:
    return lane % 4


def c_of_8(lane: int, i: int) -> tuple[int, int]:
    return group(lane), thread(lane) * 2 + (i & 1)


def c_of_16(lane: int, i: int) -> tuple[int, int]:
    return group(lane) + (0 if i < 2 else 8), thread(lane) * 2 + (i & 1)


def a_16_8_16_half(lane: int, i: int) -> tuple[int, int]:
    row = group(lane) if i < 2 or 4 <= i < 6 else group(lane) + 8
    return row, thread(lane) * 2 + (i & 1) + (0 if i < 4 else 8)


def a_16_8_32_byte(lane: int, i: int) -> tuple[int, int]:
    row = group(lane) if i < 4 or 8 <= i < 12 else group(lane) + 8
    return row, thread(lane) * 4 + (i & 3) + (0 if i < 8 else 16)


def a_16_8_64_nibble(lane: int, i: int) -> tuple[int, int]:
    row = group(lane) if i < 8 or 16 <= i < 24 else group(lane) + 8
    return row, thread(lane) * 8 + (i & 7) + (0 if i < 16 else 32)


def a_16_8_256_bit(lane: int, i: int) -> tuple[int, int]:
    row = group(lane) if i < 32 or 64 <= i < 96 else group(lane) + 8
    return row, thread(lane) * 32 + (i & 31) + (0 if i < 64 else 128)


def a_16_8_16_double(lane: int, i: int) -> tuple[int, int]:
    return group(lane) + (8 if i % 2 else 0), thread(lane) + 4 * (i // 2)


def fragments(m: int, n: int, k: int, bits: int) -> Fragments:
    """The layouts of a shape whose multiplicands have ``bits`` per element."""
    per = max(32 // bits, 1)
    tall = {16: a_16_8_16_half, 8: a_16_8_32_byte, 4: a_16_8_64_nibble, 1: a_16_8_256_bit, 64: a_16_8_16_double}

    def a_small(lane: int, i: int) -> tuple[int, int]:
        return group(lane) + (0 if i < per else 8), thread(lane) * per + i % per

    def a_tf32(lane: int, i: int) -> tuple[int, int]:
        return group(lane) + (8 if i % 2 else 0), thread(lane) + (0 if i < 2 else 4)

    def b(lane: int, i: int) -> tuple[int, int]:
        return thread(lane) * per + i % per + i // per * 4 * per, group(lane)

    a = a_tf32 if bits == 32 else a_16_8_16_double if bits == 64 else tall[bits] if m * k // 32 > 2 * per else a_small
    c = c_of_8 if m == 8 else c_of_16
    return Fragments(m, n, k, m * k // 32, n * k // 32, m * n // 32, a, b, c)


def spread(matrix: np.ndarray, where: Where, count: int) -> np.ndarray:
    """A matrix as [lane, element]."""
    return np.array([[matrix[where(lane, i)] for i in range(count)] for lane in range(32)], matrix.dtype)


def gathered(fragment: np.ndarray, where: Where, shape: tuple[int, int]) -> np.ndarray:
    """[lane, element] as a matrix; every element is held exactly once."""
    matrix = np.zeros(shape, fragment.dtype)
    seen = np.zeros(shape, int)
    for lane in range(32):
        for i in range(fragment.shape[1]):
            matrix[where(lane, i)] = fragment[lane, i]
            seen[where(lane, i)] += 1
    assert (seen == 1).all()
    return matrix


def packed(elements: np.ndarray, bits: int) -> np.ndarray:
    """[lane, element] of unsigned element bits as uint32 registers, uint64 for doubles."""
    if bits == 64:
        return elements.astype(np.uint64)
    per = 32 // bits
    parts = elements.astype(np.uint64).reshape(32, -1, per) & np.uint64(2**bits - 1)
    shifted = parts << (np.arange(per, dtype=np.uint64) * np.uint64(bits))
    return np.bitwise_or.reduce(shifted, axis=2).astype(np.uint32)
