"""Running without a trace: visits alone equal the trace's, and memory is the same whatever is recorded."""

import struct

import numpy as np
import pytest

from rayplay import ptx
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.recorder import Counts, MemorySink, Sink
from rayplay.tracer.record.visits import AnySink
from rayplay.tracer.run import run_compute_launch
from tests.tracer.execution.test_warps import BARRIERS, CALLS
from tests.tracer.harness.execution import HEADER

CTAS, THREADS = 40, 128


class Collected:
    """A visit sink that keeps what it gets."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int]] = []

    def put_visits(self, warp_id: np.ndarray, end: np.ndarray, visits: np.ndarray) -> None:
        lengths = np.diff(end, prepend=0)
        warps = np.repeat(warp_id, lengths)
        self.rows += [(int(w), int(b), int(m)) for w, (b, m) in zip(warps, visits, strict=True)]


def run(text: str, sink: AnySink, backend: str = "machine") -> tuple[Counts, np.ndarray]:
    module = ptx.parse(HEADER + text, "test.ptx")
    entry = next(f for f in module.functions.values() if f.is_entry)
    memory = DeviceMemory()
    out = memory.allocate(np.zeros(8 * CTAS * THREADS, np.uint32))
    params = tuple(struct.pack("<Q", out) for _ in entry.parameters)
    launch = ComputeLaunch(module, entry.name, (CTAS, 1, 1), (THREADS, 1, 1), params, memory)
    counts = run_compute_launch(launch, sink, backend, progress=False)
    return counts, memory.view(out, np.uint32, 8 * CTAS * THREADS).copy()


@pytest.mark.parametrize("text", [BARRIERS, CALLS], ids=["barriers", "calls"])
def test_visits_alone_are_those_of_the_trace(text: str) -> None:
    whole = MemorySink()
    counts, memory = run(text, whole)
    machine, plain = Collected(), Collected()
    counts_alone, memory_alone = run(text, machine)
    run(text, plain, "interpreter")
    assert machine.rows == plain.rows
    in_order = sorted(machine.rows, key=lambda row: row[0])  # stable: a warp's visits stay in their order
    visits = whole.table("visits")
    assert [r[0] for r in in_order] == visits["warp_id"].tolist()
    assert [r[1] for r in in_order] == visits["block_id"].tolist()
    assert [r[2] for r in in_order] == visits["active_mask"].tolist()
    assert counts_alone == Counts(**{**vars(counts), "accesses": 0})
    assert np.array_equal(memory, memory_alone)


@pytest.mark.parametrize("text", [BARRIERS, CALLS], ids=["barriers", "calls"])
def test_without_a_sink_only_memory_changes(text: str) -> None:
    memory = run(text, MemorySink())[1]
    counts, alone = run(text, None)
    assert np.array_equal(memory, alone)
    assert (counts.accesses, counts.warp_instructions) == (0, 0)
    assert isinstance(MemorySink(), Sink)
    assert not isinstance(Collected(), Sink)


def test_full_buffers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from rayplay.tracer.record import buffers

    whole = Collected()
    run(BARRIERS, whole)
    for name, size in (("VISITS", 64), ("ACCESSES", 32), ("ADDRESSES", 512), ("RUNS", 16)):
        monkeypatch.setattr(buffers, name, size)
    part = Collected()
    run(BARRIERS, part)
    assert part.rows == whole.rows
