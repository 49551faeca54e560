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
INTERNAL = 1
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
NODE_BITS = (1 << 30) - 1  # of Records.node: the record
CULLED_SHIFT = 30  # of Records.node: the bit of a visit that culling removed, for plug-ins that need them
NO_PARENT = -1


class Records(NamedTuple):
    """Rays of the window: operation o has the rays first_ray[o] to first_ray[o + 1]."""

    first_ray: np.ndarray  # int64[operations + 1]
    lane: np.ndarray  # uint8[rays]: lane, with FIRST_STRETCH and EARLY_OUT
    first_node: np.ndarray  # int64[rays + 1]
    node: np.ndarray  # uint32[records]: node_id, bit 31 set where a triangle was hit, bit 30 where culling removed it
    first_store: np.ndarray  # int64[rays + 1]
    store: np.ndarray  # int64[stores]: offset of a store into the warp's intersection table
    info: np.ndarray  # int64[nodes]: address << 12 | bytes << 4 | kind; of a table load the offset in the table
    # Of traces that tell them, where a plug-in needs them; else empty
    parent: np.ndarray = np.zeros(0, np.int32)  # int32[nodes]: the record that leads to it, or NO_PARENT
    distance: np.ndarray = np.zeros(0, np.int32)  # int32[records]: bits of the distance, in the order of the numbers
    subtree: np.ndarray = np.zeros(0, np.int32)  # int32[records]: records of its subtree, itself among them
    ray: np.ndarray = np.zeros((0, 6), np.float32)  # float32[rays, 6]: origin and direction
    hit: np.ndarray = np.zeros((0, 2), np.int32)  # int32[rays, 2]: nearest hit when a stretch begins and when it ends
    bounds: np.ndarray = np.zeros((2, 3), np.float32)  # float32[2, 3]: least and greatest coordinates of origins


def node_info(address: np.ndarray, length: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Pack the nodes table for ``Records.info``; records are fetched in chunks of 32 bytes."""
    return (
        (address.astype(np.int64) << ADDRESS_SHIFT) | (length.astype(np.int64) << BYTES_SHIFT) | kind.astype(np.int64)
    )
