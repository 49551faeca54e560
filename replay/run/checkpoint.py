"""Checkpoint of a replay between two runs of the engine, as plain values: a killed replay resumes from it.

The engine's state is arrays and numbers in NamedTuples, none of which share memory, so that copying them is enough.
What of the trace lies in the window is kept as well; the batches that it has taken are read over.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.place.checkpoint import Checkpoint, take_back
from rayplay.replay.engine.machine import Machine
from rayplay.replay.launch.launches import Launch
from rayplay.replay.launch.streams import Streams
from rayplay.replay.results.ledger import Added, Ledger
from rayplay.replay.results.per_kernel import Attribution

UNITS = ("core", "dispatch", "lsu", "l1", "rt", "port", "memory")
SECONDS_BETWEEN_CHECKPOINTS = 30.0
LISTS = ("kernels", "intervals", "shares")  # of a ledger


def state_of(kernels: Attribution) -> Checkpoint:
    """Everything that changes while a replay runs."""
    machine = kernels.machine
    facts: dict[str, Any] = {"numbers": {}}
    arrays: dict[str, np.ndarray] = {"clock": machine.clock, "lane_cycles": machine.lane_cycles}
    for name in UNITS:
        _take(getattr(machine, name), name, facts["numbers"], arrays)
    facts["streams"] = [
        {
            "unfinished": [launch.kernel_id for launch in streams.unfinished],
            "looked_at": [launch.kernel_id for launch in streams.looked_at],
            "running": list(streams.running),
            "place_of": list(streams.place_of.items()),
        }
        for streams in queues_of(machine)
    ]
    facts["sharing"] = [[place, launch.kernel_id] for place, launch in kernels.sharing.items()]
    facts["finished"] = [launch.kernel_id for launch in kernels.finished]
    facts["spans"] = [[kernel_id, *span] for kernel_id, span in kernels.spans.items()]
    facts["copies_made"] = [copies.next for copies in machine.copies]
    facts["engine_cpu_seconds"] = machine.engine_cpu_seconds
    facts["window"] = {"first_warp": machine.window.first_warp, "loaded_warps": machine.window.loaded_warps}
    arrays |= {f"window.{name}": array for name, array in machine.window.arrays.items()}
    for name in ("groups", "rays", "node_visits"):
        if (array := getattr(machine.window, name)) is not None:
            arrays[f"seen.{name}"] = array
    facts["ledger"] = _ledger(kernels.ledger, arrays)
    return Checkpoint(facts, arrays)


def go_on(kernels: Attribution, was: Checkpoint) -> None:
    """Put a replay that has not begun where ``state_of`` was called."""
    (facts, arrays), machine = was, kernels.machine
    take_back(machine.clock, arrays["clock"], "clock")
    take_back(machine.lane_cycles, arrays["lane_cycles"], "lane_cycles")
    for name in UNITS:
        setattr(machine, name, _give(getattr(machine, name), name, facts["numbers"], arrays))
    for streams, held in zip(queues_of(machine), facts["streams"], strict=True):
        streams.unfinished = [launch_of(machine, kernel_id) for kernel_id in held["unfinished"]]
        streams.looked_at = [launch_of(machine, kernel_id) for kernel_id in held["looked_at"]]
        streams.running = {kernel_id: launch_of(machine, kernel_id) for kernel_id in held["running"]}
        streams.place_of = dict(held["place_of"])
    kernels.sharing = {place: launch_of(machine, kernel_id) for place, kernel_id in facts["sharing"]}
    kernels.finished = [launch_of(machine, kernel_id) for kernel_id in facts["finished"]]
    kernels.spans = {kernel_id: (begin, end) for kernel_id, begin, end in facts["spans"]}
    for kernel_id in kernels.spans:
        launch_of(machine, kernel_id)
    for copies, made in zip(machine.copies, facts["copies_made"], strict=True):
        copies.next = made
    machine.engine_cpu_seconds = facts["engine_cpu_seconds"]
    _open_window(machine, facts["window"], arrays)
    _open_ledger(kernels.ledger, facts["ledger"], arrays)


def queues_of(machine: Machine) -> list[Streams]:
    """The launches of a replay, class by class."""
    return [machine.streams] if isinstance(machine.streams, Streams) else machine.streams.queues


def launch_of(machine: Machine, kernel_id: int) -> Launch:
    """The launch with a number, maybe a repeat."""
    if kernel_id not in machine.launch_of:
        first = machine.launch_of[kernel_id % machine.trace.rows("kernels")]
        machine.launch_of[kernel_id] = replace(first, kernel_id=kernel_id)
    return machine.launch_of[kernel_id]


def _take(state: Any, name: str, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Collect the arrays and numbers of a state by their paths."""
    if isinstance(state, np.ndarray):
        arrays[name] = state
    elif isinstance(state, tuple):
        for field, value in zip(state._fields, state, strict=True):  # type: ignore[attr-defined]
            _take(value, f"{name}.{field}", numbers, arrays)
    else:
        numbers[name] = state


def _give(state: Any, name: str, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The state with the arrays and numbers that ``_take`` collected; its arrays are written, not replaced."""
    if isinstance(state, np.ndarray):
        take_back(state, arrays[name], name)
        return state
    if isinstance(state, tuple):
        fields = state._fields  # type: ignore[attr-defined]
        return type(state)(*(_give(v, f"{name}.{f}", numbers, arrays) for f, v in zip(fields, state, strict=True)))
    return numbers[name]


def _open_window(machine: Machine, facts: dict[str, int], arrays: dict[str, np.ndarray]) -> None:
    window = machine.window
    last = 0
    while last < facts["loaded_warps"]:
        _, last, _ = next(window.batches)
    window.first_warp, window.loaded_warps = facts["first_warp"], facts["loaded_warps"]
    for name, empty in window.arrays.items():
        held = arrays[f"window.{name}"]
        if (held.dtype, held.shape[1:]) != (empty.dtype, empty.shape[1:]):
            raise FormatError(f"checkpoint: window.{name} must be rows of {empty.dtype}, but is {held.dtype}")
        window.arrays[name] = held
    for name in ("groups", "rays", "node_visits"):
        if (array := getattr(window, name)) is not None:
            take_back(array, arrays[f"seen.{name}"], name)


def _ledger(ledger: Ledger, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    for name in LISTS:
        added: list[Added] = getattr(ledger, name)
        rows = [(each.start, each.end, each.kernel_id, each.stream, len(each.blob)) for each in added]
        arrays[f"ledger.{name}"] = np.array(rows, np.int64).reshape(-1, 5)
        arrays[f"ledger.{name}.blobs"] = np.frombuffer(b"".join(each.blob for each in added), np.uint8)
    arrays["ledger.at_kernel"], arrays["ledger.at_interval"] = ledger.at_kernel, ledger.at_interval
    arrays |= {f"ledger.at_share.{place}": reading for place, reading in ledger.at_share.items()}
    starts = {"kernel_start": ledger.kernel_start, "interval_start": ledger.interval_start}
    return starts | {"shared": list(ledger.at_share)}


def _open_ledger(ledger: Ledger, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    for name in LISTS:
        blobs, end = arrays[f"ledger.{name}.blobs"].tobytes(), 0
        added = []
        for start, stop, kernel_id, stream, size in arrays[f"ledger.{name}"].tolist():
            added.append(Added(start, stop, kernel_id, stream, blobs[end : end + size]))
            end += size
        setattr(ledger, name, added)
    ledger.at_kernel, ledger.at_interval = arrays["ledger.at_kernel"], arrays["ledger.at_interval"]
    ledger.at_share = {place: arrays[f"ledger.at_share.{place}"] for place in facts["shared"]}
    ledger.kernel_start, ledger.interval_start = facts["kernel_start"], facts["interval_start"]
