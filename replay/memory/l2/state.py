"""The slices of the L2: their description, the queues between crossbar, slice and DRAM, the arrays they live in."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.rows import FixedRows, pitch, ring_size, sparse_rows
from rayplay.replay.memory.addresses import Addresses
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.owners import NOT_SHARED, Sharing
from rayplay.replay.memory.port import SM_MASK
from rayplay.replay.unit.clocks import Ratio, ratio
from rayplay.replay.unit.schema import law, value

# Columns of ``slice``: places in ``input``, ``stall`` and ``output``, and times.
HEAD = 0  # requests that were looked up
QUEUED = 1  # requests that reached the slice's queue
POPPED = 2  # requests that left the crossbar
TAIL = 3  # requests that entered its buffer
QUEUED_AT = 4  # last cycle in which one reached the queue
POP_AT = 5  # first cycle in which one may leave the crossbar
STALL_HEAD = 6  # of the stretches without such
STALL_TAIL = 7
OUT_HEAD = 8  # responses that left
OUT_TAIL = 9  # responses that came
LAST_REPLY = 10  # interconnect cycle of the last response
NEXT = 11  # next cycle with an event
WAITS = 12  # 1: for room in its queue to the DRAM
COPIED = 13  # sectors that the host copied to it
QUEUES_AT = 14  # cycle in which the next request reaches its queue, given room
OUT_SENT = 15  # in lockstep, responses that entered the crossbar
SLICE_COLUMNS = 16  # a row is two lines of the host's caches
LONGEST_WAIT, WAIT_CYCLES = range(2)
COUNTERS = ("longest_reply_wait_cycles", "request_wait_cycles")
SECTORS = 15  # mask of a line's
CHUNK = 4  # places that the slice's queue keeps free for one packet


@dataclass(frozen=True)
class Spec(cache_state.Policy):
    """L2 cache of the whole GPU, in slices; each memory controller has some of them."""

    bytes: int = value("bytes", "Capacity of all slices together", 4096)
    slices_per_controller: int = value("count", "Slices of a memory controller, a power of two", 1)
    latency_cycles: int = value("cycles", "From a slice's input to its queue (the ROP's delay), in core cycles", 1)
    input_queue: int = value("requests", "Queue from the crossbar to a slice", CHUNK)
    to_dram_queue: int = value("requests", "Queue from a slice to its DRAM channel", 1)
    from_dram_queue: int = value("requests", "Queue from the DRAM channel to a slice", 1)
    reply_queue: int = value("requests", "Queue from a slice to the crossbar", 1)
    flush_idle: bool = value(
        "switch",
        "Whether the first slices, as many as there are controllers, forget lines with dirty sectors in each cycle in"
        " which no SM has a live warp",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        law(self.line_bytes == 128, f"line_bytes must be 128, not {self.line_bytes}")
        law(self.write_policy != "evict_global", "write_policy evict_global is for an L1: an L2 has no local memory")
        law(
            self.write_policy != "through" or not self.write_allocate.startswith("lazy"),
            f"write_allocate {self.write_allocate} with write_policy through would answer a write twice",
        )
        slices = self.slices_per_controller
        law(slices & (slices - 1) == 0, f"slices_per_controller must be a power of two, not {slices}")


class L2(NamedTuple):
    """All slices. ``input`` rows: cycle of its next move, sector, kind as in ``Port``, tag and SM, ``l2.home_of``."""

    tags: cache_state.Cache
    addresses: Addresses
    slice: FixedRows  # int64[slices, SLICE_COLUMNS]
    input: FixedRows  # int64[slices * ring, 5]
    back: FixedRows  # int64[slices * ring, 2], in lockstep: bytes of a line that an L1 writes back, two sectors a word
    absorbed: np.ndarray  # int64[1024]: requests of each SM that are not acknowledged, and done
    stall: FixedRows  # int64[slices * ring, 2]: first cycle of a stretch without a packet from the crossbar, and end
    output: FixedRows  # int64[slices * out_pitch, 2]: interconnect cycle, tag and SM
    stats: FixedRows  # int64[slices, 2]
    ring: int
    out_ring: int
    out_pitch: int  # rows of ``output`` from one slice to the next
    out_packets: int
    lockstep: bool
    input_queue: int
    reply_queue: int
    latency: int
    slices_per_controller: int
    controllers: int
    to_core: Ratio
    from_core: Ratio
    to_net: Ratio
    part_of: np.ndarray  # int64[places, 2]: first slice of a stream's class, and its slices
    is_divided: bool
    flushed: int  # slices that an idle GPU flushes
    filled: np.ndarray  # int64[ranges, 2]: first sectors and ends of ranges that are there as they are read, in order


def make_state(
    spec: Spec, addresses: Addresses, out_packets: int, in_flight: int, core_khz: int, net_khz: int,
    l2_khz: int, streams: int = 1, lockstep: bool = False, summed: bool = False, sectors: int = 1,
    sharing: Sharing = NOT_SHARED, parts: np.ndarray | None = None, filled: np.ndarray | None = None,
) -> L2:  # fmt: skip
    """Empty, cold slices.

    out_packets  packets that the crossbar's buffer before a slice holds.
    in_flight    most requests that all SMs may have under way.
    sectors      most that one packet asks for.
    sharing      of the L2 by classes of work.
    parts        first slice of each class and its slices; None: every class has all.
    filled       sectors that are there as they are read (``launch.fills``); None: none.
    """
    controllers, per_controller = addresses.channels, addresses.slices
    slices = controllers * per_controller
    sets = spec.bytes // (slices * spec.line_bytes * spec.ways)
    held = out_packets + spec.input_queue + (spec.latency_cycles * l2_khz // core_khz + 4) * sectors
    ring = ring_size(held)
    out_ring = ring_size(in_flight)
    out_pitch = pitch(out_ring, 2)
    state = L2(
        cache_state.make_state(spec, sets, slices, spec.ways, spec.mshr_entries, True, streams, sharing),
        addresses,
        np.zeros((slices, SLICE_COLUMNS), np.int64),
        np.zeros((slices * ring, 5), np.int64),
        np.zeros((slices * ring if lockstep else 1, 2), np.int64),
        np.zeros(SM_MASK + 1, np.int64),
        np.zeros((slices * ring, 2), np.int64),
        sparse_rows(slices * out_pitch, 2),
        np.zeros((slices, len(COUNTERS)), np.int64),
        ring, out_ring, out_pitch, out_packets, lockstep, spec.input_queue, spec.reply_queue, spec.latency_cycles,
        per_controller, controllers, ratio(l2_khz, core_khz, summed), ratio(core_khz, l2_khz, summed),
        ratio(l2_khz, net_khz, summed),
        np.zeros((1, 2), np.int64) if parts is None else parts[list(sharing.class_of)], parts is not None,
        controllers if spec.flush_idle else 0,
        np.zeros((0, 2), np.int64) if filled is None else filled,
    )  # fmt: skip
    state.slice[:, [NEXT, QUEUES_AT]] = FAR
    return state


def stats(state: L2) -> dict[str, np.ndarray]:
    """Every counter per slice; accesses = hits + pending hits + misses."""
    own = {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
    return cache_state.stats(state.tags) | own
