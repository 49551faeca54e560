"""A sample of L1 misses, followed from the lane that asks through L2 slice and DRAM channel until the data is back."""

from dataclasses import dataclass

import numpy as np

from rayplay.replay.engine.machine import Machine
from rayplay.replay.jit.bits import HASH_FACTOR
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.rt.outside import asking_lane

ONE_IN = 64  # sectors, by a hash of the sector's number


@dataclass
class Request:
    """A missing sector of an SM.

    begin, end  cycles between which it was in the SM's MSHR table, as far as looks tell.
    slot        of the RT unit whose warp asked first, -1: the load/store unit asked; ``lane``: that asked, -1 likewise.
    part        L2 slice that was seen to hold it, -1: none was, for the L2 had it.
    dram        cycles between which that slice missed it; equal ones: it did not.
    """

    sm: int
    sector: int
    begin: int
    end: int
    slot: int = -1
    lane: int = -1
    part: int = -1
    dram: tuple[int, int] = (0, 0)


def is_followed(sector: np.ndarray) -> np.ndarray:
    """Which sectors belong to the sample."""
    return (sector.astype(np.uint64) * np.uint64(HASH_FACTOR & (1 << 64) - 1) >> np.uint64(40)) % np.uint64(ONE_IN) == 0


class Follower:
    """Requests of the sample, look by look.

    ahead  cycles that the memory partitions are ahead of the SMs between two quanta: the delay before the L2.
    """

    def __init__(self, ahead: int) -> None:
        self.ahead = ahead
        self.open: dict[tuple[int, int], Request] = {}
        self.closed: list[Request] = []

    def look(self, machine: Machine, last: int) -> None:
        """Take the requests under way at ``machine.now``; ``last``: cycle of the look before."""
        found, now = {}, machine.now
        arrived, missing = at_l2(machine), at_dram(machine)
        for sm, row in misses(machine.l1.cache):
            entry = machine.l1.cache.mshr[row]
            sector = int(entry[cache_state.SECTOR])
            request = self.open.pop((sm, sector), None) or asked(machine, sm, entry, last)
            found[sm, sector] = request
            request.end = now
            request.part = missing.get(sector, arrived.get(sector, request.part))
            if sector in missing:
                first, end = request.dram
                request.dram = first if first < end else last + self.ahead, now + self.ahead
        self.closed += self.open.values()
        self.open = found

    def all(self) -> list[Request]:
        """Every request that was followed."""
        return [*self.closed, *self.open.values()]


def asked(machine: Machine, sm: int, entry: np.ndarray, last: int) -> Request:
    """A request seen for the first time, with the lane that waits longest where it is one of the RT unit."""
    sector, waiter = int(entry[cache_state.SECTOR]), int(entry[cache_state.WAITER])
    made = Request(sm, sector, last, last)
    if waiter & 1:
        made.slot, made.lane = asking_lane(machine.rt, sm, sector, waiter)
    return made


def misses(cache: cache_state.Cache) -> list[tuple[int, int]]:
    """Instance and row of every MSHR entry in use whose sector is followed."""
    used = np.flatnonzero(cache.unit[:, cache_state.MSHR_FREE] != cache.entries)
    if not len(used):
        return []
    found: list[tuple[int, int]] = []
    head = cache.mshr_head.reshape(-1, cache.mshr_buckets)[used]
    row, bucket = np.nonzero(head >= 0)
    instance, entry = used[row], head[row, bucket].astype(np.int64)
    while len(entry):  # along the chains of all buckets
        row = instance * cache.pitch + entry
        mine = is_followed(cache.mshr[row, cache_state.SECTOR])
        found += zip(instance[mine].tolist(), row[mine].tolist(), strict=True)
        following = cache.mshr[row, cache_state.NEXT]
        instance, entry = instance[following >= 0], following[following >= 0]
    return sorted(found)


def at_dram(machine: Machine) -> dict[int, int]:
    """Followed sectors that an L2 slice misses, and the slice."""
    tags = machine.memory.l2.tags
    return {int(tags.mshr[row, cache_state.SECTOR]): part for part, row in misses(tags)}


def at_l2(machine: Machine) -> dict[int, int]:
    """Followed sectors that wait before an L2 slice, and the slice."""
    l2 = machine.memory.l2
    head, tail = l2.slice[:, l2_state.HEAD], l2.slice[:, l2_state.TAIL]
    count = tail - head
    waiting = int(count.sum())
    if not waiting:
        return {}
    part = np.repeat(np.arange(len(count)), count)
    place = np.arange(waiting) - np.repeat(np.cumsum(count) - count, count)
    row = part * l2.ring + (head[part] + place) % l2.ring
    sector = l2.input[row, 1]
    mine = is_followed(sector)
    return dict(zip(sector[mine].tolist(), part[mine].tolist(), strict=True))
