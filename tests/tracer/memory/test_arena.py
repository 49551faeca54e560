"""Lent memory against a plain list of allocations: same addresses found, no overlap, zeroed again, exact bounds."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.tracer.memory.arena import FIRST_ADDRESS, DeviceMemory

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("allocate"), st.integers(0, 9000)),
        st.tuples(st.just("lend"), st.integers(0, 9000)),
        st.tuples(st.just("give_back"), st.integers(0, 1 << 30)),
    ),
    max_size=60,
)


@given(STEPS, st.sampled_from([0, 1 << 20]))
@settings(max_examples=60, deadline=None)
def test_what_is_held_is_the_table(steps: list[tuple[str, int]], guard_bytes: int) -> None:
    memory = DeviceMemory(guard_bytes)
    held: list[tuple[int, int]] = []
    lent: list[tuple[int, int]] = []
    for what, number in steps:
        if what == "give_back":
            if lent:
                address, size = lent.pop(number % len(lent))
                memory.give_back(address)
                held.remove((address, size))
            continue
        address = memory.allocate(number) if what == "allocate" else memory.lend(number, "x")
        assert not np.any(memory.view(address, np.uint8, number))
        memory.view(address, np.uint8, number)[:] = 1
        held.append((address, number))
        if what == "lend" and number:
            lent.append((address, number))
    assert [address for address, _, _ in memory.allocations] == sorted(address for address, _ in held)
    sizes = {address: size for address, size, _ in memory.allocations if size}  # a hole is lent whole
    assert all(sizes[address] >= size for address, size in held if size)
    assert memory.table().tolist() == [[address, address + sizes[address]] for address in sorted(sizes)]
    assert all(end <= after for (_, end), (after, _) in pairwise(memory.table().tolist()))
    assert all(first >= FIRST_ADDRESS for first, _ in held)
