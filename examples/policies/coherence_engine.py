"""Ray coherence engine: the RT unit regroups the rays of all its warps into packets of like rays.

Vulkan-Sim (Saed and others, MICRO 2022), gpgpu-sim's ``ray_coherency_engine.cc``, off by default there. A ray that
enters waits in the bucket of its hash: its origin's cell in the scene and its direction's on the sphere. Once the
engine is on, each empty packet takes up to 32 rays of the fullest bucket. Packets take turns; of the one in turn, the
record that most of its rays want is requested once for all of them, and its response serves every warp. What a ray
reads, and in what order, is as before: fewer requests are sent where more rays share them.
"""

import math

import numpy as np

from rayplay.policy import FAR, compiled, hook, lowest_bit, parameter, rays, rt

NEEDS = ("rays",)
PARAMETERS = {
    "max_cycles": parameter(100, "cycles", "Without a new ray, after which waiting ones form packets"),
    "min_rays": parameter(10, "rays", "In the unit, above which they form packets"),
    "max_packets": parameter(16, "packets", "At a time", minimum=1),
    "grid_bits": parameter(3, "bits", "Of the hash, for each axis of the origin"),
    "sphere_bits": parameter(2, "bits", "Of the hash, for each angle of the direction"),
}
COUNTERS = ("rays", "packets", "by_rays", "by_timer", "requests", "rays_served")
RAYS, PACKETS, BY_RAYS, BY_TIMER, REQUESTS, SERVED = range(6)
LANES, BUCKETS = 32, 4096
# Columns of ``own.unit``.
OPEN, WAITING, TURN, NEWEST, CHANGED, CHOSEN = range(6)


def arrays(unit, state, parameters):
    """By lane its packet (-1 waits, -2 has none), place in it, bucket; by unit its packets."""
    if parameters["grid_bits"] > 8 or parameters["sphere_bits"] > 8:
        raise ValueError("grid_bits and sphere_bits must be at most 8")
    units, lanes, packets = len(state.unit), state.lane.shape[1], parameters["max_packets"]
    return {
        "packet": np.full(lanes, -2), "place": np.zeros(lanes, int), "bucket": np.zeros(lanes, int),
        "pool": np.zeros((units, state.warps * LANES), int),  # rows of lanes that wait, in the order of their coming
        "member": np.zeros((units * packets, LANES), int), "size": np.zeros(units * packets, int),
        "left": np.zeros(units * packets, int), "filled": np.zeros((units, BUCKETS), int),
        "unit": np.tile([0, 0, 0, 0, 1, -1], (units, 1)),
        "wanting": np.zeros((units, state.warps * LANES), int),
        "asking": state.slot[:, 0] * 0, "awaits": state.slot[:, 0] * 0,  # by slot: when chosen; records requested
    }  # fmt: skip


@compiled
def cell(value, low, high, bits):
    """The cell of a value in an interval of 2^bits of them."""
    return 0 if high <= low else max(min(int((value - low) / (high - low) * (1 << bits)), (1 << bits) - 1), 0)


@compiled
def hash_of(own, records, ray):
    """The bucket of a ray: grid-spherical, the origin's cell in the box of all origins and the direction's angles."""
    found = 0
    for axis in range(3):
        origin, bounds = records.ray[ray, axis], records.bounds
        found = found << own.grid_bits | cell(origin, bounds[0, axis], bounds[1, axis], own.grid_bits)
    x, y, z = records.ray[ray, 3], records.ray[ray, 4], records.ray[ray, 5]
    length = math.sqrt(x * x + y * y + z * z)
    theta = math.acos(max(min(z / length, 1.0), -1.0)) if length > 0 else 0.0
    phi = math.atan2(y, x) + math.pi
    found = found << own.sphere_bits | cell(theta, 0.0, math.pi, own.sphere_bits)
    found = found << own.sphere_bits | cell(phi, 0.0, 2 * math.pi, own.sphere_bits)
    return (found ^ found >> 12) & (BUCKETS - 1)


@hook("rt.entered")
def insert(state, own, records, sm, at, now):
    """Each lane with a ray waits in its bucket."""
    core, own.awaits[at] = at // state.warps, 0
    for row in range(at * LANES, (at + 1) * LANES):
        own.packet[row] = -2
        if state.slot[at, rt.OPEN] >> (row - at * LANES) & 1:
            own.packet[row], own.bucket[row] = -1, hash_of(own, records, state.lane[rt.RAY, row])
            own.filled[core, own.bucket[row]] += 1
            own.pool[core, own.unit[core, WAITING]] = row
            own.unit[core, WAITING] += 1
            own.unit[core, OPEN] += 1
            own.counters[sm, RAYS] += 1
    own.unit[core, NEWEST] = now
    own.unit[core, CHANGED] = 1


@hook("rt.began")
def form_packets(state, own, records, sm, core, now):
    """Fill empty packets while the engine is on: with packets at work, enough rays, or nothing new for long."""
    unit, packets = own.unit, own.max_packets
    if unit[core, WAITING] == 0:
        return
    is_at_work, has_many = unit[core, WAITING] < unit[core, OPEN], unit[core, OPEN] > own.min_rays
    if not (is_at_work or has_many or now - unit[core, NEWEST] > own.max_cycles):
        return
    if not is_at_work:
        own.counters[sm, BY_RAYS if has_many else BY_TIMER] += 1
    for packet in range(core * packets, (core + 1) * packets):
        if own.left[packet] == 0 and unit[core, WAITING]:
            fill(own, core, packet)
            own.counters[sm, PACKETS] += 1


@compiled
def fill(own, core, packet):
    """Move up to 32 rays from the fullest bucket into a packet; of equals, of the ray that waits longest."""
    pool, waiting, most = own.pool, own.unit[core, WAITING], 0
    for place in range(waiting):
        if own.filled[core, own.bucket[pool[core, place]]] > own.filled[core, own.bucket[pool[core, most]]]:
            most = place
    bucket, size, kept = own.bucket[pool[core, most]], 0, 0
    for place in range(waiting):
        row = pool[core, place]
        if own.bucket[row] == bucket and size < LANES:
            own.member[packet, size] = row
            own.packet[row], own.place[row] = packet, size
            size += 1
        else:
            pool[core, kept] = row
            kept += 1
    own.filled[core, bucket] -= size
    own.size[packet] = own.left[packet] = size
    own.unit[core, WAITING], own.unit[core, CHANGED] = kept, 1


@compiled
def wanting(state, own, core):
    """Find the lanes that ask for a record, of the first packet in turn that has some; returns how many."""
    count, soonest, first = 0, own.max_packets, core * own.max_packets + own.unit[core, TURN]
    for at in range(core * state.warps, (core + 1) * state.warps):
        rest = state.slot[at, rt.ASKING] & ~own.awaits[at]
        while rest:
            row = at * LANES + lowest_bit(rest)
            rest &= rest - 1
            turn = own.packet[row] - first if own.packet[row] >= 0 else soonest + 1
            turn += own.max_packets if turn < 0 else 0
            if turn < soonest:
                soonest, count = turn, 0
            if turn == soonest:
                own.wanting[core, count] = row
                count += 1
    return count


@compiled
def most_wanted(state, own, core):
    """The lane whose record most of the packet's rays ask for, of equals the lowest address; -1 where none asks."""
    best, most, address, base = -1, 0, 0, state.lane[rt.BASE]
    count = wanting(state, own, core)
    for first in range(count):
        row, number = own.wanting[core, first], 0
        if best >= 0 and base[row] == address:
            best = row if own.place[row] < own.place[best] else best
            continue
        for second in range(first, count):
            number += base[own.wanting[core, second]] == base[row]
        if number > most or (number == most and base[row] < address):
            best, most, address = row, number, base[row]
    return best


@compiled
def scheduled(state, own, core):
    """The lane whose record is requested next, or -1; looked up again only after what it follows from has changed."""
    unit = own.unit
    for at in range(core * state.warps, (core + 1) * state.warps):
        if own.asking[at] != state.slot[at, rt.ASKING]:
            own.asking[at], unit[core, CHANGED] = state.slot[at, rt.ASKING], 1
    if unit[core, CHANGED]:
        unit[core, CHANGED], unit[core, CHOSEN] = 0, most_wanted(state, own, core)
    return unit[core, CHOSEN]


@hook("rt.choose_warp")
def choose_warp(state, own, core):
    """Choose a slot with a refused request, else the one of the lane that is scheduled."""
    for at in range(core * state.warps, (core + 1) * state.warps):
        if state.slot[at, rt.WARP] >= 0 and state.slot[at, rt.QUEUE_HEAD] != state.slot[at, rt.QUEUE_TAIL]:
            return at
    row = scheduled(state, own, core)
    return row // LANES if row >= 0 else -1


@hook("rt.choose_lane")
def choose_lane(state, own, records, at, rest):
    """Choose the scheduled lane alone, the first time."""
    if state.slot[at, rt.QUEUE_HEAD] != state.slot[at, rt.QUEUE_TAIL]:
        return -1
    return scheduled(state, own, at // state.warps) - at * LANES


@hook("rt.requested")
def route(state, own, sm, core, at, record, chunk, answer, now):
    """All rays of the packet that want the record wait for this request, and the next packet has its turn."""
    if chunk > 0 or record & 15 == rays.UNDEFINED:
        return
    row, base = own.unit[core, CHOSEN], record >> rays.ADDRESS_SHIFT
    if row < 0 or state.lane[rt.BASE, row] != base or own.awaits[row // LANES] >> row % LANES & 1:
        return
    packet, own.unit[core, CHANGED] = own.packet[row], 1
    for place in range(own.size[packet]):
        other = own.member[packet, place]
        slot, bit = other // LANES, 1 << other % LANES
        is_free = other == row or state.slot[slot, rt.ASKING] & ~own.awaits[slot] & bit
        if is_free and own.packet[other] == packet and state.lane[rt.BASE, other] == base:
            own.awaits[slot] |= bit
            own.counters[sm, SERVED] += 1
    own.unit[core, TURN] = packet - core * own.max_packets
    own.counters[sm, REQUESTS] += 1


@hook("rt.serves_all")
def serves_all(state, own):
    """A response serves the rays of every warp."""
    return True


@hook("rt.record_completed")
def move_on(state, own, records, sm, at, lane, kind, now):
    """The ray asks for its next record; after its last it leaves its packet, or the pool."""
    core, row = at // state.warps, at * LANES + lane
    own.awaits[at] &= ~(1 << lane)
    own.unit[core, CHANGED] = 1
    if state.slot[at, rt.OPEN] >> lane & 1:
        return
    own.unit[core, OPEN] -= 1
    if own.packet[row] >= 0:
        own.left[own.packet[row]] -= 1
    elif own.packet[row] == -1:
        own.filled[core, own.bucket[row]] -= 1
        drop(own, core, row)
    own.packet[row] = -2


@compiled
def drop(own, core, row):
    """Take a lane out of the pool: a response to others has served it to the end while it waited."""
    kept = 0
    for place in range(own.unit[core, WAITING]):
        if own.pool[core, place] != row:
            own.pool[core, kept] = own.pool[core, place]
            kept += 1
    own.unit[core, WAITING] = kept


@hook("rt.wakes_at")
def wakes_at(state, own, core, now):
    """Choose the cycle in which waiting rays have waited long enough."""
    if own.unit[core, WAITING] == 0 or own.unit[core, WAITING] < own.unit[core, OPEN]:
        return FAR
    return max(own.unit[core, NEWEST] + own.max_cycles + 1, now + 1)
