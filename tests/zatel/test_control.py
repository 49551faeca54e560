"""What warps ask of the L2, its misses, and how long warps take, against slow twins and by hand."""

from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from formats.errors import UserError
from formats.generate import make_trace
from formats.reader import Trace, open_trace
from replay.gpu_description import load
from zatel.control import held_before, in_order, misses, node_lines, read_stream
from zatel.control_kernels import HIT_LINES, begin_steps, spread
from zatel.control_schedule import fit_saturation, makespan
from zatel.estimate_machine import build, machine_for, match


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return open_trace(make_trace(tmp_path_factory.mktemp("control") / "small.trace", 2, (128, 24), 0))


def slow_stream(trace: Trace) -> list[list[tuple[int, dict[int, int]]]]:
    """Per warp, its steps in order: (step, line -> sectors); the lines of hits are left out."""
    line, sectors = node_lines(trace)
    rays, accesses = trace.read("rays"), trace.read("accesses")
    found: list[list[tuple[int, dict[int, int]]]] = []
    for warp in range(trace.rows("warps")):
        events: list[tuple[int, int, list[dict[int, int]]]] = []
        for row in np.flatnonzero(accesses["warp_id"] == warp):
            asked: dict[int, int] = {}
            for address in accesses["address"][accesses["address_offset"][row] : accesses["address_offset"][row + 1]]:
                asked[int(address) // 128] = asked.get(int(address) // 128, 0) | 1 << int(address) // 32 % 4
            events.append((int(accesses["visit"][row]), 0, [asked]))
        mine = np.flatnonzero(rays["warp_id"] == warp)
        for visit in np.unique(rays["visit"][mine]):
            lanes = [
                (rays["node"][rays["node_offset"][row] : rays["node_offset"][row + 1]] & 0x7FFFFFFF).tolist()
                for row in mine[rays["visit"][mine] == visit]
            ]
            steps = []
            for step in range(max(map(len, lanes))):
                asked = {}
                for node in (lane[step] for lane in lanes if step < len(lane)):
                    asked[int(line[node])] = asked.get(int(line[node]), 0) | int(sectors[node])
                steps.append(asked)
            events.append((int(visit), 1, steps))
        events.sort(key=lambda event: event[:2])
        found.append(list(enumerate(asked for _, _, part in events for asked in part)))
    return found


def test_the_stream_equals_its_slow_twin(trace: Trace) -> None:
    stream, slow = read_stream(trace), slow_stream(trace)
    assert stream.steps.tolist() == [len(steps) for steps in slow]
    owner = np.repeat(np.arange(len(slow)), stream.requests)
    for warp, steps in enumerate(slow):
        mine = (owner == warp) & (stream.line < HIT_LINES)
        rows = zip(stream.step[mine].tolist(), stream.line[mine].tolist(), stream.sectors[mine].tolist(), strict=True)
        expected = {(step, line, sectors) for step, asked in steps for line, sectors in asked.items()}
        assert set(rows) == expected
        assert mine.sum() == len(expected)


def test_every_hit_stores_to_a_line_of_its_own(trace: Trace) -> None:
    stream = read_stream(trace)
    own = stream.line[stream.line >= HIT_LINES]
    assert len(own) == (trace.read("rays", ["node"])["node"] >> np.uint32(31)).sum() > 0
    assert len(np.unique(own)) == len(own)


def slow_misses(line: np.ndarray, sectors: np.ndarray, sets: int) -> int:
    """The LRU cache with a dict of 16 lines for each set."""
    cache: list[OrderedDict[int, int]] = [OrderedDict() for _ in range(sets)]
    missed = 0
    for number, asked in zip(line.tolist(), sectors.tolist(), strict=True):
        held = cache[int(spread(number)) % sets]
        valid = held.pop(number, 0)
        missed += (asked & ~valid).bit_count() if number < HIT_LINES else 0
        held[number] = valid | asked
        if len(held) > 16:
            held.popitem(last=False)
    return missed


@pytest.mark.parametrize("sets", [1, 3, 40])
def test_misses_equal_a_slow_cache(trace: Trace, sets: int) -> None:
    stream = read_stream(trace)
    requests = in_order(stream, np.ones(len(stream.steps), bool), 7)
    assert misses(requests, sets * 16 * 128) == slow_misses(requests.line, requests.sectors, sets)


def test_warps_are_interleaved_as_places_get_free() -> None:
    assert begin_steps(np.array([4, 1, 1, 1]), 2).tolist() == [0, 0, 2, 4]


def test_what_others_fetch_first_is_held(trace: Trace) -> None:
    stream = read_stream(trace)
    chosen = np.zeros(len(stream.steps), bool)
    chosen[1::2] = True
    line, _ = held_before(trace, stream, chosen)
    rays, lines = trace.read("rays", ["warp_id", "node"]), node_lines(trace)[0]
    owner = np.repeat(rays["warp_id"], np.diff(rays["node_offset"]).astype(np.int64))
    node = rays["node"] & 0x7FFFFFFF
    expected = set()
    for number in np.unique(node[chosen[owner]]):
        if not chosen[owner[node == number].min()]:
            expected.add(int(lines[number]))
    assert set(line.tolist()) == expected
    assert len(line) == len(expected)


def test_makespan_by_hand() -> None:
    # One SM with two places, warps of 10, 1 and 1 steps. Where nobody waits the longest warp ends at 10, and the others
    # are there for 2 of these cycles. Where two share one step a cycle the second ends at 2, the third at 4; the first
    # has 8 steps left and is alone until 12.
    work = np.array([10.0, 1.0, 1.0])
    assert makespan(work, 1, 2, 100.0) == pytest.approx((10.0, 12 / 10))
    assert makespan(work, 1, 2, 1.0) == pytest.approx((12.0, 16 / 12))


def test_the_saturation_is_found_again() -> None:
    work = np.random.default_rng(3).lognormal(sigma=1.0, size=60)
    for saturation in (2.0, 16.0):
        resident = makespan(work, 2, 16, saturation)[1]
        found = fit_saturation(work, 2, 16, resident)
        assert makespan(work, 2, 16, found)[1] == pytest.approx(resident, rel=0.02)


def test_all_warps_need_the_whole_l2_at_most_and_few_less(trace: Trace) -> None:
    gpu, stream = load("mobile", ["l2.bytes=65536"]), read_stream(trace)
    whole = machine_for(gpu, trace, 1.0)
    nothing = np.zeros(0, np.int64), np.zeros(0, np.uint8)
    assert (whole.sms, whole.controllers) == (8, 4)
    part = machine_for(gpu, trace, 0.25)
    few = np.arange(len(stream.steps)) % 4 == 0
    share = match(gpu, whole, part, stream, few, *nothing)
    assert 2 / 8 <= share <= 1.0
    built = build(gpu, part, share)
    assert (built.sm.count, built.memory.count) == (2, 1)
    assert built.l2.bytes % (16 * 128) == 0


def test_a_trace_without_rays_is_refused(tmp_path: Path) -> None:
    bare = open_trace(make_trace(tmp_path / "bare.trace", 2, None, 2))
    with pytest.raises(UserError, match="must trace rays, to be estimated"):
        read_stream(bare)
