"""A look at a machine as copies of columns, and many looks evaluated together: warps by slot, rays, counters."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rayplay.replay.engine.machine import Machine
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.rt import state as rt_state
from rayplay.replay.rt.outside import Entered, entered_in, residents
from rayplay.replay.sm import warps as scheduler

IS_WAITING, HAS_RAYS = 2, 3  # what a live warp is doing, where it is one of these
COUNTERS = {  # of an SM, at each look; the last two since the look before
    "warps": "warps", "RT unit warps": "warps", "L1 MSHRs": "entries", "L1 misses": "sectors", "issued": "instructions",
}  # fmt: skip
MEMORY_COUNTERS = {"L2 MSHRs": "entries", "requests": "requests", "commands": "column commands"}


class Look(NamedTuple):
    """Copies of columns of the machine's state; of many looks together the same with a dimension before."""

    since: Any  # cycle of the look before
    now: Any
    running: np.ndarray  # int64[SMs]: live warps of an SM, as a mask
    number: np.ndarray  # int64[warp slots]: of the warp in the trace
    parked: np.ndarray  # int64[warp slots]
    place: np.ndarray  # of each warp in the RT unit, -1: outside
    rt: np.ndarray  # int64[RT unit slots]: age of the warp that holds it, -1: none
    resident: np.ndarray  # warps in each RT unit
    l1_free: np.ndarray  # MSHR entries
    l1_misses: np.ndarray  # until now
    issued: np.ndarray  # instructions until now
    l2_free: np.ndarray
    under_way: np.ndarray  # requests of each channel
    commands: np.ndarray  # until now


def seen(machine: Machine, since: int) -> Look:
    """A look at the machine."""
    core, l1, l2, dram = machine.core, machine.l1.cache, machine.memory.l2.tags, machine.memory.dram
    running = core.barrier[:, scheduler.RUNNING].reshape(machine.gpu.sm.count, -1)
    rays = residents(machine.rt)
    return Look(
        since, machine.now, np.bitwise_or.reduce(running, axis=1), core.warp[:, scheduler.NUMBER].copy(),
        core.warp[:, scheduler.PARKED].copy(), rays.place, rays.key, rays.resident,
        l1.unit[:, cache_state.MSHR_FREE].copy(),
        l1.stats[:, cache_state.MISS] + l1.stats[:, cache_state.SECTOR_MISS],
        core.stats[:, scheduler.WARP_INSTRUCTIONS].copy(), l2.unit[:, cache_state.MSHR_FREE].copy(),
        dram.channel[:, dram_state.UNDER_WAY].copy(),
        dram.stats[:, dram_state.READS] + dram.stats[:, dram_state.WRITES],
    )  # fmt: skip


def total_work(machine: Machine) -> int:
    """Instructions and L1 misses until now."""
    stats = machine.l1.cache.stats
    missed = stats[:, cache_state.MISS].sum() + stats[:, cache_state.SECTOR_MISS].sum()
    return int(machine.core.stats[:, scheduler.WARP_INSTRUCTIONS].sum() + missed)


class NewRays(NamedTuple):
    """Warps that are new in the RT unit in a look: of each its slot, its number, and what the unit has of it."""

    look: int
    slots: np.ndarray
    warp: np.ndarray
    entered: Entered

    def values(self, since: int) -> np.ndarray:
        """First cycle, warp, rays, records left: int64[n, 4]."""
        active, left = self.entered.active, self.entered.left
        begin = np.maximum(self.entered.start, since)
        return np.stack([begin, self.warp, active.sum(axis=1), (left * active).sum(axis=1)], axis=1)


def new_rays(machine: Machine, look: int, key: np.ndarray, before: np.ndarray) -> Iterator[NewRays]:
    """The new warps of a look, if there are any; ``before``: keys of the look before."""
    slots = np.flatnonzero((key != before) & (key >= 0))
    if not len(slots):
        return
    entered = entered_in(machine.rt, slots)
    row = entered.sm * (len(machine.core.warp) // machine.gpu.sm.count) + entered.warp
    yield NewRays(look, slots, machine.core.warp[row, scheduler.NUMBER], entered)


def warp_keys(machine: Machine, looks: Look) -> tuple[np.ndarray, np.ndarray]:
    """Warp in each slot, and with what it does where it does not run: int64[looks, slots], -1: none."""
    sms, rows = machine.gpu.sm.count, np.arange(looks.number.shape[1])
    per_sm = len(rows) // sms
    live = (looks.running[:, :, None] >> np.arange(per_sm) & 1).reshape(len(looks.since), -1) == 1
    key = np.where(live, looks.number, -1)
    place = rows // per_sm * rt_state.WARPS_PER_SM + rows % per_sm
    doing = np.where(looks.place[:, place] >= 0, HAS_RAYS, np.where(looks.parked == 1, IS_WAITING, 0))
    return key, np.where(live & (doing > 0), key << 2 | doing, -1)


class Counts(NamedTuple):
    """Counters at each look.

    cycle     int64[looks].
    sms       int64[looks, SMs, COUNTERS]; ``slices``: int64[looks, slices], MSHR entries in use.
    channels  int64[looks, channels, 2]: requests under way, and commands since the look before.
    """

    cycle: np.ndarray
    sms: np.ndarray
    slices: np.ndarray
    channels: np.ndarray


def counts(machine: Machine, looks: Look, before: Look) -> Counts:
    """The counters of some looks; ``before``: the look before the first of them."""
    shape = (len(looks.since), machine.gpu.sm.count, -1)
    masks = looks.running.astype(np.uint64)
    of_sms = [
        np.bitwise_count(masks), looks.resident.reshape(shape).sum(axis=2), machine.l1.cache.entries - looks.l1_free,
        since(looks.l1_misses, before.l1_misses), since(looks.issued, before.issued),
    ]  # fmt: skip
    channels = np.stack([looks.under_way, since(looks.commands, before.commands)], axis=2)
    return Counts(looks.now, np.stack(of_sms, axis=2).astype(np.int64), machine.memory.l2.tags.entries - looks.l2_free,
                  channels)  # fmt: skip


def since(total: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Increments of totals from look to look."""
    return np.diff(total, axis=0, prepend=before[None])
