"""Slices of a timeline as columns that grow, and slots whose content is seen look by look."""

from collections.abc import Sequence

import numpy as np

COLUMNS = ("begin", "end", "track", "name", "depth", "flow", "first", "second", "third")
NO_NOTE = -1


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
    """Slots of hardware with what they hold, a key each (-1: nothing).

    A look stands for the cycles since the look before: a content seen in looks i to j has the cycles from look i - 1 to
    look j, so that slices of a slot never overlap.
    """

    def __init__(self, count: int) -> None:
        self.key, self.begin = np.full(count, -1, np.int64), np.zeros(count, np.int64)

    def changed(self, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slots whose content has ended in a look, and slots with a new one."""
        changed = key != self.key
        return np.flatnonzero(changed & (self.key >= 0)), np.flatnonzero(changed & (key >= 0))

    def enter(self, key: np.ndarray, slots: np.ndarray, begin: np.ndarray | int) -> None:
        """The contents ``key`` of a look; the ``slots`` have new ones, which came in the cycles ``begin``."""
        self.key = key
        self.begin[slots] = begin


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
