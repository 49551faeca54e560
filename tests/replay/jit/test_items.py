"""Items of a state's arrays, read and written by every form of index, are numpy's."""

from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.replay.jit import items
from rayplay.replay.jit.bits import entry_point
from rayplay.replay.jit.references import Ref
from rayplay.replay.jit.rows import FixedRows

assert items.read_item


class Pair(NamedTuple):
    """A small state of one type."""

    first: int
    second: int


class Inner(NamedTuple):
    """A state in a state."""

    flag: bool
    short: np.ndarray  # int32[n]
    pair: Pair


class State(NamedTuple):
    """Arrays of one to three dimensions."""

    line: np.ndarray
    inner: Inner
    fixed: FixedRows
    table: np.ndarray
    bytes_: np.ndarray  # uint8[n]
    block: np.ndarray  # int64[a, b, c]
    last: int


@entry_point
def change(state: State, i: int, j: int, k: int) -> int:
    """Reads and writes through every form of index."""
    state.line[j] = state.inner.short[j] + state.bytes_[j]
    state.inner.short[j] = state.line[j] - 3
    row, other = state.fixed[i], state.table[i]
    row[k] += state.fixed[i, k] * 2 + len(row) + row.size
    other[j] = state.table[i][j] + state.block[i, j, k] + len(other)
    state.table[np.uint32(i), np.int32(j)] += 5
    state.block[i, j, k] = state.table[i, j] + row[k]
    state.block[i, j][k] += 1
    state.bytes_[j] = state.line[j]
    found = 0
    for value in state.block[i][j]:
        found += value
    for value in state.line[1:]:
        found += value
    if state.inner.flag:
        found += state.inner.pair.first * 10 + state.inner.pair.second
    return found + state.last + state.table.shape[1] + state.line.shape[0]


def made(seed: int, flag: bool) -> State:
    rng = np.random.default_rng(seed)

    def some(shape: tuple[int, ...], kind: type = np.int64) -> np.ndarray:
        return rng.integers(0, 100, shape).astype(kind)

    return State(
        some((4,)), Inner(flag, some((4,), np.int32), Pair(3, 4)), some((3, 5)), some((3, 4)), some((4,), np.uint8),
        some((3, 4, 5)), 17,
    )  # fmt: skip


@settings(deadline=None)  # the first one compiles
@given(st.integers(0, 99), st.booleans(), st.integers(0, 2), st.integers(0, 3), st.integers(0, 4))
def test_every_form_of_index_is_numpys(seed: int, flag: bool, i: int, j: int, k: int) -> None:
    compiled, plain = made(seed, flag), made(seed, flag)
    assert change(Ref(compiled), i, j, k) == change.py_func(plain, i, j, k)
    for name in ("line", "fixed", "table", "bytes_", "block"):
        assert np.array_equal(getattr(compiled, name), getattr(plain, name)), name
    assert np.array_equal(compiled.inner.short, plain.inner.short)
