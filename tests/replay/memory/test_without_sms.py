"""Crossbar, L2 and DRAM without SMs: latencies, bandwidths against formulas and Accel-Sim, the quantum, clocks."""

import numpy as np
import pytest

from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.memory.l2 import slice as l2
from rayplay.replay.memory.l2 import state as l2_state
from tests.replay.memory.memory_driver import Machine, reads

GPU = "accelsim-rtx2060"


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    return load(GPU)


def rate(gpu: Gpu, requests: np.ndarray, cycles: int, window: int) -> tuple[float, Machine]:
    """GB/s of the requests, and the machine they ran on."""
    machine = Machine(gpu)
    log = machine.run(requests, cycles, window)
    assert len(log) == len(requests)
    return len(log) * 32 / (int(log[:, 2].max()) / gpu.sm.clock_khz / 1000) / 1e9, machine


def utilisation(gpu: Gpu, machine: Machine, sectors: int, gigabytes: float) -> tuple[float, float]:
    """bw_util and dram_eff as Accel-Sim prints them."""
    counted = dram_state.stats(machine.memory.dram)
    seconds = sectors * 32 / gigabytes / 1e9
    ticks = seconds * gpu.dram.clock_khz * 1000
    return float(np.mean(counted["data_ticks"] / ticks)), float(
        np.mean(counted["data_ticks"] / counted["active_ticks"])
    )


def test_an_l2_hit_takes_the_rop_latency_and_five_cycles(gpu: Gpu) -> None:
    machine = Machine(gpu)
    log = machine.run(reads(np.array([3, 3]), np.array([10, 1010]), np.array([100, 100])), 2000)
    assert log[1].tolist() == [3, 1, 1010 + gpu.l1_miss_cycles]


def test_random_sectors_reach_what_the_reference_measures(gpu: Gpu) -> None:
    """113 GB/s, bw_util 0.334, dram_eff 0.339, one activate per read (docs/sources/accel-sim.md#bandwidths)."""
    count = 150000
    sectors = np.random.default_rng(1).integers(0, 2 << 20, count)
    found, machine = rate(gpu, reads(np.arange(count) % 30, np.zeros(count), sectors), 62000, 256)
    assert found == pytest.approx(113, rel=0.03)
    used, efficiency = utilisation(gpu, machine, count, found)
    assert used == pytest.approx(0.334, rel=0.03)
    assert efficiency == pytest.approx(0.339, rel=0.03)


def test_a_stream_reaches_the_peak(gpu: Gpu) -> None:
    """The formula's 336 GB/s less what filling and emptying the queues takes."""
    count = 60000
    found, _ = rate(gpu, reads(np.arange(count) // 4 % 30, np.zeros(count), np.arange(count)), 20000, 256)
    assert 0.94 * gpu.dram_bytes_per_second / 1e9 <= found <= gpu.dram_bytes_per_second / 1e9


def test_one_slice_answers_one_request_a_cycle(gpu: Gpu) -> None:
    """30 SMs read what one slice holds: its look-ups limit them, whichever SM asks."""
    cycles = np.append(10, np.full(3000, 1000))  # the first one fetches the sector
    log = Machine(gpu).run(reads(np.arange(3001) % 30, cycles, np.full(3001, 64)), 6000)
    assert np.diff(np.sort(log[:, 2])[1:]).max() == 1


@pytest.mark.parametrize("quantum", [97, 10, 1])
def test_the_quantum_changes_nothing(gpu: Gpu, quantum: int) -> None:
    count = 6000
    rng = np.random.default_rng(quantum)
    requests = reads(rng.integers(0, 30, count), np.sort(rng.integers(0, 2000, count)), rng.integers(0, 4096, count))
    requests[:, 3] = rng.integers(0, 3, count)
    requests[:, 4] = rng.integers(1, 1 << 32, count)
    first, second = Machine(gpu), Machine(gpu)
    one, two = first.run(requests, 9000, 64), second.run(requests, 9000, 64, quantum)
    assert sorted(one.tolist()) == sorted(two.tolist())
    for name, values in l2_state.stats(first.memory.l2).items():
        assert np.array_equal(values, l2_state.stats(second.memory.l2)[name]), name


@pytest.mark.parametrize("clock", ["memory.l2_clock_khz=2730000", "memory.interconnect_clock_khz=2730000"])
def test_a_faster_clock_shortens_its_part_of_the_way(gpu: Gpu, clock: str) -> None:
    """At twice the clock, the four L2 cycles or the two crossbar cycles of a hit's way take half the time."""
    faster = gpu.with_values([clock])
    log = Machine(faster).run(reads(np.array([0, 0]), np.array([10, 1010]), np.array([100, 100])), 2000)
    assert gpu.l1_miss_cycles - 3 <= log[1, 2] - 1010 < gpu.l1_miss_cycles


def test_a_copy_warms_what_its_address_names(gpu: Gpu) -> None:
    machine = Machine(gpu)
    l2.warm(machine.memory.l2, np.array([0x7F00_0000_0000 // 32]), np.array([100]), (1 << 59) - 1, 0, 0, 0)
    high, low = 0x7F00_0000_0000 // 32 + np.arange(100), np.arange(100)
    machine.run(reads(np.arange(100) % 30, np.zeros(100), high), 1000)
    assert l2_state.stats(machine.memory.l2)["read_hits"].sum() == 100
    machine.run(reads(np.arange(100) % 30, np.zeros(100), low), 1000)
    assert l2_state.stats(machine.memory.l2)["read_hits"].sum() == 100
