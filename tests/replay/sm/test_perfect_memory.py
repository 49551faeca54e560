"""``lsu.perfect_memory``: every memory instruction is a hit, and nothing is sent."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rayplay.replay.gpu import description as gpu_description
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.run.driver import simulate

BASE = 1 << 20


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    """The RTX 2060 with perfect memory."""
    return gpu_description.load("rtx2060", ["lsu.perfect_memory=true"])


def cycles_per_visit(trace: Callable[[int], Path], gpu: Gpu) -> float:
    """Slope of the cycles over visits."""
    few, many = (simulate(trace(visits), gpu).value("gpu_cycles") for visits in (10, 30))
    return (many - few) / 20


def test_a_dependent_load_takes_the_latency_of_a_hit(micro: Callable, op: type, load_op: Callable, gpu: Gpu) -> None:
    """However many sectors it has, and wherever they are."""
    far = lambda warp, visit, index, lane: BASE + (visit * 32 + lane) * 4096  # noqa: E731
    taken = cycles_per_visit(lambda visits: micro([load_op(), op("int", "int", 1, 1, -1, 1)], [visits], far), gpu)
    assert taken == gpu.lsu.issue_cycles + gpu.l1.latency_cycles + 1


def test_nothing_is_sent_and_stores_are_over_at_once(generated: Path, gpu: Gpu) -> None:
    """Only rays use the L1, and perfect memory takes fewer cycles than the real one."""
    alone = gpu.with_values(["rt.perfect_memory=true"])
    result = simulate(generated, alone)
    sent = result.counters["value"][(result.counters["unit"] == "port") & (result.counters["counter"] == "requests")]
    assert sent.sum() == 0
    real = simulate(generated, gpu.with_values(["lsu.perfect_memory=false"]))
    assert result.value("warp_instructions") == real.value("warp_instructions")
    assert result.value("gpu_cycles") < real.value("gpu_cycles")
