"""The RT unit with our own L1, L2 and DRAM behind it, fed with the arrivals of Vulkan-Sim's dumps."""

from pathlib import Path

import pytest

from outside.rt_unit import DUMPS, dump_rows


@pytest.mark.parametrize("name", DUMPS)
def test_latency_and_efficiency_are_near_the_dumps(data: Path, name: str) -> None:
    for row in dump_rows(name):
        assert row.passed, row
