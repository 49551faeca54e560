"""Instructions by which the lanes of a warp exchange values, as LLVM IR."""

from collections.abc import Callable

from ptx.ir import Instruction, Pair
from tracer.lower_emit import INT, LANE_IDS, Emitter, type_names


def active_bits(e: Emitter) -> str:
    """The lanes that execute the instruction, i32."""
    return e.op(f"bitcast <32 x i1> {e.lanes()} to i32")


def lower_shfl(e: Emitter, i: Instruction) -> None:
    """shfl: value of another lane; out of its segment, or from a lane that does not execute it, the lane's own."""
    a, b, c = (e.read(operand, "b32") for operand in i.operands[1:4])
    lane = f"<{LANE_IDS}>"
    clamp = e.op(f"and <32 x i32> {c}, splat (i32 31)")
    segment = e.op(f"and <32 x i32> {e.op(f'lshr <32 x i32> {c}, splat (i32 8)')}, splat (i32 31)")
    outside = e.op(f"xor <32 x i32> {segment}, splat (i32 -1)")
    first = e.op(f"and <32 x i32> {lane}, {segment}")
    last = e.op(f"or <32 x i32> {first}, {e.op(f'and <32 x i32> {clamp}, {outside}')}")
    b = e.op(f"and <32 x i32> {b}, splat (i32 31)")
    mode = next(m for m in i.modifiers if m in ("up", "down", "bfly", "idx"))
    if mode == "up":
        source = e.op(f"sub <32 x i32> {lane}, {b}")
        valid = e.op(f"icmp sge <32 x i32> {source}, {last}")
    else:
        word = {"down": "add", "bfly": "xor"}.get(mode)
        inside = e.op(f"and <32 x i32> {b}, {outside}")
        source = e.op(f"{word} <32 x i32> {lane}, {b}" if word else f"or <32 x i32> {first}, {inside}")
        valid = e.op(f"icmp sle <32 x i32> {source}, {last}")
    source = e.op(f"select <32 x i1> {valid}, <32 x i32> {source}, <32 x i32> {lane}")
    source = e.op(f"and <32 x i32> {source}, splat (i32 31)")
    running = e.op(f"lshr <32 x i32> {e.splat(active_bits(e), 'i32')}, {source}")
    present = e.op(f"trunc <32 x i32> {running} to <32 x i1>")
    source = e.op(f"select <32 x i1> {present}, <32 x i32> {source}, <32 x i32> {lane}")
    e.put(f"store <32 x i32> {a}, ptr %lanes.32.1")
    pointers = e.op(f"getelementptr i32, ptr %lanes.32.1, <32 x i32> {source}")
    value = e.op(
        "call <32 x i32> @llvm.masked.gather.v32i32.v32p0("
        f"<32 x ptr> align 4 {pointers}, <32 x i1> splat (i1 true), <32 x i32> zeroinitializer)"
    )
    target = i.operands[0]
    e.write(target.first if isinstance(target, Pair) else target, value, 32)
    if isinstance(target, Pair):
        e.write(target.second, valid, 1)


def lower_vote(e: Emitter, i: Instruction) -> None:
    """vote: all, any, uni, ballot over the lanes that execute it."""
    lanes = e.lanes()
    bits = e.op(f"bitcast <32 x i1> {lanes} to i32")
    predicate = e.read(i.operands[1], "pred")
    holds = e.op(f"bitcast <32 x i1> {e.op(f'and <32 x i1> {predicate}, {lanes}')} to i32")
    if "ballot" in i.modifiers:
        return e.write(i.operands[0], e.splat(holds, "i32"), 32)
    none = e.op(f"icmp eq i32 {holds}, 0")
    every = e.op(f"icmp eq i32 {holds}, {bits}")
    if "all" in i.modifiers:
        answer = every
    elif "any" in i.modifiers:
        answer = e.op(f"xor i1 {none}, true")
    else:
        answer = e.op(f"or i1 {none}, {every}")
    return e.write(i.operands[0], e.splat(answer, "i1"), 1)


def lower_activemask(e: Emitter, i: Instruction) -> None:
    """activemask: the lanes that execute it."""
    e.write(i.operands[0], e.splat(active_bits(e), "i32"), 32)


def lower_match(e: Emitter, i: Instruction) -> None:
    """match.any: the executing lanes that hold the same value; match.all: all of them, or none."""
    name = type_names(i)[-1]
    kind, scalar = INT[int(name[1:])], f"i{name[1:]}"
    value, lanes = e.read(i.operands[1], name), e.lanes()
    bits = e.op(f"bitcast <32 x i1> {lanes} to i32")
    result = "zeroinitializer"
    same = "zeroinitializer"
    for lane in range(32):
        one = e.splat(e.op(f"extractelement {kind} {value}, i64 {lane}"), scalar)
        same = e.op(f"and <32 x i1> {e.op(f'icmp eq {kind} {value}, {one}')}, {lanes}")
        mask = e.op(f"bitcast <32 x i1> {same} to i32")
        result = e.op(f"insertelement <32 x i32> {result}, i32 {mask}, i64 {lane}")
    if "any" in i.modifiers:
        return e.write(i.operands[0], result, 32)
    all_bits = e.splat(bits, "i32")
    equal = e.op(f"icmp eq <32 x i32> {result}, {all_bits}")
    target = i.operands[0]
    answer = e.op(f"select <32 x i1> {equal}, <32 x i32> {all_bits}, <32 x i32> zeroinitializer")
    e.write(target.first if isinstance(target, Pair) else target, answer, 32)
    if isinstance(target, Pair):
        e.write(target.second, equal, 1)
    return None


REDUCTIONS = {
    "add": ("add", "zeroinitializer"), "and": ("and", "splat (i32 -1)"), "or": ("or", "zeroinitializer"),
    "xor": ("xor", "zeroinitializer"), "smin": ("smin", f"splat (i32 {2**31 - 1})"),
    "smax": ("smax", f"splat (i32 {-(2**31)})"), "umin": ("umin", "splat (i32 -1)"),
    "umax": ("umax", "zeroinitializer"),
}  # fmt: skip


def lower_redux(e: Emitter, i: Instruction) -> None:
    """redux: a reduction over the lanes that execute it."""
    name = type_names(i)[-1]
    word = next(m for m in i.modifiers if m in ("add", "and", "or", "xor", "min", "max"))
    if name[0] == "f":
        raise e.unknown()
    if word in ("min", "max"):
        word = ("s" if name[0] == "s" else "u") + word
    word, neutral = REDUCTIONS[word]
    value = e.op(f"select <32 x i1> {e.lanes()}, <32 x i32> {e.read(i.operands[1], name)}, <32 x i32> {neutral}")
    total = e.op(f"call i32 @llvm.vector.reduce.{word}.v32i32(<32 x i32> {value})")
    e.write(i.operands[0], e.splat(total, "i32"), 32)


def lower_nothing(e: Emitter, i: Instruction) -> None:
    """Fences, prefetches, pauses: warps run one after another and memory is always coherent."""


HANDLERS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "shfl": lower_shfl, "vote": lower_vote, "activemask": lower_activemask, "match": lower_match,
    "redux": lower_redux, "membar": lower_nothing, "fence": lower_nothing, "nanosleep": lower_nothing,
    "prefetch": lower_nothing, "prefetchu": lower_nothing, "pmevent": lower_nothing, "griddepcontrol": lower_nothing,
}  # fmt: skip
