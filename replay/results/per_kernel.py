"""Attribution of counters to kernels: by stream where several kernels shared the GPU.

A kernel that had the GPU to itself has all that was counted until its end. Of kernels that ran side by side each has
its stream's share, from its launch until the stream's next kernel is launched, or all have ended (what a kernel wrote
may reach the DRAM after its end). What belongs to no stream is left in a row of its own, so that the rows always sum to
the counters.
"""

from rayplay.replay.engine.machine import Machine
from rayplay.replay.launch.launches import Launch
from rayplay.replay.results.counters import stream_counters, unit_counters
from rayplay.replay.results.ledger import APART, Ledger, flat


class Attribution:
    """The ledger of a machine, kept launch by launch.

    spans     kernel -> first cycle, first cycle after it.
    finished  kernels that have ended since the GPU was last empty.
    sharing   last kernel of each stream, by its place, since the GPU was last empty.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine, self.ledger = machine, Ledger()
        self.spans: dict[int, tuple[int, int]] = {}
        self.finished: list[Launch] = []
        self.sharing: dict[int, Launch] = {}
        self.ledger.open(unit_counters(machine, 0))

    def begin_kernel(self, launch: Launch) -> int:
        """A kernel is launched now. Returns the place of its stream among those told apart."""
        now, place = self.machine.now, self.machine.streams.take_place(launch)
        if place in self.sharing:
            self._note_share_until(now, place)
        self.sharing[place] = launch
        self.spans[launch.kernel_id] = (now, now)
        return place

    def end_kernel(self, kernel_id: int, end: int) -> None:
        """A kernel has ended before cycle ``end``."""
        self.spans[kernel_id] = (self.spans[kernel_id][0], end)
        self.finished.append(self.machine.launch_of[kernel_id])

    def _note_share_until(self, now: int, place: int) -> None:
        """Note what a stream's last kernel added until ``now``."""
        launch = self.sharing[place]
        start, end = self.spans[launch.kernel_id]
        counters = stream_counters(self.machine, now, place)
        self.ledger.note_share(start, end, launch.kernel_id, launch.stream, place, counters)

    def note_kernels(self) -> None:
        """Note what the kernels added that have ended since the GPU was last empty, which it is now."""
        if not self.finished:
            return
        end = max(self.spans[launch.kernel_id][1] for launch in self.finished)
        kernel_id, stream = self.finished[0].kernel_id, self.finished[0].stream
        if len(self.finished) > 1:
            kernel_id = stream = APART
            for place in self.sharing:
                self._note_share_until(end, place)
        counters, places = unit_counters(self.machine, end), self.machine.streams.places
        self.ledger.note_interval(end, counters)
        self.ledger.note_kernel(end, counters, kernel_id, stream)
        for place in range(places if places > 1 else 0):
            self.ledger.at_share[place] = flat(stream_counters(self.machine, end, place))
        self.finished, self.sharing = [], {}
