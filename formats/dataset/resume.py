"""Writer of a trace that resumes after an interruption from the files completed before it."""

from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.parquet.arrow import array_names
from rayplay.formats.place.checkpoint import Checkpoint, Checkpoints

SECONDS_BETWEEN_CHECKPOINTS = 10.0


class ResumableTraceWriter(TraceWriter):
    """``TraceWriter`` that saves checkpoints of its own and its caller's progress.

    same      JSON values that must be equal for a run to be resumed, beside the provenance: version of the code.
    resume    True: resume a killed run of the same provenance, if it left a part of ``path``.

    ``also`` are JSON facts added to every checkpoint: the progress of the run as a whole.
    ``notes.resumed`` is what the caller gave to the last ``checkpoint``, to go on from there; None: begin at the
    beginning. After it the caller puts the rows that follow, and the trace has the bytes of a run that was never
    interrupted.
    """

    def __init__(
        self,
        path: Path | str,
        provenance: dict[str, Any],
        image_size: tuple[int, int] | None = None,
        same: Any = None,
        resume: bool = False,
        workers: int | None = None,
    ) -> None:
        super().__init__(path, provenance, image_size, workers)
        equal = [list(self.layout.version), self.provenance, self.image_size, same]
        self.notes = Checkpoints(self.path, equal, resume, SECONDS_BETWEEN_CHECKPOINTS)
        self.also: dict[str, Any] = {}
        self._shards_then = 0

    def _make_folder(self) -> Path:
        return self.notes.__enter__().folder

    def _begin(self) -> None:
        if self.notes.resumed is None:
            super()._begin()
            return
        try:
            self._go_on(self.notes.resumed)
        except OSError:
            self.notes.forget()  # the files are not what it says; the next run begins at the beginning
            raise

    def _go_on(self, resumed: Checkpoint) -> None:
        was, arrays = resumed.facts["writer"], resumed.arrays
        for name, state in was["shards"].items():
            self.declare(name)
            self._shards[name].resume(state)
            names = array_names(self.layout.table(name).columns)
            list(self._buffers[name].put({column: arrays.pop(f"{name}.{column}") for column in names}))
        written = {path for shards in self._shards.values() for path in shards.paths()}
        for file in self.folder.iterdir():
            if file not in written:  # made after the checkpoint
                file.unlink()
        self._launches = was["launches"]
        self._shards_then = self._complete_shards()

    def _clean_up(self) -> None:
        self._let_go()
        self.notes.__exit__()

    @property
    def checkpoint_is_due(self) -> bool:
        """Whether a file was completed, or ten seconds have passed, since the last checkpoint."""
        return self._complete_shards() > self._shards_then or self.notes.are_due

    def checkpoint(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Save the rows put so far, and the caller's state to resume from. Names of arrays have no dot."""
        self._encoders.finish()
        shards = {name: each.state() for name, each in self._shards.items()}
        waiting = {f"{name}.{c}": a for name, buffer in self._buffers.items() for c, a in buffer.waiting().items()}
        writer = {"shards": shards, "launches": self._launches}
        self.notes.save({**self.also, **facts, "writer": writer}, waiting | arrays)
        self._shards_then = self._complete_shards()

    def _complete_shards(self) -> int:
        return sum(len(shards.entries) for shards in self._shards.values())
