"""From what a sample's replay counted to the whole GPU's cycles, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.replay.gpu.description import load
from rayplay.zatel.model.schedule import Machine, Phases, moments, schedule
from rayplay.zatel.model.traffic import Stream, Traffic
from rayplay.zatel.model.windows import WINDOWS
from rayplay.zatel.sample.extrapolate import all_cycles, extrapolate, later, rescale_efficiency
from rayplay.zatel.sample.l2_slices import least_cycles, unhindered, window_steps
from rayplay.zatel.sample.machine import Modelled
from rayplay.zatel.sample.replay import COUNTED, Replayed


def test_a_step_takes_longer_where_caches_miss_more() -> None:
    gpu = load("mobile")  # an L2 hit 160 cycles; DRAM 100, and 20 + 20 ticks of 3500 MHz at 1365 MHz
    few = Traffic(100.0, 10.0, 0.0, 0.0, 0.0, 200.0, 50.0)
    many = Traffic(100.0, 20.0, 0.0, 0.0, 0.0, 200.0, 60.0)
    dram = 100 + 40 * 1365 / 3500
    assert later(gpu, many, few) == pytest.approx(160 * 0.05 + dram * (0.3 * 0.2 - 0.25 * 0.1))
    assert later(gpu, few, few) == 0.0


def replayed_as(phases: Phases, machine: Machine, warps: np.ndarray, step: float, access: float) -> Replayed:
    """A replay in which a record takes ``step`` cycles and an access ``access`` cycles."""
    owner = np.repeat(warps, np.diff(phases.first))
    accesses, records = ((phases.length * owner)[kind::2].sum() for kind in (0, 1))
    cycles = 5000 + step * schedule(phases, warps, machine, access / step).steps
    totals = {"rt_warp_cycles": step * records, "waits_for_rt": 3.0, "waits_or_issues": 4.0}
    totals["resident_warp_cycles"] = 4 * access * accesses
    return Replayed({"gpu_cycles": cycles}, {}, totals, 0.0)


def stream_of(phases: Phases) -> Stream:
    """A stream with a request in every step of such warps."""
    steps = np.add.reduceat(phases.length, phases.first[:-1])
    step = np.concatenate([np.arange(number, dtype=np.int32) for number in steps])
    nothing = np.zeros(len(step), np.int64)
    return Stream(
        steps,
        phases,
        steps,
        step,
        nothing,
        nothing.astype(np.uint16),
        0,
        np.zeros(0, np.int32),
        *[steps] * 3,
        np.zeros(0, np.int64),
    )


def busy(cycles: float) -> np.ndarray:
    """The busiest slice is busy for the given cycles of every window."""
    return np.full(WINDOWS, cycles)


IDLE = busy(0.0), busy(0.0)
WARPS = 400
LENGTHS = np.random.default_rng(5).integers(1, 30, 20 * WARPS)
PHASES = Phases(np.arange(0, 20 * WARPS + 1, 20), LENGTHS, np.arange(WARPS + 1))
WHOLE, PART = Machine(4, 2, 8, 2), Machine(1, 2, 8, 2)
CHOSEN, EVERYBODY = np.arange(WARPS) % 8 == 0, np.ones(WARPS, bool)


@pytest.mark.parametrize("access", [50.0, 200.0])
def test_cycles_follow_from_what_a_step_and_an_access_take(access: float) -> None:
    replayed = replayed_as(PHASES, PART, CHOSEN, 100.0, access)
    arguments = load("mobile"), (WHOLE, PART), stream_of(PHASES), CHOSEN, IDLE, replayed
    found, longer = all_cycles(*arguments, 0.0)
    expected = 5000 + 100.0 * schedule(PHASES, EVERYBODY, WHOLE, access / 100.0).steps
    assert found == pytest.approx(expected, rel=0.01)
    assert longer == pytest.approx(1.0)
    slower, _ = all_cycles(*arguments, 10.0)
    assert slower - 5000 == pytest.approx(1.1 * (found - 5000))


def test_paced_cycles_are_the_schedules_at_the_pace_of_the_sample() -> None:
    replayed = replayed_as(PHASES, PART, CHOSEN, 100.0, 50.0)
    replayed.totals["rt_warp_cycles"] *= 1.3  # cycles of a step that the RT unit tells, and that are not used
    sampled, cost = float(replayed.summary["gpu_cycles"] or 0) - 5000, 50.0 / 130.0
    arguments = load("mobile"), (WHOLE, PART), stream_of(PHASES), CHOSEN, IDLE, replayed, 0.0
    found = [all_cycles(*arguments, is_paced=one)[0] - 5000 for one in (True, False)]
    steps = [schedule(PHASES, who, on, cost).steps for who, on in ((EVERYBODY, WHOLE), (CHOSEN, PART))]
    assert found[0] == pytest.approx(sampled * steps[0] / steps[1], rel=0.05)
    assert found[1] == pytest.approx(130.0 * steps[0], rel=0.05)


def test_all_warps_go_no_faster_than_the_busiest_slice() -> None:
    replayed = replayed_as(PHASES, PART, CHOSEN, 100.0, 50.0)
    gpu, stream = load("mobile"), stream_of(PHASES)
    free, _ = all_cycles(gpu, (WHOLE, PART), stream, CHOSEN, IDLE, replayed, 0.0)
    each = 3 * free / WINDOWS
    hot, longer = all_cycles(gpu, (WHOLE, PART), stream, CHOSEN, (busy(each), busy(0.0)), replayed, 0.0)
    assert hot == pytest.approx(5000 + each * WINDOWS, rel=0.05)  # the drain is longer than its slices are busy
    assert longer == pytest.approx((hot - 5000) / (free - 5000))


def test_a_sample_that_a_slice_held_up_is_faster_elsewhere() -> None:
    replayed = replayed_as(PHASES, PART, CHOSEN, 100.0, 50.0)
    gpu, stream, sampled = load("mobile"), stream_of(PHASES), float(replayed.summary["gpu_cycles"] or 0) - 5000
    steps = window_steps(stream, schedule(PHASES, CHOSEN, PART, 0.5), 0.5, CHOSEN)
    least = np.where(np.arange(WINDOWS) % 2, 1.5 * sampled * steps / steps.sum(), 0.0)
    free, _ = all_cycles(gpu, (WHOLE, PART), stream, CHOSEN, IDLE, replayed, 0.0)
    found, longer = all_cycles(gpu, (WHOLE, PART), stream, CHOSEN, (busy(0.0), least), replayed, 0.0)
    apart = unhindered(sampled, steps, least) / sampled
    assert 0.3 < apart < 0.7
    assert found - 5000 == pytest.approx(apart * (free - 5000), rel=0.02)
    assert longer == pytest.approx(apart, rel=0.02)


@given(st.lists(st.floats(0.1, 10.0), min_size=WINDOWS, max_size=WINDOWS), st.floats(1.0, 1e6), st.floats(0.0, 20.0))
def test_without_busy_slices_windows_take_what_is_left(steps: list[float], free: float, load_of_odd: float) -> None:
    share = np.array(steps) / sum(steps)
    least = np.where(np.arange(WINDOWS) % 2, load_of_odd * free / WINDOWS, 0.0)
    held_up = float(np.maximum(free * share, least).sum())
    assert unhindered(held_up, np.array(steps), least) == pytest.approx(free, rel=1e-6)
    assert unhindered(free, np.array(steps), np.zeros(WINDOWS)) == free


def test_windows_are_equal_parts_of_the_requests() -> None:
    stream, planned = stream_of(PHASES), schedule(PHASES, EVERYBODY, WHOLE, 0.5)
    steps = window_steps(stream, planned, 0.5, EVERYBODY)
    time = np.sort(moments(PHASES, planned.begins, 0.5, EVERYBODY, stream.requests, stream.step))
    assert steps.sum() == pytest.approx(planned.steps)
    begins = np.cumsum(steps) - steps
    for number in range(1, WINDOWS):
        first = np.flatnonzero(np.arange(len(time)) * WINDOWS // len(time) == number)[0]
        assert begins[number] == pytest.approx(time[first])


def test_a_slice_goes_at_the_pace_of_the_slower_clock() -> None:
    gpu = load("mobile", ["memory.interconnect_clock_khz=682500"])
    assert least_cycles(asked_for(10.0, 0.0), gpu).tolist() == [20.0] * WINDOWS


def asked_for(asked: float, entered: float) -> Traffic:
    """Sectors of the first of two slices in every window, half of them reads, and entries in its tables."""
    slices = np.tile([1.0, 0.0], (WINDOWS, 1))
    each = asked * WINDOWS
    counts = each / 2, 0.0, each / 2 + entered * WINDOWS, 0.0, 0.0
    return Traffic(*counts, asked=asked * slices, entered=entered * slices)


def test_slices_serve_what_the_l1s_ask_and_entries_of_tables() -> None:
    assert least_cycles(asked_for(20.0, 60.0), load("mobile")).tolist() == [80.0] * WINDOWS


def with_dram(used: float, data_sectors: float, sampled_sectors: float) -> dict[str, float | None]:
    """Metrics of all warps from made-up traffic.

    data_sectors     that all warps miss in the model.
    sampled_sectors  that the sample misses, in the model and in its replay.
    """
    gpu, replayed = load("mobile"), replayed_as(PHASES, PART, CHOSEN, 100.0, 50.0)
    part = Traffic(100.0, sampled_sectors, 0.0, 0.0, 0.0, 200.0, 50.0)
    totals = dict.fromkeys(COUNTED, 0.0) | replayed.totals
    totals |= {"l2_read_misses": sampled_sectors, "l2_read_hits": 100.0 - sampled_sectors}
    names = ("gpu_ipc", "l1d_miss_rate", "l2_miss_rate", "rt_efficiency")
    summary = replayed.summary | dict.fromkeys(names, 0.5)
    summary |= {"bandwidth_utilisation": used, "dram_efficiency": 0.5 if used else None}
    model = Modelled(part._replace(reads=1e9, read_misses=data_sectors), part)
    return extrapolate(
        gpu, (WHOLE, PART), stream_of(PHASES), CHOSEN, model, replayed._replace(totals=totals, summary=summary)
    )


def test_the_dram_bounds_the_cycles_where_it_moves_data_all_the_time() -> None:
    gpu = load("mobile")
    found = with_dram(0.0, 1e7, 0.0)  # 32 B a sector at four channels' peak
    seconds = 1e7 * 32 / (gpu.memory.count * gpu.dram.bytes_per_second)
    assert found["gpu_cycles"] == pytest.approx(seconds * gpu.sm.clock_khz * 1000)
    assert found["bandwidth_utilisation"] == 1.0
    free = with_dram(0.0, 0.0, 0.0)
    some = with_dram(0.0, 1e4, 0.0)
    assert free["bandwidth_utilisation"] == 0.0
    assert 0.0 < some["bandwidth_utilisation"] < 1.0
    seconds = 1e4 * 32 / (gpu.memory.count * gpu.dram.bytes_per_second)
    assert some["bandwidth_utilisation"] == pytest.approx(seconds * gpu.sm.clock_khz * 1000 / some["gpu_cycles"])


def test_an_efficiency_is_at_most_one() -> None:
    assert rescale_efficiency(0.5, 0.25, 0.25) == pytest.approx(0.5)
    # idle 0.5; twice the rate: 0.25 idle; six times: 1.5 / (1 - 0.5^6) would be above 1
    assert rescale_efficiency(0.5, 0.25, 0.5) == pytest.approx(0.5 / 0.75)
    assert rescale_efficiency(0.5, 0.25, 1.5) == 1.0
    assert rescale_efficiency(0.0, 0.0, 0.5) == 0.0
