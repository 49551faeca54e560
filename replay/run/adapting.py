"""A dynamic partition at work: what the classes did is shown to its rule, whose plan the machine adopts.

Rules decide between two quanta, at cycles that they name and where a kernel ends: the quantum changes nothing.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from rayplay.replay.engine.machine import Machine
from rayplay.replay.launch.together import Together
from rayplay.replay.results.counters import stream_counters
from rayplay.replay.results.metrics import misses
from rayplay.replay.sharing.plan import Observed

NEVER = 1 << 62


class Adapting:
    """The chooser of a dynamic partition, or none."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.chooser = machine, None
        if machine.sharing is not None:
            self.chooser = machine.sharing.chooser(machine.gpu, machine.launches)

    @property
    def due(self) -> int:
        """Cycle of the next decision."""
        return NEVER if self.chooser is None else int(self.chooser.due)

    def look(self) -> None:
        """Decide, if it is time."""
        if self.chooser is not None and self.machine.now >= self.chooser.due:
            self._adopt(self.chooser.decide(self._observed()))

    def kernels_ended(self, classes: Iterable[int]) -> None:
        """Kernels of these classes have ended."""
        if self.chooser is None:
            return
        for number in classes:
            kind = self.machine.work_classes[number].kind
            self._adopt(self.chooser.kernel_ended(kind, self._observed()))

    def _adopt(self, plan: Any) -> None:
        if plan is not None:
            self.machine.adopt(plan)

    def _observed(self) -> Observed:
        machine, together = self.machine, self.machine.streams
        assert isinstance(together, Together)
        owners = machine.memory.l2.tags.owners
        instructions = np.zeros((machine.gpu.sm.count, len(together.launches)), np.int64)
        accesses = np.zeros(len(together.launches), np.int64)
        for place in range(together.places):
            counters, number = stream_counters(machine, machine.now, place), together.class_of_place(place)
            instructions[:, number] += counters["sm"]["warp_instructions"]
            accesses[number] += misses({name: int(values.sum()) for name, values in counters["l2"].items()})[1]
        use = owners.use[: len(owners.use) // owners.classes * owners.classes]
        return Observed(
            machine.now, instructions, accesses, use.reshape(-1, owners.classes, use.shape[1]).sum(axis=0), owners.use
        )
