"""Special registers as LLVM IR."""

from ptx.ir import Register
from tracer.lower_emit import LANE_IDS, Emitter

LANE_MASKS = {
    "%lanemask_eq": lambda lane: 1 << lane, "%lanemask_lt": lambda lane: (1 << lane) - 1,
    "%lanemask_le": lambda lane: (2 << lane) - 1, "%lanemask_gt": lambda lane: (1 << 32) - (2 << lane),
    "%lanemask_ge": lambda lane: (1 << 32) - (1 << lane),
}  # fmt: skip
UNIFORM = {
    ("%ntid", "x"): "ntid_x", ("%ntid", "y"): "ntid_y", ("%ntid", "z"): "ntid_z",
    ("%nctaid", "x"): "nctaid_x", ("%nctaid", "y"): "nctaid_y", ("%nctaid", "z"): "nctaid_z",
    ("%ctaid", "x"): "ctaid_x", ("%ctaid", "y"): "ctaid_y", ("%ctaid", "z"): "ctaid_z",
    ("%warpid", ""): "warp_in_cta", ("%nwarpid", ""): "warps_per_cta",
    ("%dynamic_smem_size", ""): "dynamic_shared_bytes", ("%total_smem_size", ""): "shared_bytes",
}  # fmt: skip
CONSTANTS = {"%smid": 0, "%nsmid": 1, "%gridid": 0, "%nclusterid": 1, "%clusterid": 0}
CLOCKS = {"%clock": 32, "%clock_hi": 32, "%clock64": 64, "%globaltimer": 64, "%globaltimer_lo": 32,
          "%globaltimer_hi": 32}  # fmt: skip


def read_special(e: Emitter, register: Register) -> tuple[str, int]:
    """The value and width of a special register. Clocks count the warp's block visits, so that runs repeat."""
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
        if name.endswith("hi"):
            return "zeroinitializer", 32
        visits = e.op("load i64, ptr %visit.next")
        visits = e.op(f"lshr i64 {e.op(f'sub i64 {visits}, %visit.origin')}, 3")
        return e.resize(e.splat(visits, "i64"), 64, CLOCKS[name]), CLOCKS[name]
    if name in CONSTANTS:
        return f"splat (i32 {CONSTANTS[name]})", 32
    raise e.unknown(f"the special register {name}{'.' if component else ''}{component}")
