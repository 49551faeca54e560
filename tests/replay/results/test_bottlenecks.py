"""The tables that explain a result: their sums, known cases of the cycle stack, and the picture."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import open_result
from rayplay.formats.exchange.frames import from_frames
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.picture import check_picture, write_picture
from rayplay.replay.results.definitions import METRICS, counter
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from rayplay.replay.unit.cycle_stack import REASONS

SAMPLE = Path(__file__).resolve().parents[3] / "traces" / "sample.trace"
SMALL = ("sm.count=3", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=100")
ONE_SCHEDULER = ("sm.count=1", "memory.count=1", "l2.bytes=65536", "sm.kernel_launch_cycles=10", "scheduler.count=1")


@pytest.fixture(scope="module")
def result(generated: Path) -> Result:
    return simulate(generated, load("mobile", SMALL), interval=500)


@pytest.fixture(scope="module")
def one() -> Gpu:
    return load("mobile", ONE_SCHEDULER)


def slots(result: Result, reason: str) -> int:
    """Slots of all SMs and launches that went to a reason."""
    table = result.table("stack")
    return int(table["slots"][table["reason"] == reason].sum())


def test_the_stack_of_every_sm_sums_to_the_cycles_of_every_launch(result: Result) -> None:
    table, schedulers = result.table("stack"), result.gpu.scheduler.count
    for kernel, start, end in zip(*(result.kernels[c] for c in ("kernel_id", "start_cycle", "end_cycle")), strict=True):
        for sm in range(result.gpu.sm.count):
            mine = (table["kernel_id"] == kernel) & (table["sm"] == sm)
            assert table["reason"][mine].tolist() == list(REASONS)
            assert table["slots"][mine].min() >= 0
            assert table["slots"][mine].sum() == (end - start) * schedulers
    assert slots(result, "issue") == result.value("warp_instructions")
    assert min(slots(result, reason) for reason in ("rt_unit", "memory", "barrier", "idle", "data")) > 0


def test_the_stack_of_every_interval_sums_to_its_cycles(result: Result) -> None:
    timeline = result.timeline
    starts = np.unique(timeline["start_cycle"])
    ends = np.append(starts[1:], int(result.value("gpu_cycles")))
    stack = timeline["unit"] == "stack"
    for start, end in zip(starts, ends, strict=True):
        mine = stack & (timeline["start_cycle"] == start)
        assert timeline["value"][mine].sum() == (end - start) * result.gpu.issue_per_cycle
    assert (starts % 500 == 0).sum() > 5


def test_a_chain_is_issue_and_data(micro: Callable, op: type, one: Gpu) -> None:
    stalls = [4, 7, 1, 39, 145]
    result = simulate(micro([op(stall=stall) for stall in stalls], [3]), one)
    assert (slots(result, "issue"), slots(result, "data")) == (15, 3 * sum(stalls) - 15)
    assert slots(result, "idle") == result.value("gpu_cycles") - 3 * sum(stalls)
    live = result.value("occupancy") * result.value("gpu_cycles") * one.sm.warps
    assert live == pytest.approx(3 * sum(stalls))


def test_warps_that_a_busy_unit_refuses(micro: Callable, op: type, one: Gpu) -> None:
    result = simulate(micro([op(initiation=4)] * 40, [1, 1], None, 2), one)
    assert (slots(result, "issue"), slots(result, "unit"), slots(result, "data")) == (80, 79 * 3, 0)


def test_concurrent_stalls_share_a_slot(micro: Callable, op: type, load_op: Callable, one: Gpu) -> None:
    """Warp 0 goes on to a stall of 300 cycles while warp 1 waits for its first load: half a slot each."""
    ops = [load_op(), op(wait=1, stall=300)]
    near = lambda warp, visit, index, lane: 0x1000_0000 + warp * 4096 + 4 * lane  # noqa: E731
    alone, both = (simulate(micro(ops, [1] * n, near, n), one) for n in (1, 2))
    assert slots(alone, "memory") > 100 < slots(alone, "data")
    assert slots(both, "memory") == pytest.approx(slots(alone, "memory"), rel=0.1)
    assert slots(both, "data") == pytest.approx(slots(alone, "data"), rel=0.1)


def test_a_barrier_holds_the_faster_warp(micro: Callable, op: type, load_op: Callable, one: Gpu) -> None:
    ops = [load_op(), op("int", "int", 1, 1, -1, 1), op("barrier", "branch")]
    far = lambda warp, visit, index, lane: 0x1000_0000 + (warp * 1000 + visit) * 4096 * warp + 4 * lane  # noqa: E731
    result = simulate(micro(ops, [10, 10], far, warps_per_cta=2), one)
    assert slots(result, "barrier") > slots(result, "data")
    assert slots(result, "memory") > slots(result, "barrier")


def test_no_unit_is_used_beyond_its_capacity(result: Result) -> None:
    table = result.table("utilisation")
    assert (table["used"] >= 0).all()
    assert (table["used"] <= table["capacity"]).all()
    issue = table["used"][table["unit"] == "issue"].sum()
    assert issue == result.value("warp_instructions")


def test_the_roofline_has_the_bytes_of_the_counters(result: Result) -> None:
    table, gpu = result.table("roofline"), result.gpu
    dram = table["level"] == "dram"
    assert table["bytes"][dram].sum() == result.value("dram_bytes")
    assert (table["peak_bytes_per_second"][dram] == gpu.dram_bytes_per_second).all()
    assert table["thread_instructions"][dram].sum() == result.value("thread_instructions")
    assert table["seconds"][dram].sum() == pytest.approx(result.value("seconds"))


def test_every_counter_is_defined(result: Result) -> None:
    for unit, name, _ in result.ledger.names:
        if unit != "stack":
            assert counter(unit, name).definition


def test_every_metric_is_one_that_is_defined(result: Result) -> None:
    assert list(result.summary)[: len(METRICS)] == list(METRICS)
    assert all(name.startswith("rt_") for name in list(result.summary)[len(METRICS) :])


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_picture_of_a_result(result: Result, tmp_path: Path, suffix: str) -> None:
    result.write(tmp_path / "a.result", {"command": "test"})
    written = open_result(tmp_path / "a.result")
    assert not validate(written)
    found = set()
    for name in ("one", "two"):
        write_picture(written, tmp_path / f"{name}.{suffix}")
        found.add(hashlib.sha256((tmp_path / f"{name}.{suffix}").read_bytes()).digest())
    assert len(found) == 1


def test_what_cannot_be_drawn_is_refused(run_replay: Callable[..., int], tmp_path: Path, capsys) -> None:
    assert run_replay("a.trace", "--picture", tmp_path / "a.png") == 2
    assert "needs --out" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"must end in \.png or \.svg"):
        check_picture(tmp_path / "a.jpg")


def stores_to_shared_memory(path: Path, bytes_apart: int) -> Path:
    """16 warps store to shared memory, each lane so far from the one before, and compute in between."""
    kinds, warps, trips = ["store", "int", "int", "int"], 16, 6
    warp, trip = np.repeat(np.arange(warps), trips), np.tile(np.arange(trips), warps)
    lanes = [lane * bytes_apart for lane in range(32)]
    from_frames(
        path,
        instructions={
            "operation_class": kinds, "memory_space": ["shared", "none", "none", "none"],
            "destination_registers": [[], [1], [2], [3]], "source_registers": [[0]] * 4,
        },
        visits={"warp_id": warp, "block_id": warp * 0, "active_mask": warp * 0 + 0xFFFFFFFF},
        accesses={"warp_id": warp, "visit": trip, "instruction_id": warp * 0, "address": [lanes] * len(warp)},
        kernels={"kernel_id": [0], "shared_bytes": [1 << 14], "block_x": [32 * warps], "grid_x": [1]},
        warps={"cta_id": [0] * warps, "warp_in_cta": list(range(warps))},
    )  # fmt: skip
    return path


@pytest.mark.parametrize(("model", "reason"), [("pipeline", "unit"), ("characterised", "lsu")])
def test_bank_conflicts_of_shared_memory_show_where_the_page_says(tmp_path: Path, model: str, reason: str) -> None:
    none, all_lanes = (
        simulate(stores_to_shared_memory(tmp_path / f"{apart}.trace", apart), load("mobile", SMALL), model=model)
        for apart in (4, 128)
    )
    added = {name: slots(all_lanes, name) - slots(none, name) for name in REASONS if name not in ("issue", "idle")}
    assert max(added, key=added.__getitem__) == reason
    assert added[reason] > sum(added.values()) / 2


def last_loads(path: Path) -> Path:
    """64 warps that load a line each, and retire when it is there."""
    warp = np.arange(64)
    from_frames(
        path,
        instructions={
            "operation_class": ["load"], "memory_space": ["global"], "destination_registers": [[1]],
            "source_registers": [[0]],
        },
        visits={"warp_id": warp, "block_id": warp * 0, "active_mask": warp * 0 + 0xFFFFFFFF},
        accesses={
            "warp_id": warp, "visit": warp * 0, "instruction_id": warp * 0,
            "address": [[(1 << 20) + 4096 * number + 4 * lane for lane in range(32)] for number in warp],
        },
        kernels={"kernel_id": [0], "block_x": [512], "grid_x": [4]},
        warps={"cta_id": warp // 16, "warp_in_cta": warp % 16},
    )  # fmt: skip
    return path


@pytest.mark.parametrize("model", ["pipeline", "characterised"])
def test_a_warp_that_leaves_waits_no_more(tmp_path: Path, model: str) -> None:
    """Else the others and it are charged more than there is, which ``data``, the rest, would pay."""
    result = simulate(last_loads(tmp_path / "a.trace"), load("mobile", SMALL), model=model)
    assert result.table("stack")["slots"].min() >= 0
    assert slots(result, "memory") > 0.6 * result.table("stack")["slots"].sum()


def test_no_interval_has_more_busy_cycles_of_the_rt_units_than_cycles() -> None:
    """A unit that is busy for many intervals is so in each of them, not in the one in which its last warp leaves."""
    interval = 500
    gpu = load("mobile")
    result = simulate(open_trace(SAMPLE), gpu, interval=interval)
    rows = (result.timeline["unit"] == "rt_unit") & (result.timeline["counter"] == "busy_cycles")
    units = gpu.sm.count * gpu.rt.cores
    assert result.timeline["value"][rows].max() == units * interval
    assert result.timeline["value"][rows].sum() == result.value("rt_busy_cycles")
