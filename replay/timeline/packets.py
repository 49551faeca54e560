"""Events as packets of Perfetto's protobuf format, written by numpy.

A file is a row of ``TracePacket``s (``docs/sources/perfetto.md#packets``). Varints are padded to one width a column,
which the format allows; so events of one shape are rows of a matrix.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4  # types of a TrackEvent
NO_FLOW, FLOW, LAST_OF_FLOW = range(3)
NOTES = 3  # most notes of an event
NAME_BYTES, NOTE_BYTES = 2, 6  # of padded varints
EXPLICIT = 3  # children of a track in the order of their ranks
STATE_CLEARED, NEEDS_STATE = 1, 2

Parts = list[bytes | np.ndarray]  # of a packet: fixed bytes, or uint8[n, bytes]


class Events(NamedTuple):
    """Events in columns; ``order`` decides among events of one cycle, the lowest first."""

    cycle: np.ndarray  # int64[n]
    order: np.ndarray  # int64[n]: 0 to 15
    kind: np.ndarray  # int64[n]: BEGIN, ...
    track: np.ndarray  # int64[n]
    name: np.ndarray  # int64[n]: number of an interned name; not of END and COUNTER
    value: np.ndarray  # int64[n]: of COUNTER, not negative
    flow: np.ndarray  # int64[n]: its number; 0: of no flow
    is_last: np.ndarray  # int64[n]: 1: the flow ends here
    notes: np.ndarray  # int64[n, NOTES]: values, -1: none; the first k columns are used
    noted: np.ndarray  # int64[n, NOTES]: their interned names


class Track(NamedTuple):
    """A track of the file: of a process (``pid`` above 0), of a counter, or of slices."""

    number: int
    name: str
    parent: int = 0
    rank: int = 0
    pid: int = 0
    unit: str = ""  # of a counter


def varint(value: int) -> bytes:
    """The shortest varint."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def field(number: int, value: int | str | bytes) -> bytes:
    """A field with a varint, or with bytes and their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def packet(content: bytes) -> bytes:
    """A ``TracePacket`` of the one sequence."""
    return field(1, content + field(10, 1))


def header(names: Iterable[str], notes: Iterable[str], tracks: Iterable[Track]) -> bytes:
    """The packets before all events: interned names, numbered from 1, and the tracks."""
    interned = [
        field(number, field(1, index) + field(2, name))
        for number, given in ((2, names), (3, notes))
        for index, name in enumerate(given, 1)
    ]
    first = field(12, b"".join(interned)) + field(13, STATE_CLEARED | NEEDS_STATE)
    return packet(first) + b"".join(packet(field(60, descriptor(track))) for track in tracks)


def descriptor(track: Track) -> bytes:
    """The ``TrackDescriptor``."""
    content = field(1, track.number) + field(2, track.name) + field(11, EXPLICIT) + field(12, track.rank)
    if track.pid:
        return content + field(3, field(1, track.pid) + field(6, track.name))
    content += field(5, track.parent)
    return content + (field(8, field(6, track.unit)) if track.unit else b"")


def width(values: np.ndarray) -> int:
    """Bytes of the longest varint among the values."""
    return len(varint(int(values.max(initial=0))))


def padded(values: np.ndarray, size: int) -> np.ndarray:
    """Varints of one size: uint8[n, size]."""
    found = np.empty((len(values), size), np.uint8)
    for place in range(size):
        found[:, place] = values >> 7 * place & 127 | (128 if place < size - 1 else 0)
    return found


def sort(events: Events) -> Events:
    """The events by cycle and order."""
    key = events.cycle << 4 | events.order
    if (key[1:] >= key[:-1]).all():
        return events
    by = np.argsort(key, kind="stable")
    return Events(*(column[by] for column in events))


def encode(events: Events) -> bytes:
    """The packets of all events, by cycle and order."""
    events = sort(events)
    sizes = width(events.cycle), width(events.track), width(events.value)
    flow = np.where(events.flow > 0, FLOW + events.is_last, NO_FLOW)
    shape = events.kind | flow << 3 | (events.notes >= 0).sum(axis=1) << 5
    length, parts = np.zeros(len(shape), np.int64), []
    for at in np.flatnonzero(np.bincount(shape)).tolist():
        members = np.flatnonzero(shape == at)
        rows = rows_of(Events(*(column[members] for column in events)), at, sizes)
        length[members] = rows.shape[1]
        parts.append((members, rows))
    begins = np.cumsum(length) - length
    out = np.empty(int(length.sum()), np.uint8)
    for members, rows in parts:
        first = begins[members]
        for place in range(rows.shape[1]):
            out[first + place] = rows[:, place]
    return out.tobytes()


def rows_of(events: Events, shape: int, sizes: tuple[int, int, int]) -> np.ndarray:
    """Packets of events of one shape (type, flow, number of notes): uint8[n, bytes]."""
    kind, flow, notes = shape & 7, shape >> 3 & 3, shape >> 5
    cycle_bytes, track_bytes, value_bytes = sizes
    event: Parts = [field(9, kind)]
    if kind in (BEGIN, INSTANT):
        event += [varint(10 << 3), padded(events.name, NAME_BYTES)]
    event += [varint(11 << 3), padded(events.track, track_bytes)]
    if kind == COUNTER:
        event += [varint(30 << 3), padded(events.value, value_bytes)]
    for place in range(notes):
        event += [varint(4 << 3 | 2) + bytes([2 + NAME_BYTES + NOTE_BYTES]), varint(1 << 3),
                  padded(events.noted[:, place], NAME_BYTES), varint(3 << 3),
                  padded(events.notes[:, place], NOTE_BYTES)]  # fmt: skip
    if flow != NO_FLOW:
        event += [varint((47 if flow == FLOW else 48) << 3 | 1), events.flow.astype("<u8")[:, None].view(np.uint8)]
    inside: Parts = [varint(8 << 3), padded(events.cycle, cycle_bytes), field(10, 1), field(13, NEEDS_STATE)]
    content: Parts = [*inside, varint(11 << 3 | 2) + varint(bytes_of(event)), *event]
    parts: Parts = [varint(1 << 3 | 2) + varint(bytes_of(content)), *content]
    found = np.empty((len(events.cycle), bytes_of(parts)), np.uint8)
    at = 0
    for part in parts:
        given = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
        found[:, at : at + given.shape[-1]] = given
        at += given.shape[-1]
    return found


def bytes_of(parts: Parts) -> int:
    """Length of a row of parts."""
    return sum(len(part) if isinstance(part, bytes) else part.shape[1] for part in parts)
