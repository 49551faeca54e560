"""Random programs on bits of floats: machine code of every level of x86-64 equals the interpreter."""

import pytest

from rayplay.tracer.lower import compile as jit
from tests.tracer.harness.processors import LEVELS, translate_anew, use
from tests.tracer.native.fuzz_bits import BATCH, differences


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("first", [1, 1 + BATCH])
def test_machine_code_equals_the_interpreter(first: int, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(level, monkeypatch)
    translate_anew(monkeypatch)
    assert differences(range(first, first + BATCH), [level]) == []


def test_the_programs_find_the_fault_that_the_guard_avoids(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an LLVM that has no such fault this fails: then the guard can go."""
    use("avx512", monkeypatch)
    monkeypatch.setattr(jit, "is_suspect_object", lambda data: False)
    translate_anew(monkeypatch)
    assert differences(range(1, 1 + BATCH), ["avx512"])
