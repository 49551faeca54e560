"""Counters by class of work, and whose lines the L2 holds, over time and at the end.

A class has the shares of its streams; what belongs to no stream (``unit.streams.NOT_SHARED``) has the class ``""``, so
that the classes and it sum to every counter exactly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from rayplay.replay.engine.machine import Machine
from rayplay.replay.launch.together import Together
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.results import metrics
from rayplay.replay.results.counters import stream_counters, unit_counters
from rayplay.replay.results.definitions import METRICS, measure
from rayplay.replay.results.ledger import Counters, flat
from rayplay.replay.results.tables import STACK, Columns

NO_CLASS = ""
LINES = "l2_lines"  # unit of the timeline: lines held at the end of an interval, by what allocated them
OF_LINES = ("texture", "other")
NOT_OF_CLASSES = "dram_efficiency"  # of ticks that belong to no stream
OF_CLASSES = ("warp_instructions", "resident_warp_cycles")  # counters of the SMs in the table ``classes``


def class_counters(machine: Machine, together: Together, cycle: int) -> list[Counters]:
    """The counters of each class at a cycle, and last what belongs to none; a single stream has all."""
    total = unit_counters(machine, cycle)
    found = (
        [total]
        if together.places == 1
        else [stream_counters(machine, cycle, place) for place in range(together.places)]
    )
    names = [(unit, name) for unit, counters in total.items() for name in counters]
    rows: list[Counters] = [{unit: {} for unit in total} for _ in range(len(together.launches) + 1)]
    for unit, name in names:
        for place, counters in enumerate(found):
            own = rows[together.class_of_place(place)][unit]
            own[name] = own.get(name, 0) + counters[unit][name]
        rows[-1][unit][name] = total[unit][name] - sum(row[unit][name] for row in rows[:-1])
    return rows


def census(machine: Machine) -> np.ndarray:
    """Lines of the L2 by class and allocating access (``OF_LINES``): int64[classes, 2]."""
    tags = machine.memory.l2.tags
    rows = np.flatnonzero(tags.line[:, cache_state.STATUS] & cache_state.IN_USE)
    label = tags.owners.owner[rows]
    kind = 2 * tags.owners.class_of[label >> 1] + 1 - (label & 1)
    return np.bincount(kind, minlength=2 * tags.owners.classes).reshape(-1, 2)


def lines(machine: Machine) -> int:
    """Lines that the L2 has."""
    tags = machine.memory.l2.tags
    return len(tags.stats) * tags.sets * tags.ways


@dataclass
class ClassTimeline:
    """Counters that each class added in each interval, and the lines it held at the interval's end."""

    machine: Machine
    together: Together
    names: tuple[str, ...]
    start: int = 0
    parts: list[Columns] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before = class_counters(self.machine, self.together, 0)

    def note(self, cycle: int) -> None:
        """Close an interval before ``cycle``."""
        if cycle == self.start:
            return
        now, rows = class_counters(self.machine, self.together, cycle), []
        for name, counters, before in zip((*self.names, NO_CLASS), now, self.before, strict=True):
            for unit, group in ((unit, group) for unit, group in counters.items() if unit != STACK):
                added = {each: int((values - before[unit][each]).sum()) for each, values in group.items()}
                rows += [(name, unit, each, value) for each, value in added.items()]
        held = census(self.machine)
        for name, counts in zip(self.names, held.tolist(), strict=True):
            rows += [(name, LINES, of, count) for of, count in zip(OF_LINES, counts, strict=True)]
        rows.append((NO_CLASS, LINES, "invalid", lines(self.machine) - int(held.sum())))
        names, units, counters_of, values = zip(*rows, strict=True)
        self.parts.append({
            "start_cycle": np.full(len(rows), self.start, np.int64), "class": np.array(names, object),
            "unit": np.array(units, object), "counter": np.array(counters_of, object),
            "value": np.array(values, np.int64),
        })  # fmt: skip
        self.start, self.before = cycle, now


def counter_columns(names: tuple[str, ...], rows: list[Counters]) -> Iterator[Columns]:
    """Columns of the table ``class_counters``, class by class."""
    for name, counters in zip((*names, NO_CLASS), rows, strict=True):
        for unit, group in counters.items():
            for counter, values in group.items() if unit != STACK else ():
                count = len(values)
                yield {
                    "class": np.full(count, name, object), "unit": np.full(count, unit, object),
                    "instance": np.arange(count).astype(np.uint32), "counter": np.full(count, counter, object),
                    "value": flat({unit: {counter: values}}), "measure": np.full(count, measure(unit, counter), object),
                }  # fmt: skip


def metric_columns(machine: Machine, names: tuple[str, ...], rows: list[Counters], cycles: int) -> Columns:
    """Columns of the table ``class_metrics``: the metrics of each class's own counters."""
    found = [
        (name, metric, float(value), METRICS[metric].unit)
        for name, counters in zip(names, rows, strict=False)
        for metric, value in metrics.values(machine.gpu, counters, cycles)
        if value is not None and metric != NOT_OF_CLASSES
    ]
    name, metric, value, unit = zip(*found, strict=True)
    return {
        "class": np.array(name, object), "metric": np.array(metric, object), "value": np.array(value),
        "unit": np.array(unit, object),
    }  # fmt: skip


def class_tables(timeline: ClassTimeline, spans: Mapping[int, tuple[int, int]]) -> dict[str, list[Columns]]:
    """The tables by class at the end of a replay, in parts.

    spans  kernel -> first cycle, first cycle after it.
    """
    machine, together = timeline.machine, timeline.together
    assert machine.sharing is not None
    classes, end = machine.sharing.classes, max(end for _, end in spans.values())
    timeline.note(end)
    counters = class_counters(machine, together, end)
    total = {name: [int(own["sm"][name].sum()) for own in counters[:-1]] for name in OF_CLASSES}
    columns = {
        "class": np.array(timeline.names, object), "kind": np.array([each.kind for each in classes], object),
        "trace": np.array([each.trace.name for each in classes], object),
        "cycles": np.array([max(spans[kernel][1] for kernel in each.kernels) for each in classes], np.int64),
        "passes": np.array(together.passes, np.int64),
        **{name: np.array(values, np.int64) for name, values in total.items()},
        "alone_cycles": np.zeros(len(classes), np.int64), "slowdown": np.zeros(len(classes)),
    }  # fmt: skip
    return {
        "classes": [columns], "class_metrics": [metric_columns(machine, timeline.names, counters, end)],
        "class_counters": list(counter_columns(timeline.names, counters)),
        "class_timeline": timeline.parts,
    }  # fmt: skip
