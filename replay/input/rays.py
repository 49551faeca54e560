"""Traced rays as the RT unit reads them: records, lanes, and the entries of intersection tables."""

from typing import NamedTuple

import numpy as np

from rayplay.formats.schema.trace import NODE_ADDRESS_END

TABLES = ("baseline", "fcc", "none")  # layouts of the intersection table
BASELINE, FCC, NO_TABLE = range(3)
HIGHEST_ADDRESS = NODE_ADDRESS_END  # traced addresses are below; the RT unit's hit records begin here
# Kinds of record (bits 0 to 3 of Records.info): formats.schema.trace.NODE_KINDS, then three of the replay.
KINDS = ("header", "internal", "instance", "descriptor", "triangle", "procedural", "triangle_hit", "table", "undefined")
HEADER = 0
DESCRIPTOR = 3
TRIANGLE = 4
PROCEDURAL = 5
TRIANGLE_HIT = 6  # a triangle that is hit
TABLE_LOAD = 7  # a load from an intersection table
UNDEFINED = 8  # a refused first chunk that was queued again, which has lost its kind
BYTES_SHIFT = 4  # of Records.info: length of the record
ADDRESS_SHIFT = 12  # of Records.info: its address
FIRST_STRETCH = 32  # flag of Records.lane: the ray begins here
EARLY_OUT = 64  # flag of Records.lane: the ray ends at its first hit


ORIGIN = 0  # of Records.ray: first of three, and so on
DIRECTION = 3
HIT_AT = 6  # distance of the closest hit at the stretch's end, infinity without one
HIT_BEFORE = 7  # and at its beginning


class Records(NamedTuple):
    """Rays of the window: operation o has the rays first_ray[o] to first_ray[o + 1]."""

    first_ray: np.ndarray  # int64[operations + 1]
    lane: np.ndarray  # uint8[rays]: lane, with FIRST_STRETCH and EARLY_OUT
    first_node: np.ndarray  # int64[rays + 1]
    node: np.ndarray  # uint32[records]: node_id, bit 31 set where a triangle was hit
    first_store: np.ndarray  # int64[rays + 1]
    store: np.ndarray  # int64[stores]: offset of a store into the warp's intersection table
    info: np.ndarray  # int64[nodes]: address << 12 | bytes << 4 | kind; of a table load the offset in the table
    # What a plug-in's ``NEEDS`` names; else without rows.
    subtree: np.ndarray = np.zeros(0, np.int32)  # int32[records]: records of its subtree, itself among them
    distance: np.ndarray = np.zeros(0, np.float32)  # float32[records]: at which the ray enters it, or hits the triangle
    ray: np.ndarray = np.zeros((0, 8), np.float32)  # float32[rays, 8]: columns below
    bounds: np.ndarray = np.zeros((2, 3), np.float32)  # float32[2, 3]: of all origins


def node_info(address: np.ndarray, length: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Pack the nodes table for ``Records.info``; records are fetched in chunks of 32 bytes."""
    return (
        (address.astype(np.int64) << ADDRESS_SHIFT) | (length.astype(np.int64) << BYTES_SHIFT) | kind.astype(np.int64)
    )
