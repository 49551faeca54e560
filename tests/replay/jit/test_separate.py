"""Machine code of its own: called by name, once for all types of numbers, and what an engine calls is known."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.engine.machine import Machine
from rayplay.replay.engine.quantum import run_quanta, separate_calls
from rayplay.replay.gpu.description import load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.jit import separate as module
from rayplay.replay.jit.bits import entry_point
from rayplay.replay.jit.references import Ref
from rayplay.replay.jit.separate import DISPATCHERS, separate, symbol

SAMPLE = Path(__file__).parents[3] / "traces" / "sample.trace"


class State(NamedTuple):
    """A counter."""

    count: np.ndarray


@separate
def add(state: State, number: int, times: int) -> int:
    """Add, and say what there was."""
    before = state.count[0]
    state.count[0] += number * times
    return before


@separate
def reset(state: State) -> None:
    """Begin again."""
    state.count[0] = 0


@entry_point
def use(state: State, number: int) -> int:
    """Calls with constants, short numbers and truth values."""
    reset(state)
    add(state, 1, 2)
    add(state, np.int32(number), 3)
    return add(state, number, 1)


def test_its_result_and_what_it_writes_are_seen() -> None:
    state = State(np.full(1, 99, np.int64))
    assert use(Ref(state), 5) == 17
    assert state.count[0] == 22
    assert len(DISPATCHERS[add].overloads) == 1


@pytest.mark.parametrize("model", ["characterised", "pipeline"])
def test_what_an_engine_calls_is_compiled_beside_it(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """Nothing is missing in the list, which would be compiled afterwards, and nothing is there in vain."""
    monkeypatch.setattr(module, "LOADED", set())
    trace = open_trace(SAMPLE)
    machine = Machine(trace, load("mobile"), read_characterisation(trace, None), model=model)
    monkeypatch.setattr(run_quanta, "overloads", type(run_quanta.overloads)())
    machine.compile()
    assert {symbol(*call) for call in separate_calls(typeof(machine.engine()))} == module.LOADED
