"""The model that knows caches: its bounds by hand, and the instructions it counts against a whole trace."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from rayplay.tuner.device import Caches, Device, RayUnit, read_device
from rayplay.tuner.executed import Executed, in_order_cycles
from rayplay.tuner.hardware import HardwareRenderer
from rayplay.tuner.kernel import SoftwareRenderer
from rayplay.tuner.modern import Hits, predict_cycles
from rayplay.tuner.schedule import slowed
from rayplay.tuner.settings import Settings
from rayplay.tuner.traced import record_steps

CACHES = Caches(20.0, 100.0, 300.0, 5.0, 1.0, 7.0)
DEVICE = Device("made up", 100.0, 10, 32, 0.5, 16, 1.0, 300.0, 4.0, 1.0, True, CACHES)
WORK = (1000, 4000, 10, 40, 20, 100)
EXECUTED = Executed(np.array(WORK, np.float64).reshape(1, 1, -1), 1)
HITS = Hits(0.5, 0.5, 4.0, 0.5, 0.5)
ALONE = 4000 + 188.75 * 10 + 150  # L = 20 / 16 + (1 - 1 / 16) (100 + 300) / 2; 40 * 4 - 10 depart
RECORD = 8 + (1 - 0.5) * ((100 + 300) / 2 - 20)


@pytest.mark.parametrize(
    ("device", "hits", "resident", "busy"),
    [
        (DEVICE, HITS, 1, 500),
        (DEVICE, HITS, 4, 500),
        (DEVICE, HITS, 32, 0.5 * 1000),  # issue
        (replace(DEVICE, uncoalesced_delay_cycles=5.0), HITS, 32, 5 * 40 * 4),  # sectors
        (replace(DEVICE, bandwidth_gbytes_per_s=10.0), HITS, 32, 40 * 4 * 0.25 * 32 / (10.0 / 10)),  # bandwidth
    ],
)
def test_each_bound_by_hand(device: Device, hits: Hits, resident: int, busy: float) -> None:
    """Of many equal warps, in whole turns of 10 cores."""
    alone = max(ALONE + (device.uncoalesced_delay_cycles - 1) * 150, busy)
    cycles = predict_cycles(device, EXECUTED, hits, 320, resident)
    waves = 32 // resident
    assert cycles == pytest.approx(7 + waves * alone * slowed(busy / alone * resident, resident))


def test_instructions_in_order_by_hand() -> None:
    """Registers a, b, c are bits: a = ..., b = f(a), c = ..., reader of b and c; then a load's latency counts apart."""
    assert in_order_cycles([0, 1, 0, 6], [1, 2, 4, 0], [False] * 4, 5.0, 1.0) == 12  # at 0, 5, 6, 11
    assert in_order_cycles([0, 1], [1, 0], [True, False], 5.0, 1.0) == 2
    assert in_order_cycles([0, 0, 0], [1, 2, 4], [False] * 3, 5.0, 1.0) == 3
    assert in_order_cycles([0, 0, 0], [1, 2, 4], [False] * 3, 5.0, 2.0) == 6


@pytest.mark.parametrize(
    ("unit", "measured", "resident", "traced", "busy"),
    [
        (RayUnit(4, 8.0, 1.0), 0.0, 1, 20 * RECORD + 100, 20 * RECORD / 4 + 25),
        (RayUnit(4, 8.0, 1.0), 0.0, 32, 20 * RECORD + 100, 20 * RECORD / 4 + 25),  # four warps at a time
        (RayUnit(4, 8.0, 50.0), 0.0, 32, 20 * RECORD + 5000, 5000),  # requests
        (RayUnit(1, 8.0, 1.0), 77.0, 32, 20 * 77, 20 * 77),  # as the counters said
    ],
)
def test_bounds_of_the_ray_tracing_unit_by_hand(
    unit: RayUnit, measured: float, resident: int, traced: float, busy: float
) -> None:
    device, alone = replace(DEVICE, rays=unit), ALONE + traced
    cycles = predict_cycles(device, EXECUTED, replace(HITS, record_cycles=measured), 320, resident, True)
    assert cycles == pytest.approx(7 + 32 // resident * alone * slowed(max(busy, 500) / alone * resident, resident))


def test_a_device_without_what_the_model_needs_is_refused() -> None:
    with pytest.raises(UserError, match=r"device GeForce GTX 580: must have a table \[caches\]"):
        predict_cycles(read_device("geforce-580"), EXECUTED, HITS, 80, 4)
    with pytest.raises(UserError, match=r"device made up: must have a table \[rays\]"):
        predict_cycles(DEVICE, EXECUTED, HITS, 80, 4, True)


@pytest.mark.parametrize("rays", [0, 2.5, 4])
@pytest.mark.parametrize("kind", [SoftwareRenderer, HardwareRenderer])
def test_counts_of_all_warps_are_the_traces(kind: type, rays: float, tmp_path: Path) -> None:
    renderer, size = kind(load("cornell")), (40, 24)
    settings = Settings(rays, shadow_rays=1.5)
    found = renderer.execute(renderer.scene.camera, size, settings, CACHES, 1 << 20)
    with TraceWriter(tmp_path / "one.trace", image_size=size) as sink:
        renderer.render(renderer.scene.camera, size, settings, sink)
    trace = open_trace(tmp_path / "one.trace")
    blocks, visits = trace.read("blocks"), trace.read("visits")
    assert found.instructions.sum() == blocks["instruction_count"][visits["block_id"]].sum()
    if kind is HardwareRenderer:
        records, requests = unit_work(trace)
        assert (found.records.sum(), found.requests.sum()) == (records, requests)
        assert record_steps(trace) == records
        assert 0 < records < requests


def unit_work(trace: Trace) -> tuple[int, int]:
    """Records of the longest lane of each trace, and the different records of its lanes in 32 B chunks, one by one."""
    rays, chunks = trace.read("rays"), -(-trace.read("nodes")["bytes"].astype(int) // 32)
    traces: dict[tuple[int, int], list[list[int]]] = {}
    for row, key in enumerate(zip(rays["warp_id"].tolist(), rays["visit"].tolist(), strict=True)):
        first, last = rays["node_offset"][row : row + 2].astype(int)
        traces.setdefault(key, []).append([node & 0x7FFFFFFF for node in rays["node"][first:last].tolist()])
    longest = sum(max(map(len, lanes)) for lanes in traces.values())
    return longest, sum(int(chunks[node]) for lanes in traces.values() for node in {n for lane in lanes for n in lane})


def test_a_part_of_the_warps_stands_for_all() -> None:
    renderer = SoftwareRenderer(load("cornell"))
    whole, part = (renderer.execute(renderer.scene.camera, (160, 120), Settings(2), CACHES, n) for n in (1 << 20, 100))
    assert len(part.work) < len(whole.work) / 2
    assert part.instructions.mean() == pytest.approx(whole.instructions.mean(), rel=0.15)
