"""Messages while machine code is made, and the collector that rests meanwhile."""

import gc
import io
import threading
from typing import Any

import pytest
from numba import njit
from numba.core import event

from rayplay.formats.guard.first_use import ACTIVE, first_use


class Screen(io.StringIO):
    """Text that is written, and a bell for it."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal, self.written = is_terminal, threading.Event()

    def isatty(self) -> bool:
        return self.is_terminal

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


def compile_until(screen: Screen) -> None:
    """A compilation that lasts until something is said."""
    with event.trigger_event("numba:compile", data={}):
        assert not gc.isenabled()
        assert screen.written.wait(300)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_what_takes_long_is_said(is_terminal: bool) -> None:
    screen = Screen(is_terminal)
    with first_use("the engine", 20, screen, patience=0.01):
        compile_until(screen)
    said = screen.getvalue()
    assert "compiling the engine" in said
    assert "of about 20 s" in said if is_terminal else "about 20 s" in said
    assert "compiled the engine in " in said
    assert gc.isenabled()
    assert not ACTIVE


def test_elsewhere_than_on_a_terminal_it_is_two_lines() -> None:
    screen = Screen(False)
    with first_use("the engine", 20, screen, patience=0.01):
        compile_until(screen)
    first, last = screen.getvalue().splitlines()
    assert first == "compiling the engine, once after an installation: about 20 s"
    assert last.startswith("compiled the engine in ")


def test_nothing_is_said_where_nothing_is_compiled_or_it_is_quick() -> None:
    screen = Screen(False)
    with first_use("the engine", 20, screen, patience=60):
        assert njit(lambda number: number + 1)(1) == 2
    with first_use("the engine", 20, screen, patience=0.0):
        pass
    assert screen.getvalue() == ""


def test_the_innermost_says_it() -> None:
    outer, inner = Screen(False), Screen(False)
    with first_use("all", 20, outer, patience=0.01), first_use("a part", 5, inner, patience=0.01):
        compile_until(inner)
    assert outer.getvalue() == ""
    assert inner.getvalue().startswith("compiling a part")


def test_the_collector_works_again_after_an_error() -> None:
    def refused(value: Any) -> Any:
        return value.there_is_no_such_field

    with pytest.raises(Exception, match="there_is_no_such_field"), first_use("the engine", 20, Screen(False)):
        njit(refused)(1)
    assert gc.isenabled()
