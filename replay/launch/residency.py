"""Residency of cooperative launches: their CTAs wait for each other, so that the GPU must hold all of them at once.

CUDA refuses such a launch when it is made (``cudaErrorCooperativeLaunchTooLarge``; CUDA C++ Programming Guide,
Cooperative Groups, Grid Synchronization).
"""

from collections.abc import Iterable

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.launch.launches import Launch

TABLE = "cooperative"


def expect_resident(trace: Trace, gpu: Gpu, launches: Iterable[Launch]) -> None:
    """``UserError`` for a cooperative launch with more CTAs than the GPU holds at once."""
    if TABLE not in trace.tables:
        return
    cooperative = set(trace.read(TABLE)["kernel_id"].tolist())
    for launch in launches:
        ctas, held = launch.ctas[1] - launch.ctas[0], launch.places * gpu.sm.count
        if launch.kernel_id in cooperative and ctas > held:
            raise UserError(
                f"{trace.path}: launch {launch.kernel_id} ({launch.name}) is cooperative: its {ctas:,} CTAs must be "
                f"resident at once, and GPU {gpu.name} holds {held:,}, {launch.places} on each of {gpu.sm.count} SMs"
            )
