"""Bounds of a whole launch: the peak of the DRAM, and how many CTAs an SM holds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.run.driver import simulate
from rayplay.replay.sm.ctas import needs, occupancy

START = 1000
BASE = 0x1000_0000
LINE = 128
WARPS, LOADS = 40, 96


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    """A sixth of an RTX 2060: 5 SMs before 2 memory controllers."""
    return load("rtx2060", [f"sm.kernel_launch_cycles={START}"]).scaled(6)


def test_a_streaming_read_approaches_the_peak_of_the_dram(
    micro: Callable[..., Path], load_op: Callable, gpu: Gpu
) -> None:
    """Accel-Sim reaches 319 of 336 GB/s (``docs/sources/accel-sim.md#bandwidths``); no run exceeds the peak."""
    loads = [load_op(slot, 1 << slot) for slot in range(6)]
    trace = micro(
        [*loads, *loads], [LOADS // 12] * WARPS,
        lambda warp, visit, index, lane: BASE + ((visit * 12 + index) * WARPS + warp) * LINE + 4 * lane,
    )  # fmt: skip
    result = simulate(trace, gpu)
    seconds = (result.value("gpu_cycles") - START) / (gpu.sm.clock_khz * 1000)
    assert result.value("dram_bytes") == WARPS * LOADS * LINE
    assert 0.85 <= result.value("dram_bytes") / seconds / gpu.dram_bytes_per_second <= 1


def held(gpu: Gpu, warps: int, registers: int, shared_bytes: int, ctas: int) -> int:
    """CTAs of ``warps`` warps each that an SM holds of a launch of ``ctas``."""
    return occupancy(gpu.sm, needs(gpu.sm, 32 * warps, registers, shared_bytes, "k"), ctas)


def test_occupancy_is_the_tightest_limit(gpu: Gpu) -> None:
    sm = gpu.sm
    many = 10_000
    assert held(gpu, 1, 16, 0, many) == 32  # sm.ctas and sm.warps
    assert held(gpu, 4, 16, 0, many) == sm.warps // 4
    assert held(gpu, 1, 255, 0, many) == sm.registers // (256 * 32)  # 255 registers take 256
    assert held(gpu, 2, 65, 0, many) == sm.registers // (2 * 68 * 32)  # 65 take 68
    assert held(gpu.with_values(["sm.register_unit=8"]), 3, 65, 0, many) == sm.registers // (3 * 72 * 32)
    assert held(gpu, 1, 16, 10_000, many) == sm.shared_bytes // 10_000
    assert held(gpu, 3, 128, 30_000, many) == 2


@pytest.mark.parametrize(("ctas", "places"), [(1, 1), (5, 1), (6, 2), (11, 3), (160, 32), (500, 32)])
def test_a_small_launch_is_spread_over_the_sms(gpu: Gpu, ctas: int, places: int) -> None:
    """An SM holds at most ceil(CTAs / SMs) (``docs/sources/vulkan-sim.md#resident-ctas``)."""
    assert held(gpu, 1, 16, 0, ctas) == places


def test_a_cta_that_never_fits_is_refused(gpu: Gpu) -> None:
    with pytest.raises(UserError, match=r"^kernel k needs 65537 bytes of shared memory a CTA"):
        held(gpu, 1, 16, 65_537, 1)
    with pytest.raises(UserError, match=r"^kernel k needs 33 warps a CTA, but an SM has sm.warps = 32$"):
        held(gpu, 33, 16, 0, 1)


@pytest.mark.parametrize("limit", ["sm.registers=512", "sm.shared_bytes=1024", "sm.ctas=1", "sm.warps=1"])
def test_ctas_that_do_not_fit_run_one_after_another(micro: Callable[..., Path], op: type, limit: str) -> None:
    """Each limit leaves one place: a CTA starts in the cycle after the one before it has ended."""
    one = load("rtx2060", ["sm.count=1", "memory.count=1", "l2.bytes=262144", "sm.kernel_launch_cycles=0", limit])
    cycles = simulate(micro([op(stall=50)] * 3, [1] * 4), one).value("gpu_cycles")
    assert cycles == 4 * 151 + 1
