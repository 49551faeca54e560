"""What warps ask of the L2, its misses, and how long warps take, against slow twins and by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from formats.errors import UserError
from formats.generate import make_trace
from formats.reader import Trace, open_trace
from formats.trace import NODE_KINDS
from formats.writer import TraceWriter
from replay.gpu_description import Gpu, load
from replay.rt_table import add_entries
from replay.rt_unit_spec import BASELINE
from replay.rt_unit_state import FIRST_STRETCH
from zatel.control import (
    WINDOWS,
    Requests,
    after,
    held_before,
    in_order,
    node_lines,
    read_stream,
    table_line,
    thinned,
    traffic,
)
from zatel.control_accesses import LOCAL_LINES
from zatel.control_kernels import HIT_LINES, TABLE_LINES
from zatel.control_schedule import Machine
from zatel.estimate_machine import LARGEST_L2, build, machine_for, match, traffic_of_all


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return open_trace(make_trace(tmp_path_factory.mktemp("control") / "small.trace", 2, (128, 24), 0))


@pytest.fixture(scope="module")
def spheres(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The trace with every other triangle a procedural primitive."""
    path = tmp_path_factory.mktemp("control") / "spheres.trace"
    triangle, procedural = NODE_KINDS.index("triangle"), NODE_KINDS.index("procedural")
    with TraceWriter(path, {}, trace.image_size) as writer:
        for name in trace.tables:
            columns = trace.read(name)
            if name == "nodes":
                odd = (columns["kind"] == triangle) & (np.arange(len(columns["kind"])) % 2 > 0)
                columns["kind"] = np.where(odd, procedural, columns["kind"]).astype(np.uint8)
            writer.put(name, columns)
    return open_trace(path)


def slow_stream(trace: Trace) -> list[list[tuple[int, dict[int, int]]]]:
    """Per warp, its steps in order: (step, line -> sectors, stores marked); the lines of hits are left out."""
    line, sectors = node_lines(trace)
    rays, accesses, static, kernel = (trace.read(name) for name in ("rays", "accesses", "instructions", "kernels"))
    found: list[list[tuple[int, dict[int, int]]]] = []
    for warp in range(trace.rows("warps")):
        events: list[tuple[int, int, list[dict[int, int]]]] = []
        for row in np.flatnonzero(accesses["warp_id"] == warp):
            of = accesses["instruction_id"][row]
            lanes = [lane for lane in range(32) if accesses["lane_mask"][row] >> lane & 1]
            addresses = accesses["address"][accesses["address_offset"][row] : accesses["address_offset"][row + 1]]
            words: dict[int, set[int]] = {}
            begin, own = int(kernel["local_base"][0]), int(kernel["local_bytes"][0])
            space = str(static["memory_space"][of])
            for lane, address in zip(lanes, addresses.tolist(), strict=True):
                inside = address - begin if own else address
                local = space == "local" or (space == "generic" and 0 <= inside < own * 32 * trace.rows("warps"))
                for byte in range(int(static["access_bytes"][of]) * (space not in ("shared", "const"))):
                    if local:
                        word = LOCAL_LINES + (inside % own if own else inside) // 4 + byte // 4
                        words.setdefault(word, set()).add(lane)
                    else:
                        words.setdefault((address + byte) // 128, set()).add((address + byte) % 128 // 4)
            asked = {}
            for number, touched in words.items():
                asked[number] = sum(1 << sector for sector in {word // 8 for word in touched})
                if static["operation_class"][of] == "store":
                    whole = [sector for sector in range(4) if touched >= set(range(8 * sector, 8 * sector + 8))]
                    asked[number] += 16 + sum(256 << sector for sector in whole)
            events.append((int(accesses["visit"][row]), 0, [asked]))
        mine = np.flatnonzero(rays["warp_id"] == warp)
        for visit in np.unique(rays["visit"][mine]):
            nodes = [
                (rays["node"][rays["node_offset"][row] : rays["node_offset"][row + 1]] & 0x7FFFFFFF).tolist()
                for row in mine[rays["visit"][mine] == visit]
            ]
            steps = []
            for step in range(max(map(len, nodes))):
                asked = {}
                for node in (lane[step] for lane in nodes if step < len(lane)):
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
    own = stream.line[(stream.line >= HIT_LINES) & (stream.line < TABLE_LINES)]
    assert len(own) == (trace.read("rays", ["node"])["node"] >> np.uint32(31)).sum() > 0
    assert len(np.unique(own)) == len(own)


def test_rays_enter_procedural_primitives_as_the_rt_unit_does(spheres: Trace) -> None:
    stream, rays = read_stream(spheres), spheres.read("rays")
    begins = np.flatnonzero(np.diff((rays["warp_id"].astype(np.int64) << 32) + rays["visit"], prepend=-1))
    lane, offset = (rays["lane"] | (rays["segment"] == 0) * FIRST_STRETCH), rays["node_offset"].astype(np.int64)
    _, _, first, stored = add_entries(
        BASELINE, begins, lane.astype(np.uint8), offset, rays["node"], spheres.read("nodes", ["kind"])["kind"],
        np.zeros(32, np.int64), "here",
    )  # fmt: skip
    ray_of = np.repeat(np.arange(len(rays["lane"])), np.diff(first))
    owner, mine = np.repeat(np.arange(len(stream.steps)), stream.requests), stream.line >= TABLE_LINES
    sector = np.log2(stream.sectors[mine] & 15).astype(int)
    assert len(stored) > 0
    assert owner[mine].tolist() == rays["warp_id"][ray_of].tolist()
    assert ((stream.line[mine] - TABLE_LINES) * 128 + sector * 32).tolist() == (stored // 32 * 32).tolist()
    assert set((stream.sectors[mine] & ~np.uint16(15)).tolist()) == {16}
    bare = in_order(stream, np.ones(len(stream.steps), bool), Machine(3, 2, 4, 2), tables=False)
    assert bare.line.max() < TABLE_LINES
    assert len(bare.line) == (~mine).sum()


def test_tables_lie_by_the_number_of_the_warp_on_its_sm() -> None:
    assert table_line(np.array([0, 1, 3, 5]), 3).tolist() == [0, 256 << 12, 1 << 12, (512 + 1) << 12]


class SlowSets:
    """Sets of some lines, the last the most recent: line -> [sectors that can be read, sectors written to]."""

    def __init__(self, sets: int, ways: int) -> None:
        self.ways = ways
        self.sets: list[dict[int, list[int]]] = [{} for _ in range(sets)]

    def use(self, index: int, line: int) -> tuple[list[int], tuple[int, int]]:
        """The line's sectors, now the most recent of its set, and which line went for it with dirty sectors, or 0 0."""
        held, gone = self.sets[index], (0, 0)
        state = held.pop(line, None)
        if state is None and len(held) == self.ways:
            oldest = next(iter(held))
            gone = oldest, held.pop(oldest)[1]
        held[line] = state or [0, 0]
        return held[line], gone


def slow_spread(line: int) -> int:
    mixed = line * 0x9E3779B97F4A7C15 % (1 << 64)
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
    return (mixed ^ (mixed >> 27)) >> 33 >> 6  # without those that choose which lines are followed


def slow_traffic(requests: Requests, gpu: Gpu, l1_sets: int, l2_sets: int) -> tuple[list[int], list[int]]:
    """The functional caches and rows with dicts; and what the busiest slice is asked for in each window."""
    sms, opened, addresses = gpu.sm.count, {}, gpu.addresses
    slices = addresses.channels * addresses.slices
    l1, l2 = SlowSets(sms * l1_sets, gpu.l1.ways), SlowSets(slices * l2_sets, gpu.l2.ways)
    count, load = [0] * 8, [[0] * slices for _ in range(WINDOWS)]

    def slice_of(line: int) -> int:
        block, inside = divmod(line * 128, 1 << addresses.block_shift)
        inside += block // addresses.channels << addresses.block_shift
        bank = sum((inside >> right & mask) << left for right, mask, left in addresses.bank.tolist())
        return block % addresses.channels * addresses.slices + bank % addresses.slices

    def ask(line: int, asked: int, write: bool, full: int, counted: int) -> None:
        load[window][slice_of(line)] += asked.bit_count() * counted
        state, (gone, dirty) = l2.use(slice_of(line) * l2_sets + slow_spread(line) % l2_sets, line)
        missed = asked & ~(state[0] | state[1]) if write else asked & ~state[0]
        for at, number in ((2 if write else 0, asked), (3 if write else 1, missed), (4, dirty)):
            count[at] += number.bit_count() * counted
        for lines, needed in ((gone, dirty), (line, 0 if write else missed)):
            for sector in (4 * lines + offset for offset in range(4) if needed >> offset & 1):
                block, inside = divmod(sector * 32, 1 << addresses.block_shift)
                inside += block // addresses.channels << addresses.block_shift
                bank, row = (
                    sum((inside >> right & mask) << left for right, mask, left in bits.tolist())
                    for bits in (addresses.bank, addresses.row)
                )
                place = block % addresses.channels, (bank ^ row) % addresses.banks
                count[5] += (opened.get(place) != row) * counted
                opened[place] = row
        state[0] |= full if write else asked
        state[1] |= asked if write else 0

    rows = zip(
        *(column.tolist() for column in (requests.line, requests.sectors, requests.sm, requests.window)), strict=True
    )
    for line, kind, sm, at in rows:
        window = at
        asked, full = kind & 15, kind >> 8
        if sm < 0:
            ask(line, asked, False, 0, 0)
            continue
        count[6] += asked.bit_count()
        index = sm * l1_sets + slow_spread(line) * 7919 % 65521 % l1_sets
        if not kind & 16:
            state, (gone, dirty) = l1.use(index, line)
            if dirty:
                ask(gone, dirty, True, dirty, 1)
            count[7] += (asked & ~state[0]).bit_count()
            if asked & ~state[0]:
                ask(line, asked & ~state[0], False, 0, 1)
            state[0] |= asked
            continue
        kept = 0
        if line in l1.sets[index]:
            if LOCAL_LINES <= line < HIT_LINES:
                state = l1.use(index, line)[0]
                kept = asked & state[0]
                state[1] |= kept
            else:
                l1.sets[index][line][0] &= ~asked
        count[7] += (asked & ~kept).bit_count()
        if asked & ~kept:
            ask(line, asked & ~kept, True, full & ~kept, 1)
    return count, [max(window) for window in load]


@pytest.mark.parametrize(("l1_sets", "l2_sets"), [(1, 1), (2, 3), (4, 5)])
def test_traffic_equals_slow_caches(spheres: Trace, l1_sets: int, l2_sets: int) -> None:
    stream = read_stream(spheres)
    requests = in_order(stream, np.arange(len(stream.steps)) % 3 > 0, Machine(3, 2, 4, 2))
    line, sectors = np.unique(stream.line[stream.line < LOCAL_LINES])[:70], np.full(70, 15, np.uint8)
    requests = after(requests, line, sectors[: len(line)])
    gpu = small(load("rtx2060"), 3, l1_sets, l2_sets)
    found = traffic(requests, gpu)
    count, busiest = slow_traffic(requests, gpu, l1_sets, l2_sets)
    assert list(found[:8]) == count
    assert list(found.busiest) == busiest
    assert min(count) > 0
    assert found.l1_miss_rate == found.l1_misses / found.l1_accesses
    assert found.miss_rate == (found.read_misses + found.write_misses) / (found.reads + found.writes)
    assert found.rows_per_sector == found.rows_opened / (found.read_misses + found.write_backs)


def small(gpu: Gpu, sms: int, l1_sets: int, l2_sets: int) -> Gpu:
    """The GPU with so many sets of 16 lines in each L1 and each slice of the L2, which has four."""
    found = replace(gpu, sm=replace(gpu.sm, count=sms), l1=replace(gpu.l1, bytes=l1_sets * 2048, ways=16))
    controllers = 4 // gpu.l2.slices_per_controller
    return build(found, Machine(sms, controllers, 1, 1), 4 * l2_sets * 2048 / gpu.l2.bytes)


def test_a_store_that_fills_no_sector_is_fetched_when_read() -> None:
    line, sm, nothing = np.full(3, 5, np.int64), np.zeros(3, np.int16), np.zeros(0, np.int64)
    partly, whole, reads = 16 + 1, 16 + 1 + 256, 1
    for first, missed in ((partly, 1), (whole, 0)):
        requests = Requests(line, np.array([first, reads, reads], np.uint16), 0, sm, sm, (nothing, nothing))
        found = traffic(requests, small(load("mobile"), 1, 1, 1))
        assert found[:8] == (1, missed, 1, 1, 0, missed, 3, 2)
        assert found.busiest == (2, *[0] * (WINDOWS - 1))


def test_a_half_of_the_sets_stands_for_all(trace: Trace) -> None:
    stream, gpu = read_stream(trace), small(load("mobile"), 2, 4, 8)
    every = in_order(stream, np.ones(len(stream.steps), bool), Machine(2, 4, 8, 4))
    assert thinned(every, len(every.line)) is every
    half = thinned(every, len(every.line) - 1)
    assert half.shift == 1
    assert 0 < len(half.line) < len(every.line)
    for found, expected in zip(traffic(half, gpu)[:8], traffic(every, gpu)[:8], strict=True):
        assert found == pytest.approx(expected, rel=0.25)


def test_local_memory_belongs_to_the_place_or_the_warp(trace: Trace) -> None:
    stream = read_stream(trace)
    every = np.ones(len(stream.steps), bool)
    counts = [
        len(np.unique(lines[(lines >= LOCAL_LINES) & (lines < HIT_LINES)]))
        for lines in (in_order(stream, every, Machine(2, 4, 4, 4), interleaved).line for interleaved in (True, False))
    ]
    words = len(np.unique(stream.line[(stream.line >= LOCAL_LINES) & (stream.line < HIT_LINES)]))
    assert 0 < counts[0] <= 8 * words
    assert counts[0] < counts[1] <= len(every) * words


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


def test_phases_are_what_warps_do_in_turn(trace: Trace) -> None:
    stream, slow = read_stream(trace), slow_stream(trace)
    rays, accesses = (trace.read(name, ["warp_id", "visit"]) for name in ("rays", "accesses"))
    rays |= {"nodes": np.diff(trace.read("rays", ["node"])["node_offset"]).astype(int)}
    for warp, steps in enumerate(slow):
        mine = stream.phases.length[stream.phases.first[warp] : stream.phases.first[warp + 1]].tolist()
        assert sum(mine) == len(steps)
        visits = np.unique(rays["visit"][rays["warp_id"] == warp])
        expected = [rays["nodes"][(rays["warp_id"] == warp) & (rays["visit"] == visit)].max() for visit in visits]
        assert mine[1::2] == [*expected, 0]
        asked = accesses["visit"][accesses["warp_id"] == warp]
        assert np.cumsum(mine[:-2:2]).tolist() == [(asked <= visit).sum() for visit in visits]


def test_a_sample_gets_an_l2_between_its_share_and_the_largest(trace: Trace) -> None:
    gpu, stream = load("mobile", ["l2.bytes=65536"]), read_stream(trace)
    whole = machine_for(gpu, trace, 1.0)
    nothing = np.zeros(0, np.int64), np.zeros(0, np.uint8)
    assert (whole.sms, whole.controllers) == (8, 4)
    part = machine_for(gpu, trace, 0.25)
    few = np.arange(len(stream.steps)) % 4 == 0
    goal = traffic_of_all(gpu, whole, stream)
    found = match(gpu, whole, part, stream, goal, few, *nothing)
    assert 1 / 8 <= found.share <= LARGEST_L2
    built = build(gpu, part, found.share)
    assert (built.sm.count, built.memory.count) == (1, 2)
    assert built.l2.bytes % (16 * 128) == 0


def test_a_trace_without_rays_is_refused(tmp_path: Path) -> None:
    bare = open_trace(make_trace(tmp_path / "bare.trace", 2, None, 2))
    with pytest.raises(UserError, match="must trace rays, to be estimated"):
        read_stream(bare)
