"""Hooks cost nothing where no plug-in acts: the machine code of the engine and of a copy without hooks."""

import platform
from pathlib import Path

import pytest

from bench.plugins.hooks import ROOT, code_of, copied

INSTRUCTION_BYTES = 16  # of one that clears a number on the stack, and of the padding that follows it
PROCESSOR = "haswell"  # of the compared code; for the host's own it is 64 bytes shorter to 64 longer, by the host


@pytest.mark.later
@pytest.mark.skipif(platform.machine() != "x86_64", reason=f"code for {PROCESSOR} is compiled on x86-64 alone")
def test_the_engine_is_the_same_machine_code_as_without_hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory partitions (hooks of L2 and DRAM) byte for byte; the RT unit with at most one instruction more a call."""
    monkeypatch.setenv("NUMBA_CPU_NAME", PROCESSOR)
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    bare = copied(tmp_path / "bare")
    with_hooks, without = (
        code_of(root, tmp_path / f"cache-{root.name}", ["partition", "unit"]) for root in (ROOT, bare)
    )
    assert with_hooks["partition.advance"] == without["partition.advance"]
    (size, _), (size_without, _) = with_hooks["unit.run"][0], without["unit.run"][0]
    assert size_without > 50_000
    assert size - size_without <= INSTRUCTION_BYTES
    assert size > 0.99 * size_without, "where nothing is more, less is inlined"
