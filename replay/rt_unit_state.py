"""The ray-tracing units: their description, the flat arrays they live in, and the rays in memory that they replay."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replay.bits import FAR
from replay.config import law, value

LANES = 32
MAX_WARPS = 8
QUEUE = 128  # records a warp may have queued; more lanes simply wait
STORE_QUEUE = 1024
STORE_TAG = 2
HIT_BUFFERS = 1 << 41  # sector number of the first hit record; the records lie above every traced address
HIT_BUFFER_SECTORS = 8  # each hit gets a block of 256 bytes of its own
# columns of lane: record cursor and end, cycle its delay ends, base address >> 5 of the front record, chunks of it
# still missing, whether it was asked for, whether its delay ends in a hit store, cycle its last delay ends
CURSOR, END, READY_AT, BASE, MISSING, MARKED, HIT_STORE, FINISHED_AT = range(8)
# columns of slot: warp (or -1), age, start, active lanes, lanes with records left, lanes in delay, lanes that may ask,
# earliest end of a delay, queue head and tail, stores under way
WARP, AGE, START, ACTIVE, OPEN, DELAYED, ASKING, NEXT_READY, QUEUE_HEAD, QUEUE_TAIL, STORES = range(11)
# columns of unit: resident warps, next age, slot whose record is being sent, its base, its chunk, its chunks,
# store queue head and tail, waiting warps head and tail, hit records made, reads under way, next cycle to run
RESIDENT, NEXT_AGE, SENDING, SEND_BASE, SEND_CHUNK, SEND_CHUNKS, STORE_HEAD, STORE_TAIL, WAIT_HEAD, WAIT_TAIL, \
    HITS_MADE, READS_IN_FLIGHT, NEXT_CYCLE, BUSY_SINCE = range(14)  # fmt: skip
WARPS_DONE, WARP_CYCLES, LANE_CYCLES, EFFICIENCY, READS, STORES_SENT, BUSY_CYCLES, RECORDS, CHUNKS_DELIVERED = range(9)
COUNTERS = ("warps", "warp_cycles", "lane_cycles", "efficiency_sum", "reads", "stores", "busy_cycles", "records",
            "chunks_delivered")  # fmt: skip
EFFICIENCY_UNIT = 1 << 30  # efficiency_sum is a fixed-point number: sums do not depend on their order


@dataclass(frozen=True)
class Spec:
    """Ray-tracing unit of an SM."""

    warps: int = value("warps", "Warps that may be in the unit at a time", 1)
    mshr_entries: int = value("requests", "Reads of the unit that may be missing at a time; 0 sets no limit", 0)
    perfect_memory: bool = value("1", "Every request hits and stores end at once")
    header_cycles: int = value("cycles", "Latency of a BVH header after its last byte arrived", 1)
    internal_cycles: int = value("cycles", "Latency of an internal node", 1)
    instance_cycles: int = value("cycles", "Latency of an instance", 1)
    descriptor_cycles: int = value("cycles", "Latency of a primitive descriptor", 1)
    triangle_cycles: int = value("cycles", "Latency of a triangle that is missed", 1)
    triangle_hit_cycles: int = value("cycles", "Latency of a triangle that is hit", 1)
    procedural_cycles: int = value("cycles", "Latency of a procedural primitive", 1)

    def __post_init__(self) -> None:
        law(self.warps <= MAX_WARPS, f"warps must be at most {MAX_WARPS}, not {self.warps}")

    @property
    def latency_cycles(self) -> tuple[int, ...]:
        """Latencies by record kind (formats.trace.NODE_KINDS), then the hit triangle's."""
        return (
            self.header_cycles, self.internal_cycles, self.instance_cycles, self.descriptor_cycles,
            self.triangle_cycles, self.procedural_cycles, self.triangle_hit_cycles,
        )  # fmt: skip


class RtUnit(NamedTuple):
    """All SMs' units; slot r of SM s is row s * MAX_WARPS + r, its lane l row (s * MAX_WARPS + r) * 32 + l."""

    lane: np.ndarray  # int64[8, sms * MAX_WARPS * 32]: a row per column name, so that lanes are contiguous
    slot: np.ndarray  # int64[sms * MAX_WARPS, 11]
    unit: np.ndarray  # int64[sms, 14]
    queue: np.ndarray  # int64[sms * MAX_WARPS, QUEUE]: base << 4 | chunks
    store: np.ndarray  # int64[sms, STORE_QUEUE, 2]: slot, sector
    waiting: np.ndarray  # int64[sms, 64]: warps of the SM that wait for a place
    latency: np.ndarray  # int64[7]
    stats: np.ndarray  # int64[sms, 9]
    warps: int
    mshr_entries: int
    perfect: bool


class Records(NamedTuple):
    """The traced rays in memory: operation o has the rays first_ray[o] to first_ray[o + 1]."""

    first_ray: np.ndarray  # int64[operations + 1]
    lane: np.ndarray  # uint8[rays]
    first_node: np.ndarray  # int64[rays + 1]
    node: np.ndarray  # uint32[records]: node_id, bit 31 set where a triangle was hit
    info: np.ndarray  # int64[nodes]: address >> 5 << 8 | chunks << 4 | kind


def node_info(address: np.ndarray, length: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Pack the nodes table for ``Records.info``; records are fetched in chunks of 32 bytes."""
    chunks = (length.astype(np.int64) + 31) >> 5
    return ((address.astype(np.int64) >> 5) << 8) | (chunks << 4) | kind.astype(np.int64)


def make_state(spec: Spec, sms: int) -> RtUnit:
    """Empty units."""
    slot = np.zeros((sms * MAX_WARPS, 11), np.int64)
    slot[:, WARP] = -1
    slot[:, NEXT_READY] = FAR
    unit = np.zeros((sms, 14), np.int64)
    unit[:, SENDING] = -1
    unit[:, NEXT_CYCLE] = FAR
    return RtUnit(
        np.zeros((8, sms * MAX_WARPS * LANES), np.int64),
        slot,
        unit,
        np.zeros((sms * MAX_WARPS, QUEUE), np.int64),
        np.zeros((sms, STORE_QUEUE, 2), np.int64),
        np.zeros((sms, 64), np.int64),
        np.array(spec.latency_cycles, np.int64),
        np.zeros((sms, len(COUNTERS)), np.int64),
        spec.warps,
        spec.mshr_entries or FAR,
        spec.perfect_memory,
    )


def stats(state: RtUnit) -> dict[str, np.ndarray]:
    """Every counter per SM; ``efficiency_sum`` is in units of 2^-30."""
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
