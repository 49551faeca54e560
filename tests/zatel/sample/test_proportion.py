"""Machines of one sample for several designs, in proportion."""

import math

import pytest

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.zatel.changes.paired import change_intervals
from rayplay.zatel.changes.whatif import changed
from rayplay.zatel.sample.estimate import read_work, replay_samples
from rayplay.zatel.sample.machine import build, machine_for
from rayplay.zatel.sample.proportion import Part, at_speed, in_proportion


def rows_of(trace: Trace, warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the trace say that it has ``warps``."""
    rows = Trace.rows
    monkeypatch.setattr(Trace, "rows", lambda self, name: warps if name == "warps" else rows(self, name))


def parts(trace: Trace, gpu: Gpu, fraction: float, *changes: str) -> tuple[float, list[Part]]:
    return in_proportion(trace, gpu, [gpu, *(changed(gpu, one) for one in changes)], fraction)


def test_a_design_with_other_sms_has_the_same_part(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = load("rtx2060")
    places = machine_for(gpu, trace, 1.0).places
    rows_of(trace, 15 * places, monkeypatch)  # they fill 30 SMs half a time; a quarter of them 7.5 SMs
    _, found = parts(trace, gpu, 0.25, "sm.count/2", "sm.count*2", "sm.count=20")
    assert [one.sms for one in found] == [12, 6, 24, 8]
    fraction, (base, half, twice) = parts(trace, gpu, 0.25, "sm.count/2", "sm.count*2")
    assert (base.sms, half.sms, twice.sms) == (8, 4, 16)
    assert base.misfit == half.misfit == twice.misfit == 0.0
    assert fraction == pytest.approx(8 / 30)  # as many warps on an SM as all have on the whole GPU
    assert parts(trace, gpu, 1.0, "sm.count/2")[1] == [Part(30, 12), Part(15, 12)]


def test_the_bandwidth_of_an_sm_is_the_whole_gpus(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = load("rtx2060")
    rows_of(trace, 64 * machine_for(gpu, trace, 1.0).places, monkeypatch)
    changes = ("memory.count/2", "memory.count*2", "sm.count/2", "sm.count*2")
    _, found = parts(trace, gpu, 0.1, *changes)
    for design, part in zip([gpu, *(changed(gpu, one) for one in changes)], found, strict=True):
        whole = design.memory.count / design.sm.count
        assert part.controllers * part.speed / part.sms == pytest.approx(whole)
    assert found[1].speed == found[0].speed  # half the controllers are half as many, not slower ones
    assert found[1].controllers * 2 == found[0].controllers


def test_sms_that_never_split_widen_the_interval(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = load("rtx2060")
    rows_of(trace, 64 * machine_for(gpu, trace, 1.0).places, monkeypatch)
    _, (base, odd) = parts(trace, gpu, 0.1, "sm.count=29")
    assert base.misfit == 0.0
    off = math.log(odd.sms / (base.sms * 29 / 30)), math.log(odd.speed / base.speed)
    assert odd.misfit == pytest.approx(math.hypot(*off)) != 0.0
    _, (three, one) = parts(trace, gpu, 0.1, "memory.count/4")
    assert one.misfit == pytest.approx(abs(math.log(one.speed / three.speed))) != 0.0  # 3 controllers never quarter
    twins = [{"a": 99.0}, {"a": 101.0}, {"a": 100.0}]
    fits, misfits = (change_intervals({"a": 0.1}, {"a": 0.0}, twins, 0.0, misfit=one)["a"] for one in (0.0, 0.1))
    assert fits is not None
    assert misfits is not None
    assert misfits.high - misfits.low > 2 * (fits.high - fits.low)


@pytest.mark.parametrize("sms", [30, 46, 68, 82, 144])
def test_designs_of_equal_size_have_no_misfit(trace: Trace, sms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = load("rtx3070", [f"sm.count={sms}"])
    rows_of(trace, sms * machine_for(gpu, trace, 1.0).places // 2, monkeypatch)
    for count in range(1, sms):
        assert [one.misfit for one in parts(trace, gpu, count / sms, "rt.warps*2")[1]] == [0.0, 0.0]


def test_a_gpu_of_one_controller_needs_no_two(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = load("mobile", ["memory.count=1"])
    rows_of(trace, 64 * machine_for(gpu, trace, 1.0).places, monkeypatch)
    assert parts(trace, gpu, 0.1, "rt.warps*2")[1][0].sms < gpu.sm.count / 2


def test_each_part_replays_at_its_speed(trace: Trace) -> None:
    gpu, sized = load("mobile"), [Part(1, 1, 0.5), Part(1, 1)]
    found = replay_samples(trace, [gpu, gpu], 0.5, 1, read_work(trace, keep=False), parts=sized)
    assert [one.scaled.dram.clock_khz for one in found] == [gpu.dram.clock_khz // 2, gpu.dram.clock_khz]
    assert found[0].replayed.summary["gpu_cycles"] != found[1].replayed.summary["gpu_cycles"]


def test_a_slower_clock_leaves_the_latency_of_a_read() -> None:
    gpu = load("rtx2060")
    slow = at_speed(gpu, 0.5)
    assert slow.dram.bytes_per_second * 2 == gpu.dram.bytes_per_second
    first = [one.dram.latency_cycles + (one.dram.rcd + one.dram.cl) * one.sm.clock_khz / one.dram.clock_khz
             for one in (gpu, slow)]  # fmt: skip
    assert first[1] == pytest.approx(first[0], abs=1.0)
    assert at_speed(gpu, 1.0) is gpu


@pytest.mark.parametrize("name", ["rtx3070", "orin"])
def test_gpus_whose_hash_needs_sixteen_slices_have_a_part(trace: Trace, name: str) -> None:
    gpu = load(name, ["rt.cores=2"])
    _, (part, twice) = parts(trace, gpu, 0.1, "memory.count*2")
    for design, own in ((gpu, part), (changed(gpu, "memory.count*2"), twice)):
        machine = machine_for(design, trace, 1.0)._replace(sms=own.sms, controllers=own.controllers)
        assert build(design, machine, 1.0).memory.count == own.controllers
    assert build(gpu, machine_for(gpu, trace, 1.0), 1.0).memory.partition_hash == gpu.memory.partition_hash
