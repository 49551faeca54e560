"""Counters by kernel and by interval, kept small.

Counters only grow, so a kernel's share is the difference of two readings. One reading is some thousands of numbers,
most of whose differences are 0: each is kept as a compressed blob of a few hundred bytes, so that a thousand
kernels take no more memory than ten (the tables are made of them kernel by kernel, when they are written).
"""

import zlib
from dataclasses import dataclass, field

import numpy as np

from rayplay.replay.unit import cycle_stack as stack

Counters = dict[str, dict[str, np.ndarray]]  # unit -> counter -> int64[instances]
APART = -1  # kernel and stream of what belongs to no kernel in particular


@dataclass(frozen=True)
class Added:
    """Difference of two readings.

    start, end  first cycle, and first cycle after it.
    kernel_id   launch, or ``APART``: the rest, of no kernel that shared the GPU; ``stream`` likewise.
    """

    start: int
    end: int
    kernel_id: int
    stream: int
    blob: bytes

    def values(self) -> np.ndarray:
        """int64[counters]: the differences."""
        return np.frombuffer(zlib.decompress(self.blob), np.int64)


@dataclass
class Ledger:
    """Readings of all counters, at the ends of intervals and of kernels.

    names     (unit, counter, instances) of every counter, in the order of the readings.
    shares    what kernels that share the GPU have added, until it is empty.
    at_share  by place of a stream (``Streams.take_place``): its counters when its last kernel was noted.
    """

    names: list[tuple[str, str, int]] = field(default_factory=list)
    kernels: list[Added] = field(default_factory=list)
    intervals: list[Added] = field(default_factory=list)
    shares: list[Added] = field(default_factory=list)
    at_share: dict[int, np.ndarray] = field(default_factory=dict)
    kernel_start: int = 0
    interval_start: int = 0

    def open(self, counters: Counters) -> None:
        """Take the reading before the first cycle."""
        self.names = [(unit, name, len(found)) for unit, group in counters.items() for name, found in group.items()]
        self.at_kernel = self.at_interval = flat(counters)

    def note_interval(self, cycle: int, counters: Counters) -> None:
        """Close an interval before ``cycle``."""
        reading = flat(counters)
        bounds = np.cumsum([0] + [count for _, _, count in self.names[:-1]])
        added = np.add.reduceat(reading - self.at_interval, bounds)
        self.intervals.append(Added(self.interval_start, cycle, APART, APART, zlib.compress(added.tobytes(), 1)))
        self.interval_start, self.at_interval = cycle, reading

    def note_share(self, start: int, end: int, kernel_id: int, stream: int, place: int, counters: Counters) -> None:
        """Note what a kernel that shares the GPU added, by its stream's counters; of the cycle stack whole slots."""
        before = self.at_share.get(place, np.zeros_like(self.at_kernel))
        added = flat(counters) - before
        of_stack = np.repeat([unit == "stack" for unit, _, _ in self.names], [count for _, _, count in self.names])
        added[of_stack] -= added[of_stack] % stack.UNIT
        self.shares.append(Added(start, end, kernel_id, stream, zlib.compress(added.tobytes(), 1)))
        self.at_share[place] = before + added

    def note_kernel(self, cycle: int, counters: Counters, kernel_id: int, stream: int) -> None:
        """Close a kernel before ``cycle``; or, after the shares of several kernels, the rest."""
        reading = flat(counters)
        added = reading - self.at_kernel - sum(share.values() for share in self.shares)
        left = Added(self.kernel_start, cycle, kernel_id, stream, zlib.compress(added.tobytes(), 1))
        self.kernels += [*sorted(self.shares, key=lambda share: share.kernel_id), left]
        self.kernel_start, self.at_kernel, self.shares = cycle, reading, []

    def has(self, unit: str) -> bool:
        """Whether a unit counts in this model."""
        return any(of == unit for of, _, _ in self.names)

    def by_name(self, added: Added) -> Counters:
        """Differences of every instance, by unit and counter."""
        found: Counters = {}
        parts = np.split(added.values(), np.cumsum([count for _, _, count in self.names])[:-1])
        for (unit, name, _), values in zip(self.names, parts, strict=True):
            found.setdefault(unit, {})[name] = values
        return found

    def totals(self, added: Added) -> dict[str, dict[str, int]]:
        """Differences summed over the instances, by unit and counter."""
        found: dict[str, dict[str, int]] = {}
        for (unit, name, _), value in zip(self.names, added.values().tolist(), strict=True):
            found.setdefault(unit, {})[name] = value
        return found


def flat(counters: Counters) -> np.ndarray:
    """A reading: int64[counters of all instances]."""
    return np.concatenate([found for group in counters.values() for found in group.values()]).astype(np.int64)
