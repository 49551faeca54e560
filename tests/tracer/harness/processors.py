"""Levels of x86-64 for tests of machine code; a level that this processor cannot run skips the test and says so."""

from types import SimpleNamespace

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.lower import compile as machine_code
from rayplay.tracer.native import cpu

LEVELS = tuple(cpu.LEVELS)


def use(name: str, monkeypatch: pytest.MonkeyPatch) -> cpu.Cpu:
    """Make machine code for a level from here on."""
    try:
        chosen = cpu.level(name)
    except UserError as absent:
        pytest.skip(str(absent))
    monkeypatch.setenv(cpu.VARIABLE, name)
    return chosen


def translate_anew(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Find no program's machine code in the cache, and keep it in the answer; the tracer's own code is cached."""
    kept: dict[str, bytes] = {}
    cache = SimpleNamespace(load=lambda name: None, keep=kept.__setitem__)
    monkeypatch.setattr(machine_code, "sealed", cache)
    return kept
