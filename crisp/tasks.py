"""Tasks of a study, each done once: count vertices, count what a trace holds, replay traces together (``replays``).

A task is a frozen dataclass. ``inputs`` name, beside the traces of its ``sources``, everything that decides what
``perform`` finds in them: a JSON value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.crisp.helpers import by_draw
from rayplay.crisp.replays import Replayed
from rayplay.crisp.sources import Drawn, Source, described
from rayplay.crisp.suite import BATCHES, Workload
from rayplay.crisp.texture import texture_use
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.digest import source_digest


@dataclass(frozen=True)
class Batched:
    """Vertex invocations of a picture at each size of the batch, in indices; 0: a draw is one batch."""

    workload: Workload
    sources: tuple[Source, ...] = ()

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the counts."""
        return {"batched": described(self.workload), "sizes": BATCHES, "code": source_digest(["tracer"])}

    def perform(self, traces: Sequence[Path]) -> dict[str, Any]:
        """Invocations by size."""
        from rayplay.tracer.draw import load_drawn
        from rayplay.tracer.raster.batches import cut_batches

        draws = load_drawn(self.workload.scene)[0].draws
        found = {}
        for size in (*BATCHES, 0):
            cut = [cut_batches(one.indices, len(one.positions), batch_indices=size or None) for one in draws]
            found[str(size)] = sum(len(b.vertices) * one.instance_count for b, one in zip(cut, draws, strict=True))
        return {"invocations": found}


@dataclass(frozen=True)
class Counted:
    """Contents of a picture's trace: fragments of each draw, and what its texture instructions access."""

    source: Drawn

    @property
    def sources(self) -> tuple[Source, ...]:
        """The trace."""
        return (self.source,)

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the counts, beside the trace."""
        return {"counted": source_digest(["crisp/texture.py"])}

    def perform(self, traces: Sequence[Path]) -> dict[str, Any]:
        """Columns of the table ``stages``, and the use of textures (``texture.texture_use``)."""
        trace = open_trace(traces[0])
        stages = {name: values.tolist() for name, values in trace.read("stages").items()}
        return {"stages": stages, "texture": texture_use(trace)}


@dataclass(frozen=True)
class Shaped:
    """Sizes of the triangles of each draw of a picture, and the threads that follow from them."""

    workload: Workload
    size: tuple[int, int]
    sources: tuple[Source, ...] = ()

    def inputs(self) -> dict[str, Any]:
        """Everything that decides them."""
        code = source_digest(["tracer", "crisp/helpers.py"])
        return {"shaped": described(self.workload), "size": self.size, "code": code}

    def perform(self, traces: Sequence[Path]) -> dict[str, Any]:
        """Columns by draw (``helpers.by_draw``)."""
        return by_draw(self.workload, self.size)


Task = Batched | Counted | Shaped | Replayed
