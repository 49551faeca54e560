"""Crossbar between SM ports and L2 slices: one network of requests, one of responses, whole packets, in turn.

Peak rate: one packet per interconnect cycle and output, in each direction. In a cycle the outputs are served in their
order; one whose buffer has room takes a packet of the first input from its pointer on, going round, whose oldest packet
is for it, and the pointer then stands behind the winner; it moves only in each ``grant_cycles``-th
cycle with packets. As in Accel-Sim an input may serve several outputs in a cycle: what lies behind a packet that left
is the oldest for the outputs that follow. With ``round_robin`` the inputs are served in turn, from one that moves on by
one node (SMs, then slices) every cycle: each sends its oldest packet, if
its output took none in the cycle and has room. It is the only place where SMs meet, at the barrier that ends a quantum:
requests up to the barrier go in, and responses come out for the quantum to come, since the L2 holds a request longer
than a quantum. Responses always find room: a slice sends one a cycle, so no more wait than the longest wait, which is
counted, has cycles. Source: ``docs/sources/accel-sim.md#crossbar``.
"""

from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.jit.rows import FixedRows, wrap
from rayplay.replay.jit.separate import separate
from rayplay.replay.memory import port as ports
from rayplay.replay.memory.addresses import slice_of
from rayplay.replay.memory.crossbar import arbiter
from rayplay.replay.memory.l2 import slice as l2
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.unit import clocks

NET_CYCLE, L2_CYCLE, BEGUN = range(3)  # columns of lockstep: first cycle not done, of crossbar, L2, and core
# Columns of known: sectors that live together, their slice, ``l2.home_of``; and where the last request goes.
GRAIN, SLICE, HOME, PART = range(4)


class Crossbar(NamedTuple):
    """Both directions, and the clocks between which they stand."""

    requests: arbiter.Net
    replies: arbiter.Net
    from_core: clocks.Ratio
    to_core: clocks.Ratio
    from_l2: clocks.Ratio
    to_l2: clocks.Ratio
    known: FixedRows  # int64[sms, 4]: of the last request of each SM that competed, see above
    lockstep: np.ndarray  # int64[3]
    round_robin: bool


def make_state(
    sms: int, slices: int, core_khz: int, net_khz: int, l2_khz: int, round_robin: bool = False, summed: bool = False,
    grant_cycles: int = 1,
) -> Crossbar:  # fmt: skip
    """Empty networks."""
    return Crossbar(
        arbiter.make_net(sms, slices, grant_cycles),
        arbiter.make_net(slices, sms, grant_cycles),
        clocks.ratio(core_khz, net_khz, summed),
        clocks.ratio(net_khz, core_khz, summed),
        clocks.ratio(l2_khz, net_khz, summed),
        clocks.ratio(net_khz, l2_khz, summed),
        np.full((sms, 4), -1, np.int64),
        np.zeros(3, np.int64),
        round_robin,
    )


@inlined
def request_arrives(state: Crossbar, port: ports.Port, node: int) -> int:
    """Cycle from which the oldest request of a node (a cluster of SMs) competes: the first one after it was sent."""
    sm = node * port.cluster
    if port.port[sm, ports.REQUEST_HEAD] == port.port[sm, ports.REQUEST_TAIL]:
        return FAR
    at = sm * port.request_ring + wrap(port.port[sm, ports.REQUEST_HEAD], port.request_ring)
    return clocks.after(state.from_core, port.request[at, 0])


@separate
def route_requests(state: Crossbar, port: ports.Port, cache: l2_state.L2, until: int) -> int:
    """Move the requests as far as those sent before core cycle ``until`` decide; returns the first cycle not done."""
    last = clocks.after(state.from_core, until)
    for sm in range(state.requests.arrives.shape[0]):
        ports.host_prefetch_requests(port, sm)
    move_requests(state, port, cache, last)
    return last


@compiled
def move_requests(state: Crossbar, port: ports.Port, cache: l2_state.L2, last: int) -> None:
    """Move requests in the cycles before ``last``."""
    net = state.requests
    for sm in range(net.arrives.shape[0]):
        if net.arrives[sm] != arbiter.COMPETES:
            arbiter.expect(net, sm, request_arrives(state, port, sm))
    cycle = arbiter.next_cycle(net)
    while cycle < last:
        if net.net[arbiter.SOONEST] <= cycle:
            admit_requests(state, port, cache, cycle)
        active = arbiter.next_wanted(net, 0) >= 0
        transfer_requests(state, port, cache, cycle)
        arbiter.end_cycle(net, cycle, active)
        cycle = arbiter.next_cycle(net)
    net.net[arbiter.TICK] = max(net.net[arbiter.TICK], last)


@inlined
def offer_request(state: Crossbar, port: ports.Port, cache: l2_state.L2, sm: int, cycle: int) -> None:
    """Let an SM's oldest request compete if it has arrived."""
    arrives = request_arrives(state, port, sm)
    if arrives > cycle:
        arbiter.expect(state.requests, sm, arrives)
        return
    home = sm * port.cluster
    at = home * port.request_ring + wrap(port.port[home, ports.REQUEST_HEAD], port.request_ring)
    sector, known = port.request[at, 1], state.known
    if known[sm, GRAIN] != sector >> cache.addresses.grain_shift:
        known[sm, GRAIN] = sector >> cache.addresses.grain_shift
        known[sm, SLICE] = slice_of(cache.addresses, sector)
        known[sm, HOME] = l2.home_of(cache, sector)
    word = port.request[at, 2]
    if word & 3 == ports.LINE and (word >> 2) & l2_state.SECTORS:  # where the line is that drove it away
        known[sm, GRAIN], known[sm, SLICE] = -1, slice_of(cache.addresses, port.back[at, 0])
    known[sm, PART] = l2.goes_to(cache, sector, known[sm, SLICE], word >> ports.STREAM_SHIFT)
    arbiter.compete(state.requests, sm, known[sm, PART])


@inlined
def admit_requests(state: Crossbar, port: ports.Port, cache: l2_state.L2, cycle: int) -> None:
    """Let the oldest requests that have arrived compete."""
    net = state.requests
    net.net[arbiter.SOONEST] = FAR
    for sm in range(net.arrives.shape[0]):
        if net.arrives[sm] > cycle:
            net.net[arbiter.SOONEST] = min(net.net[arbiter.SOONEST], net.arrives[sm])
        else:
            offer_request(state, port, cache, sm, cycle)


@inlined
def transfer_requests(state: Crossbar, port: ports.Port, cache: l2_state.L2, cycle: int) -> None:
    """Every slice's buffer with room takes one request."""
    net = state.requests
    if state.round_robin:
        sms = net.arrives.shape[0]
        first = arbiter.first_in_turn(net, cycle, 0)
        for step in range(sms):
            sm = (first + step) % sms
            part = state.known[sm, PART]
            if arbiter.may_go(net, sm, part, cycle) and has_room(state, cache, cycle, part):
                take_request(state, port, cache, cycle, part, sm)
                net.pointer[part] = cycle
        return
    part = arbiter.next_wanted(net, 0)
    while part >= 0:
        if has_room(state, cache, cycle, part):
            take_request(state, port, cache, cycle, part, arbiter.grant(net, part))
        part = arbiter.next_wanted(net, part + 1)


@inlined
def has_room(state: Crossbar, cache: l2_state.L2, cycle: int, part: int) -> bool:
    """Whether the buffer before a slice takes one more request."""
    if cache.slice[part, l2_state.TAIL] - cache.slice[part, l2_state.POPPED] < cache.out_packets:
        return True
    l2.pop_until(cache, part, clocks.at_or_before(state.to_l2, cycle))
    return cache.slice[part, l2_state.TAIL] - cache.slice[part, l2_state.POPPED] < cache.out_packets


@inlined
def take_request(state: Crossbar, port: ports.Port, cache: l2_state.L2, cycle: int, part: int, sm: int) -> None:
    """The buffer before a slice takes the oldest request of an SM."""
    home = sm * port.cluster
    at = home * port.request_ring + wrap(port.port[home, ports.REQUEST_HEAD], port.request_ring)
    row = part * cache.ring + wrap(cache.slice[part, l2_state.TAIL], cache.ring)
    cache.slice[part, l2_state.TAIL] += 1
    cache.input[row, 0] = clocks.after(state.to_l2, cycle)
    cache.input[row, 1] = port.request[at, 1]
    cache.input[row, 2] = port.request[at, 2]
    cache.input[row, 3] = port.request[at, 3]
    cache.input[row, 4] = state.known[sm, HOME]
    if port.request[at, 2] & 3 == ports.LINE:
        cache.back[row, 0], cache.back[row, 1] = port.back[at, 1], port.back[at, 2]
    ports.leave(port, home, clocks.at_or_after(state.to_core, cycle))
    arbiter.win(state.requests, sm, part)
    offer_request(state, port, cache, sm, cycle)


@inlined
def reply_arrives(cache: l2_state.L2, part: int) -> int:
    """Cycle from which a slice's oldest response competes."""
    if cache.slice[part, l2_state.OUT_HEAD] == cache.slice[part, l2_state.OUT_TAIL]:
        return FAR
    row = part * cache.out_pitch + wrap(cache.slice[part, l2_state.OUT_HEAD], cache.out_ring)
    return cache.output[row, 0]


@separate
def route_responses(state: Crossbar, port: ports.Port, cache: l2_state.L2, until: int) -> None:
    """Move the responses that the slices sent before L2 cycle ``until`` to the SMs' ports."""
    move_responses(state, port, cache, clocks.at_or_after(state.from_l2, until))


@compiled
def move_responses(state: Crossbar, port: ports.Port, cache: l2_state.L2, last: int) -> None:
    """Move responses in the cycles before ``last``."""
    net = state.replies
    for node in range(net.pointer.shape[0]):
        ports.rewind_responses(port, node * port.cluster)
    for part in range(net.arrives.shape[0]):
        if net.arrives[part] != arbiter.COMPETES:
            arbiter.expect(net, part, reply_arrives(cache, part))
    cycle = arbiter.next_cycle(net)
    while cycle < last:
        if net.net[arbiter.SOONEST] <= cycle:
            admit_responses(state, port, cache, cycle)
        active = arbiter.next_wanted(net, 0) >= 0
        transfer_responses(state, port, cache, cycle)
        arbiter.end_cycle(net, cycle, active)
        cycle = arbiter.next_cycle(net)
    net.net[arbiter.TICK] = max(net.net[arbiter.TICK], last)
    for part in range(net.arrives.shape[0]):
        l2.rewind_output(cache, part)


@inlined
def offer_response(state: Crossbar, port: ports.Port, cache: l2_state.L2, part: int, cycle: int) -> None:
    """Let a slice's oldest response compete if it has arrived."""
    arrives = reply_arrives(cache, part)
    if arrives > cycle:
        arbiter.expect(state.replies, part, arrives)
        return
    arbiter.compete(state.replies, part, reply_target(port, cache, part))


@inlined
def admit_responses(state: Crossbar, port: ports.Port, cache: l2_state.L2, cycle: int) -> None:
    """Let the oldest responses that have arrived compete."""
    net = state.replies
    net.net[arbiter.SOONEST] = FAR
    for part in range(net.arrives.shape[0]):
        if net.arrives[part] > cycle:
            net.net[arbiter.SOONEST] = min(net.net[arbiter.SOONEST], net.arrives[part])
        else:
            offer_response(state, port, cache, part, cycle)


@inlined
def transfer_responses(state: Crossbar, port: ports.Port, cache: l2_state.L2, cycle: int) -> None:
    """Every SM takes one response, which leaves the crossbar in the next cycle."""
    net = state.replies
    if state.round_robin:
        parts = net.arrives.shape[0]
        first = arbiter.first_in_turn(net, cycle, net.pointer.shape[0])
        for step in range(parts):
            part = (first + step) % parts
            sm = reply_target(port, cache, part)
            if arbiter.may_go(net, part, sm, cycle) and takes_response(port, sm):
                take_response(state, port, cache, cycle, sm, part)
                net.pointer[sm] = cycle
        return
    sm = arbiter.next_wanted(net, 0)
    while sm >= 0:
        if takes_response(port, sm):
            take_response(state, port, cache, cycle, sm, arbiter.grant(net, sm))
        sm = arbiter.next_wanted(net, sm + 1)


@inlined
def reply_target(port: ports.Port, cache: l2_state.L2, part: int) -> int:
    """Node (cluster of SMs) that a slice's oldest response goes to."""
    row = part * cache.out_pitch + wrap(cache.slice[part, l2_state.OUT_HEAD], cache.out_ring)
    sm = cache.output[row, 1] & ports.SM_MASK
    return sm if port.cluster == 1 else sm // port.cluster


@inlined
def takes_response(port: ports.Port, node: int) -> bool:
    """Whether the buffer before a node has room: in lockstep it may be full."""
    home = node * port.cluster
    return port.port[home, ports.OUT_TAIL] - port.port[home, ports.OUT_HEAD] < port.out_packets


@inlined
def take_response(state: Crossbar, port: ports.Port, cache: l2_state.L2, cycle: int, sm: int, part: int) -> None:
    """An SM takes the oldest response of a slice."""
    row = part * cache.out_pitch + wrap(cache.slice[part, l2_state.OUT_HEAD], cache.out_ring)
    waited = cycle - reply_arrives(cache, part)
    cache.stats[part, l2_state.LONGEST_WAIT] = max(cache.stats[part, l2_state.LONGEST_WAIT], waited)
    cache.slice[part, l2_state.OUT_HEAD] += 1
    packet, leaves = cache.output[row, 1], clocks.after(state.to_core, cycle)
    if port.lockstep:
        ports.buffer_reply(port, sm * port.cluster, leaves, packet)
    else:
        ports.reply(port, sm, leaves, packet >> ports.SM_BITS)
    arbiter.win(state.replies, part, sm)
    offer_response(state, port, cache, part, cycle)


@compiled
def packets_in_flight(port: ports.Port) -> int:
    """Requests of all SMs whose response has not been received."""
    total = 0
    for sm in range(port.port.shape[0]):
        total += port.port[sm, ports.IN_FLIGHT]
    return total
