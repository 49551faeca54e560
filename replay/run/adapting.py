"""A dynamic partition at work: what the classes did is shown to its rule, whose plan the machine adopts.

Rules decide between two quanta, at cycles that they name and where a kernel ends: the quantum changes nothing.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from rayplay.replay.engine.machine import Machine
from rayplay.replay.launch.together import Together
from rayplay.replay.results.by_class import class_counters
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
        classes = class_counters(machine, together, machine.now)[:-1]
        instructions = np.stack([own["sm"]["warp_instructions"] for own in classes], axis=1)
        l2 = [{name: int(values.sum()) for name, values in own["l2"].items()} for own in classes]
        accesses = np.array([misses(own)[1] for own in l2], np.int64)
        use = owners.use[: len(owners.use) // owners.classes * owners.classes]
        return Observed(
            machine.now, instructions, accesses, use.reshape(-1, owners.classes, use.shape[1]).sum(axis=0), owners.use
        )
