"""Traced rays as the RT unit reads them: records, lanes, and the entries of intersection tables."""

from typing import NamedTuple

import numpy as np

TABLES = ("baseline", "fcc", "none")  # layouts of the intersection table
BASELINE, FCC, NO_TABLE = range(3)
HIGHEST_ADDRESS = 1 << 46  # traced addresses are below; the RT unit's hit records begin here
# Kinds of record beyond formats.schema.trace.NODE_KINDS: a triangle that is hit, a load from an intersection table, and
# a refused first chunk that was queued again, which has lost its kind
HEADER, DESCRIPTOR, TRIANGLE, PROCEDURAL, TRIANGLE_HIT, TABLE_LOAD, UNDEFINED = 0, 3, 4, 5, 6, 7, 8
KINDS = ("header", "internal", "instance", "descriptor", "triangle", "procedural", "triangle_hit", "table", "undefined")
ADDRESS_SHIFT, BYTES_SHIFT = 12, 4  # fields of Records.info; the kind is in bits 0 to 3
FIRST_STRETCH, EARLY_OUT = 32, 64  # flags of Records.lane


class Records(NamedTuple):
    """Rays of the window: operation o has the rays first_ray[o] to first_ray[o + 1]."""

    first_ray: np.ndarray  # int64[operations + 1]
    lane: np.ndarray  # uint8[rays]: lane, with FIRST_STRETCH and EARLY_OUT
    first_node: np.ndarray  # int64[rays + 1]
    node: np.ndarray  # uint32[records]: node_id, bit 31 set where a triangle was hit
    first_store: np.ndarray  # int64[rays + 1]
    store: np.ndarray  # int64[stores]: offset of a store into the warp's intersection table
    info: np.ndarray  # int64[nodes]: address << 12 | bytes << 4 | kind; of a table load the offset in the table


def node_info(address: np.ndarray, length: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Pack the nodes table for ``Records.info``; records are fetched in chunks of 32 bytes."""
    return (
        (address.astype(np.int64) << ADDRESS_SHIFT) | (length.astype(np.int64) << BYTES_SHIFT) | kind.astype(np.int64)
    )
