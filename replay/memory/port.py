"""Port of an SM to the interconnect: an input buffer of request packets, and the packets that have come back.

Peak rate: 1 request and 1 response per cycle and SM, that is sector_bytes x clock each way
(32 B x 1365 MHz = 43.7 GB/s). Back-pressure: at most ``in_packets`` requests wait in the input buffer, and at most
``packets_in_flight`` requests of an SM are under way; a unit that may not send tries again later. A place of the
buffer counts as free ``credit_cycles`` after its packet left, at least a quantum, so that what an SM sees does not
depend on where the barriers fall.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR, inlined
from rayplay.replay.jit.rows import FixedRows, append_dated, host_prefetch_rows, pitch, rewind, ring_size, wrap
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, make_shares

READ, WRITE, ATOMIC = 0, 1, 2
# Columns of ``port``.
REQUEST_HEAD = 0  # requests transferred
REQUEST_TAIL = 1  # requests sent
LEFT_HEAD = 2  # of ``left``, those whose place is free again
LEFT_TAIL = 3
IN_FLIGHT = 4  # requests under way
RESPONSE_HEAD = 5  # responses taken
RESPONSE_TAIL = 6  # responses that came
PORT_COLUMNS = 7
SENT = 0  # column of stats
STREAM_SHIFT = 34  # of a request's stream, above its kind and byte mask


@dataclass(frozen=True)
class Spec:
    """Crossbar and the SMs' ports to it."""

    in_packets: int = value("requests", "Requests of an SM that may wait in its input buffer", 2)
    out_packets: int = value("requests", "Requests that may wait in the output buffer of an L2 slice", 1)
    packets_in_flight: int = value("requests", "Requests of an SM that may be under way", 16)
    arbiter: str = value(
        "word", "Who goes first: outputs choose inputs in turn, or inputs go in turn", choices=("islip", "round_robin")
    )

    def __post_init__(self) -> None:
        law(self.in_packets >= 2, f"in_packets must be at least 2, not {self.in_packets}")


class Port(NamedTuple):
    """``request`` rows: send cycle, sector, kind + 4 x byte mask with the stream above, tag; ``left``: cycle it left.

    ``response`` rows: cycle in which it leaves the crossbar (behind the last: FAR), tag.
    """

    port: FixedRows  # int64[sms, PORT_COLUMNS]
    request: FixedRows  # int64[sms * request_ring, 4]
    left: np.ndarray  # int64[sms * request_ring]
    response: FixedRows  # int64[sms * pitch, 2]
    stats: FixedRows  # int64[sms, 1]
    shares: Shares
    request_ring: int
    ring: int
    pitch: int  # rows of ``response`` from one SM to the next
    in_packets: int
    packets_in_flight: int
    credit_cycles: int


def make_state(spec: Spec, sms: int, credit_cycles: int, streams: int = 1) -> Port:
    """Empty ports; the rings hold all that may be there, so they cannot overflow."""
    request_ring = ring_size(spec.in_packets + 65)
    ring = ring_size(spec.packets_in_flight + 1)
    apart = pitch(ring, 2)
    stats = np.zeros((sms, 1), np.int64)
    return Port(
        np.zeros((sms, PORT_COLUMNS), np.int64),
        np.zeros((sms * request_ring, 4), np.int64),
        np.zeros(sms * request_ring, np.int64),
        np.full((sms * apart, 2), FAR),
        stats,
        make_shares(stats, streams),
        request_ring, ring, apart, spec.in_packets, spec.packets_in_flight, credit_cycles,
    )  # fmt: skip


@inlined
def may_send(state: Port, sm: int, now: int) -> bool:
    """Whether one more request finds a place in the input buffer and in the network."""
    port = state.port
    if port[sm, IN_FLIGHT] >= state.packets_in_flight:
        return False
    if places_in_use(state, sm) < state.in_packets:
        return True
    while port[sm, LEFT_HEAD] < port[sm, LEFT_TAIL]:
        at = sm * state.request_ring + wrap(port[sm, LEFT_HEAD], state.request_ring)
        if state.left[at] + state.credit_cycles > now:
            break
        port[sm, LEFT_HEAD] += 1
    return places_in_use(state, sm) < state.in_packets


@inlined
def places_in_use(state: Port, sm: int) -> int:
    """Places of the input buffer that do not count as free."""
    port = state.port
    return port[sm, REQUEST_TAIL] - port[sm, REQUEST_HEAD] + port[sm, LEFT_TAIL] - port[sm, LEFT_HEAD]


@inlined
def leave(state: Port, sm: int, cycle: int) -> None:
    """The oldest request leaves the input buffer."""
    port = state.port
    state.left[sm * state.request_ring + wrap(port[sm, LEFT_TAIL], state.request_ring)] = cycle
    port[sm, LEFT_TAIL] += 1
    port[sm, REQUEST_HEAD] += 1


@inlined
def send(state: Port, sm: int, now: int, sector: int, kind: int, byte_mask: int, tag: int) -> None:
    """Put a request into the input buffer in cycle ``now``; ``tag`` comes back with the response.

    Requests need not be sent in order of cycle, but none before the cycle under way. It is counted for a stream, and
    belongs to it (``shares.count_for``).
    """
    port, request = state.port, state.request
    base, ring = sm * state.request_ring, state.request_ring
    place = port[sm, REQUEST_TAIL]
    while place > port[sm, REQUEST_HEAD] and request[base + wrap(place - 1, ring), 0] > now:
        here, before = base + wrap(place, ring), base + wrap(place - 1, ring)
        for column in range(4):
            request[here, column] = request[before, column]
        place -= 1
    at = base + wrap(place, ring)
    request[at, 0] = now
    request[at, 1] = sector
    request[at, 2] = kind + 4 * byte_mask + (state.shares.stream[sm] << STREAM_SHIFT)
    request[at, 3] = tag
    port[sm, REQUEST_TAIL] += 1
    port[sm, IN_FLIGHT] += 1
    state.stats[sm, SENT] += 1


@inlined
def reply(state: Port, sm: int, cycle: int, tag: int) -> None:
    """A response leaves the crossbar in ``cycle``."""
    port = state.port
    if port[sm, RESPONSE_HEAD] == port[sm, RESPONSE_TAIL]:
        port[sm, RESPONSE_HEAD] = port[sm, RESPONSE_TAIL] = 0  # memory that is still in the host's caches
    append_dated(state.response, sm * state.pitch, port[sm, RESPONSE_TAIL], state.ring, cycle, tag)
    port[sm, RESPONSE_TAIL] += 1


@inlined
def next_response(state: Port, sm: int) -> int:
    """Row of the oldest response that was not taken; its cycle is FAR without one."""
    return sm * state.pitch + wrap(state.port[sm, RESPONSE_HEAD], state.ring)


@inlined
def host_prefetch_requests(state: Port, sm: int) -> None:
    """Have the requests that wait brought into the host's caches."""
    head, tail = state.port[sm, REQUEST_HEAD], state.port[sm, REQUEST_TAIL]
    first = sm * state.request_ring + wrap(head, state.request_ring)
    host_prefetch_rows(state.request, first, first + tail - head)


@inlined
def rewind_requests(state: Port, sm: int) -> None:
    """Compact the pending requests (``rows.rewind``)."""
    port, ring = state.port, state.request_ring
    gone = rewind(state.request, sm * ring, port[sm, REQUEST_HEAD], port[sm, REQUEST_TAIL], ring)
    port[sm, REQUEST_HEAD] -= gone
    port[sm, REQUEST_TAIL] -= gone


@inlined
def rewind_responses(state: Port, sm: int) -> None:
    """The same with the responses that were not taken."""
    port, ring = state.port, state.ring
    gone = rewind(state.response, sm * state.pitch, port[sm, RESPONSE_HEAD], port[sm, RESPONSE_TAIL] + 1, ring)
    port[sm, RESPONSE_HEAD] -= gone
    port[sm, RESPONSE_TAIL] -= gone


def stats(state: Port) -> dict[str, np.ndarray]:
    """Requests sent and responses received, per SM."""
    sent = state.stats[:, SENT]
    return {"requests": sent, "responses": sent - state.port[:, IN_FLIGHT]}
