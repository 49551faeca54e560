"""The load/store units of the SMs: their description and the flat arrays they live in."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.rows import FixedRows, pitch, ring_size
from rayplay.replay.memory import l1 as cache
from rayplay.replay.memory import texture as texture_unit
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, make_shares

OPERATIONS = 1024  # memory instructions of an SM under way
ACK_TAG, BYPASS_TAG = 1, 3
# columns of operation: warp, kind, slot, cursor and end of its accesses, accesses not over, cycles a shared access
# takes, cycle it reaches the unit, what is added to its sectors (local memory), whether it is local, its warp's stream
WARP, KIND, SLOT, CURSOR, END, MISSING, CONFLICT, ARRIVES, ADDEND, LOCAL, STREAM = range(11)
# columns of unit: queue head and tail, free operations, first cycle the front goes on (FAR: none), whether it waits,
# next cycle to run, shared pipeline head and tail, responses head and tail, operation to be written back (-1: none),
# operation whose response past the L1 waits (-1: none), client that is served first, banks that are blocked, cycle up
# to which they are known to be, which of them for want of a place in the miss queue, head and tail of what is due,
# banks that hold accesses, texture accesses that are not written back, first cycle in which an access may meet the tags
(QUEUE_HEAD, QUEUE_TAIL, FREE, FRONT_AT, STALLED, NEXT_CYCLE, PIPE_HEAD, PIPE_TAIL, INBOX_HEAD, INBOX_TAIL, WRITE_BACK,
 PAST_L1, TURN, BLOCKED, BLOCKED_AT, WAITS_TO_SEND, DUE_HEAD, DUE_TAIL, OCCUPIED,
 TEXTURE_ACCESSES, TAGS_AT) = range(21)  # fmt: skip
HEAD, TAIL = range(2)  # columns of bank
READY, SECTOR, BYTES, OPERATION = range(4)  # columns of access
# clients of the write-back: shared memory, textures, (constants,) past the L1, the L1
SHARED, TEXTURES, PAST, OF_L1 = 0, 1, 3, 4
TEXTURE_TAGS = OPERATIONS * 4 + BYPASS_TAG  # from this tag on responses are the texture cache's
INSTRUCTIONS, SECTORS, SHARED_CYCLES, BANK_CONFLICT_CYCLES, STALL_CYCLES = range(5)
TEXTURE_COUNTERS = ("texture_hits", "texture_misses")
COUNTERS = ("instructions", "sectors", "shared_cycles", "bank_conflict_cycles", "blocked_cycles")


@dataclass(frozen=True)
class Spec:
    """Load/store unit of an SM and its shared memory."""

    queue_entries: int = value("instructions", "Memory instructions that may wait in the unit", 1)
    issue_cycles: int = value("cycles", "From issue to the first bank access", 1)
    shared_latency_cycles: int = value("cycles", "From the bank access of shared memory to its write-back", 1)
    wide_conflicts: bool = value("switch", "Whether all words of a wide shared access count, or only its first")
    local_interleaved: bool = value("switch", "Whether equal words of neighbouring threads' local memory lie together")
    local_block_bytes: int = value(
        "bytes",
        "Blocks of its own that a thread of PTX has for local memory that is not interleaved, side by side with those"
        " of the 32 threads about it; 0: as traced",
        0,
    )
    perfect_memory: bool = value(
        "switch",
        "Whether every access takes issue_cycles + l1.latency_cycles, none of them conflicts, and none is sent",
    )

    def __post_init__(self) -> None:
        law(self.queue_entries <= 64, f"queue_entries must be at most 64, not {self.queue_entries}")
        block = self.local_block_bytes
        law(block % 32 == 0, f"local_block_bytes must be a multiple of 32, not {block}")


class Lsu(NamedTuple):
    """All SMs' units; operation o of SM s is row s * OPERATIONS + o, bank b row s * banks + b."""

    operation: FixedRows  # int64[sms * OPERATIONS, 11]
    unit: FixedRows  # int64[sms, 21]
    free: FixedRows  # int32[sms, OPERATIONS]: stack of free operations
    queue: FixedRows  # int32[sms, 64]: operations
    bank: FixedRows  # int64[sms * banks, 2]
    access: FixedRows  # int64[sms * banks * depth, 4]
    pipe: FixedRows  # int64[sms * pipe_size, 2]: cycle it may be written back, operation
    inbox: FixedRows  # int64[sms * inbox_pitch, 2]: cycle (behind the last: FAR), tag
    due: FixedRows  # int64[sms * due_size, 4]: with perfect memory, cycle an instruction is over, warp, slot, kind
    stats: FixedRows  # int64[sms, 5]
    shares: Shares
    texture: texture_unit.Texture
    due_size: int
    perfect: bool
    depth: int
    inbox_size: int
    inbox_pitch: int  # rows of ``inbox`` from one SM to the next
    pipe_size: int
    queue_entries: int
    issue_cycles: int
    shared_latency: int
    l1_latency: int
    banks: int
    sms: int


def make_state(
    spec: Spec, l1: cache.Spec, texture: texture_unit.Spec, sms: int, register: bool, packets_in_flight: int,
    streams: int = 1,
) -> Lsu:  # fmt: skip
    """Idle units; with a ``register`` for one instruction that was latched before, in place of the queue."""
    inbox_size = ring_size(packets_in_flight + 1)
    inbox_pitch = pitch(inbox_size, 2)
    depth = 1 << (l1.latency_cycles - 1).bit_length()
    pipe_size = 1 << (spec.shared_latency_cycles - 1).bit_length()
    # a scheduler issues one instruction a cycle, and there are at most 8
    due_size = 1 << (8 * (spec.issue_cycles + l1.latency_cycles)).bit_length() if spec.perfect_memory else 1
    stats = np.zeros((sms, len(COUNTERS)), np.int64)
    unit = np.zeros((sms, 21), np.int64)
    unit[:, FREE] = OPERATIONS
    unit[:, [NEXT_CYCLE, TAGS_AT, FRONT_AT]] = FAR
    unit[:, [WRITE_BACK, PAST_L1]] = -1
    return Lsu(
        np.zeros((sms * OPERATIONS, 11), np.int64),
        unit,
        np.tile(np.arange(OPERATIONS - 1, -1, -1, dtype=np.int32), (sms, 1)),
        np.zeros((sms, 64), np.int32),
        np.zeros((sms * l1.banks, 2), np.int64),
        np.zeros((sms * l1.banks * depth, 4), np.int64),
        np.zeros((sms * pipe_size, 2), np.int64),
        np.full((sms * inbox_pitch, 2), FAR),
        np.zeros((sms * due_size, 4), np.int64),
        stats,
        make_shares(stats, streams),
        texture_unit.make_state(texture, sms, streams),
        due_size,
        spec.perfect_memory,
        depth,
        inbox_size,
        inbox_pitch,
        pipe_size,
        1 if register else spec.queue_entries,
        1 if register else spec.issue_cycles,
        spec.shared_latency_cycles,
        l1.latency_cycles,
        l1.banks,
        sms,
    )


def stats(state: Lsu) -> dict[str, np.ndarray]:
    """Every counter per SM."""
    textures = {name: state.texture.stats[:, index] for index, name in enumerate(TEXTURE_COUNTERS)}
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)} | textures
