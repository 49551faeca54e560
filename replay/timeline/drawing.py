"""A watched replay as a file for Perfetto: processes of SMs and memory, with tracks, slices, flows and counters."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.timeline.packets import BEGIN, COUNTER, END, INSTANT, NOTES, Events, Track, encode, header, sort
from rayplay.replay.timeline.requests import Request
from rayplay.replay.timeline.seen import COUNTERS, MEMORY_COUNTERS
from rayplay.replay.timeline.spans import NO_NOTE, lanes
from rayplay.replay.timeline.watch import Watch

SUFFIX = ".pftrace"
NAMES = (
    "warp",
    "waits for results",
    "in the RT unit",
    "L1 miss",
    "in the L2 slice",
    "misses the L2",
    "asks",
    "has data",
)
MISS, AT_L2, AT_DRAM, ASKS, ANSWERED = range(4, 9)  # numbers of the later names, as ``watch`` numbers the first
NOTE_NAMES = ("warp", "rays", "records left", "sector", "lane", "SM")
OF_WARP, OF_REQUEST, OF_MEMORY = (1, 2, 3), (4, 5, 6), (4, 6, 5)  # note names of three kinds of slices
EVENTS_AT_ONCE = 1 << 18
# Orders of events of one cycle: inner slices end before outer ones, and all before others begin.
ENDS, ASK, BEGINS, ANSWER, COUNTS = 0, 2, 3, 7, 8


def check_timeline(path: Path) -> None:
    """``UserError`` when a timeline of this name cannot be written."""
    if path.suffix != SUFFIX:
        raise UserError(f"--timeline {path}: must end in {SUFFIX}")


def write_timeline(watch: Watch, path: Path) -> None:
    """Write a watched replay; ``UserError`` when the replay ended before the first cycle of the timeline."""
    check_timeline(path)
    if watch.last < 0:
        raise UserError(f"--timeline {path}: the replay ended before cycle {watch.cycles.first:,}")
    drawn = Drawing(watch)
    with atomic_file(path) as partial, open(partial, "wb") as file:
        events = drawn.events()
        file.write(header(NAMES, NOTE_NAMES, drawn.tracks))
        for first in range(0, len(events.cycle), EVENTS_AT_ONCE):
            file.write(encode(Events(*(column[first : first + EVENTS_AT_ONCE] for column in events))))


class Drawing:
    """The tracks of a timeline, and its events by cycle."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.gpu = watch, watch.machine.gpu
        self.tracks: list[Track] = []
        self.per_sm = len(watch.warp_slots.key) // self.gpu.sm.count
        self.rt_per_sm = len(watch.rt_slots.key) // self.gpu.sm.count
        self.sms = [self._add(f"SM {sm} (1 ns = 1 cycle)", pid=sm + 1) for sm in range(self.gpu.sm.count)]
        self.memory = self._add("memory (1 ns = 1 cycle)", pid=self.gpu.sm.count + 1)

    def _add(self, name: str, parent: int = 0, pid: int = 0, unit: str = "") -> int:
        number = len(self.tracks) + 1
        self.tracks.append(Track(number, name, parent, number, pid, unit))
        return number

    def events(self) -> Events:
        """All events, sorted."""
        watch, sms = self.watch, range(self.gpu.sm.count)
        counters = [[self._add(name, self.sms[sm], unit=unit) for name, unit in COUNTERS.items()] for sm in sms]
        warps = [self._add(f"warp slot {slot}", self.sms[sm]) for sm in sms for slot in range(self.per_sm)]
        rays = [self._add(f"RT unit slot {slot}", self.sms[sm]) for sm in sms for slot in range(self.rt_per_sm)]
        parts = [slices(watch.warps.columns(), np.array(warps), OF_WARP)]
        parts.append(slices(watch.rays.columns(), np.array(rays), OF_WARP))
        parts += self._requests(watch.requests.all(), rays)
        parts += self._counters(np.array(counters))
        return sort(Events(*(np.concatenate(columns) for columns in zip(*parts, strict=True))))

    def _requests(self, requests: list[Request], rays: list[int]) -> Iterator[Events]:
        """Slices of the followed requests on lanes of their SM, slice and channel, and the flows between them."""
        followed = [request for request in requests if request.begin < request.end]
        if not followed:
            return
        rows = np.array([(r.begin, r.end, r.sm, r.slot, r.part, *dram_of(r), r.sector, r.lane) for r in followed])
        begin, end, sm, slot, part, missed, filled, sector, lane = rows.T
        flow, channel = np.arange(1, len(rows) + 1), part // self.gpu.l2.slices_per_controller
        home = self._lanes("L1 misses", begin, end, sm, self.sms)
        notes = np.stack([sector, lane, sm], axis=1)
        yield from pieces(begin, end, home, MISS, flow, notes, OF_REQUEST)
        before = missed > begin
        at = (part >= 0) & before
        until = np.where(filled > missed, missed, end)
        track = self._lanes("L2 slice", begin[at], until[at], part[at])
        yield from pieces(begin[at], until[at], track, AT_L2, flow[at], notes[at][:, [0, 2, 1]], OF_MEMORY)
        at = filled > missed
        track = self._lanes("channel", missed[at], filled[at], channel[at])
        yield from pieces(missed[at], filled[at], track, AT_DRAM, flow[at], notes[at][:, [0, 2, 1]], OF_MEMORY)
        place = np.where(slot >= 0, np.array(rays)[slot], home)
        yield instants(begin, place, ASKS, flow, ASK, False)
        yield instants(end, place, ANSWERED, flow, ANSWER, True)

    def _lanes(
        self, name: str, begin: np.ndarray, end: np.ndarray, group: np.ndarray, parents: list[int] | None = None
    ) -> np.ndarray:
        """A track per group and lane, so that no slices of one overlap: int64[n]."""
        lane = lanes(begin, end, group)
        found: dict[tuple[int, int], int] = {}
        for key in sorted(set(zip(group.tolist(), lane.tolist(), strict=True))):
            said = f"{name}, lane {key[1]}" if parents else f"{name} {key[0]}, lane {key[1]}"
            found[key] = self._add(said, parents[key[0]] if parents else self.memory)
        return np.array([found[key] for key in zip(group.tolist(), lane.tolist(), strict=True)], np.int64)

    def _counters(self, of_sms: np.ndarray) -> Iterator[Events]:
        """Counters of SMs, slices and channels where they change."""
        found, names = self.watch.counts(), MEMORY_COUNTERS
        looks = len(found.cycle)
        yield counts(found.cycle, found.sms.reshape(looks, -1), of_sms.ravel())
        tracks = [
            self._add(f"L2 slice {part}: L2 MSHRs", self.memory, unit=names["L2 MSHRs"])
            for part in range(found.slices.shape[1])
        ]
        yield counts(found.cycle, found.slices, np.array(tracks))
        tracks = [self._add(f"channel {channel}: {name}", self.memory, unit=names[name])
                  for channel in range(self.gpu.memory.count) for name in ("requests", "commands")]  # fmt: skip
        yield counts(found.cycle, found.channels.reshape(looks, -1), np.array(tracks))


def dram_of(request: Request) -> tuple[int, int]:
    """Cycles in which a request waits for its channel, within its own; equal ones: in none."""
    first, end = (min(max(cycle, request.begin), request.end) for cycle in request.dram)
    return (first, end) if first < end else (request.end, request.end)


def made(cycle: np.ndarray, order: object, kind: int, track: np.ndarray, **given: object) -> Events:
    """Events of one type; columns that lack are 0, and there are no notes."""
    count = len(cycle)
    notes, noted = given.pop("notes", NO_NOTE), given.pop("noted", 0)
    columns = {"order": order, "kind": kind, "name": 0, "value": 0, "flow": 0, "is_last": 0} | given
    full = {name: np.broadcast_to(np.asarray(value, np.int64), count) for name, value in columns.items()}
    wide = (np.broadcast_to(np.asarray(each, np.int64), (count, NOTES)) for each in (notes, noted))
    return Events(cycle=cycle, track=track, **full, **dict(zip(("notes", "noted"), wide, strict=True)))


def slices(columns: dict[str, np.ndarray], tracks: np.ndarray, noted: tuple[int, int, int]) -> Events:
    """Begins and ends of slices; ``tracks``: of the numbers in the column."""
    track, depth = tracks[columns["track"]], columns["depth"]
    notes = np.stack([columns[name] for name in ("first", "second", "third")], axis=1)
    begins = made(columns["begin"], BEGINS + depth, BEGIN, track, name=columns["name"], notes=notes, noted=noted)
    ends = made(columns["end"], ENDS + 1 - depth, END, track)
    return Events(*(np.concatenate(pair) for pair in zip(begins, ends, strict=True)))


def pieces(begin: np.ndarray, end: np.ndarray, track: np.ndarray, name: int, flow: np.ndarray, notes: np.ndarray,
           noted: tuple[int, int, int]) -> Iterator[Events]:  # fmt: skip
    """Begins and ends of slices that belong to flows."""
    order = BEGINS + (name - MISS)
    used = np.where(notes < 0, NO_NOTE, notes)
    moved = np.argsort(used < 0, axis=1, kind="stable")  # notes that are used first
    yield made(begin, order, BEGIN, track, name=name, flow=flow, notes=np.take_along_axis(used, moved, 1),
               noted=np.array(noted)[moved])  # fmt: skip
    yield made(end, ENDS, END, track)


def instants(cycle: np.ndarray, track: np.ndarray, name: int, flow: np.ndarray, order: int, is_last: bool) -> Events:
    """Points at which flows begin or end."""
    return made(cycle, order, INSTANT, track, name=name, flow=flow, is_last=int(is_last))


def counts(cycle: np.ndarray, values: np.ndarray, tracks: np.ndarray) -> Events:
    """Values of counters where they change. values: int64[looks, counters]."""
    is_new = np.ones(values.shape, bool)
    is_new[1:] = values[1:] != values[:-1]
    look, counter = np.nonzero(is_new)
    return made(cycle[look], COUNTS, COUNTER, tracks[counter], value=np.maximum(values[look, counter], 0))
