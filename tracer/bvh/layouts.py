"""Layouts of the acceleration structure by name: width of the nodes, sizes of the records, and their addresses.

A layout changes the records and their places, never the hits of a ray. The image that rays are traced in
has records on 64-byte blocks (``layout.py``); in a packed layout the nodes table has the addresses that the modelled
hardware has, in the same memory: of each level its nodes, then its leaves, each behind the one before.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.bvh import layout

PART_BYTES = 64
"""Alignment of the nodes and of the leaves of a level."""


@dataclass(frozen=True)
class Layout:
    """A layout.

    node             fields of an internal node.
    internal_bytes   of an internal node, as the hardware fetches it.
    leaf_bytes       of a triangle or procedural primitive.
    has_descriptors  whether a ray fetches a leaf's 8-byte descriptor before it.
    is_packed        whether records lie behind each other, not on blocks.
    source           where the sizes are from.
    """

    name: str
    node: layout.NodeFields
    internal_bytes: int
    leaf_bytes: int
    has_descriptors: bool
    is_packed: bool
    source: str

    @property
    def kind_bytes(self) -> NDArray[np.uint16]:
        """uint16[kinds]: bytes of a record of each kind."""
        sizes = layout.KIND_BYTES | {layout.INTERNAL: self.internal_bytes}
        sizes |= {layout.TRIANGLE: self.leaf_bytes, layout.PROCEDURAL: self.leaf_bytes}
        return np.array([sizes[kind] for kind in range(len(sizes))], np.uint16)

    def offsets(self, block: NDArray[np.int64], kind: NDArray[np.uint8]) -> NDArray[np.int64]:
        """int64[records]: bytes from the image's first to each record, of records in the order of their blocks."""
        if not self.is_packed:
            return layout.BLOCK_BYTES * block
        is_leaf = ~np.isin(kind, (layout.HEADER, layout.INTERNAL))
        part = 2 * np.cumsum(kind == layout.HEADER) + is_leaf
        order = np.argsort(part, kind="stable")
        size = self.kind_bytes[kind[order]].astype(np.int64)
        end = np.cumsum(size)
        begins = np.flatnonzero(np.diff(part[order], prepend=-1))  # of each part
        before = (end - size)[begins]
        padding = np.cumsum(-np.diff(before, append=end[-1:]) % PART_BYTES)
        wasted = np.concatenate([[0], padding[:-1]])
        found = np.empty(len(block), np.int64)
        found[order] = end - size + np.repeat(wasted, np.diff(begins, append=len(order)))
        return found


LAYOUTS = {
    each.name: each
    for each in (
        Layout("bvh6", layout.SIX, 64, 64, True, False, "Vulkan-Sim (MICRO 2022)"),
        Layout("bvh8", layout.EIGHT, 128, 64, True, False, "nodes of a cache line, leaves as Vulkan-Sim's"),
        Layout("cwbvh8", layout.EIGHT, 80, 48, False, True, "Ylitie, Karras and Laine (HPG 2017)"),
    )
}
BVH6 = LAYOUTS["bvh6"]
