"""The record in device memory behind a texture, sampler or surface handle, which is its address: int64 words.

A texture with a mip chain has a record for each level, one after the other from the largest on; the handle is the
first one's. A level's record says where its texels lie; how texels are read and filtered is what the first one says.
"""

(
    MAGIC, BASE, WIDTH, HEIGHT, DEPTH, LAYERS, ROW_BYTES, SLICE_BYTES, ELEMENT, CHANNELS, GEOMETRY, TOTAL_BYTES,
    LINEAR_MEMORY, FILTER, NORMALIZED, READ_FLOAT, SRGB, ADDRESS_X, ADDRESS_Y, ADDRESS_Z, LEVELS, LEVEL_FILTER,
    MAX_ANISOTROPY, BORDER,
) = range(24)  # fmt: skip
RECORD_WORDS = 32  # the border's four channels are the bits of float64; records of levels are aligned as the first
RECORD_BYTES = 8 * RECORD_WORDS
RECORD_ALIGN = 64

TEXTURE_MAGIC, SAMPLER_MAGIC, SURFACE_MAGIC = 0x5445585455524531, 0x53414D504C455231, 0x5355524641434531

GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube")
G_1D, G_2D, G_3D, G_A1D, G_A2D, G_CUBE, G_ACUBE = range(7)
DIMENSIONS = (1, 2, 3, 1, 2, 2, 2)  # axes of an image that texels are found along, layers and faces left out

ELEMENTS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
U8, S8, U16, S16, U32, S32, F16, F32 = range(8)
ELEMENT_BYTES = (1, 1, 2, 2, 4, 4, 2, 4)

FILTERS = ("nearest", "linear")
LEVEL_FILTERS = ("nearest", "linear", "floor")
NEAREST_LEVEL, BOTH_LEVELS, LOWER_LEVEL = range(3)
MOST_ANISOTROPY = 16
ADDRESS_MODES = ("wrap", "mirror", "clamp", "border")
WRAP, MIRROR, CLAMP, OUTSIDE = range(4)
