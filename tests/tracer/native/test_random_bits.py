"""Random programs on bits of floats: machine code of every level of x86-64 equals the interpreter."""

from pathlib import Path

import pytest

from rayplay.tracer.lower import compile as jit
from tests.tracer.harness.processors import LEVELS, use
from tests.tracer.native.fuzz_bits import BATCH, differences


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("first", [1, 1 + BATCH])
def test_machine_code_equals_the_interpreter(
    first: int, level: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(level, monkeypatch)
    monkeypatch.setenv("RAYPLAY_CACHE", str(tmp_path))
    assert differences(range(first, first + BATCH), [level]) == []


def test_the_programs_find_the_fault_that_the_guard_avoids(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With an LLVM that has no such fault this fails: then the guard can go."""
    use("avx512", monkeypatch)
    monkeypatch.setattr(jit, "is_suspect_object", lambda data: False)
    monkeypatch.setenv("RAYPLAY_CACHE", str(tmp_path))
    assert differences(range(1, 1 + BATCH), ["avx512"])
