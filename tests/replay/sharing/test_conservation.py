"""Every counter of every unit moves in one of these replays, and in each its shares sum to it exactly."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.crisp.texture import texture_use
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.results.definitions import COUNTERS
from rayplay.replay.run.driver import simulate
from rayplay.replay.unit.streams import NOT_SHARED
from rayplay.tracer.draw import stage_table
from rayplay.tracer.graphics.stages import Rules
from rayplay.tracer.scenes.gltf.surfaces import Surface
from tests.replay.conftest import write_micro
from tests.replay.engine.test_laws import digest
from tests.replay.sharing.test_together import together
from tests.tracer.graphics.scenes import drawn, scene, square

GPU = ("sm.count=4", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=50", "sm.concurrent_kernels=4")
UNITS = "texture.path=unit", "rop.colour_pixels_per_cycle=1", "rop.depth_pixels_per_cycle=2"
CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {  # classes, model, values
    "units": ("drawn made", "characterised", UNITS),
    "texture cache": ("drawn stores", "pipeline", ("texture.path=cache",)),
    "texture loads": ("drawn made", "pipeline", ("texture.path=l1", "l1.allocate=on_miss", "l1.mshr_entries=4",
                                                "l2.mshr_entries=2")),
    "write back": ("stores made", "pipeline", ("l1.write_policy=back", "l1.allocate=on_miss", "l2.mshr_entries=2",
                                             "l1.bytes=4096", "l1.ways=32", "l1.write_allocate=lazy_fetch_on_read")),
    "private": ("made drawn", "characterised", ("rt.cache=private",)),
    "code": ("made drawn", "pipeline", ("instruction_cache.perfect=false", "instruction_cache.bytes=1024",
                                       "instruction_cache.ways=2")),
}  # fmt: skip
STILL = {("l1i", "fails"), ("l2", "write_fails"), ("rt_unit", "write_hits")}
"""Counters that none of the cases moves."""
Counts = dict[tuple[str, str], int]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A textured square, rays beside a fragment shader, and stores."""
    folder = tmp_path_factory.mktemp("conserved")
    texels = np.random.default_rng(1).integers(0, 256, (64, 64, 4), np.uint8)
    surface = Surface("noise", (1.0, 1.0, 1.0, 1.0), pictures=(0, *(-1,) * 5))
    with TraceWriter(folder / "drawn.trace", {}) as writer:
        picture = drawn(scene([square(0, 3.0)] * 3, [surface], (texels,)), sink=writer, rules=Rules())
        writer.put("stages", stage_table(picture.stages))
    return {
        "drawn": str(folder / "drawn.trace"),
        "made": str(make_trace(folder / "made.trace", 1, (40, 16), ctas=12)),
        "stores": "",
    }


@pytest.fixture
def stores(tmp_path: Path, op: Any, load_op: Callable[..., Any]) -> str:
    """Loads and stores of lines that meet and conflict."""
    store = op("store", "lsu", 1, 1, -1, 0, "global")
    ops = [store, load_op(wait=0), load_op(), store, op()]
    return str(write_micro(
        tmp_path / "stores.trace", ops, [12] * 24,
        lambda warp, visit, index, lane:
            128 * (5 * visit + (warp % 3) * (index > 1)) + (index << 16) % (3 << 16) + 4 * lane,
    ))  # fmt: skip


def test_shares_of_classes_sum_to_every_counter(traces: dict[str, str], stores: str) -> None:
    """A rest that no class has is of counters that belong to none; no counter stays 0 in all cases."""
    moved: Counts = defaultdict(int)
    for name, (classes, model, values) in CASES.items():
        texts = [f"{each}={(traces | {'stores': stores})[each]}" for each in classes.split()]
        result = together(texts, load("mobile", [*GPU, *values]), model=model)
        total, shares = counted(result.counters), defaultdict(int)
        for part in result.by_class["class_counters"]:
            for key, value in counted(part).items():
                assert value >= 0, (name, key)
                assert part["class"][0] or not value or key[1] in NOT_SHARED[key[0]], (name, key)
                shares[key] += value
        assert {key: value for key, value in total.items() if key[0] != "stack"} == shares, name
        for key, value in total.items():
            moved[key] += value
    known = {(unit, name) for unit, counters in COUNTERS.items() for name in counters}
    assert {key for key in known & set(moved) if not moved[key]} == STILL


@pytest.mark.parametrize("partition", ["mps", "mig", "even", "tap", "ucp"])
def test_a_picture_alone_is_a_solo_replay(traces: dict[str, str], tmp_path: Path, partition: str) -> None:
    """With texture units and raster rates, byte for byte; requests are as many as the lanes of the trace make."""
    gpu, results = load("mobile", [*GPU, *UNITS]), {}
    results["solo"] = simulate(traces["drawn"], gpu)
    results["class"] = together([f"all={traces['drawn']}"], gpu, partition)
    for name, result in results.items():
        result.by_class = {}
        result.write(tmp_path / name, {"command": "test"})
    assert digest(tmp_path / "class") == digest(tmp_path / "solo")
    use = texture_use(open_trace(traces["drawn"]))
    found = counted(results["solo"].counters)
    assert found["lsu", "texture_instructions"] == sum(use["instructions"]) > 0
    assert found["lsu", "texture_requests"] == sum(use["requests"])


def counted(table: Any) -> Counts:
    """Counters over all instances and launches."""
    found: Counts = defaultdict(int)
    for unit, name, value in zip(table["unit"], table["counter"], table["value"].tolist(), strict=True):
        found[unit, name] += value
    return found
