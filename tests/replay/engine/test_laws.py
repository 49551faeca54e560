"""Laws that every replay obeys."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import INTERVAL_CYCLES, Replay, simulate
from rayplay.replay.sm.warps import READY

SMALL = ("sm.count=3", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=100")


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    return load("mobile", SMALL)


def finished(trace: Path, gpu: Gpu) -> Machine:
    """A machine that has replayed a trace to its end, with all its state."""
    opened = open_trace(trace)
    replay = Replay(Machine(opened, gpu, read_characterisation(opened, None)))
    replay.run(lambda standing: None)
    return replay.machine


def digest(folder: Path) -> dict[str, str]:
    """Hash of every file of a result but the host's own."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in ("host.json", "manifest.json")
    }


def same(first: Result, second: Result) -> None:
    """Equal in every metric and every row."""
    assert first.summary == second.summary
    for name in ("counters", "timeline", "pixels"):
        one, other = getattr(first, name), getattr(second, name)
        for column in one or {}:
            assert np.array_equal(one[column], other[column]), (name, column)


def total(result: Result, unit: str, counter: str) -> int:
    """Sum of a counter over instances and kernels."""
    chosen = (result.counters["unit"] == unit) & (result.counters["counter"] == counter)
    assert chosen.any(), (unit, counter)
    return int(result.counters["value"][chosen].sum())


def test_conservation(generated: Path, gpu: Gpu) -> None:
    trace = open_trace(generated)
    result = simulate(trace, gpu)
    count = trace.read("blocks")["instruction_count"].astype(np.int64)
    visits = trace.read("visits")
    expected = int(count[visits["block_id"]].sum())
    assert total(result, "sm", "warp_instructions") == total(result, "sm", "retired_instructions") == expected
    lanes = np.bitwise_count(visits["active_mask"]).astype(np.int64)
    assert result.value("thread_instructions") == int((count[visits["block_id"]] * lanes).sum())
    assert total(result, "sm", "retired_warps") == trace.rows("warps")
    assert total(result, "port", "requests") == total(result, "port", "responses") > 0
    rays = trace.read("rays", ["warp_id", "visit", "node"])
    assert total(result, "rt_unit", "records") == len(rays["node"])
    assert total(result, "rt_unit", "warps") == len(set(zip(rays["warp_id"], rays["visit"], strict=True)))
    hits = int((rays["node"] >> 31).sum())
    assert total(result, "rt_unit", "stores") == hits
    kinds = ("hits", "pending_hits", "line_misses", "sector_misses")
    reads, writes = (sum(total(result, "l1d", f"{of}_{kind}") for kind in kinds) for of in ("read", "write"))
    missed = reads - total(result, "l1d", "read_hits") - total(result, "l1d", "merges")
    past_l1 = total(result, "port", "requests") - missed - writes
    assert reads + writes + past_l1 == total(result, "lsu", "sectors") + total(result, "rt_unit", "reads") + hits
    misses = ("read_line_misses", "read_sector_misses", "read_pending_hits")
    l2 = ("read_hits", "write_hits", "write_pending_hits", "write_line_misses", "write_sector_misses", *misses)
    assert sum(total(result, "l2", name) for name in l2) == total(result, "port", "requests")
    fetched = sum(total(result, "l2", name) for name in misses) - total(result, "l2", "merges")
    assert fetched == total(result, "l2", "fills")
    commands_per_sector = 32 // gpu.dram.atom_bytes
    assert total(result, "dram", "reads") == fetched * commands_per_sector
    lines = total(result, "l2", "write_backs") * commands_per_sector
    assert lines <= total(result, "dram", "writes") <= 4 * lines


def test_queues_are_empty_at_the_end(generated: Path, gpu: Gpu) -> None:
    from rayplay.replay.lsu import state as lsu_state
    from rayplay.replay.memory import port
    from rayplay.replay.memory.cache import state as cache_state
    from rayplay.replay.memory.dram import state as dram_state
    from rayplay.replay.memory.l2 import state as l2_state
    from rayplay.replay.rt import state as rt_unit_state

    machine = finished(generated, gpu)
    assert not machine.core.members.any()
    assert not machine.core.mask[:, READY].any()
    assert not machine.port.port[:, port.IN_FLIGHT].any()
    assert (machine.port.port[:, port.REQUEST_HEAD] == machine.port.port[:, port.REQUEST_TAIL]).all()
    assert (machine.lsu.unit[:, lsu_state.FREE] == lsu_state.OPERATIONS).all()
    assert not machine.rt.unit[:, rt_unit_state.RESIDENT].any()
    assert (machine.rt.unit[:, rt_unit_state.STORE_HEAD] == machine.rt.unit[:, rt_unit_state.STORE_TAIL]).all()
    assert (machine.l1.cache.unit[:, cache_state.MSHR_FREE] == machine.l1.cache.entries).all()
    cache, memory = machine.memory.l2, machine.memory.dram
    assert (cache.slice[:, l2_state.HEAD] == cache.slice[:, l2_state.TAIL]).all()
    assert (cache.slice[:, l2_state.OUT_HEAD] == cache.slice[:, l2_state.OUT_TAIL]).all()
    assert (cache.tags.unit[:, cache_state.MSHR_FREE] == cache.tags.entries).all()
    assert not memory.channel[:, dram_state.UNDER_WAY].any()
    assert not memory.channel[:, [dram_state.QUEUED, dram_state.SHARED_CREDIT]].any()


@pytest.mark.parametrize("quantum", [90, 45, 10, 1])
def test_the_quantum_changes_nothing(generated: Path, gpu: Gpu, quantum: int) -> None:
    same(simulate(generated, gpu), simulate(generated, gpu, quantum=quantum))


def test_threads_change_nothing(generated: Path, gpu: Gpu, tmp_path: Path) -> None:
    for threads in (1, 2):
        simulate(generated, gpu, threads=threads).write(tmp_path / f"{threads}.result", {"command": "test"})
    assert digest(tmp_path / "1.result") == digest(tmp_path / "2.result")


def test_the_timeline_adds_up(generated: Path, gpu: Gpu) -> None:
    result = simulate(generated, gpu)
    starts = np.unique(result.timeline["start_cycle"])
    assert (starts % INTERVAL_CYCLES == 0).sum() >= len(starts) - 1
    issued = (result.timeline["unit"] == "sm") & (result.timeline["counter"] == "warp_instructions")
    assert result.timeline["value"][issued].sum() == result.value("warp_instructions")


def test_pixels(generated: Path, gpu: Gpu) -> None:
    trace = open_trace(generated)
    pixels = simulate(trace, gpu).pixels
    assert pixels is not None
    rays = trace.read("rays", ["segment", "node"])
    assert pixels["rays"].sum() == (rays["segment"] == 0).sum()
    assert pixels["node_visits"].sum() == len(rays["node"])
    assert (pixels["cycles"] > 0).all()


def test_empty_warps_change_nothing(micro: Callable[..., Path], op: type, gpu: Gpu) -> None:
    ops = [op(stall=4), op("fp32", "sp", 2)]
    work = [3, 5, 2, 7, 1, 4]
    full = simulate(micro(ops, work), gpu)
    same(full, simulate(micro(ops, [0, 3, 0, 5, 2, 0, 0, 7, 1, 4, 0]), gpu))


def test_a_window_of_few_warps_changes_nothing(generated: Path, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    from rayplay.replay.input import window

    whole = simulate(generated, gpu)
    monkeypatch.setattr(window, "ROWS_PER_BATCH", 1)
    same(whole, simulate(generated, gpu))


def test_wrong_settings_are_refused(generated: Path, gpu: Gpu) -> None:
    longest = gpu.longest_quantum
    with pytest.raises(UserError, match=f"quantum must be 1 to {longest}"):
        simulate(generated, gpu, quantum=longest + 1)
    with pytest.raises(UserError, match="threads must be 1 to 256, not 0"):
        simulate(generated, gpu, threads=0)
    with pytest.raises(UserError, match=r"needs \d+ registers a CTA, but an SM has sm\.registers = 1023"):
        simulate(generated, gpu.with_values(["sm.registers=1023", "sm.warps=63"]))
