"""State of a launch between two of its CTAs: contents of device memory and rows recorded.

A warp's registers and a CTA's shared memory live no longer than the CTA, so that between two CTAs device memory, the
number of the next CTA and the rows of the trace are all there is.
"""

from dataclasses import asdict
from functools import cache

import numpy as np

from rayplay.formats.dataset.resume import ResumableTraceWriter
from rayplay.formats.guard.code_cache import FILES
from rayplay.formats.guard.digest import source_digest
from rayplay.formats.place.checkpoint import take_back
from rayplay.tracer.abi.words import MACHINE
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.recorder import Counts
from rayplay.tracer.record.visits import AnySink

SOURCES = ("ptx", "tracer", *FILES)


@cache
def code() -> str:
    """Digest of the sources that decide what a trace is: a run resumes only its own."""
    return source_digest(SOURCES)


class LaunchNotes:
    """Checkpoints of launch ``kernel_id`` now and then, where the sink is a ``ResumableTraceWriter``; else nothing."""

    def __init__(self, sink: AnySink, kernel_id: int, memory: DeviceMemory) -> None:
        self.writer = sink if isinstance(sink, ResumableTraceWriter) else None
        self.kernel_id, self.memory = kernel_id, memory
        was = self.writer.notes.resumed if self.writer else None
        self.resumed = was if was is not None and was.facts["kernel_id"] == kernel_id else None

    def go_on(self, machine: np.ndarray, steps: np.ndarray, counts: Counts) -> None:
        """When the launch was begun by an earlier run: memory, progress and counts become what they were."""
        if self.resumed is None:
            return
        self.memory.restore(self.resumed.facts, self.resumed.arrays)
        for name, word in self.memory.machine_words().items():
            machine[MACHINE[name]] = word
        take_back(steps, self.resumed.arrays["steps"], "steps")
        for name, value in self.resumed.facts["counts"].items():
            setattr(counts, name, value)

    @property
    def are_due(self) -> bool:
        """Whether a checkpoint is due."""
        return self.writer is not None and self.writer.checkpoint_is_due

    def note(self, steps: np.ndarray, counts: Counts) -> None:
        """Take a checkpoint between two CTAs; all rows so far have been put."""
        assert self.writer is not None
        facts, arrays = self.memory.snapshot()
        facts |= {"kernel_id": self.kernel_id, "counts": asdict(counts)}
        self.writer.checkpoint(facts, arrays | {"steps": steps})
