"""State of the ray-tracing units: their flat arrays, and the columns of each."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from rayplay.replay.input import rays
from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.hooks import NOTHING
from rayplay.replay.jit.rows import FixedRows
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.rt import spec as rules
from rayplay.replay.unit.streams import Shares, make_shares

WARPS_PER_SM = 256  # numbers a warp of an SM may have
QUEUE = 128  # records a warp may have queued; more lanes simply wait
STORE_QUEUE = 8192  # a lane writes at most 3,000 times into its table
HIT_RING = 512  # hits on their way with a hit latency: one per cycle
GATE_RING = 64  # warps of an SM that may wait for a place
DIRECT = 1024  # reads of an SM past all caches that may be under way
RT_TAG = 2  # low two bits of the tag of the unit's own requests
HIT_BUFFERS = 1 << 41  # sector number of the first hit record; the records lie above every traced address
HIT_BUFFER_SECTORS = 8  # each hit gets a block of 256 bytes of its own
TABLES = 1 << 42  # sector number of the first intersection table
TABLE_BYTES = 1 << 19  # of a warp: room for 1,000 rows of the wider layout
# Columns of ``lane``.
CURSOR = 0  # its record
END = 1  # end of its records
READY_AT = 2  # cycle its delay ends
BASE = 3  # address of the front record
MISSING = 4  # chunks of it still missing, as a mask
MARKED = 5  # 1: it was asked for
HITS = 6  # hits whose store waits for the end of the delay
FINISHED_AT = 7  # cycle its last delay ends
TABLE_STORE = 8  # next store into the intersection table to be queued
TABLE_END = 9  # end of those
RAY = 10  # its ray, a row of ``Records.lane``
LANE_COLUMNS = 11
# Columns of ``slot``; lanes are masks.
WARP = 0  # of the SM, -1: the slot is free
AGE = 1
START = 2  # cycle it entered
ACTIVE = 3  # lanes with a ray
OPEN = 4  # lanes with records left
DELAYED = 5  # lanes in delay
ASKING = 6  # lanes that may ask
NEXT_READY = 7  # earliest end of a delay
QUEUE_HEAD = 8
QUEUE_TAIL = 9
STORES = 10  # stores under way
TABLE_LANES = 11  # lanes whose table stores wait for a delay
STREAM = 12
FIRST_RECORD = 13  # first record of its rays
HELPERS = 14  # lanes that a policy gave records to and that had no ray
SLOT_COLUMNS = 15
# Columns of ``unit``.
RESIDENT = 0  # warps in it
NEXT_AGE = 1
SENDING = 2  # slot whose record is being sent, or -1
SEND_RECORD = 3  # that record
SEND_CHUNK = 4  # its next chunk
STORE_HEAD = 5
STORE_TAIL = 6
HITS_MADE = 7  # hit records made
READS_IN_FLIGHT = 8
BUSY_SINCE = 9  # first cycle it is busy
COUNTED = 10  # last cycle that is counted
RING_HEAD = 11  # of the hits on their way
RING_TAIL = 12
BOXES_TESTED = 13  # when box tests that wait end, in cycles x ``box_tests``
TRIANGLES_TESTED = 14  # likewise
UNIT_COLUMNS = 15
# Columns of ``gate``.
WAIT_HEAD = 0  # of the warps that wait for a place
WAIT_TAIL = 1
NEXT_CYCLE = 2  # in which the units run
BEGUN = 3  # cycle that has begun
STALLED, WAITING, EXECUTING = range(3)  # what a warp does in a cycle
WARP_DOINGS = {"stalled": "can ask for nothing", "waiting": "waits for its turn", "executing": "is the one that sends"}
LANE_DOINGS = {
    "scheduling": "ready to ask", "memory": "waiting for its record", "intersecting": "busy with a record",
    "done": "done",
}  # fmt: skip
(WARPS_DONE, WARP_CYCLES, LANE_CYCLES, EFFICIENCY, READS, STORES_SENT, BUSY_CYCLES, RECORDS, CACHELINES,
 INTERSECTION_CYCLES, LANES_DONE, RAYS, EARLY_OUT_RAYS, STORE_QUEUE_CYCLES, READ_HITS, READ_MISSES, WRITE_HITS,
 WRITE_MISSES, REFUSED, NODES) = range(20)  # fmt: skip
READS_OF_KIND = 20  # first of 9
LANE_STATES = READS_OF_KIND + len(rays.KINDS)  # first of 3 x 4
COUNTERS = (
    "warps", "warp_cycles", "lane_cycles", "efficiency_sum", "reads", "stores", "busy_cycles", "records", "cachelines",
    "intersection_lane_cycles", "lanes", "rays", "early_out_rays", "store_queue_cycles", "read_hits", "read_misses",
    "write_hits", "write_misses", "refused", "nodes",
    *(f"reads_{kind}" for kind in rays.KINDS),
    *(f"lane_cycles_{warp}_{lane}" for warp in WARP_DOINGS for lane in LANE_DOINGS),
)  # fmt: skip
EFFICIENCY_UNIT = 1 << 30  # efficiency_sum is a fixed-point number: sums do not depend on their order


class RtUnit(NamedTuple):
    """All units; core c of SM s is unit s * cores + c, its slot r is row unit * warps + r, lane l is row * 32 + l."""

    lane: np.ndarray  # int64[LANE_COLUMNS, slots * 32]: a row per column, so that lanes are contiguous
    slot: np.ndarray  # int64[slots, SLOT_COLUMNS]
    unit: np.ndarray  # int64[units, UNIT_COLUMNS]
    queue: np.ndarray  # int64[slots, QUEUE]: records as in Records.info
    store: np.ndarray  # int64[units, STORE_QUEUE, 2]: slot, sector
    ring: np.ndarray  # int64[units, HIT_RING, 3]: cycle, waiter, address of the record
    gate: np.ndarray  # int64[sms, 4]
    waiting: np.ndarray  # int64[sms, GATE_RING]: warps of the SM that wait for a place, operation << 8 | warp
    arrives: np.ndarray  # int64[sms, GATE_RING]: the cycle from which they do
    stream: np.ndarray  # int64[sms, GATE_RING]: their streams
    place: np.ndarray  # int64[sms * 256]: slot of a warp of the SM, or -1
    direct: np.ndarray  # int64[sms, DIRECT, 3]: waiter, sector and stream of reads past all caches
    direct_free: np.ndarray  # int64[sms, DIRECT + 1]: count, then a stack of free rows
    latency: np.ndarray  # int64[9]: by kind
    stats: FixedRows  # int64[sms, COUNTERS]
    shares: Shares
    peak: np.ndarray  # int64[sms]: most stores that were queued at a time
    private: cache_state.Cache  # instance u belongs to unit u
    warps: int
    cores: int
    perfect: bool
    cache: int  # place in CACHES, and so on
    mshr_limit: int
    mshr_entries: int
    coalescing: int
    refusal: int
    response: int
    hit_stores: int
    hit_cycles: int
    box_tests: int  # a cycle, 0: any number
    triangle_tests: int
    boxes_per_node: int
    own: Any = NOTHING  # of a plug-in


def make_state(spec: rules.Spec, sms: int, streams: int = 1) -> RtUnit:
    """Empty units."""
    units = sms * spec.cores
    slots = units * spec.warps
    slot = np.zeros((slots, SLOT_COLUMNS), np.int64)
    slot[:, WARP] = -1
    slot[:, NEXT_READY] = FAR
    unit = np.zeros((units, UNIT_COLUMNS), np.int64)
    unit[:, SENDING] = -1
    gate = np.zeros((sms, 4), np.int64)
    gate[:, NEXT_CYCLE] = FAR
    gate[:, BEGUN] = -1
    stats = np.zeros((sms, len(COUNTERS)), np.int64)
    return RtUnit(
        np.zeros((LANE_COLUMNS, slots * LANES), np.int64),
        slot,
        unit,
        np.zeros((slots, QUEUE), np.int64),
        np.zeros((units, STORE_QUEUE, 2), np.int64),
        np.zeros((units, HIT_RING, 3), np.int64),
        gate,
        np.zeros((sms, GATE_RING), np.int64),
        np.zeros((sms, GATE_RING), np.int64),
        np.zeros((sms, GATE_RING), np.int64),
        np.full(sms * WARPS_PER_SM, -1, np.int64),
        np.zeros((sms, DIRECT, 3), np.int64),
        np.tile(np.concatenate([[DIRECT], np.arange(DIRECT)]), (sms, 1)).astype(np.int64),
        np.array(spec.latency_cycles, np.int64),
        stats,
        make_shares(stats, streams),
        np.zeros(sms, np.int64),
        private_caches(spec, units, streams), spec.warps, spec.cores, spec.perfect_memory,
        rules.CACHES.index(spec.cache), rules.MSHR_LIMITS.index(spec.mshr_limit), spec.mshr_entries or FAR,
        rules.COALESCING.index(spec.coalescing), rules.REFUSALS.index(spec.refused_chunk),
        rules.RESPONSES.index(spec.response), rules.HIT_STORES.index(spec.hit_stores), spec.hit_cycles,
        spec.box_tests_per_cycle, spec.triangle_tests_per_cycle, spec.boxes_per_node,
    )  # fmt: skip


def private_caches(spec: rules.Spec, units: int, streams: int) -> cache_state.Cache:
    """Empty private caches; of the least size where none are used."""
    policy = spec.private
    if spec.cache != "private":
        policy = dataclasses.replace(policy, sets=1, ways=1, set_hash="linear", mshr_entries=1, mshr_merges=1)
    return cache_state.make_state(policy, policy.sets, units, policy.ways, policy.mshr_entries, streams=streams)


def stats(state: RtUnit) -> dict[str, np.ndarray]:
    """Every counter per SM; ``efficiency_sum`` is in units of 2^-30."""
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
