"""Micro-programs whose cycles follow from the description by a formula."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import INTERVAL_CYCLES, simulate

BASE = 1 << 28
LINE = 128


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    """One SM, one controller, and no launch latency, so that cycles are a program's own."""
    return load(
        "mobile", ["sm.count=1", "memory.count=1", "l2.bytes=786432", "sm.kernel_launch_cycles=0", "rt.warps=4"]
    )


def cycles(trace: Path, gpu: Gpu) -> int:
    """Cycles of a replay."""
    return int(simulate(trace, gpu).value("gpu_cycles"))


def slope(make: Callable[[int], Path], gpu: Gpu, few: int, many: int) -> float:
    """Cycles per visit, from two lengths."""
    return (cycles(make(many), gpu) - cycles(make(few), gpu)) / (many - few)


def test_peak_issue_is_one_instruction_per_scheduler_and_cycle(micro: Callable, op: type, gpu: Gpu) -> None:
    trace = micro([op("int", "int"), op("fp32", "sp")] * 8, [64] * 32)
    result = simulate(trace, gpu)
    assert result.value("warp_instructions") / result.value("gpu_cycles") == pytest.approx(4, rel=0.02)
    assert result.value("gpu_cycles") >= result.value("warp_instructions") / gpu.issue_per_cycle


def test_a_stall_is_exact(micro: Callable, op: type, gpu: Gpu) -> None:
    for stall in (1, 4, 13, 63, 64, 200):
        assert slope(lambda n, stall=stall: micro([op(stall=stall)], [n]), gpu, 3, 13) == stall


def test_a_busy_unit_limits_its_scheduler(micro: Callable, op: type, gpu: Gpu) -> None:
    result = simulate(micro([op("sfu", "sfu", 1, 8)], [50] * 32), gpu)
    assert result.value("gpu_cycles") == pytest.approx(50 * 32 / 4 * 8, rel=0.02)


def test_unloaded_latency_of_an_l1_hit(micro: Callable, load_op: Callable, gpu: Gpu) -> None:
    same = lambda warp, visit, index, lane: BASE + 4 * lane  # noqa: E731
    expected = gpu.lsu.issue_cycles + gpu.l1.latency_cycles
    assert slope(lambda n: micro([load_op()], [n], same), gpu, 20, 60) == expected


def test_unloaded_latency_of_an_l2_hit(micro: Callable, load_op: Callable, gpu: Gpu) -> None:
    small = gpu.with_values(["l1.bytes=128", "l1.ways=1"])
    two_lines = lambda warp, visit, index, lane: BASE + visit % 2 * LINE  # noqa: E731
    expected = gpu.lsu.issue_cycles + gpu.l1.latency_cycles + gpu.l1_miss_cycles + 4
    assert slope(lambda n: micro([load_op()], [n], two_lines), small, 20, 60) == expected


def test_unloaded_latency_of_dram(micro: Callable, load_op: Callable, gpu: Gpu) -> None:
    """Every load opens a new row of one bank: precharge + activate + read, between the queues of slice and channel."""
    rows = lambda warp, visit, index, lane: BASE + visit * gpu.memory.count * (1 << 16)  # noqa: E731
    spec = gpu.dram
    ticks = spec.rp + spec.rcd + spec.cl + (32 // spec.atom_bytes - 1) * spec.ccd
    ticks += 2  # into the bank's list and out of the return queue: a tick each
    cycles = gpu.lsu.issue_cycles + gpu.l1.latency_cycles + gpu.l1_miss_cycles + 4 + spec.latency_cycles
    cycles += 2  # out of the miss queue, and from the fill to the reply: a cycle each
    expected = cycles + ticks * gpu.sm.clock_khz / spec.clock_khz
    found = slope(lambda n: micro([load_op()], [n], rows), gpu, 20, 60)
    assert expected <= found <= expected + 2  # the conversion between the clocks rounds up twice


def test_bandwidth_bounds_a_stream(micro: Callable, load_op: Callable, gpu: Gpu) -> None:
    stream = lambda warp, visit, index, lane: BASE + ((visit * 32 + warp) * 32 + lane) * 4  # noqa: E731
    trace = micro([load_op(slot, 1 << slot) for slot in range(1)], [48] * 32, stream)
    result = simulate(trace, gpu)
    moved = 48 * 32 * LINE
    least = moved / gpu.dram_bytes_per_second * gpu.sm.clock_khz * 1000
    assert least <= result.value("gpu_cycles") <= 1.6 * least + 500
    assert result.value("dram_bytes") == moved
    assert result.value("bandwidth_utilisation") <= result.value("dram_efficiency") <= 1


@pytest.mark.parametrize("ways", [1, 2, 4, 8, 32])
def test_shared_memory_takes_a_cycle_per_way_of_conflict(
    micro: Callable, load_op: Callable, gpu: Gpu, ways: int
) -> None:
    address = lambda warp, visit, index, lane: lane * 4 * ways % 4096  # noqa: E731
    trace = lambda n: micro([load_op(space="shared")], [n], address)  # noqa: E731
    expected = gpu.lsu.issue_cycles + gpu.lsu.shared_latency_cycles + 1 + ways - 1  # and its write-back
    assert slope(trace, gpu, 10, 30) == expected


def test_a_broadcast_has_no_conflict(micro: Callable, load_op: Callable, gpu: Gpu) -> None:
    trace = micro([load_op(space="shared")], [10], lambda warp, visit, index, lane: 64)
    assert total(simulate(trace, gpu), "lsu", "bank_conflict_cycles") == 0


def test_wide_shared_loads_take_a_cycle_per_128_bytes(micro: Callable, load_op: Callable, gpu: Gpu) -> None:
    gpu = gpu.with_values(["lsu.wide_conflicts=true"])
    address = lambda warp, visit, index, lane: lane * 16  # noqa: E731
    trace = lambda n: micro([load_op(space="shared", access_bytes=16)], [n], address)  # noqa: E731
    assert slope(trace, gpu, 10, 30) == gpu.lsu.issue_cycles + gpu.lsu.shared_latency_cycles + 1 + 3


def test_a_barrier_waits_for_the_slowest(micro: Callable, op: type, load_op: Callable, gpu: Gpu) -> None:
    """Warp 1 of a CTA is delayed by a miss each visit; warp 0, which always hits, advances at the same pace."""
    ops = [load_op(), op("int", "int", 1, 1, -1, 1), op("barrier", "branch")]
    far = lambda warp, visit, index, lane: BASE + (warp * 1000 + visit) * 4096 * warp + 4 * lane  # noqa: E731
    together = slope(lambda n: micro(ops, [n, n], far, warps_per_cta=2), gpu, 10, 30)
    near = lambda warp, visit, index, lane: BASE + 4 * lane  # noqa: E731
    alone = slope(lambda n: micro(ops, [n, n], near, warps_per_cta=2), gpu, 10, 30)
    assert together > alone + gpu.l1_miss_cycles + 4
    result = simulate(micro(ops, [7, 7], near, warps_per_cta=2), gpu)
    assert total(result, "sm", "barrier_releases") == 7


def test_a_warp_that_ends_early_does_not_hold_the_barrier(micro: Callable, op: type, gpu: Gpu) -> None:
    result = simulate(micro([op(), op("barrier", "branch")], [3, 9], warps_per_cta=2), gpu)
    assert total(result, "sm", "barrier_releases") == 9


def test_round_robin_shares_and_the_others_do_not(micro: Callable, op: type, gpu: Gpu) -> None:
    """Two endless rivals of one scheduler: with round robin both end together, else one ends at half time."""
    one = gpu.with_values(["scheduler.count=1"])
    work = INTERVAL_CYCLES * 4 // 5  # the first warp alone ends in the first interval, both together in the second
    trace = micro([op(stall=1)], [work, work])
    cases = (
        ("gto", 6, [1, 1]),
        ("gty", 6, [1, 1]),
        ("oldest", 6, [1, 1]),
        ("gtlrr", 6, [1, 1]),
        ("lrr", 6, [0, 2]),
        ("two-level", 2, [0, 2]),
        ("two-level", 1, [1, 1]),
    )
    for policy, active, ended in cases:
        result = simulate(trace, one.with_values([f"scheduler.policy={policy}", f"scheduler.active_warps={active}"]))
        assert result.value("gpu_cycles") == pytest.approx(2 * work, abs=10)
        retired = result.timeline["counter"] == "retired_warps"
        assert result.timeline["value"][retired].tolist() == ended


def total(result: Result, unit: str, counter: str) -> int:
    """Sum of a counter over instances."""
    chosen = (result.counters["unit"] == unit) & (result.counters["counter"] == counter)
    assert chosen.any()
    return int(result.counters["value"][chosen].sum())
