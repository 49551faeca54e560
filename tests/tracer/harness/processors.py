"""Levels of x86-64 for tests of machine code; a level that this processor cannot run skips the test and says so."""

import pytest

from rayplay.formats.guard.errors import UserError
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
