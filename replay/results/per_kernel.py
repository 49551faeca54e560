"""What each kernel added to the counters: told apart by stream where several kernels shared the GPU.

A kernel that had the GPU to itself has all that was counted until it was over. Of kernels that ran side by side each
has its stream's share, from its launch until the stream's next kernel is launched, or all are over (what a kernel wrote
may reach the DRAM after its end). What belongs to no stream is left in a row of its own, so that the rows always sum to
the counters.
"""

from typing import TYPE_CHECKING

from rayplay.replay.launch.launches import Launch
from rayplay.replay.results.counters import stream_counters, unit_counters
from rayplay.replay.results.ledger import APART, flat

if TYPE_CHECKING:
    from rayplay.replay.run.driver import Replay


def begin(replay: "Replay", launch: Launch, now: int) -> int:
    """A kernel is launched. Returns the place of its stream among those told apart."""
    place = replay.streams.take_place(launch.stream)
    if place in replay.sharing:
        note_share(replay, place, now)
    replay.sharing[place] = launch
    return place


def note_share(replay: "Replay", place: int, now: int) -> None:
    """Note what a stream's last kernel added until ``now``."""
    launch = replay.sharing[place]
    start, end = replay.spans[launch.kernel_id]
    replay.ledger.note_share(start, end, launch.kernel_id, launch.stream, place, stream_counters(replay, now, place))


def note_kernels(replay: "Replay") -> None:
    """Note what the kernels added that are over since the GPU was last empty, which it is now."""
    finished = replay.finished
    if not finished:
        return
    end = max(replay.spans[launch.kernel_id][1] for launch in finished)
    kernel_id, stream = finished[0].kernel_id, finished[0].stream
    if len(finished) > 1:
        kernel_id = stream = APART
        for place in replay.sharing:
            note_share(replay, place, end)
    counters = unit_counters(replay, end)
    replay.ledger.note_interval(end, counters)
    replay.ledger.note_kernel(end, counters, kernel_id, stream)
    for place in range(replay.streams.places if replay.streams.places > 1 else 0):
        replay.ledger.at_share[place] = flat(stream_counters(replay, end, place))
    replay.finished, replay.sharing = [], {}
