"""The load/store units of the SMs: their description and the flat arrays they live in."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.rows import FixedRows, pitch, ring_size
from rayplay.replay.memory import l1 as cache
from rayplay.replay.memory import rop
from rayplay.replay.memory import texture as texture_unit
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, make_shares

OPERATIONS = 1024  # memory instructions of an SM under way
QUEUE = 64  # most of them that wait for the front
ACK_TAG, BYPASS_TAG = 1, 3
# Columns of ``operation``.
WARP = 0
KIND = 1
SLOT = 2  # that it clears
CURSOR = 3  # its next access
END = 4  # end of its accesses
MISSING = 5  # accesses that are not complete
CONFLICT = 6  # cycles a shared access takes
ARRIVES = 7  # cycle it reaches the unit
ADDEND = 8  # added to its sectors (local memory)
LOCAL = 9  # 1: local memory
STREAM = 10  # of its warp
TEXTURE = 11  # 1: it reads a texture through the L1
COLOUR = 12  # 1: colours that have still to enter the raster unit
WIDE = 13  # 1: a texture with a third coordinate
OPERATION_COLUMNS = 14
# Columns of ``unit``.
QUEUE_HEAD = 0
QUEUE_TAIL = 1
FREE = 2  # free operations
FRONT_AT = 3  # first cycle the front advances, FAR: none
STALLED = 4  # 1: the front waits
NEXT_CYCLE = 5  # next cycle to run
PIPE_HEAD = 6  # of the shared-memory pipeline
PIPE_TAIL = 7
INBOX_HEAD = 8  # of the responses
INBOX_TAIL = 9
WRITE_BACK = 10  # operation to be written back, or -1
PAST_L1 = 11  # operation whose response past the L1 waits, or -1
TURN = 12  # client that is served first
BLOCKED = 13  # blocked banks, as a mask
BLOCKED_AT = 14  # cycle up to which they are known to be
WAITS_TO_SEND = 15  # banks blocked for want of a place in the miss queue
DUE_HEAD = 16  # of the instructions with perfect memory
DUE_TAIL = 17
OCCUPIED = 18  # banks that hold accesses
TEXTURE_ACCESSES = 19  # that are not written back
TAGS_AT = 20  # first cycle in which an access may meet the tags
UNIT_COLUMNS = 21
# Columns of ``bank``.
HEAD = 0
TAIL = 1
# Columns of ``access``.
READY = 0  # cycle it may meet the tags
SECTOR = 1
BYTES = 2  # mask
OPERATION = 3
# clients of the write-back: shared memory, textures, (constants,) past the L1, the L1
SHARED, TEXTURES, PAST, OF_L1 = 0, 1, 3, 4
TEXTURE_TAGS = OPERATIONS * 4 + BYPASS_TAG  # from this tag on responses are the texture cache's
INSTRUCTIONS, SECTORS, SHARED_CYCLES, BANK_CONFLICT_CYCLES, STALL_CYCLES = range(5)
TEXTURE_COUNTERS = ("texture_hits", "texture_misses")
TEXTURE_UNIT_COUNTERS = ("texture_instructions", "texture_requests", "texture_sectors")
COUNTERS = ("instructions", "sectors", "shared_cycles", "bank_conflict_cycles", "blocked_cycles")


@dataclass(frozen=True)
class Spec:
    """Load/store unit of an SM and its shared memory."""

    queue_entries: int = value("instructions", "Memory instructions that may wait in the unit", 1)
    issue_cycles: int = value("cycles", "From issue to the first bank access", 1)
    shared_latency_cycles: int = value("cycles", "From the bank access of shared memory to its write-back", 1)
    wide_conflicts: bool = value("switch", "Whether all words of a wide shared access count, or only its first")
    shared_banks: int = value("count", "Banks of shared memory, 4 B wide", 1)
    one_broadcast: bool = value(
        "switch", "Whether one word of a shared access goes to several lanes at a time, and others lane by lane"
    )
    warp_parts: int = value(
        "count",
        "Parts of a warp, each of 32 / parts lanes, that are coalesced, and look for bank conflicts, one after another;"
        " lanes that are left over make no access",
        1,
    )
    local_interleaved: bool = value("switch", "Whether equal words of neighbouring threads' local memory lie together")
    local_order: str = value(
        "word",
        "Of interleaved local memory: the threads of a CTA lie together, of all SMs' CTAs in the order of their slots,"
        " or (sm) all threads that an SM could hold",
        choices=("cta", "sm"),
    )
    global_skips_l1: bool = value("switch", "Whether loads and stores of global memory go past the L1")
    local_skips_l1: bool = value("switch", "Whether loads and stores of local memory go past the L1")
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
        law(self.queue_entries <= QUEUE, f"queue_entries must be at most {QUEUE}, not {self.queue_entries}")
        law(self.shared_banks <= 64, f"shared_banks must be at most 64, not {self.shared_banks}")
        law(
            not self.wide_conflicts or (self.shared_banks >= 2 and not self.one_broadcast),
            "wide_conflicts must be false with one shared bank or with one_broadcast",
        )
        law(
            self.warp_parts <= 32,
            f"warp_parts must be at most 32, the lanes of a warp, not {self.warp_parts}",
        )
        block = self.local_block_bytes
        law(block % 32 == 0, f"local_block_bytes must be a multiple of 32, not {block}")


class Lsu(NamedTuple):
    """All SMs' units; operation o of SM s is row s * OPERATIONS + o, bank b row s * banks + b."""

    operation: FixedRows  # int64[sms * OPERATIONS, OPERATION_COLUMNS]
    unit: FixedRows  # int64[sms, UNIT_COLUMNS]
    free: FixedRows  # int32[sms, OPERATIONS]: stack of free operations
    queue: FixedRows  # int32[sms, QUEUE]: operations
    bank: FixedRows  # int64[sms * banks, 2]
    access: FixedRows  # int64[sms * banks * depth, 4]
    pipe: FixedRows  # int64[sms * pipe_size, 2]: cycle it may be written back, operation
    inbox: FixedRows  # int64[sms * inbox_pitch, 2]: cycle (behind the last: FAR), tag
    due: FixedRows  # int64[sms * due_size, 4]: with perfect memory, cycle an instruction completes, warp, slot, kind
    stats: FixedRows  # int64[sms, 5]
    shares: Shares
    texture: texture_unit.Texture
    rop: rop.Colour
    due_size: int
    perfect: bool
    global_skips_l1: bool
    local_skips_l1: bool
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
    spec: Spec, l1: cache.Spec, texture: texture_unit.Spec, raster: rop.Spec, sms: int, register: bool,
    packets_in_flight: int, streams: int = 1,
) -> Lsu:  # fmt: skip
    """Idle units; with a ``register`` for one instruction that was latched before, in place of the queue."""
    inbox_size = ring_size(packets_in_flight + 1)
    inbox_pitch = pitch(inbox_size, 2)
    depth = ring_size(l1.latency_cycles)
    pipe_size = ring_size(spec.shared_latency_cycles)
    # a scheduler issues one instruction a cycle, and there are at most 8
    due_size = ring_size(8 * (spec.issue_cycles + l1.latency_cycles) + 1) if spec.perfect_memory else 1
    stats = np.zeros((sms, len(COUNTERS)), np.int64)
    unit = np.zeros((sms, UNIT_COLUMNS), np.int64)
    unit[:, FREE] = OPERATIONS
    unit[:, [NEXT_CYCLE, TAGS_AT, FRONT_AT]] = FAR
    unit[:, [WRITE_BACK, PAST_L1]] = -1
    return Lsu(
        np.zeros((sms * OPERATIONS, OPERATION_COLUMNS), np.int64),
        unit,
        np.tile(np.arange(OPERATIONS - 1, -1, -1, dtype=np.int32), (sms, 1)),
        np.zeros((sms, QUEUE), np.int32),
        np.zeros((sms * l1.banks, 2), np.int64),
        np.zeros((sms * l1.banks * depth, 4), np.int64),
        np.zeros((sms * pipe_size, 2), np.int64),
        np.full((sms * inbox_pitch, 2), FAR),
        np.zeros((sms * due_size, 4), np.int64),
        stats,
        make_shares(stats, streams),
        texture_unit.make_state(texture, sms, OPERATIONS, streams),
        rop.make_colour(raster, sms, streams),
        due_size, spec.perfect_memory, spec.global_skips_l1, spec.local_skips_l1, depth, inbox_size,
        inbox_pitch, pipe_size,
        1 if register else spec.queue_entries, 1 if register else spec.issue_cycles, spec.shared_latency_cycles,
        l1.latency_cycles, l1.banks, sms,
    )  # fmt: skip


def stats(state: Lsu) -> dict[str, np.ndarray]:
    """Every counter per SM."""
    counted = TEXTURE_COUNTERS + (TEXTURE_UNIT_COUNTERS if state.texture.is_unit else ())
    textures = {name: state.texture.stats[:, index] for index, name in enumerate(counted)}
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)} | textures
