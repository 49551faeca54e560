"""Hooks in compiled code: the default is the plain call, instruction by instruction; a plug-in is another callee."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from rayplay.replay.jit.bits import entry_point, inlined
from rayplay.replay.jit.hooks import HOOKS, NOTHING, hook, is_replaced, replace
from rayplay.replay.jit.references import Ref


class State(NamedTuple):
    """A unit with rows."""

    row: np.ndarray
    limit: int
    own: Any = NOTHING


class Own(NamedTuple):
    """State of a plug-in."""

    counters: np.ndarray
    weight: int


def first_row(state: State, at: int) -> int:
    """The first row with something, from ``at`` on."""
    while at < state.limit and state.row[at] == 0:
        at += 1
    return at


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("rayplay.replay.jit.hooks.HOOKS", dict(HOOKS))
    monkeypatch.setattr("rayplay.replay.jit.hooks.REPLACED", {})


def callers(choose: Any, told: Any, asks: Any) -> Any:
    @entry_point
    def run(state: State, number: int) -> int:
        total = 0
        for _ in range(number):
            at = choose(state, total & 3)
            told(state, at)
            if asks(state):
                total -= 1
            total += state.row[at]
        return total

    return run


def instructions(run: Any) -> str:
    """Machine code of the compiled function, without the names of types."""
    text = next(iter(run.overloads.values())).library.get_asm_str()
    return re.sub(r"_ZN\w+|\.const\.\S+|\"[^\"]*\"", "NAME", text)


def test_the_default_is_the_same_machine_code(hooks: None) -> None:
    def nothing(state: State, at: int) -> None:
        """Told of a row."""

    def never(state: State) -> bool:
        return False

    hooked = callers(hook("t.choose")(first_row), hook("t.told")(nothing), is_replaced("t.told"))
    plain = callers(inlined(first_row), inlined(nothing), inlined(never))
    state = Ref(State(np.array([0, 0, 3, 1], np.int64), 3))
    assert hooked(state, 5) == plain(state, 5) == 11
    assert instructions(hooked) == instructions(plain)


def test_a_plug_in_is_called_in_states_that_have_its_own(hooks: None) -> None:
    def nothing(state: State, at: int) -> None:
        """Told of a row."""

    def last_row(state: State, own: Own, at: int) -> int:
        return state.limit

    def count(state: State, own: Own, at: int) -> None:
        own.counters[0] += own.weight

    run = callers(hook("t.choose")(first_row), hook("t.told")(nothing), is_replaced("t.told"))
    replace(Own, "t.choose", inlined(last_row))
    replace(Own, "t.told", inlined(count))
    own = Own(np.zeros(1, np.int64), 7)
    rows = np.array([0, 0, 3, 1], np.int64)
    assert run(Ref(State(rows, 3, own)), 4) == 0  # 4 x (1 - 1)
    assert own.counters[0] == 28
    assert run(Ref(State(rows, 3)), 5) == 11
    assert own.counters[0] == 28


def test_arguments_and_contract_are_the_functions_own(hooks: None) -> None:
    hook("t.choose")(first_row)
    from rayplay.replay.jit import hooks as module

    made = module.HOOKS["t.choose"]
    assert made.of_plugin == ("state", "own", "at")
    assert made.contract == "The first row with something, from ``at`` on."
