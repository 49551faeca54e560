"""The RT units' metrics are Vulkan-Sim's statistics, recomputed from its own dump.

Source: ``docs/sources/vulkan-sim.md#rt-statistics``.
"""

from pathlib import Path

import numpy as np
import pytest

from outside.dump import read_accesses, read_dump, to_records
from rayplay.replay.input.work import LANES
from rayplay.replay.rt import state as rt_unit_state
from rayplay.replay.rt.metrics import rt_metrics
from tests.replay.rt.drive import drive


@pytest.fixture(scope="module")
def measured(data: Path) -> tuple[dict[str, float], list]:
    """Metrics of the unit driven through SM 0 of box32, and its warps."""
    path = data / "reference/vulkansim/box32.txt.xz"
    warps = read_dump(path)
    access, response = read_accesses(path, {warp.uid: warp.warp for warp in warps})
    mine = [[index, warp.arrival_cycle, warp.warp] for index, warp in enumerate(warps) if warp.sm == 0]
    found = np.zeros((len(warps), 2 + LANES), np.int64)
    _, unit = drive(to_records(warps), np.array(mine), access[0], response[0], found, [])
    metrics = rt_metrics(rt_unit_state.stats(unit), unit.peak, unit.warps, unit.cores, 50_000)
    return {name: value for name, value, *_ in metrics}, [warp for warp in warps if warp.sm == 0]


def test_latencies_are_the_means_of_the_dump(measured: tuple) -> None:
    metrics, warps = measured
    cycles = [warp.end_cycle - warp.start_cycle for warp in warps]
    assert metrics["rt_warps"] == len(warps)
    assert metrics["rt_warp_latency"] == pytest.approx(np.mean(cycles))
    assert metrics["rt_thread_latency"] == pytest.approx(np.mean([sum(w.latency.values()) / 32 for w in warps]))


def test_lanes_are_accounted_for_in_every_cycle(measured: tuple) -> None:
    """Every active lane does one thing in every cycle of its warp, first and last included."""
    metrics, warps = measured
    lanes = sum(len(warp.records) for warp in warps)
    total = sum((warp.end_cycle - warp.start_cycle + 1) * len(warp.records) for warp in warps)
    assert sum(value for name, value in metrics.items() if name.startswith("rt_lane_")) * lanes == pytest.approx(total)


def test_a_unit_is_busy_while_it_holds_a_warp(measured: tuple) -> None:
    metrics, warps = measured
    busy = {cycle for warp in warps for cycle in range(warp.start_cycle, warp.end_cycle + 1)}
    assert metrics["rt_busy_cycles"] == len(busy)
    assert metrics["rt_busy"] == len(busy) / 50_000
    inside = sum(warp.end_cycle - warp.start_cycle for warp in warps)
    assert metrics["rt_occupancy"] == pytest.approx(inside / len(busy) / 4)


def test_intersections_and_nodes_are_those_of_the_records(measured: tuple) -> None:
    metrics, warps = measured
    kinds = [kind for warp in warps for records in warp.records.values() for _, _, kind in records]
    latency = (4, 8, 8, 4, 8, 8, 8)
    cycles = sum(latency[kind] for kind in kinds)
    rays = sum(len(warp.records) for warp in warps)
    assert metrics["rt_performance"] == pytest.approx(cycles / metrics["rt_busy_cycles"])
    assert metrics["rt_operation_intensity"] == pytest.approx(cycles / metrics["rt_sectors"])
    assert metrics["rt_nodes_per_ray"] == pytest.approx(sum(kind not in (0, 3) for kind in kinds) / rays)
    assert metrics["rt_closest_hit_rays"] + metrics["rt_any_hit_rays"] == rays
