"""Trace and GPU of a point, which a process that runs several points one after the other reads once.

Half the processor time of a short replay is decoding its trace. A process therefore keeps the small trace that it
replayed last in memory; its content, not its name, says whether the next point has the same.
"""

from collections.abc import Callable
from typing import Any

from rayplay.formats.dataset.memory import MemorySource
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.laws.expect import expect_program
from rayplay.formats.place.location import location
from rayplay.formats.schema.trace import TRACE
from rayplay.replay.gpu.description import Gpu
from rayplay.sweep.plan.gpus import Gpus
from rayplay.zatel.replays.result_cache import trace_identity

HELD_BYTES = 16 << 20  # of a trace's files; its replay takes seconds, and decoded it is five to ten times as large
NOT_REPLAYED = ("image",)

_GPUS = Gpus()
_HELD: dict[str, Trace] = {}


def trace_of(place: str, method: str) -> tuple[Trace, str]:
    """A trace, in memory where it is small and replayed whole, and the digest of its content.

    Raises ``FormatError`` for a missing or damaged trace.
    """
    found = open_trace(location(place))
    digest = trace_identity(found)
    if method != "replay" or _bytes(found) > HELD_BYTES:
        return found, digest
    return held(digest, lambda: _in_memory(found)), digest


def held(name: str, make: Callable[[], Trace]) -> Trace:
    """The trace that was held last, if it has this name, or the one that ``make`` makes."""
    if name not in _HELD:
        _HELD.clear()
        _HELD[name] = make()
    return _HELD[name]


def gpu_of(task: dict[str, Any]) -> tuple[Gpu, str]:
    """The GPU of a task, and its digest; ``UserError`` for a value that breaks a rule."""
    values = dict(each.split("=", 1) for each in task["assignments"])
    gpu = _GPUS.built(task["gpu"], task["plugin"], values)
    return gpu, _GPUS.digest(gpu)


def _in_memory(trace: Trace) -> Trace:
    expect_program(trace)  # the digests of its files, which memory has no more
    tables = {name: trace.read(name) for name in trace.tables if name not in NOT_REPLAYED}
    return Trace(MemorySource(trace.path, trace.layout, trace.manifest, tables), TRACE)


def _bytes(trace: Trace) -> int:
    return sum(entry.bytes for entries in trace.manifest.tables.values() for entry in entries)
