"""A replay watched for its timeline: looks at the machine between two quanta, which change no result.

A look stands for the cycles since the one before (``spans.Slots``): the cycle in which a warp enters the RT unit is
exact, all others are as of a look. A stay between two looks is not seen. A look copies what it sees (``seen.py``);
slices and counters are made of many looks together.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.replay.engine.machine import Machine
from rayplay.replay.jit.bits import FAR
from rayplay.replay.timeline.requests import Follower
from rayplay.replay.timeline.seen import Counts, Look, NewRays, counts, new_rays, seen, total_work, warp_keys
from rayplay.replay.timeline.spans import VALUES, Slots, Spans

LOOK_CYCLES = 128  # between two looks of chosen cycles, and the least without
MOST_LOOK_CYCLES = 4096
LOOK_WORK = 8_000  # instructions and misses between two looks of a whole replay, to bound their cost
LOOKS_AT_ONCE = 256  # that are evaluated together
MOST_SLICES = 2_000_000  # after which the timeline ends: a file of some 100 MB
WARP, WAITS, RAYS = 1, 2, 3  # names of slices; ``seen.warp_keys`` tells the last two apart


class Cycles(NamedTuple):
    """The cycles that a timeline covers: ``first`` to ``end``, exclusive."""

    first: int = 0
    end: int = FAR


def parse_cycles(text: str) -> Cycles:
    """``A:B``, each of which may be missing; ``UserError`` for anything else."""
    first, colon, end = text.partition(":")
    if not colon or not all((part.isascii() and part.isdigit()) or not part for part in (first, end)):
        raise UserError(f"--timeline-cycles {text}: must be FIRST:END, such as 10000:20000")
    found = Cycles(int(first or 0), min(int(end or FAR), FAR))
    if found.first >= found.end:
        raise UserError(f"--timeline-cycles {text}: the end must be after the first cycle")
    return found


class Watch:
    """Record of the looks at a machine: slices of warp slots and RT-unit slots, followed requests, counters."""

    def __init__(self, cycles: Cycles | None = None) -> None:
        self.cycles, self.last = cycles or Cycles(), -1
        self.due = self.cycles.first
        self.warps, self.rays, self.is_full = Spans(), Spans(), False
        self.looks: list[Look] = []  # that are not evaluated yet
        self.new: list[NewRays] = []
        self.counted: list[Counts] = []
        self.work, self.distance = 0, LOOK_CYCLES

    def begin(self, machine: Machine) -> None:
        """Take the machine that is watched."""
        self.machine, self.before = machine, seen(machine, 0)
        rows = len(machine.core.warp)
        self.warp_slots, self.waits, self.rt_slots = Slots(rows), Slots(rows), Slots(len(machine.rt.slot))
        self.requests = Follower(0 if machine.gpu.lockstep else machine.gpu.l2.latency_cycles)

    def look(self) -> None:
        """Look, if it is time."""
        machine, now = self.machine, self.machine.now
        if now < self.due:
            return
        if self.last < 0:
            self.last = now
        look = seen(machine, self.last)
        before = self.looks[-1].rt if self.looks else self.rt_slots.key
        self.new += new_rays(machine, len(self.looks), look.rt, before)
        self.looks.append(look)
        self.requests.look(machine, self.last)
        distance, self.last = now - self.last, now
        if len(self.looks) == LOOKS_AT_ONCE:
            self._evaluate()
        self.is_full = self.warps.count + self.rays.count + 5 * len(self.requests.closed) > MOST_SLICES
        self.due = FAR if self.is_full or now >= self.cycles.end else min(now + self._next(distance), self.cycles.end)

    def _next(self, distance: int) -> int:
        """Cycles to the next look: few where they were asked for or much happens, else as many as have enough work."""
        work = total_work(self.machine)
        done, self.work = work - self.work + 1, work
        if self.cycles != Cycles() or distance == 0:
            return LOOK_CYCLES
        return min(max(distance * LOOK_WORK // done, LOOK_CYCLES), MOST_LOOK_CYCLES)

    def finish(self) -> None:
        """End every slice that is open."""
        if self.last >= 0 and self.due < FAR and self.machine.now > self.last:
            self.due = self.machine.now
            self.look()
        self.due = FAR
        self._evaluate()
        since = np.array([self.last])
        self._end_warps(np.full_like(self.warp_slots.key, -1)[None], np.full_like(self.waits.key, -1)[None], since)
        self._end_rays(np.full_like(self.rt_slots.key, -1)[None], since, np.zeros((1, len(self.rt_slots.key), VALUES)))

    def counts(self) -> Counts:
        """The counters of all looks."""
        return Counts(*(np.concatenate(columns) for columns in zip(*self.counted, strict=True)))

    def _evaluate(self) -> None:
        if not self.looks:
            return
        looks = Look(*(np.array(column) for column in zip(*self.looks, strict=True)))
        keys, doing = warp_keys(self.machine, looks)
        self._end_warps(keys, doing, looks.since)
        values = np.zeros((*looks.rt.shape, VALUES), np.int64)
        for new in self.new:
            values[new.look, new.slots] = new.values(looks.since[new.look])
        self._end_rays(looks.rt, looks.since, values)
        self.counted.append(counts(self.machine, looks, self.before))
        self.before, self.looks, self.new = self.looks[-1], [], []

    def _end_warps(self, keys: np.ndarray, doing: np.ndarray, since: np.ndarray) -> None:
        slot, key, end, values = self.warp_slots.ended(keys, since)
        self.warps.add(values[:, 0], end, slot, WARP, 0, 0, [key])
        slot, key, end, values = self.waits.ended(doing, since)
        self.warps.add(values[:, 0], end, slot, key & 3, 1)

    def _end_rays(self, keys: np.ndarray, since: np.ndarray, values: np.ndarray) -> None:
        slot, _, end, of = self.rt_slots.ended(keys, since, values)
        self.rays.add(of[:, 0], end, slot, RAYS, 0, 0, list(of[:, 1:].T))
