"""Functions whose calls multiply or never end: one clear line, and Ctrl-C ends them."""

import os
import signal
import threading

import pytest

from rayplay.formats.guard.errors import UserError
from tests.tracer.harness.execution import execute

LEVELS = 40  # 2^40 calls
ENTRY = ".visible .entry k() { call f0, (); ret; }"
DOUBLING = (
    "".join(f".func f{level}();" for level in range(LEVELS + 1))
    + "".join(f".func f{n}() {{ call f{n + 1}, (); call f{n + 1}, (); ret; }}\n" for n in range(LEVELS))
    + f".func f{LEVELS}() {{ ret; }}\n{ENTRY}"
)
ENDLESS = {
    "itself": f".func f0(); .func f0() {{ call f0, (); ret; }} {ENTRY}",
    "each other": f".func f0(); .func f1(); .func f0() {{ call f1, (); ret; }}"
    f".func f1() {{ call f0, (); call f0, (); ret; }} {ENTRY}",
    "through a register": ".func f0(); .func f0() { .reg .b64 %d; mov.u64 %d, f0;"
    f"p: .callprototype _ (); call %d, (), p; ret; }} {ENTRY}",
}
BACKENDS = pytest.mark.parametrize("backend", ["machine", "interpreter"])


@BACKENDS
def test_calls_that_multiply_stop_at_max_instructions(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYPLAY_MAX_INSTRUCTIONS", "5000")
    with pytest.raises(UserError, match="visited more than 5,000 blocks and seems to have no end; --max-instructions="):
        execute(DOUBLING, [], backend)


@BACKENDS
@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_recursion_without_an_end_is_too_deep(text: str, backend: str) -> None:
    with pytest.raises(UserError, match="call: calls are nested too deep: more than 1024 functions"):
        execute(text, [], backend)


def test_an_interrupt_ends_calls_that_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit that would last for hours; the first run compiles. A shell may have had SIGINT ignored before."""
    monkeypatch.setenv("RAYPLAY_MAX_INSTRUCTIONS", "5000")
    with pytest.raises(UserError):
        execute(DOUBLING, [])
    monkeypatch.setenv("RAYPLAY_MAX_INSTRUCTIONS", str(1 << 40))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            execute(DOUBLING, [])
        interrupt.join()
    finally:
        signal.signal(signal.SIGINT, before)
