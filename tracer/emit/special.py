"""Special registers as LLVM IR."""

from rayplay.ptx.ir import Register
from rayplay.tracer.emit.emitter import LANE_IDS, Emitter

LANE_MASKS = {
    "%lanemask_eq": lambda lane: 1 << lane, "%lanemask_lt": lambda lane: (1 << lane) - 1,
    "%lanemask_le": lambda lane: (2 << lane) - 1, "%lanemask_gt": lambda lane: (1 << 32) - (2 << lane),
    "%lanemask_ge": lambda lane: (1 << 32) - (1 << lane),
}  # fmt: skip
VECTORS = {"%ntid": "ntid", "%nctaid": "nctaid", "%ctaid": "ctaid", "%clusterid": "ctaid", "%nclusterid": "nctaid"}
UNIFORM = {(name, axis): f"{word}_{axis}" for name, word in VECTORS.items() for axis in "xyz"} | {
    ("%warpid", ""): "warp_in_cta", ("%nwarpid", ""): "warps_per_cta",
    ("%dynamic_smem_size", ""): "dynamic_shared_bytes", ("%total_smem_size", ""): "shared_bytes",
    ("%aggr_smem_size", ""): "shared_bytes",
}  # fmt: skip
# value and width; a cluster is one CTA, the GPU has one SM, nobody counts performance events
CONSTANTS = {
    "%smid": (0, 32), "%nsmid": (1, 32), "%gridid": (0, 64), "%is_explicit_cluster": (0, 1),
    "%cluster_ctarank": (0, 32), "%cluster_nctarank": (1, 32), "%current_graph_exec": (0, 64),
    **{f"%envreg{number}": (0, 32) for number in range(32)},
    **{f"%pm{number}": (0, 32) for number in range(8)}, **{f"%pm{number}_64": (0, 64) for number in range(8)},
    **{f"%reserved_smem_offset_{word}": (0, 32) for word in ("begin", "end", "cap", 0, 1)},
}  # fmt: skip
CONSTANT_VECTORS = {"%cluster_ctaid": 0, "%cluster_nctaid": 1}
HAVE_FOURTH = ("%tid", *VECTORS, *CONSTANT_VECTORS)
CLOCKS = {"%clock": 32, "%clock_hi": 32, "%clock64": 64, "%globaltimer": 64, "%globaltimer_lo": 32,
          "%globaltimer_hi": 32}  # fmt: skip
TICKS_OF_BLOCK = 64  # a clock's ticks between a block and the next one that the warp visits


def read_special(e: Emitter, register: Register) -> tuple[str, int]:
    """The value and width of a special register.

    Clocks count the warp's block visits and the instructions of the block, so that runs repeat.
    """
    name, component = register.name, register.component
    if name == "%laneid":
        return f"<{LANE_IDS}>", 32
    if name in LANE_MASKS:
        return "<" + ", ".join(f"i32 {LANE_MASKS[name](lane)}" for lane in range(32)) + ">", 32
    if name == "%tid" and component in ("x", "y", "z"):
        table = e.op(f"inttoptr i64 {e.machine('tid')} to ptr")
        pointer = e.op(f"getelementptr i8, ptr {table}, i64 {128 * 'xyz'.index(component)}")
        return e.op(f"load <32 x i32>, ptr {pointer}, align 64"), 32
    if (name, component) in UNIFORM:
        value = e.op(f"trunc i64 {e.machine(UNIFORM[name, component])} to i32")
        return e.splat(value, "i32"), 32
    if name in CLOCKS:
        return _clock(e, name), CLOCKS[name]
    if name in CONSTANTS and not component:
        constant, width = CONSTANTS[name]
        return f"splat (i{width} {constant})", width
    if name in CONSTANT_VECTORS and component in ("x", "y", "z"):
        return f"splat (i32 {CONSTANT_VECTORS[name]})", 32
    if name in HAVE_FOURTH and component == "w":
        return "zeroinitializer", 32
    raise e.unknown(f"the special register {name}{'.' if component else ''}{component}")


def _clock(e: Emitter, name: str) -> str:
    place = e.op("load i64, ptr %visit.next")
    visits = e.op(f"lshr i64 {e.op(f'sub i64 {place}, %visit.origin')}, 3")
    ticks = e.op(f"add i64 {e.op(f'mul i64 {visits}, {TICKS_OF_BLOCK}')}, {ticks_in_block(e.position)}")
    if name.endswith("_hi"):
        ticks = e.op(f"lshr i64 {ticks}, 32")
    return e.resize(e.splat(ticks, "i64"), 64, CLOCKS[name])


def ticks_in_block(position: int) -> int:
    """How many ticks after its block's first instruction one at ``position`` executes."""
    return min(position, TICKS_OF_BLOCK - 1)
