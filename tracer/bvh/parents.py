"""The record that leads to each record of an acceleration structure: the table ``parents``."""

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.bvh.decode import decode_level

NO_PARENT = -1


def parent_table(acceleration: Acceleration) -> dict[str, NDArray[np.generic]]:
    """Columns of ``parents``.

    A root's parent is its header; a leaf's is its descriptor, which stands where the leaf does below an internal node,
    where the layout has descriptors.
    A header has none: a ray fetches a bottom level's just after an instance, and several instances may share it.
    """
    kinds = acceleration.node_kind
    parent = np.full(len(kinds), NO_PARENT, np.int32)
    for header in acceleration.node_block[kinds == layout.HEADER].tolist():
        level = decode_level(acceleration.words, header, acceleration.layout.node)
        above = np.repeat(level.block, level.children)
        row, parent_row = _rows(acceleration, level.block[1:]), _rows(acceleration, above)
        parent[_rows(acceleration, level.block[:1])] = _rows(acceleration, np.array([header]))
        parent[row] = parent_row
        if not acceleration.layout.has_descriptors:
            continue
        leaf = np.isin(level.kind[1:], (layout.TRIANGLE, layout.PROCEDURAL))
        descriptor = acceleration.words[level.block[1:][leaf], layout.LEAF_DESCRIPTOR_ROW].astype(np.int64)
        parent[descriptor] = parent_row[leaf]
        parent[row[leaf]] = descriptor
    return {"node_id": np.arange(len(kinds), dtype=np.uint32), "parent": parent}


def _rows(acceleration: Acceleration, block: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in the nodes table of the records at these blocks."""
    return acceleration.block_row[block].astype(np.int64)
