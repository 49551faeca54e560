"""The model that knows caches: its bounds by hand, and the instructions it counts against a whole trace."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from rayplay.tuner import executed
from rayplay.tuner.device import Caches, Device, read_device
from rayplay.tuner.executed import Executed, execute, in_order_cycles
from rayplay.tuner.kernel import Renderer, Settings
from rayplay.tuner.modern import Hits, predict_cycles

CACHES = Caches(20.0, 100.0, 300.0, 5.0, 1.0, 7.0)
DEVICE = Device("made up", 100.0, 10, 32, 0.5, 16, 1.0, 300.0, 4.0, 1.0, True, CACHES)
EXECUTED = Executed(*(np.full((1, 1, 1), value, np.float64) for value in (1000, 4000, 10, 40)), 1)
HITS = Hits(0.5, 0.5, 4.0)


@pytest.mark.parametrize(
    ("device", "hits", "resident", "per_warp"),
    [
        (DEVICE, HITS, 1, 4000 + 110 * 10 + 150),  # alone: L = 20 / 2 + (100 / 2 + 300 / 2) / 2 = 110; 160 - 10 depart
        (DEVICE, HITS, 4, (4000 + 110 * 10 + 150) / 4),
        (DEVICE, HITS, 32, 0.5 * 1000),  # issue
        (replace(DEVICE, uncoalesced_delay_cycles=100.0), HITS, 32, 100 * 40 * 4),  # sectors
        (replace(DEVICE, bandwidth_gbytes_per_s=1.0), HITS, 32, 40 * 4 * 0.25 * 32 / (1.0 / 10)),  # bandwidth
    ],
)
def test_each_bound_by_hand(device: Device, hits: Hits, resident: int, per_warp: float) -> None:
    """Of many equal warps, in whole turns of 10 cores."""
    cycles = predict_cycles(device, EXECUTED, hits, 320, resident)
    np.testing.assert_allclose(cycles, [7 + 320 / 10 * per_warp])


def test_instructions_in_order_by_hand() -> None:
    """Registers a, b, c are bits: a = ..., b = f(a), c = ..., reader of b and c; then a load's latency counts apart."""
    assert in_order_cycles([0, 1, 0, 6], [1, 2, 4, 0], [False] * 4, 5.0, 1.0) == 12  # at 0, 5, 6, 11
    assert in_order_cycles([0, 1], [1, 0], [True, False], 5.0, 1.0) == 2
    assert in_order_cycles([0, 0, 0], [1, 2, 4], [False] * 3, 5.0, 1.0) == 3
    assert in_order_cycles([0, 0, 0], [1, 2, 4], [False] * 3, 5.0, 2.0) == 6


def test_a_device_without_caches_is_refused() -> None:
    with pytest.raises(UserError, match=r"device GeForce GTX 580: must have a table \[caches\]"):
        predict_cycles(read_device("geforce-580"), EXECUTED, HITS, 80, 4)


def test_counts_of_all_blocks_are_the_traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """At the two points of the line; between and behind them the means of random rays lie on it."""
    monkeypatch.setattr(executed, "SAMPLE_BLOCKS", 1 << 30)
    renderer, size = Renderer(load("cornell")), (40, 24)
    camera, rays = renderer.scene.camera, np.array([0, executed.PROBES, 16])
    found = execute(renderer, camera, size, Settings(), rays, CACHES)
    for place, count in enumerate(rays):
        path = tmp_path / f"{count}.trace"
        with TraceWriter(path) as sink:
            renderer.render(camera, *size, Settings(int(count)), sink)
        trace = open_trace(path)
        blocks, visits = trace.read("blocks"), trace.read("visits")
        total = int(blocks["instruction_count"][visits["block_id"]].sum())
        assert found.instructions[..., place].sum() == pytest.approx(total, rel=0 if place < 2 else 0.03)
