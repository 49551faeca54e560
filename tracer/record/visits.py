"""Running without a trace: block visits alone, or only the contents of memory afterwards."""

from typing import Protocol, runtime_checkable

import numpy as np

from rayplay.tracer.abi.words import RECORD_ALL, RECORD_NOTHING, RECORD_VISITS, RUN, USED
from rayplay.tracer.record.buffers import Buffers
from rayplay.tracer.record.columns import count_instructions
from rayplay.tracer.record.recorder import Counts, Recorder, Sink


@runtime_checkable
class VisitSink(Protocol):
    """Takes the visits of a launch as they are made; its machine code writes no accesses."""

    def put_visits(self, warp_id: np.ndarray, end: np.ndarray, visits: np.ndarray) -> None:
        """Block visits in the order of execution, always the same one.

        warp_id  int64[runs]: a run is a stretch of one warp from barrier to barrier, or shorter.
        end      int64[runs]: rows ``end[k - 1]`` (0 for the first run) to ``end[k]`` of ``visits`` belong to run k.
        visits   uint32[rows, 2]: block of the launch (``ptx.program``, counted from 0), active mask.

        All three are views of memory that is used again after the call.
        """


AnySink = Sink | VisitSink | None


def records_of(sink: AnySink) -> int:
    """The records that a sink needs from machine code; None needs none."""
    if sink is None:
        return RECORD_NOTHING
    return RECORD_VISITS if isinstance(sink, VisitSink) else RECORD_ALL


class VisitRecorder:
    """Hands the visits in the buffers to a ``VisitSink``; without one the buffers are only emptied.

    ``counts`` then has visits alone, because the blocks that were visited are not known.
    """

    def __init__(self, sink: VisitSink | None, buffers: Buffers, instruction_counts: np.ndarray) -> None:
        self.sink = sink
        self.buffers = buffers
        self.instruction_counts = instruction_counts
        self.counts = Counts()

    def drain(self, machine: np.ndarray, unfinished_from: int) -> None:
        """Empty the buffers; warps of a CTA that is not complete (from ``unfinished_from`` on) are not held back."""
        runs = self.buffers.runs[: self.buffers.counts[USED.runs]]
        warp, end = runs[:, RUN.warp], runs[:, RUN.visits]
        rows = self.buffers.visits[: int(end[-1]) if len(end) else 0]
        self.buffers.reset(machine)
        self.counts.visits += len(rows)
        if self.sink is not None and len(rows):
            total = count_instructions(rows, self.instruction_counts)
            self.counts.warp_instructions += total[0]
            self.counts.thread_instructions += total[1]
            self.sink.put_visits(warp, end, rows)


def make_recorder(
    sink: AnySink,
    buffers: Buffers,
    instruction_counts: np.ndarray,
    first_ids: tuple[int, int],
    warps_per_cta: int,
    reorders: np.ndarray,
) -> Recorder | VisitRecorder:
    """A recorder that empties the buffers of a launch into ``sink``; arguments as ``Recorder`` has them."""
    if sink is None or isinstance(sink, VisitSink):
        return VisitRecorder(sink, buffers, instruction_counts)
    return Recorder(sink, buffers, instruction_counts, first_ids, warps_per_cta, reorders)
