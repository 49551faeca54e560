"""The tables of a result, part by part, so that a thousand kernels take no more memory than ten."""

from collections.abc import Iterator, Mapping

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.result import RESULT
from rayplay.formats.schema.column import STRING
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input.window import Window
from rayplay.replay.launch.launches import Launch
from rayplay.replay.results.bottlenecks import roofline_rows, stack_rows, stack_slots, utilisation_rows
from rayplay.replay.results.definitions import measure
from rayplay.replay.results.ledger import Added, Ledger

Columns = dict[str, np.ndarray]
STACK = "stack"  # this unit's counters are parts of slots; the table of the same name has them in slots


def counter_rows(ledger: Ledger, added: Added) -> Columns:
    """Columns of ``counters`` for one kernel: a row per unit instance and counter."""
    units, names, instances, values, measures = [], [], [], [], []
    for unit, counters in ledger.by_name(added).items():
        for name, found in counters.items() if unit != STACK else ():
            units += [unit] * len(found)
            names += [name] * len(found)
            measures += [measure(unit, name)] * len(found)
            instances.append(np.arange(len(found)))
            values.append(found)
    return {
        "unit": np.array(units, object), "instance": np.concatenate(instances).astype(np.uint32),
        "stream": np.full(len(units), added.stream, np.int32),
        "kernel_id": np.full(len(units), added.kernel_id, np.int32), "counter": np.array(names, object),
        "value": np.concatenate(values), "measure": np.array(measures, object),
    }  # fmt: skip


def timeline_rows(ledger: Ledger, added: Added) -> Columns:
    """Columns of ``timeline`` for one interval: a row per unit and counter."""
    found = ledger.totals(added)
    if STACK in found:
        found[STACK] = stack_slots(found[STACK])
    rows = [(unit, name, value) for unit, counters in found.items() for name, value in counters.items()]
    units, names, values = zip(*rows, strict=True)
    return {
        "start_cycle": np.full(len(rows), added.start, np.int64), "unit": np.array(units, object),
        "counter": np.array(names, object), "value": np.array(values, np.int64),
    }  # fmt: skip


def parts(ledger: Ledger, gpu: Gpu, table: str) -> Iterator[Columns]:
    """The rows of one of the tables that follow from the ledger, kernel by kernel or interval by interval."""
    for added in ledger.intervals if table == "timeline" else ledger.kernels:
        cycles = added.end - added.start
        if table == "timeline":
            yield timeline_rows(ledger, added)
        elif table == "counters":
            yield counter_rows(ledger, added)
        elif table == "stack":
            yield stack_rows(ledger.by_name(added), added.kernel_id)
        elif table == "utilisation":
            yield utilisation_rows(ledger.by_name(added), gpu, cycles, added.kernel_id)
        else:
            yield roofline_rows(ledger.by_name(added), gpu, cycles, added.kernel_id)


def joined(ledger: Ledger, gpu: Gpu, table: str) -> Columns:
    """All columns of one of those tables."""
    schema = next(found for found in RESULT.tables if found.name == table)
    pieces = list(parts(ledger, gpu, table))
    empty = {c.name: np.zeros(0, object if c.dtype == STRING else c.dtype) for c in schema.columns}
    return {name: np.concatenate([column, *(piece[name] for piece in pieces)]) for name, column in empty.items()}


def kernel_table(launch_of: Mapping[int, Launch], spans: Mapping[int, tuple[int, int]]) -> Columns:
    """Rows per launch: when it began and ended, and its instructions."""
    launches = [launch_of[kernel_id] for kernel_id in spans]
    return {
        "kernel_id": np.array([launch.kernel_id for launch in launches], np.int32),
        "name": np.array([launch.name for launch in launches], object),
        "stream": np.array([launch.stream for launch in launches], np.int32),
        "start_cycle": np.array([start for start, _ in spans.values()], np.int64),
        "end_cycle": np.array([end for _, end in spans.values()], np.int64),
        "warp_instructions": np.array([launch.instructions for launch in launches], np.int64),
    }  # fmt: skip


def pixel_table(trace: Trace, window: Window, lane_cycles: np.ndarray) -> Columns | None:
    """Per pixel: cycles its thread was active, rays it traced, records they fetched."""
    if window.rays is None or window.node_visits is None:
        return None
    threads = trace.read("threads", ["warp_id", "lane", "pixel_x", "pixel_y"])
    warp, lane = threads["warp_id"], threads["lane"]
    return {
        "pixel_x": threads["pixel_x"], "pixel_y": threads["pixel_y"], "cycles": lane_cycles[warp, lane],
        "rays": window.rays[warp, lane], "node_visits": window.node_visits[warp, lane],
    }  # fmt: skip
