"""Port of an SM to the interconnect: one request packet out and one response packet in per cycle.

Peak rate: 1 request and 1 response per cycle and SM, that is sector_bytes x clock each way
(32 B x 1365 MHz = 43.7 GB/s). Back-pressure: at most ``miss_queue`` requests wait for the port, and at most
``packets_in_flight`` requests of an SM are under way; a unit that may not send tries again later.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replay.bits import inlined
from replay.config import value

READ, WRITE, ATOMIC = 0, 1, 2
REQUEST_HEAD, REQUEST_TAIL, FREE_AT, IN_FLIGHT, RESPONSE_HEAD, RESPONSE_TAIL, REPLY_FREE_AT = range(7)
SENT, RECEIVED = 0, 1


@dataclass(frozen=True)
class Spec:
    """Ports and links of the interconnect."""

    request_cycles: int = value("cycles", "Latency from an SM's port to an L2 slice, before the slice's own", 1)
    reply_cycles: int = value("cycles", "Latency from an L2 slice to an SM's port", 1)
    miss_queue: int = value("requests", "Requests of an SM that may wait for its port", 1)
    packets_in_flight: int = value("requests", "Requests of an SM that may be under way", 16)


class Port(NamedTuple):
    """``request`` rows: send cycle, sector, kind + 4 x byte mask, tag. ``response`` rows: arrival cycle, tag."""

    port: np.ndarray  # int64[sms, 7]
    request: np.ndarray  # int64[sms * ring, 4]
    response: np.ndarray  # int64[sms * ring, 2]
    stats: np.ndarray  # int64[sms, 2]
    ring: int
    miss_queue: int
    packets_in_flight: int


def make_state(spec: Spec, sms: int) -> Port:
    """Empty ports; the rings hold all that may be in flight, so they cannot overflow."""
    ring = 1 << (spec.packets_in_flight - 1).bit_length()
    return Port(
        np.zeros((sms, 7), np.int64),
        np.zeros((sms * ring, 4), np.int64),
        np.zeros((sms * ring, 2), np.int64),
        np.zeros((sms, 2), np.int64),
        ring,
        spec.miss_queue,
        spec.packets_in_flight,
    )


@inlined
def may_send(state: Port, sm: int, now: int) -> bool:
    """Whether one more request finds a place in the miss queue and in the network."""
    port = state.port
    return port[sm, FREE_AT] - now < state.miss_queue and port[sm, IN_FLIGHT] < state.packets_in_flight


@inlined
def send(state: Port, sm: int, now: int, sector: int, kind: int, byte_mask: int, tag: int) -> None:
    """Queue a request; it leaves in the first cycle the port is free. ``tag`` comes back with the response."""
    port = state.port
    leaves = max(now, port[sm, FREE_AT])
    port[sm, FREE_AT] = leaves + 1
    port[sm, IN_FLIGHT] += 1
    at = sm * state.ring + (port[sm, REQUEST_TAIL] & (state.ring - 1))
    port[sm, REQUEST_TAIL] += 1
    request = state.request
    request[at, 0] = leaves
    request[at, 1] = sector
    request[at, 2] = kind + 4 * byte_mask
    request[at, 3] = tag
    state.stats[sm, SENT] += 1


@inlined
def reply(state: Port, sm: int, ready: int, tag: int) -> None:
    """Deliver a response that reaches the SM at ``ready`` or, one per cycle, as soon as its port is free."""
    port = state.port
    arrival = max(ready, port[sm, REPLY_FREE_AT])
    port[sm, REPLY_FREE_AT] = arrival + 1
    at = sm * state.ring + (port[sm, RESPONSE_TAIL] & (state.ring - 1))
    port[sm, RESPONSE_TAIL] += 1
    state.response[at, 0] = arrival
    state.response[at, 1] = tag


def stats(state: Port) -> dict[str, np.ndarray]:
    """Requests sent and responses received, per SM."""
    return {"requests": state.stats[:, SENT], "responses": state.stats[:, RECEIVED]}
