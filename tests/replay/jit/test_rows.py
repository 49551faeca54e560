"""Layout of arrays: rows at lines of the host's caches, rings of powers of two; bits of registers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rayplay.replay.jit.rows import aligned_rows, rewind, ring_size
from rayplay.replay.sm.pipeline.program import places

instructions = st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 300), max_size=6)), max_size=60)


@given(st.integers(1, 100_000))
def test_a_ring_has_the_least_power_of_two_places_that_hold_the_entries(entries: int) -> None:
    size = ring_size(entries)
    assert size & (size - 1) == 0
    assert entries <= size < 2 * entries


@given(st.integers(1, 300), st.integers(1, 24))
def test_rows_begin_at_a_line_of_the_caches(rows: int, columns: int) -> None:
    array = aligned_rows(rows, columns)
    assert array.ctypes.data % 64 == 0
    assert array.shape == (rows, columns)
    assert array.flags.c_contiguous
    assert not array.any()


@given(st.integers(0, 1000), st.integers(0, 16), st.integers(0, 3))
def test_what_waits_in_a_ring_is_the_same_after_it_moved(head: int, waiting: int, base: int) -> None:
    array, tail = np.full((base + 16, 2), -1), head + waiting
    for place in range(head, tail):
        array[base + (place & 15)] = place, -place
    gone = rewind.py_func(array, base, head, tail, 16)
    held = [array[base + (place & 15)].tolist() for place in range(head - gone, tail - gone)]
    assert held == [[place, -place] for place in range(head, tail)]
    assert gone in (0, head)
    if not waiting:
        assert gone == head


@given(instructions)
def test_registers_of_a_kernel_have_bits_of_their_own_where_64_are_enough(rows: list[tuple[int, list[int]]]) -> None:
    kernels, every = np.array([kernel for kernel, _ in rows], np.int64), [found for _, found in rows]
    bits, words = places(every, kernels)
    named = [{n for kernel, found in rows if kernel == number for n in found} for number in range(3)]
    if max(map(len, named)) > 64:
        assert bits == every
        assert words == max(n for found in every for n in found) // 64 + 1
        return
    assert words == 1
    for kernel in range(3):
        pairs = {pair for (of, found), bit in zip(rows, bits, strict=True) if of == kernel
                 for pair in zip(found, bit, strict=True)}  # fmt: skip
        assert len(pairs) == len(named[kernel]) == len({bit for _, bit in pairs})
        assert all(0 <= bit < 64 for _, bit in pairs)


def test_more_than_64_registers_of_one_kernel_take_several_words() -> None:
    every = [[2 * number] for number in range(65)]
    assert places(every, np.zeros(65, np.int64)) == (every, 3)
