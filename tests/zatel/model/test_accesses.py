"""Requests of warps, their order and phases, against slow twins and by hand."""

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.input.intersection_tables import add_entries
from rayplay.replay.input.rays import BASELINE, FIRST_STRETCH
from rayplay.zatel.model.accesses import FULL_SHIFT, LOCAL_LINES, WRITE
from rayplay.zatel.model.in_order import table_line
from rayplay.zatel.model.schedule import Machine
from rayplay.zatel.model.traffic import (
    in_order,
    node_lines,
    read_stream,
)
from rayplay.zatel.model.walk import HIT_LINES, TABLE_LINES
from rayplay.zatel.sample.rows import Held, read_rows


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
            if space == "generic":  # as its first lane's
                space = "local" if 0 <= int(addresses[0]) - begin < own * 32 * trace.rows("warps") else "global"
            for lane, address in zip(lanes, addresses.tolist(), strict=True):
                inside, local = address - begin if own else address, space == "local"
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
    call_of = np.searchsorted(begins, ray_of, side="right") - 1
    expected: dict[tuple[int, int], list[int]] = {}  # warp and sectors of each call's lines, and stores
    for call, address in zip(call_of.tolist(), stored.tolist(), strict=True):
        found = expected.setdefault((call, address // 128), [int(rays["warp_id"][begins[call]]), 0, 0])
        found[1] |= 1 << address // 32 % 4
        found[2] += 1
    owner, mine = np.repeat(np.arange(len(stream.steps)), stream.requests), stream.line >= TABLE_LINES
    assert len(stored) > 0
    kinds = stream.sectors[mine].astype(int)
    rows = zip(owner[mine].tolist(), stream.line[mine] - TABLE_LINES, kinds & 15, kinds >> FULL_SHIFT, strict=True)
    assert list(rows) == [(warp, line, *of) for (_, line), (warp, *of) in sorted(expected.items())]
    assert set((kinds & WRITE).tolist()) == {WRITE}
    bare = in_order(stream, np.ones(len(stream.steps), bool), Machine(3, 2, 4, 2), tables=False)
    assert bare.line.max() < TABLE_LINES
    assert len(bare.line) == (~mine).sum()


def test_tables_lie_by_the_number_of_the_warp_on_its_sm() -> None:
    assert [table_line(place, 3) for place in (0, 1, 3, 5)] == [0, 256 << 12, 1 << 12, (512 + 1) << 12]


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
    chosen = np.arange(trace.rows("warps")) % 2 == 1
    held = Held(trace, chosen)
    line = read_rows(trace, held, chosen, read_stream(trace, held.add)).line
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
