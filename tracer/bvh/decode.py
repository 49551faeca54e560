"""The records of an acceleration structure as arrays, decoded from its bytes: what a ray can fetch, and from where."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.bvh.layout import NodeFields

ROOT_BLOCKS = 1
"""From a header to its root."""


class Level(NamedTuple):
    """Internal nodes and leaves of one level, parents before children, the children of a node side by side.

    block   int64[n]: place in the image.
    kind    uint8[n]: see ``layout``.
    depth   int64[n]: 0 for the root.
    first   int64[n]: row of the first child, of an internal node.
    children  int64[n]: their number; 0 for a leaf.
    low, high  float32[n, 3]: the box that a ray is tested with, before it fetches the record.
    """

    block: NDArray[np.int64]
    kind: NDArray[np.uint8]
    depth: NDArray[np.int64]
    first: NDArray[np.int64]
    children: NDArray[np.int64]
    low: NDArray[np.float32]
    high: NDArray[np.float32]

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """bool[n]."""
        return self.children == 0


class Decoded(NamedTuple):
    """Both levels.

    bottoms    bottom levels that have an instance, by address.
    bottom     int64[instances]: number in ``bottoms``, in the order of the top level's leaves.
    to_object  float32[instances, 3, 4]: from world to object space.
    """

    top: Level
    bottoms: list[Level]
    bottom: NDArray[np.int64]
    to_object: NDArray[np.float32]


def decode(acceleration: Acceleration) -> Decoded:
    """Decode the image of a structure."""
    words, node = acceleration.words, acceleration.layout.node
    top = decode_level(words, acceleration.top_block, node)
    records = words[top.block[top.is_leaf]]  # its first block
    second = words[top.block[top.is_leaf] + 1]
    child = layout.INSTANCE_CHILD - layout.BLOCK_WORDS
    address = np.ascontiguousarray(second[:, child : child + 2]).view(np.uint64)[:, 0]
    header = (address.astype(np.int64) - acceleration.base_address) // layout.BLOCK_BYTES
    headers, bottom = np.unique(header, return_inverse=True)
    matrix = np.concatenate([records, second], axis=1).view(np.float32)[:, layout.INSTANCE_WORLD_TO_OBJECT :][:, :12]
    bottoms = [decode_level(words, int(block), node) for block in headers]
    return Decoded(top, bottoms, bottom.reshape(-1), matrix.reshape(-1, 3, 4))


def decode_level(words: NDArray[np.uint32], header: int, fields: NodeFields) -> Level:
    """Decode the level whose header is block ``header`` of an image, uint32[blocks, 16]."""
    floats = words[header].view(np.float32)
    low, high = (floats[None, first : first + 3] for first in (layout.HEADER_LOW, layout.HEADER_HIGH))
    block, kind = np.array([header + ROOT_BLOCKS]), np.array([layout.INTERNAL], np.uint8)
    parts: list[Level] = []
    rows = 0
    while len(block):
        inner = kind == layout.INTERNAL
        child_block, child_kind, child_low, child_high, counts = _children(words, block[inner], fields)
        children = np.zeros(len(block), np.int64)
        children[inner] = counts
        first = rows + len(block) + np.cumsum(children) - children
        parts.append(Level(block, kind, np.full(len(block), len(parts)), first, children, low, high))
        rows += len(block)
        block, kind, low, high = child_block, child_kind, child_low, child_high
    return Level(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _children(
    words: NDArray[np.uint32], block: NDArray[np.int64], fields: NodeFields
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Block, kind and box of every child of internal nodes, and each node's number of children."""
    node = words[block[:, None] + np.arange(fields.blocks)].reshape(len(block), fields.blocks * layout.BLOCK_WORDS)
    octets = node.view(np.uint8)
    slots = octets[:, fields.child_bytes :][:, : fields.width]
    kind, blocks = slots >> 4, (slots & 15).astype(np.int64)
    child = block[:, None] + node[:, fields.child_offset, None] + np.cumsum(blocks, axis=1) - blocks
    there = slots != 0
    corners = []
    origin = node.view(np.float32)[:, layout.NODE_ORIGIN :][:, :3]
    exponent = octets[:, fields.exponent_bytes :][:, :3].view(np.int8).astype(np.int32)
    step = np.ldexp(np.float32(1.0), exponent - 8)
    for corner in range(2):
        first = [fields.corners(axis)[corner] for axis in range(3)]
        quantised = np.stack([octets[:, at : at + fields.width] for at in first], axis=2).astype(np.float32)
        corners.append((origin[:, None] + quantised * step[:, None])[there])
    return child[there], kind[there], corners[0], corners[1], there.sum(axis=1)
