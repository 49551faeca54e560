"""The processor that machine code is made for."""

from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.__main__ import main
from rayplay.tracer.native import cpu


def test_levels_have_names_and_the_host_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cpu.VARIABLE, raising=False)
    assert cpu.chosen() == cpu.host()
    monkeypatch.setenv(cpu.VARIABLE, "host")
    assert cpu.chosen() == cpu.host()
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: {"sse2": True, "avx2": True})
    monkeypatch.setenv(cpu.VARIABLE, "avx2")
    assert cpu.chosen() == cpu.Cpu("x86-64-v3")
    assert cpu.Cpu("a").without("avx512f") == cpu.Cpu("a", "-avx512f")
    assert cpu.Cpu("a", "+b").without("avx512f") == cpu.Cpu("a", "+b,-avx512f")


def test_a_level_that_is_not_known_or_cannot_run_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cpu.VARIABLE, "avx3")
    with pytest.raises(UserError, match="RAYPLAY_CPU: must be one of host, generic, avx2, avx512, found 'avx3'"):
        main(["render", "cornell", "--size", "8x8", "--samples", "1", "--out", str(tmp_path / "a.trace")])
    assert not (tmp_path / "a.trace").exists()
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: {"sse2": True})
    with pytest.raises(UserError, match="this processor cannot run 'avx512': it has no avx512vl"):
        cpu.level("avx512")
