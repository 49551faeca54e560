"""Inputs for scalar instructions: edges of every format in each width, small numbers, and random bits."""

import numpy as np

EDGES_16 = (
    0, 1, 2, 0x3FF, 0x400, 0x401, 0x7F, 0x80, 0x81, 0xFF, 0x3C00, 0x3C01, 0xBC00, 0x3800, 0x7BFF, 0xFBFF, 0x7C00,
    0xFC00, 0x7E00, 0x7D01, 0xFFFF, 0x8000, 0x8001, 0x83FF, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0,
    0x7F81, 0x0080, 0x4900, 0x5BFF, 0x64FF,
)  # fmt: skip
EDGES_32 = (
    0, 1, 2, 7, 31, 32, 33, 255, 256, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x00800000, 0x007FFFFF,
    0x807FFFFF, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 0x3F000000,
    0x3FC00000, 0x40200000, 0x4B000001, 0x4F000000, 0xCF000000, 0x5F000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x477FF000,
    0x477FE000, 0x33000000, 0x33000001, 0x387FC000, 0x43E00000, 0x43E80000, 0x3E800000, 0x7F7F8000, 0x3F7FFFFF,
    0x42FF8000, 0x00400000, 0x00400001, 0x00008000, 0x00018000,
)  # fmt: skip
EDGES_64 = (
    0, 1, 63, 64, 65, 2**53 + 1, 2**54 + 6, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 1025, 0x3FF0000000000000,
    0xBFF0000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001,
    0x0010000000000000, 0x000FFFFFFFFFFFFF, 0x3FE0000000000000, 0x4330000000000001, 0x43E0000000000000,
    0xC3E0000000000000, 0x41DFFFFFFFC00000, 0x36A0000000000000, 0x47EFFFFFF0000000, 0x3810000000000000,
    0x3690000000000001, 0x40EFFE0000000000, 0x40EFFDFFFFFFFFFF, 0x3FF0000010000000, 0x3FF0000010000001,
    0x7FEFFFFFFFFFFFFF, 0x8000000000000001, 0x3CA0000000000000, 0x7FF0000000000000 - 1,
)  # fmt: skip


def words(threads: int, seed: int) -> np.ndarray:
    """uint32[3 * threads]: edges, pairs of half word edges, small numbers, floats near 1, random bits."""
    generator = np.random.default_rng(seed)
    count = 3 * threads
    half = generator.choice(np.array(EDGES_16, np.uint64), (2, count))
    floats = generator.standard_normal(count) * 2.0 ** generator.integers(-20, 20, count)
    kinds = (
        generator.choice(np.array(EDGES_32, np.uint64), count), half[0] | half[1] << np.uint64(16),
        generator.integers(0, 70, count, dtype=np.uint64), floats.astype(np.float32).view(np.uint32).astype(np.uint64),
        generator.integers(0, 1 << 32, count, dtype=np.uint64),
    )  # fmt: skip
    return np.choose(generator.integers(0, len(kinds), count), kinds).astype(np.uint32)


def doubles(threads: int, seed: int) -> np.ndarray:
    """uint64[3 * threads]: edges, edges of half and single precision in the low bits, floats, random bits."""
    generator = np.random.default_rng(seed)
    count = 3 * threads
    floats = generator.standard_normal(count) * 2.0 ** generator.integers(-40, 40, count)
    kinds = (
        generator.choice(np.array(EDGES_64, np.uint64), count), generator.choice(np.array(EDGES_16, np.uint64), count),
        words(threads, seed + 1).astype(np.uint64) << np.uint64(32) | words(threads, seed + 2), floats.view(np.uint64),
        generator.integers(0, 1 << 64, count, dtype=np.uint64),
    )  # fmt: skip
    return np.choose(generator.integers(0, len(kinds), count), kinds)
