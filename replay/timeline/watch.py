"""A replay watched for its timeline: looks at the machine between two quanta, which change no result.

A look stands for the cycles since the one before (``spans.Slots``): the cycle in which a warp enters the RT unit is
exact, all others are as of a look. A stay between two looks is not seen.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.replay.engine.machine import Machine
from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import FAR
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.rt import state as rt_state
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.timeline.requests import Follower
from rayplay.replay.timeline.spans import Slots, Spans

LOOK_CYCLES = 128  # between two looks of chosen cycles, and the least without
MOST_LOOK_CYCLES = 4096
LOOK_WORK = 4_000  # instructions and misses between two looks of a whole replay, to bound their cost
MOST_SLICES = 2_000_000  # after which the timeline ends: a file of some 100 MB
WARP, WAITS, RAYS = 1, 2, 3  # names of slices
COUNTERS = {  # of an SM, at each look; the last two since the look before
    "warps": "warps", "RT unit warps": "warps", "L1 MSHRs": "entries", "L1 misses": "sectors", "issued": "instructions",
}  # fmt: skip
MEMORY_COUNTERS = {"L2 MSHRs": "entries", "requests": "requests", "commands": "column commands"}


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
    """Record of the looks at a machine: slices of warp slots and RT-unit slots, followed requests, counters.

    samples  cycle and values of each look: int64[SMs, COUNTERS], int64[slices], int64[channels, 2].
    """

    def __init__(self, cycles: Cycles | None = None) -> None:
        self.cycles, self.last = cycles or Cycles(), -1
        self.due = self.cycles.first
        self.warps, self.rays, self.is_full = Spans(), Spans(), False
        self.samples: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []

    def begin(self, machine: Machine) -> None:
        """Take the machine that is watched."""
        self.machine, sms = machine, machine.gpu.sm.count
        rows = len(machine.core.warp)
        self.warp_slots, self.waits, self.rt_slots = Slots(rows), Slots(rows), Slots(len(machine.rt.slot))
        self.rt_notes = np.zeros((len(machine.rt.slot), 3), np.int64)
        self.requests = Follower(0 if machine.gpu.lockstep else machine.gpu.l2.latency_cycles)
        self.before = np.zeros((sms, 2), np.int64), np.zeros(machine.gpu.memory.count, np.int64)

    def look(self) -> None:
        """Look, if it is time."""
        machine, now = self.machine, self.machine.now
        if now < self.due:
            return
        if self.last < 0:
            self.last = now
        self._see_warps(machine)
        self._see_rays(machine)
        self.requests.look(machine, self.last)
        self._sample(machine)
        self.last = now
        self.is_full = self.warps.count + self.rays.count + 5 * len(self.requests.closed) > MOST_SLICES
        self.due = FAR if self.is_full or now >= self.cycles.end else min(now + self._distance(), self.cycles.end)

    def _distance(self) -> int:
        """Cycles to the next look: few where they were asked for or much happens, else as many as have enough work."""
        if self.cycles != Cycles() or len(self.samples) < 2:
            return LOOK_CYCLES
        work = int(self.samples[-1][1][:, -2:].sum()) + 1
        distance = (self.samples[-1][0] - self.samples[-2][0]) * LOOK_WORK // work
        return min(max(distance, LOOK_CYCLES), MOST_LOOK_CYCLES)

    def finish(self, machine: Machine) -> None:
        """End every slice that is open."""
        if self.last >= 0 and self.due < FAR and machine.now > self.last:
            self.due = machine.now
            self.look()
        self.due = FAR
        self._change_warps(np.full_like(self.warp_slots.key, -1), np.full_like(self.waits.key, -1))
        self._change_rays(np.full_like(self.rt_slots.key, -1))

    def _see_warps(self, machine: Machine) -> None:
        core = machine.core
        sms, rows = machine.gpu.sm.count, np.arange(len(core.warp))
        per_sm = len(rows) // sms
        running = np.bitwise_or.reduce(core.barrier[:, scheduler.RUNNING].reshape(sms, -1), axis=1)
        live = (running[:, None] >> np.arange(per_sm) & 1).ravel() == 1
        key = np.where(live, core.warp[:, scheduler.NUMBER], -1)
        place = rows // per_sm * rt_state.WARPS_PER_SM + rows % per_sm
        doing = np.where(machine.rt.place[place] >= 0, RAYS, np.where(core.warp[:, scheduler.PARKED] == 1, WAITS, 0))
        self._change_warps(key, np.where((key >= 0) & (doing > 0), key << 2 | doing, -1))

    def _change_warps(self, key: np.ndarray, doing: np.ndarray) -> None:
        slots, waits = self.warp_slots, self.waits
        ended, begun = slots.changed(key)
        if len(ended):
            self.warps.add(slots.begin[ended], self.last, ended, WARP, 0, 0, [slots.key[ended]])
        slots.enter(key, begun, self.last)
        ended, begun = waits.changed(doing)
        if len(ended):
            self.warps.add(waits.begin[ended], self.last, ended, waits.key[ended] & 3, 1)
        waits.enter(doing, begun, self.last)

    def _see_rays(self, machine: Machine) -> None:
        slot = machine.rt.slot
        self._change_rays(np.where(slot[:, rt_state.WARP] >= 0, slot[:, rt_state.AGE], -1))

    def _change_rays(self, key: np.ndarray) -> None:
        machine, slots = self.machine, self.rt_slots
        ended, begun = slots.changed(key)
        if len(ended):
            self.rays.add(slots.begin[ended], self.last, ended, RAYS, 0, 0, list(self.rt_notes[ended].T))
        slot, lane = machine.rt.slot[begun], machine.rt.lane
        slots.enter(key, begun, np.maximum(slot[:, rt_state.START], self.last))
        if not len(begun):
            return
        sm = begun // (machine.rt.warps * machine.rt.cores)
        row = sm * (len(machine.core.warp) // machine.gpu.sm.count) + slot[:, rt_state.WARP]
        left = (lane[rt_state.END] - lane[rt_state.CURSOR]).reshape(-1, LANES)[begun]
        active = slot[:, rt_state.ACTIVE, None] >> np.arange(LANES) & 1
        self.rt_notes[begun] = np.stack(
            [machine.core.warp[row, scheduler.NUMBER], active.sum(axis=1), (left * active).sum(axis=1)], axis=1
        )

    def _sample(self, machine: Machine) -> None:
        gpu, rt, cache, l2 = machine.gpu, machine.rt, machine.l1.cache, machine.memory.l2.tags
        sms = gpu.sm.count
        stats = cache.stats[:, [cache_state.MISS, cache_state.SECTOR_MISS]].sum(axis=1)
        counted = np.stack([stats, machine.core.stats[:, scheduler.WARP_INSTRUCTIONS]], axis=1)
        dram = machine.memory.dram
        commands = dram.stats[:, [dram_state.READS, dram_state.WRITES]].sum(axis=1)
        now = np.stack([
            (self.warp_slots.key >= 0).reshape(sms, -1).sum(axis=1),
            rt.unit[:, rt_state.RESIDENT].reshape(sms, -1).sum(axis=1),
            cache.entries - cache.unit[:, cache_state.MSHR_FREE],
            *(counted - self.before[0]).T,
        ], axis=1)  # fmt: skip
        channels = np.stack([dram.channel[:, dram_state.UNDER_WAY], commands - self.before[1]], axis=1)
        self.samples.append((machine.now, now, l2.entries - l2.unit[:, cache_state.MSHR_FREE], channels))
        self.before = counted, commands
