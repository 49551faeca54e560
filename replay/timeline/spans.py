"""Slices of a timeline as columns that grow, and slots whose content is seen look by look."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

COLUMNS = ("begin", "end", "track", "name", "depth", "flow", "first", "second", "third")
NO_NOTE = -1
VALUES = 4  # of a content: its first cycle, three notes


class Ended(NamedTuple):
    """Contents of slots that have ended: int64[n] each, ``values`` int64[n, VALUES]."""

    slot: np.ndarray
    key: np.ndarray
    end: np.ndarray
    values: np.ndarray


class Spans:
    """Slices in columns: cycles, track, name, depth in the track, flow (0: none), notes (-1: none)."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []  # int64[n, len(COLUMNS)]
        self.count = 0

    def add(self, begin: object, end: object, track: object, name: object, depth: int = 0, flow: object = 0,
            notes: Sequence[object] = ()) -> None:  # fmt: skip
        """Add slices, given as columns or numbers; one that would have no length is left out."""
        given = [begin, end, track, name, depth, flow, *notes, *[NO_NOTE] * (3 - len(notes))]
        rows = np.stack(np.broadcast_arrays(*(np.atleast_1d(np.asarray(each, np.int64)) for each in given)), axis=1)
        rows = rows[rows[:, 0] < rows[:, 1]]
        self.parts.append(rows)
        self.count += len(rows)

    def columns(self) -> dict[str, np.ndarray]:
        """All slices: int64[n] by the name of the column."""
        rows = np.concatenate([np.zeros((0, len(COLUMNS)), np.int64), *self.parts])
        return dict(zip(COLUMNS, rows.T, strict=True))


class Slots:
    """Slots of hardware with what they hold, a key each (-1: nothing), and values of it: where it began, its notes.

    A look stands for the cycles since the look before: a content seen in looks i to j has the cycles from look i - 1 to
    look j, so that slices of a slot never overlap.
    """

    def __init__(self, count: int) -> None:
        self.key, self.held = np.full(count, -1, np.int64), np.full((count, VALUES), NO_NOTE, np.int64)

    def ended(self, keys: np.ndarray, since: np.ndarray, values: np.ndarray | None = None) -> Ended:
        """Contents that end in some looks.

        keys    int64[looks, slots]: what each look sees.
        since   int64[looks]: cycle of the look before each.
        values  int64[looks, slots, VALUES] of contents that are new in a look; None: ``since`` and the key.
        """
        before = np.concatenate([self.key[None], keys[:-1]])
        slot, look = np.nonzero((keys != before).T)
        gone, end = before[look, slot], since[look]
        new = values[look, slot] if values is not None else np.full((len(slot), VALUES), NO_NOTE, np.int64)
        if values is None:
            new[:, 0], new[:, 1] = end, keys[look, slot]
        is_first, is_last = np.ones(len(slot), bool), np.ones(len(slot), bool)
        is_first[1:] = slot[1:] != slot[:-1]
        is_last[:-1] = is_first[1:]
        old = np.where(is_first[:, None], self.held[slot], np.roll(new, 1, axis=0))
        self.held[slot[is_last]], self.key = new[is_last], keys[-1]
        mine = gone >= 0
        return Ended(slot[mine], gone[mine], end[mine], old[mine])


def lanes(begin: np.ndarray, end: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The lowest lane of its group for each interval in which no earlier one is under way: int64[n]."""
    found = np.zeros(len(begin), np.int64)
    free: dict[int, list[int]] = {}
    for index in np.argsort(begin, kind="stable"):
        ends = free.setdefault(int(group[index]), [])
        lane = next((place for place, cycle in enumerate(ends) if cycle <= begin[index]), len(ends))
        ends[lane : lane + 1] = [int(end[index])]
        found[index] = lane
    return found
