"""Grants of a partition over time: SMs, their resources, slices and ways of the L2 that each class may hold.

A static partition has one plan; Warped-Slicer, TAP and UCP have one from each cycle in which they change it.
Source: ``docs/sources/crisp.md#statistics`` (the released code prints its share and ways likewise).
"""

from dataclasses import dataclass, field

import numpy as np

from rayplay.replay.engine.machine import Machine
from rayplay.replay.results.tables import Columns
from rayplay.replay.sharing.plan import Plan
from rayplay.replay.sm import ctas as dispatch

RESOURCES = ("sms", "warps", "ctas", "registers", "shared_bytes", "l2_slices", "l2_ways")


@dataclass
class Grants:
    """The plans that a machine was held to, each from its first cycle on."""

    machine: Machine
    names: tuple[str, ...]
    parts: list[Columns] = field(default_factory=list)

    def note(self, cycle: int) -> None:
        """The machine's plan holds from ``cycle`` on, where it differs from the one before."""
        assert self.machine.plan is not None
        values = granted(self.machine.plan, self.machine)
        if not self.parts or (self.parts[-1]["value"][-values.size :] != values.reshape(-1)).any():
            self.parts.append(self._columns(values, cycle))

    def _columns(self, values: np.ndarray, cycle: int) -> Columns:
        return {
            "start_cycle": np.full(values.size, cycle, np.int64),
            "class": np.repeat(np.array(self.names, object), len(RESOURCES)),
            "resource": np.tile(np.array(RESOURCES, object), len(self.names)),
            "value": values.reshape(-1),
        }


def granted(plan: Plan, machine: Machine) -> np.ndarray:
    """int64[classes, RESOURCES]: sums over the SMs; slices, and lines of a set, of the whole L2 where it is shared."""
    classes, gpu = plan.quota.shape[1], machine.gpu
    sms = (plan.quota[:, :, dispatch.QUOTA_CTAS] > 0).sum(axis=0)
    slices = np.full(classes, gpu.l2_slices) if plan.slices is None else plan.slices[:, 1]
    ways = np.full(classes, gpu.l2.ways) if plan.ways is None else plan.ways
    return np.column_stack([sms, plan.quota.sum(axis=0), slices, ways]).astype(np.int64)
