"""The record behind a texture, sampler or surface handle: int64 words, which no program can write.

``HANDLE`` is the address in device memory that programs know it by, a multiple of ``HANDLE_ALIGN``; ``MAGIC`` its kind.
A texel lies at an offset, ``ROW_BYTES`` and ``SLICE_BYTES`` apart where ``FIELDS`` are 0; otherwise
``tracer.memory.layout`` says what offsets count. An access of an offset is recorded at ``ADDRESS_BASE`` +
((offset >> ``ADDRESS_SHIFT``) & ``ADDRESS_MASK``).

A texture with a mip chain has a record for each level, one after the other from the largest on; the handle is the
first one's. A level's record says where its texels lie; how texels are read and filtered is what the first one says.
"""

(
    HANDLE, MAGIC, BASE, WIDTH, HEIGHT, DEPTH, LAYERS, ROW_BYTES, SLICE_BYTES, ELEMENT, CHANNELS, GEOMETRY, TOTAL_BYTES,
    LINEAR_MEMORY, FILTER, NORMALIZED, READ_FLOAT, SRGB, ADDRESS_X, ADDRESS_Y, ADDRESS_Z, LEVELS,
    LEVEL_FILTER, MAX_ANISOTROPY, BORDER,
) = range(25)  # fmt: skip
EXTENT, ADDRESS_BASE, ADDRESS_SHIFT, ADDRESS_MASK, FIELDS = range(BORDER + 4, BORDER + 9)
"""Four words of the border hold bits of float64. ``EXTENT``: no offset reaches it. ``FIELDS``: how many of them."""
FIELD_X = FIELDS + 1
AXIS_FIELDS, FIELD_WORDS = 5, 2
FIELD_Y = FIELD_X + AXIS_FIELDS * FIELD_WORDS
"""Of each axis ``AXIS_FIELDS`` pairs of a mask and a factor: an index adds (index & mask) * factor of each."""
ORIGIN_X = FIELD_Y + AXIS_FIELDS * FIELD_WORDS
ORIGIN_Y = ORIGIN_X + 1
"""Texel of the fields' tiles at which a level begins; 0 for the first level."""
RECORD_WORDS = ORIGIN_Y + 1
RECORD_BYTES = 8 * RECORD_WORDS
HANDLE_BYTES, HANDLE_ALIGN = 256, 64
"""Device memory that a handle is the address of. It holds nothing."""

TEXTURE_MAGIC, SAMPLER_MAGIC, SURFACE_MAGIC = 0x5445585455524531, 0x53414D504C455231, 0x5355524641434531

GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube")
G_1D, G_2D, G_3D, G_A1D, G_A2D, G_CUBE, G_ACUBE = range(7)
DIMENSIONS = (1, 2, 3, 1, 2, 2, 2)  # axes of an image that texels are found along, layers and faces left out

ELEMENTS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
U8, S8, U16, S16, U32, S32, F16, F32 = range(8)
BC1, BC3 = 8, 9
"""Elements of block-compressed images, whose channels are decoded to 16 bits each (``tracer.units.texture.block``)."""
ELEMENT_BYTES = (1, 1, 2, 2, 4, 4, 2, 4, 2, 2)

FILTERS = ("nearest", "linear")
LEVEL_FILTERS = ("nearest", "linear", "floor")
NEAREST_LEVEL, BOTH_LEVELS, LOWER_LEVEL = range(3)
MOST_ANISOTROPY = 16
ADDRESS_MODES = ("wrap", "mirror", "clamp", "border")
WRAP, MIRROR, CLAMP, OUTSIDE = range(4)
