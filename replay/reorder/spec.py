"""Thread reordering of a GPU: how many warps a call of ``optixReorder`` takes together, and its cost.

The tracer runs a program as if reorders were not there: warps keep their lanes. On a GPU with a window the warps of a
window are a CTA. They meet at the reorder as at a barrier, their threads are sorted by a key, and 32 of them at a time
continue as one warp.

Cost, in this order: each old warp stores the state of its threads to global memory; the warps meet; the sort takes
some cycles; each new warp loads the state of its threads. A window of one warp sorts within the warp and thus changes
no warp but its order of lanes.
"""

from dataclasses import dataclass

from rayplay.replay.unit.schema import law, value

KEYS = {
    "path": "the blocks that a thread visits next, 16 of them: the most that a hint can tell",
    "program": "the program that it runs next, such as a closest-hit or a miss program",
    "hint": "the program that it runs next, then the hint of its call, as the interface has it",
    "none": "nothing: they stay in order, and close up where others have ended",
}
VECTOR_BYTES = 16
MOST_WINDOW_WARPS, MOST_STATE_BYTES, MOST_SORT_CYCLES = 32, 1024, 0xFFFF


@dataclass(frozen=True)
class Spec:
    """Reorder of threads at ``optixReorder``; traces without a call of it are as they are."""

    window_warps: int = value("count", "Warps whose threads are dealt out together; 0: threads keep their warps", 0)
    key: str = value("name", "What threads are sorted by", choices=tuple(KEYS))
    state_bytes: int = value("bytes", "State of a thread that a reorder stores and loads, by vectors of 16 B", 0)
    sort_cycles: int = value("cycles", "Latency of the sort, from the last warp's arrival on", 0)

    def __post_init__(self) -> None:
        law(
            self.window_warps <= MOST_WINDOW_WARPS,
            f"window_warps must be at most {MOST_WINDOW_WARPS}, the warps of a CTA, not {self.window_warps}",
        )
        law(
            self.state_bytes % VECTOR_BYTES == 0 and self.state_bytes <= MOST_STATE_BYTES,
            f"state_bytes must be a multiple of {VECTOR_BYTES}, at most {MOST_STATE_BYTES}, not {self.state_bytes}",
        )
        law(
            self.sort_cycles <= MOST_SORT_CYCLES,
            f"sort_cycles must be at most {MOST_SORT_CYCLES}, not {self.sort_cycles}",
        )

    @property
    def is_on(self) -> bool:
        """Whether threads change their warps: window_warps > 0."""
        return self.window_warps > 0

    @property
    def vectors(self) -> int:
        """state_bytes / 16: stores, and loads, of a thread."""
        return self.state_bytes // VECTOR_BYTES
