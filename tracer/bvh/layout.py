"""Layout of the acceleration structure: record kinds, their sizes, and their fields.

Kinds and sizes: ``docs/sources/vulkan-sim.md#records``; everything lies on 64-byte blocks. A triangle's or
sphere's record begins with its 8-byte descriptor, so both have one address and the ray fetches descriptor, then leaf.
Numbers of fields are 32-bit words from the start of the record unless they say bytes.
"""

from rayplay.formats.schema.trace import NODE_KINDS

BLOCK_BYTES = 64
BLOCK_WORDS = 16
WIDTH = 6
"""Children of an internal node at most."""

HEADER, INTERNAL, INSTANCE, DESCRIPTOR, TRIANGLE, PROCEDURAL = range(6)
KIND_BYTES = {HEADER: 64, INTERNAL: 64, INSTANCE: 128, DESCRIPTOR: 8, TRIANGLE: 64, PROCEDURAL: 64}
assert NODE_KINDS == ("header", "internal", "instance", "descriptor", "triangle", "procedural")

# header: root's offset in bytes (u64), bounds (f32 low xyz, high xyz)
HEADER_ROOT, HEADER_LOW, HEADER_HIGH = 0, 2, 5

# internal node: bound = origin + q * 2^(exponent - 8), q rounded down for low and up for high corners
NODE_ORIGIN = 0
NODE_CHILD_OFFSET = 3
"""Blocks from the node to its first child; children follow each other."""
NODE_KIND_BYTE = 16
NODE_EXPONENT_BYTES = 18
"""int8 for x, y, z."""
NODE_MASK_BYTE = 21
NODE_CHILD_BYTES = 22
"""One byte per child: kind in the high half, blocks it occupies in the low half; 0 for no child."""
NODE_LOW_BYTES = (28, 40, 52)
NODE_HIGH_BYTES = (34, 46, 58)
"""u8 per child, for x, y, z."""

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
