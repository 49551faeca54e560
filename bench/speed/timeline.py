"""Speed of timelines: ``python -m bench.speed.timeline [TRACE]``. Process CPU time of one core.

``encoding``: a million slices on 1,000 tracks, begin and end each. ``replay``: with a timeline for without, of a trace,
``traces/sample.trace`` unless one is named, and of writing the file.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.speed.clock import seconds
from rayplay.replay.run.driver import simulate
from rayplay.replay.timeline.drawing import slices, write_timeline
from rayplay.replay.timeline.packets import encode
from rayplay.replay.timeline.watch import Watch

SLICES, TRACKS = 1_000_000, 1_000


def encoding() -> None:
    """Encode slices of 100 cycles."""
    number = np.arange(SLICES)
    columns = {"track": number % TRACKS, "begin": number // TRACKS * 200, "end": number // TRACKS * 200 + 100}
    columns |= {"depth": number * 0, "name": number % 4 + 1, "first": number, "second": number * 0 - 1}
    events = slices(columns | {"third": number * 0 - 1}, np.arange(1, TRACKS + 1), (1, 2, 3))
    taken = seconds(lambda: encode(events))
    print(f"encoding: {SLICES / taken / 1e6:.2f} M slices/s, {len(encode(events)) / SLICES:.1f} B a slice")


def replay(trace: str) -> None:
    """Replay with and without a timeline."""

    def watched() -> None:
        watch = Watch()
        simulate(trace, "rtx2060", watch=watch)
        with tempfile.TemporaryDirectory() as folder:
            write_timeline(watch, Path(folder) / "out.pftrace")

    plain, drawn = seconds(lambda: simulate(trace, "rtx2060")), seconds(watched)
    print(f"replay: {drawn / plain:.2f} times ({drawn:.2f} s for {plain:.2f} s)")


if __name__ == "__main__":
    encoding()
    replay(sys.argv[1] if len(sys.argv) > 1 else "traces/sample.trace")
