"""Crossbar between SM ports and L2 slices: the only place where SMs meet, at the barrier that ends a quantum.

Peak rate: one request per cycle into each slice (its look-ups), one response per cycle out of each slice and into
each SM. Requests are taken in order of (send cycle, SM), responses in order of (cycle, slice), whatever the quantum.
"""

from typing import NamedTuple

import numpy as np

from replay import port as ports
from replay.bits import compiled
from replay.l2_state import L2, OUT_HEAD, OUT_TAIL, TAIL, slice_of
from replay.port import IN_FLIGHT, REQUEST_HEAD, REQUEST_TAIL, Port


class Crossbar(NamedTuple):
    """Scratch of the counting sorts."""

    sent_in: np.ndarray  # int64[longest interval + 1]
    in_order: np.ndarray  # int64[packets in flight]: rows of request or output, in order
    request_cycles: int  # SM port to tag check: link and slice latency
    reply_cycles: int


def make_state(request_cycles: int, reply_cycles: int, longest_interval: int, in_flight: int) -> Crossbar:
    """``longest_interval``: most cycles between two barriers."""
    return Crossbar(
        np.zeros(longest_interval + 1, np.int64), np.zeros(in_flight, np.int64), request_cycles, reply_cycles
    )


@compiled
def route_requests(state: Crossbar, port: Port, cache: L2, since: int, until: int) -> None:
    """Hand every request sent in [since, until) to its slice."""
    total = sort_requests(state, port, since, until)
    for place in range(total):
        at = state.in_order[place]
        sector = port.request[at, 1]
        part = slice_of(cache, sector)
        row = part * cache.ring + (cache.slice[part, TAIL] & (cache.ring - 1))
        cache.slice[part, TAIL] += 1
        cache.input[row, 0] = port.request[at, 0] + state.request_cycles
        cache.input[row, 1] = sector
        cache.input[row, 2] = port.request[at, 2]
        cache.input[row, 3] = port.request[at, 3]
        cache.input[row, 4] = at // port.ring


@compiled
def sort_requests(state: Crossbar, port: Port, since: int, until: int) -> int:
    """Rows of the requests sent before ``until``, by (cycle, SM); each SM's own are in order already."""
    count, mask = state.sent_in, port.ring - 1
    count[: until - since + 1] = 0
    sms = port.port.shape[0]
    for sm in range(sms):
        for index in range(port.port[sm, REQUEST_HEAD], port.port[sm, REQUEST_TAIL]):
            cycle = port.request[sm * port.ring + (index & mask), 0]
            if cycle >= until:
                break
            count[cycle - since + 1] += 1
    for cycle in range(until - since):
        count[cycle + 1] += count[cycle]
    total = count[until - since]
    for sm in range(sms):
        head = port.port[sm, REQUEST_HEAD]
        while head < port.port[sm, REQUEST_TAIL]:
            at = sm * port.ring + (head & mask)
            cycle = port.request[at, 0]
            if cycle >= until:
                break
            state.in_order[count[cycle - since]] = at
            count[cycle - since] += 1
            head += 1
        port.port[sm, REQUEST_HEAD] = head
    return total


@compiled
def route_responses(state: Crossbar, port: Port, cache: L2, since: int, until: int) -> None:
    """Deliver every response a slice sent in [since, until) to its SM's port."""
    total = sort_responses(state, cache, since, until)
    for place in range(total):
        at = state.in_order[place]
        ports.reply(port, cache.output[at, 1], cache.output[at, 0] + state.reply_cycles, cache.output[at, 2])


@compiled
def sort_responses(state: Crossbar, cache: L2, since: int, until: int) -> int:
    """Rows of the responses sent before ``until``, by (cycle, slice)."""
    count, mask = state.sent_in, cache.ring - 1
    count[: until - since + 1] = 0
    slices = cache.slice.shape[0]
    for part in range(slices):
        for index in range(cache.slice[part, OUT_HEAD], cache.slice[part, OUT_TAIL]):
            cycle = cache.output[part * cache.ring + (index & mask), 0]
            if cycle >= until:
                break
            count[cycle - since + 1] += 1
    for cycle in range(until - since):
        count[cycle + 1] += count[cycle]
    total = count[until - since]
    for part in range(slices):
        head = cache.slice[part, OUT_HEAD]
        while head < cache.slice[part, OUT_TAIL]:
            at = part * cache.ring + (head & mask)
            cycle = cache.output[at, 0]
            if cycle >= until:
                break
            state.in_order[count[cycle - since]] = at
            count[cycle - since] += 1
            head += 1
        cache.slice[part, OUT_HEAD] = head
    return total


@compiled
def packets_in_flight(port: Port) -> int:
    """Requests of all SMs whose response has not been received."""
    total = 0
    for sm in range(port.port.shape[0]):
        total += port.port[sm, IN_FLIGHT]
    return total
