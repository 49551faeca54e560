"""Which kernels may be launched now: in the order of the trace, a stream's kernels one after the other.

As in Accel-Sim's main loop, a window of ``concurrent_kernels`` unfinished kernels is looked at, in the order of the
trace, and each is launched whose stream has nothing running (``docs/sources/accel-sim.md#concurrent-kernels``). A
window of one kernel runs them one after the other, whatever their streams.
"""

from collections.abc import Callable, Sequence

from rayplay.replay.launch.launches import Launch
from rayplay.replay.unit.streams import PLACES


class Streams:
    """The launches of a replay that are not over yet."""

    def __init__(self, launches: Sequence[Launch], window: int) -> None:
        self.unfinished = list(reversed(launches))
        self.looked_at: list[Launch] = []
        self.running: dict[int, Launch] = {}
        self.window = window
        streams = max(len({launch.stream for launch in launches}), 1)
        self.most_at_once = min(window, streams)
        self.places = min(streams, max(self.most_at_once, PLACES)) if self.most_at_once > 1 else 1
        self.place_of: dict[int, int] = {}  # streams that are told apart, the one launched last at the end

    def launch(self, waits: Callable[[Launch], bool] = lambda launch: False) -> list[Launch]:
        """Take the kernels that may be launched now; ``waits``: whether one waits for another queue's."""
        while len(self.looked_at) < self.window and self.unfinished:
            self.looked_at.append(self.unfinished.pop())
        begun = []
        for launch in self.looked_at:
            if launch.kernel_id not in self.running and launch.stream not in self.busy and not waits(launch):
                self.running[launch.kernel_id] = launch
                begun.append(launch)
        return begun

    def take_place(self, launch: Launch) -> int:
        """Place of a launched kernel's stream among the streams told apart: maybe an idle stream's."""
        if self.places == 1:
            return 0
        stream = launch.stream
        place = self.place_of.pop(stream, len(self.place_of))
        if place == self.places:
            place = self.place_of.pop(next(idle for idle in self.place_of if idle not in self.busy))
        self.place_of[stream] = place
        return place

    @property
    def busy(self) -> set[int]:
        """Streams with a kernel that runs."""
        return {launch.stream for launch in self.running.values()}

    @property
    def is_over(self) -> bool:
        """Whether every kernel has ended."""
        return not self.looked_at and not self.unfinished

    def finish(self, kernel_id: int) -> None:
        """A kernel has ended."""
        self.looked_at.remove(self.running.pop(kernel_id))

    def waiting(self) -> list[Launch]:
        """Kernels that are still to be launched."""
        return [launch for launch in self.looked_at if launch.kernel_id not in self.running] + self.unfinished
