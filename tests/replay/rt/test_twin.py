"""The RT unit equals its slow twin in every cycle, request and counter, whatever the rays and the options."""

import itertools
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayplay.replay.input.rays import EARLY_OUT, FIRST_STRETCH, TABLE_LOAD, TRIANGLE, TRIANGLE_HIT, Records, node_info
from rayplay.replay.input.work import LANES
from rayplay.replay.rt import state as rt_unit_state
from rayplay.replay.rt.spec import COALESCING, HIT_STORES, MAX_WARPS, MSHR_LIMITS, REFUSALS, RESPONSES
from tests.reference import rt_unit_slow as slow
from tests.replay.rt.drive import drive

SIZES = {0: 64, 1: 64, 2: 128, 3: 8, 4: 64, 5: 64, TABLE_LOAD: 4}
TABLES, TABLE_BYTES = (1 << 42) << 5, 1 << 19


@dataclass
class Case:
    """Random rays: per operation its arrival and, per lane, (records, offsets of table stores, flags)."""

    arrivals: list[int]
    rays: list[dict[int, tuple[list[tuple[int, int, int]], list[int], int]]]


Node = tuple[int, int, int]  # address, size, kind


@st.composite
def cases(draw: st.DrawFn, spacing: int) -> Case:
    """Warps whose lanes share some of their records, as rays that go the same way do; addresses on a grid."""
    places = draw(st.lists(st.integers(0, 6 * 40 - 1), min_size=1, max_size=12))
    nodes = [(0xC000_0000 + spacing * (place // 6), SIZES[place % 6], place % 6) for place in places]
    nodes += [(292 * row, 4, TABLE_LOAD) for row in range(2)]
    node = st.sampled_from(nodes)
    lane = st.tuples(
        st.integers(0, 6), st.lists(node, max_size=2), st.integers(0, 255),
        st.sampled_from(((), (), (0, 996), (500,))), st.sampled_from((0, FIRST_STRETCH, FIRST_STRETCH | EARLY_OUT)),
    )  # fmt: skip
    warp = st.tuples(
        st.sampled_from((0, 1, 1, 7, 60)), st.lists(node, min_size=1, max_size=6),
        st.dictionaries(st.integers(0, LANES - 1), lane, min_size=1, max_size=6),
    )  # fmt: skip
    now, arrivals, rays = 0, [], []
    for _ in range(draw(st.integers(1, 20))):
        after, path, lanes = draw(warp)
        now += after
        arrivals.append(now)
        rays.append({number: ray(path, *lanes[number]) for number in sorted(lanes)})
    return Case(arrivals, rays)


def ray(
    path: list[Node], cut: int, more: list[Node], hits: int, stores: tuple[int, ...], flags: int
) -> tuple[list[Node], list[int], int]:
    """A ray that leaves the path of its warp after ``cut`` records; bits of ``hits`` say which triangles it hits."""
    records = [
        (address, size, TRIANGLE_HIT if kind == TRIANGLE and hits >> place & 1 else kind)
        for place, (address, size, kind) in enumerate([*path[:cut], *more])
    ]
    return records, list(stores) if records else [], flags


class Answers(NamedTuple):
    """Answers of the memory: of its requests in turn, and cycles until a response."""

    answer: list[str]
    cycles: list[int]

    @classmethod
    def drawn(cls, cache: str) -> st.SearchStrategy["Answers"]:
        """Of an L1 any answer and latency, past all caches no hit and one latency."""
        kinds = (slow.HIT, slow.MISS, slow.FAIL) if cache == "l1" else (slow.MISS, slow.MISS, slow.FAIL)
        latencies = st.lists(st.integers(1, 90), min_size=1, max_size=20 if cache == "l1" else 1)
        answers = st.lists(st.sampled_from(kinds), max_size=40).map(lambda found: [*found, kinds[0]])
        return st.builds(cls, answers, latencies)

    def memory(self, cache: str) -> slow.Memory:
        """A memory that gives these answers, over and over."""
        answer, cycles = itertools.cycle(self.answer), itertools.cycle(self.cycles)
        return slow.Memory(lambda: next(answer), lambda: next(cycles), merges=cache == "l1")


@st.composite
def situations(draw: st.DrawFn) -> tuple[slow.Options, Case, str, Answers]:
    """Options of a unit, the rays that it traces, where its reads go, and the answers that it gets."""
    given, cache = draw(options()), draw(st.sampled_from(("l1", "l1", "none")))
    # where a response serves the requester's base address alone, records that overlap would wait for ever
    spacing = 128 if given.response == "vulkan-sim" else draw(st.sampled_from((16, 64)))
    return given, draw(cases(spacing)), cache, draw(Answers.drawn(cache))


def to_records(case: Case) -> Records:
    """The case as the unit reads it."""
    nodes: dict[tuple[int, int, int], int] = {}
    lane, first_ray, first_node, node, first_store, store = [], [0], [0], [], [0], []
    for rays in case.rays:
        for number, (records, stores, flags) in rays.items():
            lane.append(number | flags)
            for address, size, kind in records:
                key = address, size, TRIANGLE if kind == TRIANGLE_HIT else kind
                node.append(nodes.setdefault(key, len(nodes)) | (kind == TRIANGLE_HIT) << 31)
            store += stores
            first_node.append(len(node))
            first_store.append(len(store))
        first_ray.append(len(lane))
    address, size, kinds = (np.array(column, np.int64) for column in zip(*nodes or [(0, 0, 0)], strict=True))
    return Records(
        np.array(first_ray), np.array(lane, np.uint8), np.array(first_node), np.array(node, np.uint32),
        np.array(first_store), np.array(store, np.int64), node_info(address, size, kinds),
    )  # fmt: skip


def to_lanes(case: Case) -> list[tuple[int, dict[int, slow.Lane]]]:
    """The case as the twin reads it: table accesses have addresses."""
    arrivals = []
    for warp, (cycle, rays) in enumerate(zip(case.arrivals, case.rays, strict=True)):
        table = TABLES + warp * TABLE_BYTES
        lanes = {}
        for number, (records, stores, flags) in rays.items():
            absolute = deque((a + table * (kind == TABLE_LOAD), size, kind) for a, size, kind in records)
            begins, early = bool(flags & FIRST_STRETCH), bool(flags & EARLY_OUT)
            lanes[number] = slow.Lane(absolute, [table + offset for offset in stores], begins, early)
        arrivals.append((cycle, lanes))
    return arrivals


@st.composite
def options(draw: st.DrawFn) -> slow.Options:
    return slow.Options(
        latency=(*draw(st.lists(st.integers(1, 9), min_size=8, max_size=8)), 1),
        warps=draw(st.sampled_from((1, 2, 4, 9, MAX_WARPS))),
        cores=draw(st.integers(1, 2)),
        perfect=draw(st.integers(0, 4)) == 0,
        hit_cycles=draw(st.sampled_from((0, 0, 3, 20))),
        mshr_entries=draw(st.sampled_from((0, 0, 1, 4))),
        mshr_limit=draw(st.sampled_from(MSHR_LIMITS)),
        coalescing=draw(st.sampled_from(COALESCING)),
        refused_chunk=draw(st.sampled_from(REFUSALS)),
        response=draw(st.sampled_from(RESPONSES)),
        hit_stores=draw(st.sampled_from(HIT_STORES)),
        box_tests=draw(st.sampled_from((0, 0, 1, 4, 12))),
        triangle_tests=draw(st.sampled_from((0, 0, 1, 2))),
        boxes_per_node=draw(st.sampled_from((1, 6, 8))),
    )


def to_settings(given: slow.Options, cache: str) -> list[str]:
    names = ("header", "internal", "instance", "descriptor", "triangle", "procedural", "triangle_hit", "table")
    words = {
        name: getattr(given, name) for name in ("mshr_limit", "coalescing", "refused_chunk", "response", "hit_stores")
    }
    numbers = {name: getattr(given, name) for name in ("warps", "cores", "hit_cycles", "mshr_entries")}
    numbers |= {
        "box_tests_per_cycle": given.box_tests, "triangle_tests_per_cycle": given.triangle_tests,
        "boxes_per_node": given.boxes_per_node,
    }  # fmt: skip
    numbers |= {f"{name}_cycles": cycles for name, cycles in zip(names, given.latency, strict=False)}
    perfect = {"perfect_memory": str(given.perfect).lower(), "cache": cache}
    return [f"rt.{name}={value}" for name, value in (words | numbers | perfect).items()]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(situations())
def test_every_cycle_request_and_counter_is_the_twins(situation: tuple[slow.Options, Case, str, Answers]) -> None:
    given, case, cache, answers = situation
    memory, warps = answers.memory(cache), len(case.arrivals)
    log = slow.run(given, to_lanes(case), memory, 200_000)
    found = np.zeros((warps, 2 + LANES), np.int64)
    arrivals = np.array([[number, cycle, number] for number, cycle in enumerate(case.arrivals)])
    access = np.array(log.accesses, np.int64).reshape(-1, 5)
    response = np.array(log.responses, np.int64).reshape(-1, 4)
    count, unit = drive(to_records(case), arrivals, access, response, found, to_settings(given, cache))
    assert count.tolist() == [len(access), 0, 0]
    for operation, (start, end, lanes) in log.warps.items():
        assert found[operation, :2].tolist() == [start, end]
        assert {lane: found[operation, 2 + lane] for lane in lanes} == lanes
    counters = {name: int(values.sum()) for name, values in rt_unit_state.stats(unit).items()}
    del counters["write_hits"], counters["write_misses"]  # of the L1, which is not the twin's
    assert counters == {name: log.count[name] for name in counters}
