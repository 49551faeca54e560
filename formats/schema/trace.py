"""The trace: what the warps of one or more launches did, never when.

Warps are numbered in launch order: CTAs x fastest, then y, then z, and the warps of a CTA in order. The tables
``visits``, ``accesses`` and ``rays`` are sorted by warp, and inside a warp by time.
"""

# ruff: noqa: E501 - one column is one line
from rayplay.formats.schema.column import STRING, Column, Format, Table

VERSION = (1, 0)

OPERATION_CLASSES = (
    "int", "fp32", "fp64", "fp16", "sfu", "move", "convert", "predicate", "constant", "load", "store", "atomic",
    "texture", "branch", "barrier", "fence", "shuffle", "trace", "runtime", "matrix", "exit", "other",
)  # fmt: skip
MEMORY_SPACES = ("none", "global", "shared", "local", "generic", "const", "param", "texture")
MEMORY_CLASSES = ("load", "store", "atomic", "texture")
RECORDED_SPACES = ("global", "shared", "local", "generic", "texture")
UNITS = ("int", "sp", "dp", "sfu", "lsu", "rt", "tensor", "texture", "branch", "uniform")

KERNELS = Table(
    "kernels", "launch", row_number="kernel_id", columns=(
        Column("kernel_id", "uint32", "id", "Row number of the launch, in launch order.", sorted=True),
        Column("name", STRING, "name", "Name of the entry that was launched."),
        Column("stream", "uint32", "id", "Stream the launch was put on; all launches run one after another; with sm.concurrent_kernels of the GPU above 1, launches of different streams run side by side."),
        Column("grid_x", "uint32", "count", "CTAs along x."),
        Column("grid_y", "uint32", "count", "CTAs along y."),
        Column("grid_z", "uint32", "count", "CTAs along z."),
        Column("block_x", "uint32", "count", "Threads of a CTA along x."),
        Column("block_y", "uint32", "count", "Threads of a CTA along y."),
        Column("block_z", "uint32", "count", "Threads of a CTA along z."),
        Column("registers_per_thread", "uint16", "count", "32-bit registers a thread holds; limits occupancy."),
        Column("shared_bytes", "uint32", "bytes", "Shared memory of a CTA, static and dynamic."),
        Column("shared_base", "uint64", "bytes", "Generic address at which a CTA's shared memory appears."),
        Column("local_base", "uint64", "bytes", "Generic address of the first thread's local memory."),
        Column("local_bytes", "uint32", "bytes", "Local memory of a thread; threads follow each other."),
        Column("source", STRING, "name", "Language of the instructions.", values=("ptx", "sass")),
    ),
)  # fmt: skip

INSTRUCTIONS = Table(
    "instructions", "static instruction", row_number="instruction_id", columns=(
        Column("kernel_id", "uint32", "id", "Launch the instruction belongs to.", sorted=True, points_to="kernels"),
        Column("instruction_id", "uint32", "id", "Row number.", sorted=True),
        Column("block_id", "uint32", "id", "Basic block that holds it.", sorted=True, points_to="blocks"),
        Column("opcode", STRING, "name", "Opcode with its modifiers, as written."),
        Column("operation_class", STRING, "name", "What kind of work it is; docs/opcodes.md has the class of each opcode.", values=OPERATION_CLASSES),
        Column("memory_space", STRING, "name", "Memory it reads or writes.", values=MEMORY_SPACES),
        Column("access_bytes", "uint16", "bytes", "Bytes a lane reads or writes, 0 without a memory access."),
        Column("destination_registers", "uint32", "id", "Registers it writes, by numbers of the launch's own; imported SASS: R from 0, UR from 256, P from 320, UP from 328, a pair by its first.", ragged=True),
        Column("source_registers", "uint32", "id", "Registers it reads, guard predicate included, numbered likewise; what always reads zero or true (RZ, PT) is left out.", ragged=True),
        Column("line", "uint32", "line", "Line of the program text, 0 when unknown."),
        Column("text", STRING, "name", "The instruction as written, on one line; a leading `@` says that a predicate guards it."),
    ),
)  # fmt: skip

BLOCKS = Table(
    "blocks", "static basic block", row_number="block_id", columns=(
        Column("kernel_id", "uint32", "id", "Launch the block belongs to.", sorted=True, points_to="kernels"),
        Column("block_id", "uint32", "id", "Row number.", sorted=True),
        Column("first_instruction", "uint32", "id", "Its first instruction.", sorted=True, points_to="instructions"),
        Column("instruction_count", "uint32", "count", "Instructions in it, at least 1."),
        Column("reconvergence_block", "int32", "id", "Immediate post-dominator, -1 when it is the end of the program, or not known."),
        Column("program", STRING, "name", "Entry or function whose text it is."),
    ),
)  # fmt: skip

WARPS = Table(
    "warps", "launched warp", row_number="warp_id", columns=(
        Column("kernel_id", "uint32", "id", "Launch of the warp.", sorted=True, points_to="kernels", encoding="DELTA_BINARY_PACKED"),
        Column("warp_id", "uint32", "id", "Row number, in launch order.", sorted=True, encoding="DELTA_BINARY_PACKED"),
        Column("cta_id", "uint32", "id", "CTA in its launch, x fastest, then y, then z.", encoding="DELTA_BINARY_PACKED"),
        Column("warp_in_cta", "uint16", "count", "Position of the warp in its CTA."),
        Column("launched_mask", "uint32", "mask", "Lanes that exist: bit l is lane l, thread 32 x warp_in_cta + l of the CTA (x fastest, then y, then z).", encoding="PLAIN"),
    ),
)  # fmt: skip

THREADS = Table(
    "threads", "thread of an image launch", optional=True, columns=(
        Column("warp_id", "uint32", "id", "Warp of the thread.", sorted=True, points_to="warps", encoding="DELTA_BINARY_PACKED"),
        Column("lane", "uint8", "count", "Lane of the thread, 0 to 31."),
        Column("pixel_x", "uint16", "count", "Column of its pixel, 0 at the left.", encoding="DELTA_BINARY_PACKED"),
        Column("pixel_y", "uint16", "count", "Row of its pixel, 0 at the top.", encoding="DELTA_BINARY_PACKED"),
    ),
)  # fmt: skip

VISITS = Table(
    "visits", "basic block executed by a warp, in order", columns=(
        Column("warp_id", "uint32", "id", "Warp that executed the block.", sorted=True, points_to="warps", encoding="DELTA_BINARY_PACKED"),
        Column("block_id", "uint32", "id", "The block.", points_to="blocks", encoding="BYTE_STREAM_SPLIT", level=3),
        Column("active_mask", "uint32", "mask", "Lanes that executed it; never 0, never outside launched_mask.", encoding="PLAIN", level=3),
    ),
)  # fmt: skip

ACCESSES = Table(
    "accesses", "memory instruction executed by a warp, in order", optional=True, written=True, page_bytes=1 << 20, columns=(
        Column("warp_id", "uint32", "id", "Warp that executed it.", sorted=True, points_to="warps", encoding="DELTA_BINARY_PACKED"),
        Column("visit", "uint32", "count", "Which visit of its warp it belongs to: 0 is the warp's first.", encoding="BYTE_STREAM_SPLIT", level=3),
        Column("instruction_id", "uint32", "id", "The instruction.", points_to="instructions"),
        Column("lane_mask", "uint32", "mask", "Lanes that accessed memory: active and not predicated off; never 0.", encoding="PLAIN", level=3),
        Column("address", "uint64", "bytes", "Address per set lane, lowest lane first; offset in the CTA's shared memory for shared. A texture's then has the start of each further sector that the lanes' texels lie in.", ragged=True, encoding="BYTE_STREAM_SPLIT"),
    ),
)  # fmt: skip

PREDICATES = Table(
    "predicates", "executed instruction whose predicate left out lanes, in order", optional=True, columns=(
        Column("warp_id", "uint32", "id", "Warp that executed it.", sorted=True, points_to="warps", encoding="DELTA_BINARY_PACKED"),
        Column("visit", "uint32", "count", "Visit of its warp that it belongs to.", encoding="BYTE_STREAM_SPLIT", level=3),
        Column("instruction_id", "uint32", "id", "The instruction.", points_to="instructions"),
        Column("lane_mask", "uint32", "mask", "Lanes that executed it: fewer than were active, maybe none; without a row all did.", encoding="PLAIN", level=3),
    ),
)  # fmt: skip

COPIES = Table(
    "copies", "copy from the host to device memory, or data that a launch finds in the L2 like one", optional=True, columns=(
        Column("kernel_id", "uint32", "id", "Launch before which it was made; the number of launches for one after the last.", sorted=True),
        Column("address", "uint64", "bytes", "First address written; the launch finds the written sectors in the L2, as memory.copies of the GPU says."),
        Column("bytes", "uint64", "bytes", "Length."),
    ),
)  # fmt: skip

# Long pages: zstd then finds a record list again that other rays of the warp had (4 B per ray less than at 1 MiB).
RAYS = Table(
    "rays", "stretch of a ray traced by a lane: a trace call, or its continuation after any-hit or intersection code", optional=True, group_rows=1 << 17, columns=(
        Column("warp_id", "uint32", "id", "Warp that traced it.", sorted=True, points_to="warps", encoding="DELTA_BINARY_PACKED"),
        Column("visit", "uint32", "count", "Visit of its warp after whose last instruction the stretch is traced.", encoding="BYTE_STREAM_SPLIT", level=3),
        Column("instruction_id", "uint32", "id", "The trace instruction that began the ray.", points_to="instructions"),
        Column("lane", "uint8", "count", "Lane of the ray; rows of one visit are sorted by it.", encoding="BYTE_STREAM_SPLIT", level=3),
        Column("segment", "uint16", "count", "0 for the trace call, 1 and up for its continuations."),
        Column("kind", "uint8", "1", "Whether the ray looks for the closest hit or stops at its first.", values=("closest", "early_out")),
        Column("origin_x", "float32", "scene unit", "Origin in world space.", encoding="BYTE_STREAM_SPLIT"),
        Column("origin_y", "float32", "scene unit", "Origin in world space.", encoding="BYTE_STREAM_SPLIT"),
        Column("origin_z", "float32", "scene unit", "Origin in world space.", encoding="BYTE_STREAM_SPLIT"),
        Column("direction_x", "float32", "1", "Direction in world space, as given.", encoding="BYTE_STREAM_SPLIT"),
        Column("direction_y", "float32", "1", "Direction in world space, as given.", encoding="BYTE_STREAM_SPLIT"),
        Column("direction_z", "float32", "1", "Direction in world space, as given.", encoding="BYTE_STREAM_SPLIT"),
        Column("t_min", "float32", "direction length", "Start of the ray's interval."),
        Column("t_max", "float32", "direction length", "End of the interval the trace call asked for."),
        Column("hit_t", "float32", "direction length", "Closest hit committed at the end of the stretch and by programs that ran after it, infinity without one.", encoding="BYTE_STREAM_SPLIT"),
        Column("instance", "int32", "id", "Instance of that hit, -1 without one."),
        Column("primitive", "int32", "id", "Primitive of that hit in its geometry, -1 without one.", encoding="PLAIN", level=3),
        Column("node", "uint32", "id", "BVH records fetched, in order: node_id in the low 31 bits, bit 31 set where a triangle was hit.", ragged=True, points_to="nodes", encoding="PLAIN", level=12),
    ),
)  # fmt: skip

# Both as RAYS: a row for each of its rows, in the same order.
DISTANCES = Table(
    "distances", "row of rays, in the same order", optional=True, group_rows=1 << 17, columns=(
        Column("warp_id", "uint32", "id", "Warp that traced it.", sorted=True, points_to="warps", encoding="DELTA_BINARY_PACKED"),
        Column("distance", "float32", "direction length", "For each record of `rays.node` where the ray enters its box; of a triangle where the ray hits it, infinity where it does not within t_min and t_max (its descriptor has the box's).", ragged=True, encoding="BYTE_STREAM_SPLIT", level=3),
    ),
)  # fmt: skip

CULLED = Table(
    "culled", "row of rays, in the same order", optional=True, group_rows=1 << 17, columns=(
        Column("warp_id", "uint32", "id", "Warp that traced it.", sorted=True, points_to="warps", encoding="DELTA_BINARY_PACKED"),
        Column("node", "uint32", "id", "BVH records that a closer hit, found before, kept the ray from fetching, in order; as `rays.node`.", ragged=True, points_to="nodes", encoding="PLAIN", level=12),
        Column("distance", "float32", "direction length", "Their distances, as in `distances`.", ragged=True, encoding="BYTE_STREAM_SPLIT", level=3),
        Column("position", "uint32", "count", "For each of them how many records of `rays.node` come before it.", ragged=True, level=3),
    ),
)  # fmt: skip

NODE_KINDS = ("header", "internal", "instance", "descriptor", "triangle", "procedural")
NODE_HIT_BIT = 1 << 31
MOST_NODE_BYTES = 128
NODE_ADDRESS_END = 1 << 46  # the replay's RT unit stores its hit records from here on

NODES = Table(
    "nodes", "BVH record", row_number="node_id", optional=True, columns=(
        Column("node_id", "uint32", "id", "Row number.", sorted=True, encoding="DELTA_BINARY_PACKED"),
        Column("address", "uint64", "bytes", "Address of the record in device memory.", encoding="DELTA_BINARY_PACKED"),
        Column("bytes", "uint16", "bytes", "Length of the record."),
        Column("kind", "uint8", "1", "What the record is.", values=NODE_KINDS),
    ),
)  # fmt: skip

PARENTS = Table(
    "parents", "BVH record", optional=True, columns=(
        Column("node_id", "uint32", "id", "Row number, as in nodes.", sorted=True, points_to="nodes", encoding="DELTA_BINARY_PACKED"),
        Column("parent", "int32", "id", "Record that leads to it; -1 of a header, which a ray fetches first, or just after an instance. A root's is its header, a leaf's its descriptor.", points_to="nodes"),
    ),
)  # fmt: skip

IMAGE = Table(
    "image", "pixel", optional=True, columns=(
        Column("pixel_x", "uint16", "count", "Column, 0 at the left."),
        Column("pixel_y", "uint16", "count", "Row, 0 at the top."),
        Column("red", "float32", "1", "Linear radiance.", encoding="BYTE_STREAM_SPLIT"),
        Column("green", "float32", "1", "Linear radiance.", encoding="BYTE_STREAM_SPLIT"),
        Column("blue", "float32", "1", "Linear radiance.", encoding="BYTE_STREAM_SPLIT"),
    ),
)  # fmt: skip

CHARACTERISATION = Table(
    "characterisation", "static instruction", row_number="instruction_id", optional=True, columns=(
        Column("instruction_id", "uint32", "id", "Row number, as in instructions.", sorted=True, points_to="instructions"),
        Column("unit", "uint8", "1", "Unit that executes it.", values=UNITS),
        Column("stall_cycles", "uint16", "cycles", "Cycles after issue until the warp may issue its next instruction, at least 1."),
        Column("initiation_cycles", "uint16", "cycles", "Cycles the unit stays busy."),
        Column("scoreboard_slot", "int8", "id", "Slot (0 to 5) a variable-latency instruction sets until its result is there, -1 for none."),
        Column("wait_mask", "uint8", "mask", "Slots that must be clear before it may issue."),
    ),
)  # fmt: skip

STAGES = Table(
    "stages", "launch of a stage of a draw", optional=True, columns=(
        Column("kernel_id", "uint32", "id", "The launch.", sorted=True, points_to="kernels"),
        Column("stage", STRING, "name", "What it shades.", values=("vertex", "fragment")),
        Column("draw", "uint32", "id", "Draw of the picture, from 0 in the order of submission."),
        Column("draw_name", STRING, "name", "Mesh of the draw."),
        Column("triangles", "uint32", "count", "Triangles of the draw, of all instances; 0 where an imported trace does not tell."),
        Column("shaded", "uint32", "count", "Vertex invocations; fragments, of helpers too."),
        Column("live", "uint32", "count", "Of these, fragments whose pixel is covered and passes the early depth test; all vertex invocations."),
        Column("covered", "uint32", "count", "Fragments covered before the depth test, in an imported trace after it; 0 of a vertex stage."),
    ),
)  # fmt: skip

FILLS = Table(
    "fills", "buffer or texture of a stage of a draw", optional=True, columns=(
        Column("kernel_id", "uint32", "id", "Launch of the stage.", sorted=True, points_to="kernels"),
        Column("address", "uint64", "bytes", "First address."),
        Column("bytes", "uint64", "bytes", "Length."),
        Column("cta_bytes", "uint64", "bytes", "Bytes for each CTA, one slice after the other in the order of the CTAs, which a unit beside the SMs writes into the L2; 0 for one that all CTAs read. ``memory.fills`` of a GPU says whether the L2 has it as it is read."),
        Column("kind", STRING, "name", "Kind of memory.", values=("buffer", "texture")),
    ),
)  # fmt: skip

COOPERATIVE = Table(
    "cooperative", "launch whose CTAs wait for each other", optional=True, columns=(
        Column("kernel_id", "uint32", "id", "The launch; a GPU must hold all its CTAs at once.", sorted=True, points_to="kernels"),
    ),
)  # fmt: skip

REORDER_CALL = "_optix_hitobject_reorder"
"""Callee of the instructions to which ``hints`` belong."""

HINTS = Table(
    "hints", "call of a reorder executed by a warp, in order", optional=True, columns=(
        Column("warp_id", "uint32", "id", "Warp that executed it.", sorted=True, points_to="warps", encoding="DELTA_BINARY_PACKED"),
        Column("visit", "uint32", "count", "Visit of its warp that it belongs to.", encoding="BYTE_STREAM_SPLIT", level=3),
        Column("instruction_id", "uint32", "id", "The instruction.", points_to="instructions"),
        Column("lane_mask", "uint32", "mask", "Lanes that called; never 0.", encoding="PLAIN", level=3),
        Column("hint", "uint32", "1", "Coherence hint per set lane, lowest lane first: the bits of it that the call names, 0 where it names none.", ragged=True, encoding="BYTE_STREAM_SPLIT"),
    ),
)  # fmt: skip

TABLES = (
    KERNELS, INSTRUCTIONS, BLOCKS, WARPS, THREADS, VISITS, ACCESSES, PREDICATES, COPIES, RAYS, NODES, IMAGE,
    CHARACTERISATION, STAGES, FILLS, PARENTS, DISTANCES, CULLED, COOPERATIVE, HINTS,
)  # fmt: skip

TRACE = Format("rayplay trace", VERSION, TABLES)
