"""Cycles of hand-made traces against sums of the GPU description's own numbers: no queue, no contention."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.run.driver import simulate

LAUNCH = 1000  # kernel_launch_cycles of these tests
START = LAUNCH + 1  # the first CTA is handed out at the end of the cycle before
ALL_SLOTS = 0b111111
WRITE_BACK = 1  # data is chosen in one cycle and written in the next
MISS = 1 + 2 + WRITE_BACK  # the miss queue; a response crosses a buffer and fills the L1 before it is chosen


def gpu_with(*values: str) -> Gpu:
    """One SM of an RTX 2060 before one memory controller."""
    fixed = ("sm.count=1", "memory.count=1", "l2.bytes=262144", f"sm.kernel_launch_cycles={LAUNCH}")
    return load("rtx2060", [*fixed, *values])


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    return gpu_with()


def cycles(trace: Path, gpu: Gpu) -> int:
    """Cycles from the first possible issue to the last warp's retirement."""
    return int(simulate(trace, gpu).value("gpu_cycles")) - START - 1


def test_a_dependent_chain_takes_the_sum_of_its_stalls(micro: Callable[..., Path], op: type, gpu: Gpu) -> None:
    stalls = [4, 7, 1, 39, 13, 145, 2, 64, 63, 65]
    assert cycles(micro([op(stall=stall) for stall in stalls], [1]), gpu) == sum(stalls)
    assert cycles(micro([op(stall=stall) for stall in stalls], [3]), gpu) == 3 * sum(stalls)


def test_a_dependent_chain_is_not_delayed_by_chains_of_other_schedulers(
    micro: Callable[..., Path], op: type, gpu: Gpu
) -> None:
    chain = [op(stall=4)] * 20
    for warps in (2, 3, 4):
        assert cycles(micro(chain, [1] * warps, None, warps), gpu) == 80


def test_issue_peak_is_one_instruction_per_scheduler_and_cycle(micro: Callable[..., Path], op: type, gpu: Gpu) -> None:
    for warps in (4, 8, 32):
        issued = 50 * warps
        assert cycles(micro([op()] * 50, [1] * warps, None, warps), gpu) == issued // gpu.scheduler.count


@pytest.mark.parametrize("initiation", [2, 4, 8])
def test_a_busy_unit_limits_its_instructions(micro: Callable[..., Path], op: type, gpu: Gpu, initiation: int) -> None:
    trace = micro([op(initiation=initiation)] * 40, [1] * 8, None, 8)
    assert cycles(trace, gpu) == (2 * 40 - 1) * initiation + 1


def test_units_work_side_by_side(micro: Callable[..., Path], op: type, gpu: Gpu) -> None:
    """Two units of two cycles each take one instruction a cycle together."""
    pair = [op(unit="int", initiation=2), op("fp32", "sp", initiation=2)]
    assert cycles(micro(pair * 20, [1] * 8, None, 8), gpu) == 80


def test_an_instruction_waits_for_its_own_slots_only(
    micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu
) -> None:
    shared = gpu.lsu.issue_cycles + gpu.lsu.shared_latency_cycles + WRITE_BACK
    program = [load_op(3, 0, "shared"), op(wait=ALL_SLOTS & ~(1 << 3), stall=2), op(wait=1 << 3)]
    assert cycles(micro(program, [1], lambda w, v, i, lane: 4 * lane), gpu) == shared + 1
    program[1] = op(wait=0, stall=100)
    assert cycles(micro(program, [1], lambda w, v, i, lane: 4 * lane), gpu) == 1 + 100 + 1


def chain_of_loads(micro: Callable[..., Path], op: type, load_op: Callable, lines: list[int]) -> Path:
    """Dependent loads of whole 32 B sectors (4 B x 8 lanes, four times the same) at the given addresses."""
    program = [load_op(0, 1) for _ in lines] + [op(wait=1)]
    return micro(program, [1], lambda warp, visit, index, lane: lines[index] + 4 * (lane % 8))


def last_load(micro: Callable[..., Path], op: type, load_op: Callable, lines: list[int], gpu: Gpu) -> int:
    """Cycles that the last of a chain of dependent loads adds."""
    whole = cycles(chain_of_loads(micro, op, load_op, lines), gpu)
    before = cycles(chain_of_loads(micro, op, load_op, lines[:-1]), gpu) if len(lines) > 1 else 1
    return whole - before


A, B, C = 0x1000_0000, 0x1000_4000, 0x1000_8000


def test_l1_hit(micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu) -> None:
    assert last_load(micro, op, load_op, [A, A], gpu) == gpu.lsu.issue_cycles + gpu.l1.latency_cycles == 24


def test_l2_hit(micro: Callable[..., Path], op: type, load_op: Callable) -> None:
    """In an L1 of one line, the second visit of a line is an L2 hit."""
    gpu = gpu_with("l1.bytes=128", "l1.ways=1")
    assert last_load(micro, op, load_op, [A, B, A], gpu) == 24 + gpu.l1_miss_cycles + MISS == 24 + 160 + 5 + 4


def dram_load(gpu: Gpu, issued: int, ticks: int) -> int:
    """Cycles of a load issued at ``issued`` whose data ends ``ticks`` after its first command."""
    core, memory = gpu.sm.clock_khz, gpu.dram.clock_khz
    looked_up = issued + 24 + 1 + 2 + gpu.l2.latency_cycles + 1  # miss queue, crossbar, ROP, queue of the slice
    entered = (looked_up + 1) * memory // core + 1  # the first tick after it left the miss queue
    ready = -(-entered * core // memory) + gpu.dram.latency_cycles
    first = (ready - 1) * memory // core + 2  # into its bank's list, and served in the tick after
    filled = -(-(first + ticks + 1) * core // memory)  # out of the return queue
    return filled + 3 + MISS - 1 - issued  # ready, replied, out of the crossbar, and taken by the LSU


def test_dram_with_a_closed_row(micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu) -> None:
    """Activate, read, data: RCD + CL."""
    expected = dram_load(gpu, START, gpu.dram.rcd + gpu.dram.cl)
    assert last_load(micro, op, load_op, [A], gpu) == expected


def test_dram_row_hit(micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu) -> None:
    """The next sector of an open row: CL."""
    first = dram_load(gpu, START, gpu.dram.rcd + gpu.dram.cl)
    expected = dram_load(gpu, START + first, gpu.dram.cl)
    assert last_load(micro, op, load_op, [A, A + 32], gpu) == expected


def test_dram_row_conflict(micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu) -> None:
    """Another row of the bank: precharge first; RAS has long passed, RC has not to be waited for either."""
    data = gpu.dram.rcd + gpu.dram.cl
    first = dram_load(gpu, START, data)
    expected = dram_load(gpu, START + first, gpu.dram.rp + data)
    row_stride = 1 << 15  # the lowest row bit of the address map, behind one channel
    assert last_load(micro, op, load_op, [A, A + row_stride], gpu) == expected


@pytest.mark.parametrize("conflict", [1, 2, 4, 8, 16, 32])
def test_an_n_way_conflict_of_shared_memory_takes_n_minus_1_cycles_more(
    micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu, conflict: int
) -> None:
    trace = micro([load_op(0, 1, "shared"), op(wait=1)], [1], lambda w, v, i, lane: 4 * lane * conflict)
    expected = gpu.lsu.issue_cycles + gpu.lsu.shared_latency_cycles + WRITE_BACK + conflict - 1
    assert cycles(trace, gpu) == expected + 1


def test_a_broadcast_of_shared_memory_is_no_conflict(
    micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu
) -> None:
    trace = micro([load_op(0, 1, "shared"), op(wait=1)], [1], lambda w, v, i, lane: 128 * (lane % 2))
    assert cycles(trace, gpu) == gpu.lsu.issue_cycles + gpu.lsu.shared_latency_cycles + WRITE_BACK + 1 + 1


@pytest.mark.parametrize(("stride", "extra"), [(4, 0), (32, 7), (128, 31)])
def test_sectors_enter_the_l1_one_per_bank_and_cycle(
    micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu, stride: int, extra: int
) -> None:
    """The second visit of 4, 32 and 32 sectors: 4 a cycle in different banks, 1 a cycle in the same one."""
    program = [load_op(0, 1), load_op(0, 1), op(wait=1)]
    once, twice = (
        cycles(micro(ops, [1], lambda w, v, i, lane: A + stride * lane), gpu) for ops in (program[1:], program)
    )
    assert twice - once == gpu.lsu.issue_cycles + gpu.l1.latency_cycles + extra


def test_a_barrier_waits_for_the_last_warp(micro: Callable[..., Path], op: type, load_op: Callable, gpu: Gpu) -> None:
    """Warp 3 arrives late by its conflicts in shared memory; all go on in the cycle after its arrival."""
    barrier = op("barrier", "branch")
    program = [load_op(0, 1, "shared"), op(wait=1), barrier, op(stall=10)]
    latencies = []
    for slow in (1, 16):
        trace = micro(program, [1] * 4, lambda w, v, i, lane, n=slow: 4 * lane * (n if w == 3 else 1), 4)
        latencies.append(cycles(trace, gpu))
    alone = gpu.lsu.issue_cycles + gpu.lsu.shared_latency_cycles + WRITE_BACK
    queue = 3  # warp 3's access is the fourth at the unit, one a cycle
    assert latencies == [alone + queue + 1 + 1 + 10, alone + queue + 15 + 1 + 1 + 10]


def test_a_barrier_holds_nobody_of_another_cta(micro: Callable[..., Path], op: type, gpu: Gpu) -> None:
    program = [op(stall=20), op("barrier", "branch"), op()]
    assert cycles(micro(program, [1, 1], None, 1), gpu) == cycles(micro(program, [1], None, 1), gpu) + 1
