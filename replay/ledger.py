"""What each kernel and each interval added to the counters, kept small.

Counters only grow, so a kernel's share is the difference of two readings. One reading is some thousands of numbers,
most of whose differences are 0: what is kept of each is a compressed blob of a few hundred bytes, so that a thousand
kernels take no more memory than ten (the tables are made of them kernel by kernel, when they are written).
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

Counters = dict[str, dict[str, np.ndarray]]  # unit -> counter -> int64[instances]
APART = -1  # kernel or stream of events that are not told apart


@dataclass(frozen=True)
class Added:
    """What happened from one reading to the next.

    start       first cycle.
    kernel_id   launch, or ``APART`` when several shared the GPU; ``stream`` likewise.
    """

    start: int
    kernel_id: int
    stream: int
    blob: bytes

    def values(self) -> np.ndarray:
        """int64[counters]: what was added to each."""
        return np.frombuffer(zlib.decompress(self.blob), np.int64)


@dataclass
class Ledger:
    """Readings of all counters, at the ends of intervals and of kernels.

    names   (unit, counter, instances) of every counter, in the order of the readings.
    """

    names: list[tuple[str, str, int]] = field(default_factory=list)
    kernels: list[Added] = field(default_factory=list)
    intervals: list[Added] = field(default_factory=list)
    kernel_start: int = 0
    interval_start: int = 0

    def open(self, counters: Counters) -> None:
        """Take the reading before the first cycle."""
        self.names = [(unit, name, len(found)) for unit, group in counters.items() for name, found in group.items()]
        self.at_kernel = self.at_interval = flat(counters)

    def note_interval(self, cycle: int, counters: Counters) -> None:
        """Note what was added until ``cycle``."""
        reading = flat(counters)
        bounds = np.cumsum([0] + [count for _, _, count in self.names[:-1]])
        added = np.add.reduceat(reading - self.at_interval, bounds)
        self.intervals.append(Added(self.interval_start, APART, APART, zlib.compress(added.tobytes(), 1)))
        self.interval_start, self.at_interval = cycle, reading

    def note_kernel(self, cycle: int, counters: Counters, kernel_id: int, stream: int) -> None:
        """Note that a kernel, or several that shared the GPU, was over before ``cycle``."""
        reading = flat(counters)
        blob = zlib.compress((reading - self.at_kernel).tobytes(), 1)
        self.kernels.append(Added(self.kernel_start, kernel_id, stream, blob))
        self.kernel_start, self.at_kernel = cycle, reading

    def counter_rows(self) -> Iterator[dict[str, np.ndarray]]:
        """Columns of the table ``counters`` but ``measure``, a part per kernel."""
        unit, name, instance = self._columns()
        for added in self.kernels:
            rows = len(unit)
            yield {
                "unit": unit, "instance": instance, "stream": np.full(rows, added.stream, np.int32),
                "kernel_id": np.full(rows, added.kernel_id, np.int32), "counter": name, "value": added.values(),
            }  # fmt: skip

    def timeline_rows(self) -> Iterator[dict[str, np.ndarray]]:
        """Columns of the table ``timeline``, a part per interval."""
        unit = np.array([unit for unit, _, _ in self.names], object)
        name = np.array([name for _, name, _ in self.names], object)
        for added in self.intervals:
            yield {
                "start_cycle": np.full(len(unit), added.start, np.int64), "unit": unit, "counter": name,
                "value": added.values(),
            }  # fmt: skip

    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Unit, counter and instance of every number of a reading."""
        count = [instances for _, _, instances in self.names]
        unit = np.repeat(np.array([unit for unit, _, _ in self.names], object), count)
        name = np.repeat(np.array([name for _, name, _ in self.names], object), count)
        instance = np.concatenate([np.arange(instances) for instances in count]).astype(np.uint32)
        return unit, name, instance


def flat(counters: Counters) -> np.ndarray:
    """A reading: int64[counters of all instances]."""
    return np.concatenate([found for group in counters.values() for found in group.values()]).astype(np.int64)


def joined(parts: Iterator[dict[str, np.ndarray]], empty: dict[str, type]) -> dict[str, np.ndarray]:
    """The columns of all parts, one after the other; ``empty`` names their dtypes."""
    found = list(parts)
    return {name: np.concatenate([np.zeros(0, kind), *(part[name] for part in found)]) for name, kind in empty.items()}
