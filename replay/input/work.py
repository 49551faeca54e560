"""Work of the warps, as the engine reads it: the static program and a window of the dynamic trace.

A static instruction is one integer (its fields are the ``*_SHIFT`` constants), a warp's work is a range of rows in
each array of ``Work``. Rows are numbered inside the window; when the window moves, all cursors move with it.
"""

from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import inlined

LANES = 32  # of a warp
SECTOR_BYTES = 32
MODELS = ("characterised", "pipeline", "gatsim")  # of an SM
KIND_SHIFT, WAIT_SHIFT, SLOT_SHIFT, STALL_SHIFT, INITIATION_SHIFT = 4, 8, 16, 20, 36  # the unit is in bits 0 to 3
NO_SLOT = 15
SLOTS = 8  # scoreboard slots of a warp: 0 to 5 are the characterisation's; then:
STORES_SLOT, HELD_SLOT = 6, 7  # stores not yet acknowledged; held by a barrier or a trace operation
HELD_BIT = 1 << HELD_SLOT
ALL_SLOTS = (1 << SLOTS) - 1
IS_LOCAL = 128  # conflict of an access to local memory, plus the warps of its CTA; a shared one takes less
IS_TEXTURE = 255  # conflict of a texture access
IS_WIDE_TEXTURE = 253  # the same with the requests of arrays, cubes and volumes
IS_COLOUR = 254  # conflict of a fragment shader's store, where colours have a rate
LSU = 4  # place of the load/store unit in formats.trace.UNITS
# LOAD_BYPASS goes past the L1, a REDUCTION is an atomic without a result; COMMIT ends a group of asynchronous copies,
# AWAIT waits for groups; TEXTURE goes to the texture unit or cache
PLAIN, LOAD, STORE, ATOMIC, BARRIER, LOAD_BYPASS, REDUCTION, FENCE, COMMIT, AWAIT, TEXTURE = range(11)
# Columns of ``span``.
VISIT_FIRST = 0
VISIT_LAST = 1
ACCESS_FIRST = 2
ACCESS_LAST = 3
TRACE_FIRST = 4
TRACE_LAST = 5
PREDICATE_FIRST = 6
PREDICATE_LAST = 7
# with KIND and INITIATION: the fields of code for the pipelined SM; SHARED is a bit: the access is to shared memory;
# GROUPS has 7: groups that AWAIT leaves alone, 1 for a load that is an asynchronous copy
LATENCY_SHIFT, DESTINATIONS_SHIFT, SHARED_SHIFT, GROUPS_SHIFT = 8, 20, 28, 29
MOST_GROUPS = 127
NO_ACCESS, EMPTY_SHARED = -1, -2  # instead of an access: no lane has one, and the same of a load from shared memory


class Program(NamedTuple):
    """Static instructions and basic blocks of all kernels."""

    code: np.ndarray  # int64[instructions]
    first: np.ndarray  # int64[blocks]: first instruction
    length: np.ndarray  # int64[blocks]: instructions


class Work(NamedTuple):
    """The window: the warps from ``first_warp`` on."""

    block: np.ndarray  # uint32[visits]
    mask: np.ndarray  # uint32[visits]: active lanes
    access_key: np.ndarray  # int64[accesses]: visit of its warp << 32 | instruction
    access_first: np.ndarray  # int64[accesses + 1]: first sector
    conflict: (
        np.ndarray
    )  # uint8[accesses]: 0 global, IS_TEXTURE, IS_COLOUR, IS_LOCAL + warps of a CTA, else cycles of a shared access
    sector: np.ndarray  # int64[sectors]: address >> 5
    byte_mask: np.ndarray  # uint32[sectors]: bytes accessed; for a texture unit, the request of its instruction
    trace_visit: np.ndarray  # int64[trace operations]: visit of its warp
    predicate_key: np.ndarray  # int64[predicates]: visit of its warp << 32 | instruction
    predicate_lanes: np.ndarray  # uint8[predicates]: lanes that executed it
    span: np.ndarray  # int64[warps, 8]
    first_warp: int


@inlined
def is_shared(work: Work, access: int) -> bool:
    """Whether an access is to shared memory, which the LSU serves alone."""
    return 0 < work.conflict[access] < IS_LOCAL


def pack(
    unit: np.ndarray, kind: np.ndarray, wait: np.ndarray, slot: np.ndarray, stall: np.ndarray, initiation: np.ndarray
) -> np.ndarray:
    """Pack the characterisation of instructions into ``Program.code``; -1 stands for no slot."""
    fields = [np.asarray(column).astype(np.int64) for column in (unit, kind, wait, slot, stall, initiation)]
    unit, kind, wait, slot, stall, initiation = fields
    slot = np.where(slot < 0, NO_SLOT, slot)
    return (
        unit | kind << KIND_SHIFT | wait << WAIT_SHIFT | slot << SLOT_SHIFT
        | np.maximum(stall, 1) << STALL_SHIFT | initiation << INITIATION_SHIFT
    )  # fmt: skip
