"""Port of an SM to the interconnect: an input buffer of request packets, and the packets that have come back.

Peak rate: 1 request and 1 response per cycle and SM, that is sector_bytes x clock each way
(32 B x 1365 MHz = 43.7 GB/s). Back-pressure: at most ``in_packets`` requests wait in the input buffer, and at most
``packets_in_flight`` requests of an SM are under way; a unit that may not send tries again later. A place of the
buffer counts as free ``credit_cycles`` after its packet left, at least a quantum, so that what an SM sees does not
depend on where the barriers fall. In lockstep (``engine.lockstep``) it is free at once; then the SMs of a cluster share
the buffers and the ejection buffer of their first SM, and with perfect memory requests go straight into the latter.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR, compiled, count_bits, inlined
from rayplay.replay.jit.rows import FixedRows, append_dated, host_prefetch_rows, pitch, rewind, ring_size, wrap
from rayplay.replay.memory.addresses import Addresses, slice_of
from rayplay.replay.memory.translation import Translation, translated
from rayplay.replay.unit.schema import value
from rayplay.replay.unit.streams import Shares, make_shares

READ, WRITE, ATOMIC, LINE = range(4)
TEXTURE = 1 << 34  # added to the kind of a texture read
# Columns of ``port``.
REQUEST_HEAD = 0  # requests transferred
REQUEST_TAIL = 1  # requests sent
LEFT_HEAD = 2  # of ``left``, those whose place is free again
LEFT_TAIL = 3
IN_FLIGHT = 4  # requests under way
RESPONSE_HEAD = 5  # responses taken
RESPONSE_TAIL = 6  # responses that came
EJECT_HEAD = 7  # in lockstep, packets that left the ejection buffer
EJECT_TAIL = 8
OUT_HEAD = 9  # in lockstep, packets that left the crossbar's output buffer
OUT_TAIL = 10
PORT_COLUMNS = 11
SM_BITS = 10  # of a packet: the SM it comes from and goes back to, below its tag
SM_MASK = (1 << SM_BITS) - 1
SENT = 0  # column of stats
# LINE is a packet for sectors of the line that begins with the request's: in place of bytes it has the mask of sectors
# that are written back, or 0: all are read, and come back one by one.
LINE_SECTORS = 4
LINE_TAGS = 1 << 28  # from this tag on responses are the instruction cache's
NO_ANSWER = LINE_TAGS - 1  # tag of a write that is not acknowledged
STREAM_SHIFT = 35  # of a request's stream, above its kind and byte mask


@dataclass(frozen=True)
class Spec:
    """Crossbar and the SMs' ports to it."""

    in_packets: int = value("packets", "Packets that may wait in an input buffer of the crossbar", 1)
    out_packets: int = value("packets", "Packets that may wait in an output buffer of the crossbar", 1)
    packets_in_flight: int = value("requests", "Requests of an SM that may be under way", 16)
    arbiter: str = value(
        "word", "Who goes first: outputs choose inputs in turn, or inputs go in turn", choices=("islip", "round_robin")
    )
    grant_cycles: int = value(
        "cycles", "Of islip: cycles with packets for each in which an output turns to the next input", 1
    )
    eject_packets: int = value("responses", "Responses that a cluster of SMs holds; counts in lockstep alone", 1)
    response_packets: int = value("responses", "Responses that an LSU holds; counts in lockstep alone", 1)
    far_cycles: int = value(
        "cycles", "What a request of an SM of one half waits more for an L2 slice of the other half, by number", 0
    )
    perfect_memory: bool = value("switch", "Whether requests turn around in the SM's port; the L1 stays as it is")


class Port(NamedTuple):
    """``request`` rows: send cycle, sector, kind + 4 x byte mask with the stream above, tag + SM; ``left``: its cycle.

    ``response`` rows: cycle in which it leaves the crossbar (behind the last: FAR), tag. In lockstep none, but rows
    of ``out``: first cycle in which it may leave, tag + SM.
    """

    port: FixedRows  # int64[sms, PORT_COLUMNS]
    request: FixedRows  # int64[sms * request_ring, 4]
    back: (
        FixedRows  # int64[sms * request_ring, 3], in lockstep: of a write-back the sector whose slice it goes to, bytes
    )
    left: np.ndarray  # int64[sms * request_ring]
    response: FixedRows  # int64[sms * pitch, 2]
    stats: FixedRows  # int64[sms, 1]
    eject: np.ndarray  # int64[sms * eject_ring]: tag + SM, in lockstep
    out: FixedRows  # int64[sms * out_ring, 2]
    shares: Shares
    request_ring: int
    ring: int
    pitch: int  # rows of ``response`` from one SM to the next
    in_packets: int
    packets_in_flight: int
    credit_cycles: int
    lockstep: bool
    perfect: bool
    cluster: int  # SMs of a cluster
    out_packets: int
    out_ring: int
    eject_ring: int
    eject_packets: int
    response_packets: int
    decoded: np.ndarray  # int64[sms, n]: sectors whose slice an SM looked for in the cycle under way, in its order
    decodes: np.ndarray  # int64[sms]: how many
    translation: Translation
    addresses: Addresses
    far_cycles: int
    is_delayed: bool  # by translation, or on the way to the far half


def make_state(
    spec: Spec, sms: int, translation: Translation, addresses: Addresses, credit_cycles: int, streams: int = 1,
    lockstep: bool = False, cluster: int = 1, decodes: int = 0,
) -> Port:  # fmt: skip
    """Empty ports; the rings hold all that may be there, so they cannot overflow.

    decodes  most slices that an SM looks for in a cycle, where it matters who looks first; else 0.
    """
    request_ring = ring_size(spec.in_packets + 65)
    ring = ring_size(spec.packets_in_flight + 1)
    apart = pitch(ring, 2)
    eject_ring = ring_size(spec.eject_packets + 4)  # the cache, the LSU and textures may send in one cycle
    out_ring = ring_size(spec.out_packets) if lockstep else 1
    stats = np.zeros((sms, 1), np.int64)
    return Port(
        np.zeros((sms, PORT_COLUMNS), np.int64),
        np.zeros((sms * request_ring, 4), np.int64),
        np.zeros((sms * request_ring if lockstep else 1, 3), np.int64),
        np.zeros(sms * request_ring, np.int64),
        np.full((sms * apart, 2), FAR),
        stats,
        np.zeros(sms * eject_ring, np.int64),
        np.zeros((sms * out_ring, 2), np.int64),
        make_shares(stats, streams),
        request_ring, ring, apart, spec.in_packets, spec.packets_in_flight, credit_cycles, lockstep,
        spec.perfect_memory, cluster, spec.out_packets, out_ring, eject_ring, spec.eject_packets, spec.response_packets,
        np.zeros((sms, decodes), np.int64), np.zeros(sms, np.int64), translation,
        addresses, spec.far_cycles, spec.far_cycles > 0 or translation.page_shift >= 0,
    )  # fmt: skip


@inlined
def decode(state: Port, sm: int, sector: int) -> None:
    """An SM looks for the slice of a sector, whether it sends a request there or not."""
    if state.decoded.shape[1] and state.decodes[sm] < state.decoded.shape[1]:
        state.decoded[sm, state.decodes[sm]] = sector
        state.decodes[sm] += 1


@inlined
def home_of(state: Port, sm: int) -> int:
    """The SM whose buffers an SM uses: the first of its cluster."""
    return sm if state.cluster == 1 else sm - sm % state.cluster


@compiled
def has_place(state: Port, sm: int) -> bool:
    """In lockstep: whether the buffer that an SM sends into has room."""
    port, home = state.port, home_of(state, sm)
    if state.perfect:
        return bool(port[home, EJECT_TAIL] - port[home, EJECT_HEAD] < state.eject_packets)
    return bool(port[home, REQUEST_TAIL] - port[home, REQUEST_HEAD] < state.in_packets)


@inlined
def may_send(state: Port, sm: int, now: int) -> bool:
    """Whether one more request finds a place in the input buffer and in the network."""
    port = state.port
    if port[sm, IN_FLIGHT] >= state.packets_in_flight:
        return False
    if state.lockstep:
        return has_place(state, sm)
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
    port[sm, REQUEST_HEAD] += 1
    if not state.lockstep:
        state.left[sm * state.request_ring + wrap(port[sm, LEFT_TAIL], state.request_ring)] = cycle
        port[sm, LEFT_TAIL] += 1


@inlined
def send(state: Port, sm: int, now: int, sector: int, kind: int, byte_mask: int, tag: int) -> None:
    """Put a request into the input buffer in cycle ``now``; ``tag`` comes back with the response.

    Requests need not be sent in order of cycle, but none before the cycle under way. It is counted for a stream, and
    belongs to it (``shares.count_for``).
    """
    port, request = state.port, state.request
    port[sm, IN_FLIGHT] += 1
    state.stats[sm, SENT] += 1
    if state.lockstep:
        send_at_once(state, sm, now, sector, kind, byte_mask, tag)
        return
    if state.is_delayed:
        now = leaves(state, sm, sector, now)
    base, ring = sm * state.request_ring, state.request_ring
    place = port[sm, REQUEST_TAIL]
    while place > port[sm, REQUEST_HEAD] and request[base + wrap(place - 1, ring), 0] > now:
        here, before = base + wrap(place, ring), base + wrap(place - 1, ring)
        for column in range(4):
            request[here, column] = request[before, column]
        place -= 1
    put_request(state, sm, base + wrap(place, ring), now, sector, kind, byte_mask, tag)
    port[sm, REQUEST_TAIL] += 1


@compiled
def leaves(state: Port, sm: int, sector: int, now: int) -> int:
    """Cycle in which a request of cycle ``now`` is at the crossbar: translated, and from one half to the other."""
    if state.translation.page_shift >= 0:
        now = translated(state.translation, sm, sector, now)
    if state.far_cycles:
        slices = state.addresses.channels * state.addresses.slices
        if int(2 * slice_of(state.addresses, sector) >= slices) != int(2 * sm >= state.port.shape[0]):
            now += state.far_cycles
    return now


@compiled
def send_line(state: Port, sm: int, now: int, sector: int, tag: int, is_texture: int, byte_mask: int) -> None:
    """In lockstep: ask for the sectors of a line in one packet, which counts as that many requests.

    is_texture  TEXTURE for a read of texels, else 0.
    byte_mask   bytes of ``sector`` that are read.
    """
    home, number = home_of(state, sm), sector & (LINE_SECTORS - 1)
    at = home * state.request_ring + wrap(state.port[home, REQUEST_TAIL], state.request_ring)
    state.back[at, 1] = state.back[at, 2] = 0
    state.back[at, 1 + (number >> 1)] = byte_mask << 32 * (number & 1)
    send(state, sm, now, sector - number, LINE + is_texture, 0, tag)
    state.port[sm, IN_FLIGHT] += LINE_SECTORS - 1
    state.stats[sm, SENT] += LINE_SECTORS - 1


@compiled
def send_write_back(state: Port, sm: int, now: int, queue: np.ndarray, row: int) -> None:
    """In lockstep: a line's dirty sectors leave in one packet, which counts as that many requests.

    queue, row  of a cache's miss queue (``cache.tags.push_write_back``).
    """
    home, sectors = home_of(state, sm), count_bits(queue[row, 2])
    at = home * state.request_ring + wrap(state.port[home, REQUEST_TAIL], state.request_ring)
    for column in range(3):
        state.back[at, column] = queue[row, 4 + column]
    send(state, sm, now, queue[row, 1], LINE, queue[row, 2], NO_ANSWER)
    state.port[sm, IN_FLIGHT] += sectors - 1
    state.stats[sm, SENT] += sectors - 1


@inlined
def put_request(state: Port, sm: int, row: int, now: int, sector: int, kind: int, byte_mask: int, tag: int) -> None:
    """Write a row of ``request``."""
    request = state.request
    request[row, 0] = now
    request[row, 1] = sector
    request[row, 2] = kind + 4 * byte_mask + (state.shares.stream[sm] << STREAM_SHIFT)
    request[row, 3] = tag << SM_BITS | sm


@compiled
def send_at_once(state: Port, sm: int, now: int, sector: int, kind: int, byte_mask: int, tag: int) -> None:
    """In lockstep: a request enters the buffer of its SM's cluster, or with perfect memory turns around."""
    home = home_of(state, sm)
    if state.perfect:
        eject(state, home, tag << SM_BITS | sm)
        return
    row = home * state.request_ring + wrap(state.port[home, REQUEST_TAIL], state.request_ring)
    put_request(state, sm, row, now, sector, kind, byte_mask, tag)
    state.port[home, REQUEST_TAIL] += 1


@inlined
def eject(state: Port, home: int, packet: int) -> None:
    """A packet enters the ejection buffer of a cluster."""
    state.eject[home * state.eject_ring + wrap(state.port[home, EJECT_TAIL], state.eject_ring)] = packet
    state.port[home, EJECT_TAIL] += 1


@inlined
def buffer_reply(state: Port, home: int, cycle: int, packet: int) -> None:
    """In lockstep: a response enters the crossbar's output buffer, which it may leave from ``cycle`` on."""
    row = home * state.out_ring + wrap(state.port[home, OUT_TAIL], state.out_ring)
    state.out[row, 0], state.out[row, 1] = cycle, packet
    state.port[home, OUT_TAIL] += 1


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
