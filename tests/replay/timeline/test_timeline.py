"""Timelines, parsed by the classes that Perfetto publishes: tracks, nesting, time, flows, and counts of the replay."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rayplay
from rayplay.formats.guard.errors import UserError
from rayplay.replay.run.driver import simulate
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.timeline.drawing import write_timeline
from rayplay.replay.timeline.packets import BEGIN, COUNTER, END, INSTANT, Events, Track, encode, header
from rayplay.replay.timeline.spans import lanes
from rayplay.replay.timeline.watch import Cycles, Watch, parse_cycles

perfetto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed")
SAMPLE = Path(__file__).parents[3] / "traces/sample.trace"


def parsed(path: Path) -> Any:
    """The file as Perfetto's classes read it."""
    trace = perfetto.Trace()
    assert trace.ParseFromString(path.read_bytes()) == path.stat().st_size
    return trace


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace without rays: loads of many CTAs that miss every cache."""
    from tests.replay.conftest import Op, load, write_micro

    place = tmp_path_factory.mktemp("kernel") / "loads.trace"
    ops = [load(), Op(wait=1)]
    return write_micro(place, ops, [20] * 64, lambda warp, visit, _, lane: (warp * 4096 + visit * 128 + lane) * 64, 2)


@pytest.fixture(scope="module")
def spheres(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace whose rays go on after intersection programs."""
    made = tmp_path_factory.mktemp("spheres") / "wknd.trace"
    rayplay.trace("wknd", size=(32, 8), samples=1, out=made)
    return made


@pytest.fixture(scope="module", params=["sample", "part", "kernel", "pipeline", "spheres"])
def watched(
    request: pytest.FixtureRequest, kernel: Path, spheres: Path, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A watch, the result of its replay, its cycles, and what Perfetto reads in its file."""
    name = request.param
    cycles = Cycles(20_000, 30_000) if name == "part" else Cycles()
    watch, out = Watch(cycles), tmp_path_factory.mktemp("timeline") / "out.pftrace"
    model = "pipeline" if name == "pipeline" else None
    trace = {"kernel": kernel, "spheres": spheres}.get(name, SAMPLE)
    result = simulate(trace, "rtx2060", watch=watch, model=model)
    write_timeline(watch, out)
    return watch, result, cycles, parsed(out)


def events(trace: Any) -> Iterator[tuple[int, Any]]:
    """Cycle and event of each packet."""
    return ((packet.timestamp, packet.track_event) for packet in trace.packet if packet.HasField("track_event"))


def test_slices_of_a_track_nest_and_every_begin_has_an_end(watched: Any) -> None:
    depth: dict[int, int] = defaultdict(int)
    begun: dict[int, list[int]] = defaultdict(list)
    for cycle, event in events(watched[3]):
        if event.type == BEGIN:
            assert len(begun[event.track_uuid]) < 2
            begun[event.track_uuid].append(cycle)
        elif event.type == END:
            assert begun[event.track_uuid].pop() < cycle
            depth[event.track_uuid] += 1
    assert depth
    assert not any(begun.values())


def test_time_is_monotone_and_within_the_cycles(watched: Any) -> None:
    watch, _, asked, trace = watched
    cycles = [cycle for cycle, _ in events(trace)]
    assert cycles == sorted(cycles)
    assert cycles[0] >= asked.first
    assert cycles[-1] <= min(asked.end, watch.machine.now)


def test_every_id_is_declared(watched: Any) -> None:
    trace = watched[3]
    names = {name.iid for packet in trace.packet for name in packet.interned_data.event_names}
    notes = {name.iid for packet in trace.packet for name in packet.interned_data.debug_annotation_names}
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet
              if packet.HasField("track_descriptor")}  # fmt: skip
    assert 0 not in names | notes | set(tracks)
    assert all(track.parent_uuid in tracks or track.HasField("process") for track in tracks.values())
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    for _, event in events(trace):
        assert event.track_uuid in tracks
        assert event.type in (END, COUNTER) or event.name_iid in names
        assert tracks[event.track_uuid].HasField("counter") == (event.type == COUNTER)
        assert all(note.name_iid in notes for note in event.debug_annotations)


def test_a_flow_begins_once_goes_forward_and_ends_once(watched: Any) -> None:
    steps: dict[int, list[int]] = defaultdict(list)
    ended: list[int] = []
    for cycle, event in events(watched[3]):
        for flow in event.flow_ids:
            steps[flow].append(cycle)
        for flow in event.terminating_flow_ids:
            assert flow in steps
            ended.append(flow)
    assert sorted(ended) == sorted(steps)
    assert all(flow not in ended[:at] for at, flow in enumerate(ended))


def test_warp_slices_are_the_warps_of_the_replay(watched: Any) -> None:
    watch, result, cycles, _ = watched
    if cycles != Cycles():
        return
    columns = watch.warps.columns()
    warps = columns["first"][columns["depth"] == 0]
    retired = int(watch.machine.core.stats[:, scheduler.RETIRED_WARPS].sum())
    assert len(set(warps.tolist())) == len(warps) <= retired == result.summary["warps"]["value"]
    assert len(warps) > 0.5 * retired  # the rest lived between two looks


def test_issued_instructions_sum_to_those_of_the_replay(watched: Any) -> None:
    watch, result, cycles, _ = watched
    if cycles == Cycles():
        issued = int(watch.counts().sms[:, :, -1].sum())
        assert issued == result.summary["warp_instructions"]["value"]


def test_a_watched_replay_has_the_same_result(watched: Any, tmp_path: Path) -> None:
    watch, result, _, _ = watched
    model = None if type(watch.machine.core) is scheduler.Warps else "pipeline"
    plain = simulate(watch.machine.trace, "rtx2060", model=model)
    assert plain.summary == result.summary
    for table in ("counters", "timeline"):
        for name, column in plain.table(table).items():
            np.testing.assert_array_equal(column, result.table(table)[name])


def test_encoded_events_come_back(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    count = 500
    kind = draw.integers(1, 5, count)
    flow = np.where((kind == BEGIN) | (kind == INSTANT), draw.integers(0, 2**40, count) * draw.integers(0, 2, count), 0)
    notes = np.sort(draw.integers(-1, 2**40, (count, 3)), axis=1)[:, ::-1]
    notes = np.where((kind == BEGIN)[:, None], notes, -1)
    given = Events(
        np.sort(draw.integers(0, 2**40, count)), np.zeros(count, np.int64), kind, draw.integers(1, 2**20, count),
        draw.integers(1, 300, count), draw.integers(0, 2**33, count), flow, (flow > 2**39).astype(int), notes,
        np.full((count, 3), [1, 2, 130]),
    )  # fmt: skip
    out = tmp_path / "drawn.pftrace"
    out.write_bytes(header(["a"] * 300, ["n"] * 130, [Track(1, "all")]) + encode(given))
    found = list(events(parsed(out)))
    assert [cycle for cycle, _ in found] == given.cycle.tolist()
    for at, (_, event) in enumerate(found):
        assert (event.type, event.track_uuid) == (kind[at], given.track[at])
        assert event.name_iid == (given.name[at] if kind[at] in (BEGIN, INSTANT) else 0)
        assert event.counter_value == (given.value[at] if kind[at] == COUNTER else 0)
        flows = event.terminating_flow_ids if given.is_last[at] else event.flow_ids
        assert list(flows) == ([flow[at]] if flow[at] else [])
        assert [note.uint_value for note in event.debug_annotations] == [note for note in notes[at] if note >= 0]


def test_lanes_hold_one_interval_at_a_time() -> None:
    draw = np.random.default_rng(5)
    begin = draw.integers(0, 100, 200)
    end, group = begin + draw.integers(1, 30, 200), draw.integers(0, 3, 200)
    lane = lanes(begin, end, group)
    for first in range(200):
        for second in range(first):
            if (group[first], lane[first]) == (group[second], lane[second]):
                assert end[first] <= begin[second] or end[second] <= begin[first]


@pytest.mark.parametrize("text", ["5", "a:b", "7:7", "9:3", "-1:4", "1:2:3", "²:3"])
def test_damaged_cycles_are_one_clear_error(text: str) -> None:
    with pytest.raises(UserError, match="--timeline-cycles"):
        parse_cycles(text)


def test_cycles_after_the_end_are_an_error_and_write_nothing(kernel: Path, tmp_path: Path) -> None:
    watch = Watch(parse_cycles("900000000:"))
    simulate(kernel, "rtx2060", watch=watch)
    with pytest.raises(UserError, match="ended before cycle 900,000,000"):
        write_timeline(watch, tmp_path / "out.pftrace")
    assert not list(tmp_path.iterdir())
