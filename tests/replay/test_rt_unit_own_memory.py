"""The RT unit with our own L1, L2 and DRAM behind it, fed with the arrivals of Vulkan-Sim's dumps.

The dumps have no other traffic, and the addresses of hit records are ours, so this bounds, and does not equate. On
Mobile the traffic that the dumps leave out empties the 32 KB of L1 between the traces, which is why its dumps with an
L1 are not here (DEVIATIONS R19).
"""

from pathlib import Path

import numpy as np
import pytest

from bench.reference_vulkansim import RELEASED
from replay.driver import simulate
from replay.gpu_description import load
from tests.replay.vulkan_sim import read_dump
from tests.replay.vulkan_sim_trace import write_trace

DUMPS = {"cornell32_rtx2060": "rtx2060", "box32_perfect": "mobile"}
LATENCY, EFFICIENCY = 0.25, 0.10


@pytest.mark.parametrize("name", DUMPS)
def test_latency_and_efficiency_are_near_the_dumps(data: Path, tmp_path: Path, name: str) -> None:
    warps = read_dump(data / f"reference/vulkansim/{name}.txt.xz")
    perfect = ["rt.perfect_memory=true"] if name.endswith("perfect") else []
    gpu = load(DUMPS[name], [*RELEASED[DUMPS[name]], *perfect])
    result = simulate(write_trace(tmp_path / "dump.trace", warps, gpu.sm.count), gpu)
    cycles = np.array([warp.end_cycle - warp.start_cycle for warp in warps])
    lanes = np.array([sum(warp.latency.values()) for warp in warps])
    assert result.value("rt_warps") == len(warps)
    assert result.value("rt_warp_latency") == pytest.approx(cycles.mean(), rel=LATENCY)
    assert result.value("rt_efficiency") == pytest.approx((lanes / cycles / 32).mean(), rel=EFFICIENCY)
