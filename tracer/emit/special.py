"""Special registers as LLVM IR."""

from rayplay.ptx.ir import Register
from rayplay.ptx.isa.special import WIDTHS
from rayplay.tracer.emit.text import LANE_IDS, Text
from rayplay.tracer.meaning import special


def read_special(e: Text, register: Register) -> tuple[str, int]:
    """The value and width of a special register.

    Clocks count the warp's block visits and the instructions of the block, so that runs repeat.
    """
    name, component = register.name, register.component
    if name == "%laneid":
        return f"<{LANE_IDS}>", 32
    if name in special.LANE_MASKS:
        return "<" + ", ".join(f"i32 {special.LANE_MASKS[name](lane)}" for lane in range(32)) + ">", 32
    if name == "%tid" and component in ("x", "y", "z"):
        table = e.op(f"inttoptr i64 {e.machine('tid')} to ptr")
        pointer = e.op(f"getelementptr i8, ptr {table}, i64 {128 * 'xyz'.index(component)}")
        return e.op(f"load <32 x i32>, ptr {pointer}, align 64"), 32
    if (name, component) in special.UNIFORM:
        value = e.op(f"trunc i64 {e.machine(special.UNIFORM[name, component])} to i32")
        return e.splat(value, "i32"), 32
    if name in special.CLOCKS:
        return _clock(e, name), WIDTHS[name]
    if name in special.CONSTANTS and not component:
        return f"splat (i{WIDTHS[name]} {special.CONSTANTS[name]})", WIDTHS[name]
    if name in special.CONSTANT_VECTORS and component in ("x", "y", "z"):
        return f"splat (i32 {special.CONSTANT_VECTORS[name]})", 32
    if name in special.HAVE_FOURTH and component == "w":
        return "zeroinitializer", 32
    raise e.unknown(f"the special register {name}{'.' if component else ''}{component}")


def _clock(e: Text, name: str) -> str:
    place = e.op("load i64, ptr %visit.next")
    visits = e.op(f"lshr i64 {e.op(f'sub i64 {place}, %visit.origin')}, 3")
    ticks = e.op(f"add i64 {e.op(f'mul i64 {visits}, {special.TICKS_OF_BLOCK}')}, {special.ticks_in_block(e.position)}")
    if name.endswith("_hi"):
        ticks = e.op(f"lshr i64 {ticks}, 32")
    return e.resize(e.splat(ticks, "i64"), 64, WIDTHS[name])
