"""Ends a replay that makes no progress, and says who waits for whom.

A replay is stuck for certain when nothing is in flight, no SM will do anything by itself, and a kernel is not over:
that is seen at once. Where requests are in flight, one of them may have been lost: then nothing is issued, sent,
answered or moved by the DRAM any more, and after a silence longer than any description's latencies can explain the
replay is given up. Neither depends on the host's speed.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.replay.engine import quantum as step
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.rt import outside as rt_outside
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.stuck.report import describe

PATIENCE_CYCLES = 200_000  # for a GPU without latencies
LONGEST_STALL = 1 << 16  # of an instruction: its field in the characterisation
LATENCIES = 64  # silence is longer than this many times the sum of all latencies of the description


def patience_cycles(gpu: Gpu) -> int:
    """Cycles without any progress after which a replay with requests in flight is given up."""
    return PATIENCE_CYCLES + LONGEST_STALL + LATENCIES * sum(latencies(gpu))


def latencies(part: Any) -> Iterator[int]:
    """Every value of a description that is in cycles or DRAM ticks, the launch latency apart."""
    for field in dataclasses.fields(part):
        found = getattr(part, field.name)
        if dataclasses.is_dataclass(found):
            yield from latencies(found)
        elif field.metadata.get("unit") in ("cycles", "ticks") and field.name != "kernel_launch_cycles":
            yield int(np.sum(found))


class Watchdog:
    """Looks at a machine whenever the engine comes back."""

    def __init__(self, gpu: Gpu) -> None:
        self.patience = patience_cycles(gpu)
        self.done, self.since = -1, 0

    def look(self, machine: Machine, status: int) -> None:
        """Raise ``UserError`` when the replay cannot go on."""
        now, done = machine.now, progress(machine)
        opens = machine.dispatch.kernel[:, dispatch.OPENS].max(initial=0)
        if done != self.done or now <= opens:
            self.done, self.since = done, now
        if status == step.STUCK:
            raise UserError(describe(machine, f"nothing can happen any more after cycle {now}"))
        if now - self.since > self.patience:
            raise UserError(describe(machine, f"nothing has happened from cycle {self.since} to {now}"))


def progress(machine: Machine) -> int:
    """A number that grows with everything that is issued, sent, answered, delivered or moved."""
    memory = machine.memory
    return int(
        machine.core.stats.sum()
        + machine.port.stats.sum()
        + rt_outside.work_done(machine.rt)
        + memory.dram.stats[:, :2].sum()
    )
