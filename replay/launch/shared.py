"""How a machine is shared: the classes of work, the partition that divides it among them, and whether they repeat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.launch.classes import Joined, WorkClass
from rayplay.replay.launch.host_copies import Copies
from rayplay.replay.launch.launches import Launch
from rayplay.replay.launch.together import Together
from rayplay.replay.sharing.plan import Plan, Work, expect_fit
from rayplay.replay.sharing.rules import RULES
from rayplay.replay.sm import ctas as dispatch


@dataclass(frozen=True)
class Shared:
    """Classes of work on one GPU.

    partition  ``Spec`` of a rule.
    repeats    whether a class begins again until every other has ended once.
    """

    joined: Joined
    partition: Any
    repeats: bool = True

    @property
    def classes(self) -> tuple[WorkClass, ...]:
        """The classes, in order."""
        return self.joined.classes

    @property
    def spaces(self) -> dict[str, list[int]]:
        """First rows of each trace in the joined tables."""
        return self.joined.spaces

    def chosen(self, launches: Sequence[Launch]) -> list[Launch]:
        """The launches of the classes, in the order of the joined trace."""
        owner = {kernel: number for number, each in enumerate(self.classes) for kernel in each.kernels}
        return [replace(one, work_class=owner[one.kernel_id]) for one in launches if one.kernel_id in owner]

    def together(self, launches: Sequence[Launch], window: int) -> Together:
        """The launches as they are to be launched; ``window``: kernels of a class that are looked at together."""
        own = [[one for one in launches if one.work_class == number] for number in range(len(self.classes))]
        return Together(own, window, self.repeats, self.spaces["kernels"][-1])

    def work(self, launches: Sequence[Launch]) -> Work:
        """The classes as a partition sees them."""
        needs = np.zeros((len(self.classes), dispatch.QUOTA_COLUMNS), np.int64)
        for one in launches:
            own = (one.need.warps, 1, one.need.registers, one.need.shared_bytes)
            needs[one.work_class] = np.maximum(needs[one.work_class], own)
        kinds = tuple(each.kind for each in self.classes)
        return Work(self.joined.names, kinds, needs, self.partition.rule)

    def plan(self, gpu: Gpu, launches: Sequence[Launch]) -> Plan:
        """First grants of the partition; ``UserError`` for a launch that never fits into its class's part."""
        made: Plan = RULES[self.partition.rule].plan(self.partition, gpu, self.work(launches))
        for launch in launches:
            name = self.joined.names[launch.work_class]
            expect_fit(made.quota, launch.work_class, name, launch.name, launch.need, self.partition.rule)
        return made

    def chooser(self, gpu: Gpu, launches: Sequence[Launch]) -> Any:
        """Who changes the plan of a dynamic partition; None for a static one."""
        rule = RULES[self.partition.rule]
        return rule.Chooser(self.partition, gpu, self.work(launches)) if hasattr(rule, "Chooser") else None

    def copies(self, addresses: str) -> list[Copies]:
        """Copies from the host before the launches of each class; addresses: as ``memory.copies`` of the GPU."""
        return [Copies(self.joined.trace, addresses, each.kernels, each.space) for each in self.classes]
