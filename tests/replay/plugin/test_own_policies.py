"""The engine's own policies, held to the laws of every policy as plug-ins are."""

import pytest

from rayplay.replay.memory.cache.state import REPLACEMENTS
from rayplay.replay.memory.dram.spec import SCHEDULERS
from rayplay.replay.rt import spec as rt
from rayplay.replay.sm.policies import OF_ALL, OF_PIPELINE
from rayplay.replay.testing import check_policy

SETTINGS = [
    *(f"scheduler.policy={name}" for name in OF_ALL),
    *(f"{cache}.replacement={name}" for cache in ("l1", "l2", "rt.private") for name in REPLACEMENTS),
    *(f"dram.scheduler={name}" for name in SCHEDULERS), *(f"rt.coalescing={name}" for name in rt.COALESCING),
    *(f"rt.refused_chunk={name}" for name in rt.REFUSALS),
]  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_laws_hold(setting: str) -> None:
    done = check_policy(None, 2, SETTINGS.index(setting), (setting,), progress=lambda line: None)
    assert done >= 8


@pytest.mark.parametrize("name", OF_PIPELINE)
def test_the_laws_hold_of_the_pipelines_own(name: str) -> None:
    assert check_policy(None, 1, 3, (f"scheduler.policy={name}",), ("pipeline",), progress=lambda line: None) >= 4


def test_a_law_that_is_broken_is_told() -> None:
    """Memory a hundred times as slow starves warps, by the measure of the laws."""
    with pytest.raises(AssertionError, match="no starvation"):
        check_policy(None, 1, 0, ("l2.latency_cycles=20000",), progress=lambda line: None)
