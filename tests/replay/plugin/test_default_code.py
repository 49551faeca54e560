"""Hooks cost nothing where no plug-in acts: the machine code of the engine and of a copy without hooks."""

from pathlib import Path

import pytest

from bench.plugins.hooks import ROOT, code_of, copied

MOST_LONGER = 0.001  # of the code: instructions that clear numbers on the stack, and padding


@pytest.mark.later
def test_the_engine_is_the_same_machine_code_as_without_hooks(tmp_path: Path) -> None:
    """Memory partitions (hooks of L2 and DRAM) byte for byte; the RT unit at most a thousandth longer."""
    bare = copied(tmp_path / "bare")
    with_hooks, without = (
        code_of(root, tmp_path / f"cache-{root.name}", ["partition", "unit"]) for root in (ROOT, bare)
    )
    assert with_hooks["partition.advance"] == without["partition.advance"]
    (size, _), (size_without, _) = with_hooks["unit.run"][0], without["unit.run"][0]
    assert size_without > 50_000
    assert size - size_without <= MOST_LONGER * size_without
    assert size > 0.99 * size_without, "where nothing is more, less is inlined"
