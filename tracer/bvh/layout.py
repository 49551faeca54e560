"""Layout of the acceleration structure: record kinds, their sizes, and their fields.

Kinds and sizes: ``docs/sources/vulkan-sim.md#records``; everything lies on 64-byte blocks. A triangle's or
sphere's record begins with its 8-byte descriptor, so both have one address and the ray fetches descriptor, then leaf.
Numbers of fields are 32-bit words from the start of the record unless they say bytes. ``layouts.py`` has other widths
and sizes by name: their internal nodes have the fields ``EIGHT``.
"""

from typing import NamedTuple

from rayplay.formats.schema.trace import NODE_KINDS

BLOCK_BYTES = 64
BLOCK_WORDS = 16
MOST_CHILDREN = 8
"""Of an internal node of any layout."""

HEADER, INTERNAL, INSTANCE, DESCRIPTOR, TRIANGLE, PROCEDURAL = range(6)
KIND_BYTES = {HEADER: 64, INTERNAL: 64, INSTANCE: 128, DESCRIPTOR: 8, TRIANGLE: 64, PROCEDURAL: 64}
assert NODE_KINDS == ("header", "internal", "instance", "descriptor", "triangle", "procedural")

# header: root's offset in bytes (u64), bounds (f32 low xyz, high xyz)
HEADER_ROOT, HEADER_LOW, HEADER_HIGH = 0, 2, 5

# internal node: bound = origin + q * 2^(exponent - 8), q rounded down for low and up for high corners
NODE_ORIGIN = 0


class NodeFields(NamedTuple):
    """Places of the fields of an internal node."""

    width: int
    """Children at most."""
    blocks: int
    """That a node takes."""
    child_offset: int
    """Word: blocks from the node to its first child; children follow each other."""
    kind_byte: int
    exponent_bytes: int
    """int8 for x, y, z."""
    mask_byte: int
    """-1 for none."""
    child_bytes: int
    """One byte per child: kind in the high half, blocks it occupies in the low half; 0 for no child."""
    low_bytes: int
    """u8 per child, for x; for y and z ``axis_bytes`` behind."""
    high_bytes: int
    axis_bytes: int

    def corners(self, axis: int) -> tuple[int, int]:
        """First byte of the low and of the high bounds along an axis."""
        return self.low_bytes + axis * self.axis_bytes, self.high_bytes + axis * self.axis_bytes


SIX = NodeFields(6, 1, 3, 16, 18, 21, 22, 28, 34, 12)
# The 80 bytes of Ylitie, Karras and Laine (HPG 2017, figure 2), whose two offsets are one here; in two blocks.
EIGHT = NodeFields(8, 2, 4, 15, 12, -1, 24, 32, 56, 8)

# instance: two 3x4 matrices row by row, address of the bottom level's header (u64), number, hit-record offset, mask
INSTANCE_OBJECT_TO_WORLD, INSTANCE_WORLD_TO_OBJECT = 0, 12
INSTANCE_CHILD, INSTANCE_INDEX, INSTANCE_RECORD, INSTANCE_MASK = 24, 26, 27, 28

# triangle and procedural leaf; the first two words are the descriptor
LEAF_MASK = 0
LEAF_GEOMETRY = 1
LEAF_OPAQUE_BIT = 1 << 30
"""Set in the geometry word where no any-hit program has to look at the hit."""
LEAF_PRIMITIVE = 2
LEAF_VERTICES = 4
"""Triangle: nine floats. Procedural: box, low xyz and high xyz."""
LEAF_DESCRIPTOR_ROW = 15
"""Row of the descriptor in the nodes table; the hardware that is modelled does not use this word."""
