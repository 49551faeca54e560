"""Requests of a warp in a stuck replay, located: from the LSU to the DRAM and back."""

from collections import Counter

import numpy as np

from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import called_from_python
from rayplay.replay.lsu import state as lsu_state
from rayplay.replay.memory import port
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.rt.outside import waits_for
from rayplay.replay.stuck.scene import Scene

LOST = "which no unit holds any more"


def operations(scene: Scene, sm: int, index: int) -> list[int]:
    """Operations of a warp that are under way in its LSU, the oldest first."""
    state = scene.machine.lsu
    free = set(state.free[sm, : state.unit[sm, lsu_state.FREE]].tolist())
    rows = state.operation[sm * lsu_state.OPERATIONS : (sm + 1) * lsu_state.OPERATIONS]
    used = [at for at in range(lsu_state.OPERATIONS) if at not in free]
    mine = [at for at in used if rows[at, lsu_state.WARP] == index]
    return sorted(mine, key=lambda at: int(rows[at, lsu_state.ARRIVES]))


def of_operation(scene: Scene, sm: int, at: int) -> str:
    """Wait of a memory instruction."""
    row = scene.machine.lsu.operation[sm * lsu_state.OPERATIONS + at]
    if row[lsu_state.CONFLICT] or row[lsu_state.END] == 0:
        return "an access to shared memory in the LSU"
    work = scene.machine.window.work()
    access = int(np.searchsorted(work.access_first, row[lsu_state.END], side="left")) - 1
    first, last = int(work.access_first[access]), int(row[lsu_state.END])
    places = Counter(place_of(scene, sm, int(sector)) for sector in work.sector[first : int(row[lsu_state.CURSOR])])
    places[LOST] -= last - first - int(row[lsu_state.MISSING])  # sectors that have arrived are in no unit
    if row[lsu_state.CURSOR] < last:
        places[f"not sent: {of_front(scene, sm)}"] += last - int(row[lsu_state.CURSOR])
    where = ", ".join(f"{count} {place}" for place, count in sorted(places.items()) if count > 0)
    address = int(work.sector[first:last].min()) * SECTOR_BYTES
    return f"{int(row[lsu_state.MISSING])} of {last - first} sectors from address {address:#x} on ({where})"


def place_of(scene: Scene, sm: int, sector: int) -> str:
    """The unit that holds a sector's request, the farthest from the SM."""
    memory, ports = scene.machine.memory, scene.machine.port
    for part in range(len(memory.l2.slice)):
        if sector in missing(memory.l2.tags, part):
            return f"in the MSHRs of L2 slice {part}, for data from its DRAM channel"
        own = memory.l2.slice[part]
        rows = part * memory.l2.ring + (np.arange(own[l2_state.HEAD], own[l2_state.TAIL]) & (memory.l2.ring - 1))
        if sector in memory.l2.input[rows, 1]:
            return f"in the input of L2 slice {part}"
    waiting = np.arange(ports.port[sm, port.REQUEST_HEAD], ports.port[sm, port.REQUEST_TAIL])
    if sector in ports.request[sm * ports.request_ring + (waiting & (ports.request_ring - 1)), 1]:
        return "in the port of the SM"
    if sector in in_banks(scene, sm):
        return f"in the banks of the LSU: {of_front(scene, sm)}"
    if ports.port[sm, port.RESPONSE_HEAD] != ports.port[sm, port.RESPONSE_TAIL]:
        return "among the responses to the SM"
    return f"in the MSHRs of the L1, {LOST}" if sector in missing(scene.machine.l1.cache, sm) else LOST


def in_banks(scene: Scene, sm: int) -> list[int]:
    """Sectors that wait in the LSU for their tag check, or to be sent."""
    state, found = scene.machine.lsu, []
    for bank in range(sm * state.banks, (sm + 1) * state.banks):
        head, tail = state.bank[bank, [lsu_state.HEAD, lsu_state.TAIL]].tolist()
        rows = bank * state.depth + (np.arange(head, tail) & (state.depth - 1))
        found += state.access[rows, lsu_state.SECTOR].tolist()
    return found


def missing(cache: cache_state.Cache, at: int) -> np.ndarray:
    """Sectors of the MSHR entries in use of a cache."""
    free = cache.mshr_free[at, : cache.unit[at, cache_state.MSHR_FREE]]
    used = np.setdiff1d(np.arange(cache.entries), free)
    return cache.mshr[at * cache.pitch + used, cache_state.SECTOR]


def of_front(scene: Scene, sm: int) -> str:
    """The obstacle before the LSU."""
    cache, ports = scene.machine.l1.cache, scene.machine.port
    if ports.port[sm, port.IN_FLIGHT] >= ports.packets_in_flight:
        return f"all {ports.packets_in_flight} packets of the SM are in flight"
    if cache.unit[sm, cache_state.MSHR_FREE] == 0:
        return f"all {cache.entries} MSHRs of the L1 are taken"
    queued = int(called_from_python(port.places_in_use)(ports, sm))
    if queued >= ports.in_packets:
        return f"the port of the SM is full, {queued} requests"
    state = scene.machine.lsu
    used = lsu_state.OPERATIONS - int(state.unit[sm, lsu_state.FREE])
    return f"the LSU of the SM, with {used} instructions under way, does not go on"


def of_rays(scene: Scene, sm: int, index: int) -> str:
    """A warp whose rays are traced: which records it waits for, or that it has no place."""
    found = waits_for(scene.machine.rt, sm, index)
    if found.slot < 0:
        taken = [scene.name(sm, warp).split(" of ")[0] for warp in found.taken]
        return f"a place in the RT unit, whose {found.places} places hold {len(taken)} warps: {', '.join(taken)}"
    waiting, base = found.addresses, set(found.addresses)
    address = f" from address {min(base):#x} on" if base else ""
    return f"the RT unit: {len(waiting)} lanes wait for records{address}"
