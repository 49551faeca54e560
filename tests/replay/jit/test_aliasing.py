"""The compiler's hints about a state's arrays are true: fields do not overlap, fixed rows are fixed."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.engine.machine import Machine
from rayplay.replay.engine.quantum import Engine
from rayplay.replay.gpu.description import load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.jit.aliasing import columns_of
from rayplay.replay.jit.bits import entry_point
from rayplay.replay.jit.references import Ref
from rayplay.replay.jit.rows import FixedRows

SAMPLE = Path(__file__).parents[3] / "traces" / "sample.trace"
CHANGES = (
    "l1.mshr_merges=3",
    "l2.mshr_merges=9",
    "scheduler.count=2",
    "interconnect.packets_in_flight=64",
)


def engine(gpu: str, changes: tuple[str, ...], model: str) -> Engine:
    trace = open_trace(SAMPLE)
    made = Machine(trace, load(gpu, changes), read_characterisation(trace, None), model=model).engine()
    return getattr(made, "state", made)


def arrays(state: Any, path: str) -> Iterator[tuple[int, int, str]]:
    """First byte, first byte after it and name of each array that holds anything."""
    if isinstance(state, np.ndarray) and state.nbytes:
        yield state.ctypes.data, state.ctypes.data + state.nbytes, path
    elif hasattr(state, "_fields"):
        for name, value in zip(state._fields, state, strict=True):
            yield from arrays(value, f"{path}.{name}")


@pytest.mark.parametrize("model", ["characterised", "pipeline"])
def test_no_two_fields_share_memory(model: str) -> None:
    places = sorted(arrays(engine("mobile", (), model), model))
    assert len(places) > 100
    for (_, end, name), (begin, _, following) in pairwise(places):
        assert end <= begin, f"{name} and {following}"


@pytest.mark.parametrize("model", ["characterised", "pipeline"])
def test_rows_of_one_length_have_it_on_every_gpu(model: str) -> None:
    """Else each GPU would have machine code of its own."""
    gpus = [("mobile", ()), ("rtx2060", CHANGES), ("accelsim-rtx3070", CHANGES[:2])]
    found = {columns_of(engine(gpu, changes, model)) for gpu, changes in gpus}
    assert len(found) == 1


class State(NamedTuple):
    """Two arrays."""

    left: FixedRows
    right: np.ndarray


@entry_point
def exchange(state: State, first: int, second: int) -> int:
    """Reads and writes of both arrays by turns, also through a row."""
    left, right = state.left, state.right
    left[first, 1] = 5
    row = left[second]
    row[1] += 2
    right[first, 1] = left[first, 1]
    left[second, 1] += right[second, 1]
    row[1] *= 3
    return int(left[first, 1])


@pytest.mark.parametrize(("first", "second", "result"), [(0, 0, 42), (0, 1, 5)])
def test_writes_are_seen_wherever_they_may_matter(first: int, second: int, result: int) -> None:
    """(5 + 2 + 7) x 3 where both rows are one."""
    state = State(np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64))
    assert exchange(Ref(state), first, second) == result
    assert state.left[first, 1] == result
