"""A dynamic partition at work: what the classes did is shown to its rule, whose plan the machine adopts.

Rules decide between two quanta, at cycles that they name and where a kernel ends: the quantum changes nothing.
"""

from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.engine.machine import Machine
from rayplay.replay.launch.launches import Launch
from rayplay.replay.launch.together import Together
from rayplay.replay.results.by_class import class_counters
from rayplay.replay.results.grants import Grants
from rayplay.replay.results.metrics import misses
from rayplay.replay.sharing.plan import NEVER, Observed


class Adapting:
    """The chooser of a dynamic partition, or none, and the plans of any partition."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.chooser, self.grants = machine, None, None
        if machine.sharing is not None:
            self.grants = Grants(machine, machine.sharing.joined.names)
            self.grants.note(0)
            self.chooser = machine.sharing.chooser(machine.gpu, machine.launches)
            self.last_of_draws = last_of_draws(machine.trace, machine.sharing.spaces["kernels"])

    @property
    def due(self) -> int:
        """Cycle of the next decision."""
        return NEVER if self.chooser is None else int(self.chooser.due)

    def look(self) -> None:
        """Decide, if it is time."""
        if self.chooser is not None and self.machine.now >= self.chooser.due:
            self._adopt(self.chooser.decide(self._observed()))

    def kernel_ended(self, launch: Launch) -> None:
        """A kernel has ended."""
        if self.chooser is None:
            return
        events = {self.machine.work_classes[launch.work_class].kind}
        if launch.kernel_id % self.machine.trace.rows("kernels") in self.last_of_draws:
            events.add("draw")
        self._adopt(self.chooser.kernel_ended(events, self._observed()))

    def _adopt(self, plan: Any) -> None:
        if plan is not None:
            self.machine.adopt(plan)
            assert self.grants is not None
            self.grants.note(self.machine.now)

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


def last_of_draws(trace: Trace, first_kernels: list[int]) -> set[int]:
    """The last launch of each draw. first_kernels: of the traces that are joined, and the end."""
    stages = trace.read("stages", ["kernel_id", "draw"])
    last: dict[tuple[int, int], int] = {}
    for kernel, draw in zip(stages["kernel_id"].tolist(), stages["draw"].tolist(), strict=True):
        last[int(np.searchsorted(first_kernels, kernel, side="right")), draw] = kernel
    return set(last.values())
