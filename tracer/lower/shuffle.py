"""Instructions by which the lanes of a warp exchange values, as LLVM IR."""

from collections.abc import Callable

from rayplay.ptx.ir import Instruction, Operand, Pair
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.text import INT, LANE_IDS, lowest_lane
from rayplay.tracer.meaning.floats import CANONICAL_NAN


def active_bits(e: Emitter) -> str:
    """The lanes that execute the instruction, i32."""
    return e.op(f"bitcast <32 x i1> {e.lanes()} to i32")


def lower_shfl(e: Emitter, i: Instruction) -> None:
    """shfl: value of another lane; out of its segment, or from a lane that does not execute it, the lane's own."""
    mode = i.form.variant
    a, b, c = (e.read(operand, "b32") for operand in i.operands[1:4])
    lane = f"<{LANE_IDS}>"
    clamp = e.op(f"and <32 x i32> {c}, splat (i32 31)")
    segment = e.op(f"and <32 x i32> {e.op(f'lshr <32 x i32> {c}, splat (i32 8)')}, splat (i32 31)")
    outside = e.op(f"xor <32 x i32> {segment}, splat (i32 -1)")
    first = e.op(f"and <32 x i32> {lane}, {segment}")
    last = e.op(f"or <32 x i32> {first}, {e.op(f'and <32 x i32> {clamp}, {outside}')}")
    b = e.op(f"and <32 x i32> {b}, splat (i32 31)")
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
    _write_pair(e, i.operands[0], value, valid)


def _write_pair(e: Emitter, target: Operand, value: str, flag: str) -> None:
    """A word, and a predicate where the instruction names one."""
    e.write(target.first if isinstance(target, Pair) else target, value, 32)
    if isinstance(target, Pair):
        e.write(target.second, flag, 1)


def participants(e: Emitter, i: Instruction, index: int) -> str:
    """Per lane the lanes that it works with, ``<32 x i32>``: executing lanes within the mask of a .sync form.

    Groups of lanes with masks of their own may stand at one instruction together.
    """
    running = e.splat(active_bits(e), "i32")
    if not i.form.synchronised:
        return running
    return e.op(f"and <32 x i32> {running}, {e.read(i.operands[index], 'b32')}")


def lower_vote(e: Emitter, i: Instruction) -> None:
    """vote: all, any, uni, ballot."""
    among = participants(e, i, 2)
    predicate = e.read(i.operands[1], "pred")
    holds = e.op(f"bitcast <32 x i1> {e.op(f'and <32 x i1> {predicate}, {e.lanes()}')} to i32")
    holding = e.op(f"and <32 x i32> {e.splat(holds, 'i32')}, {among}")
    if i.form.variant == "ballot":
        return e.write(i.operands[0], holding, 32)
    none = e.op(f"icmp eq <32 x i32> {holding}, zeroinitializer")
    every = e.op(f"icmp eq <32 x i32> {holding}, {among}")
    if i.form.variant == "all":
        answer = every
    elif i.form.variant == "any":
        answer = e.op(f"xor <32 x i1> {none}, splat (i1 true)")
    else:
        answer = e.op(f"or <32 x i1> {none}, {every}")
    return e.write(i.operands[0], answer, 1)


def lower_activemask(e: Emitter, i: Instruction) -> None:
    """activemask: the lanes that execute it."""
    e.write(i.operands[0], e.splat(active_bits(e), "i32"), 32)


def lower_elect(e: Emitter, i: Instruction) -> None:
    """elect: the lowest lane leads."""
    among = participants(e, i, 1)
    leader = e.op(f"call <32 x i32> @llvm.cttz.v32i32(<32 x i32> {among}, i1 false)")
    leads = e.op(f"icmp eq <32 x i32> {leader}, <{LANE_IDS}>")
    _write_pair(e, i.operands[0], leader, leads)


def lower_match(e: Emitter, i: Instruction) -> None:
    """match.any: the lanes that hold the same value; match.all: all of them, or none."""
    name = i.form.type
    vector, scalar = INT[int(name[1:])], f"i{name[1:]}"
    value, lanes = e.read(i.operands[1], name), e.lanes()
    result = "zeroinitializer"
    for lane in range(32):
        one = e.splat(e.op(f"extractelement {vector} {value}, i64 {lane}"), scalar)
        same = e.op(f"and <32 x i1> {e.op(f'icmp eq {vector} {value}, {one}')}, {lanes}")
        mask = e.op(f"bitcast <32 x i1> {same} to i32")
        result = e.op(f"insertelement <32 x i32> {result}, i32 {mask}, i64 {lane}")
    among = participants(e, i, 2)
    result = e.op(f"and <32 x i32> {result}, {among}")
    if i.form.variant == "any":
        return e.write(i.operands[0], result, 32)
    equal = e.op(f"icmp eq <32 x i32> {result}, {among}")
    answer = e.op(f"select <32 x i1> {equal}, <32 x i32> {among}, <32 x i32> zeroinitializer")
    return _write_pair(e, i.operands[0], answer, equal)


LOWEST, HIGHEST = -(2**31), 2**31 - 1
REDUCTIONS = {
    "add": ("add", 0), "and": ("and", -1), "or": ("or", 0), "xor": ("xor", 0),
    "smin": ("smin", HIGHEST), "smax": ("smax", LOWEST), "umin": ("umin", -1), "umax": ("umax", 0),
}  # fmt: skip


def lower_redux(e: Emitter, i: Instruction) -> None:
    """redux: a reduction over the lanes that execute it with the same mask."""
    word, name = i.form.operation, i.form.type
    value, mask = e.read(i.operands[1], "b32"), e.read(i.operands[2], "b32")
    if word in ("min", "max"):
        word = ("u" if name == "u32" else "s") + word
    if name != "f32":
        return e.write(i.operands[0], by_mask(e, mask, lambda lanes: reduced(e, word, value, lanes)), 32)
    if i.form.absolute:
        value = e.op(f"and <32 x i32> {value}, splat (i32 {HIGHEST})")
    keep_nan = i.form.keeps_nan
    return e.write(i.operands[0], by_mask(e, mask, lambda lanes: _reduced_float(e, word, value, lanes, keep_nan)), 32)


def reduced(e: Emitter, word: str, value: str, lanes: str) -> str:
    """A reduction over the set lanes, i32."""
    word, neutral = REDUCTIONS[word]
    value = e.op(f"select <32 x i1> {lanes}, <32 x i32> {value}, <32 x i32> splat (i32 {neutral})")
    return e.op(f"call i32 @llvm.vector.reduce.{word}.v32i32(<32 x i32> {value})")


def _reduced_float(e: Emitter, word: str, value: str, lanes: str, keep_nan: bool) -> str:
    """The least or greatest number, as integers in the order of floats; -0 is below +0.

    A NaN gives way to numbers, or (``keep_nan``) to nothing.
    """
    size = e.op(f"and <32 x i32> {value}, splat (i32 {HIGHEST})")
    nan = e.op(f"and <32 x i1> {e.op(f'icmp ugt <32 x i32> {size}, splat (i32 {0x7F800000})')}, {lanes}")
    number = e.op(f"xor <32 x i1> {nan}, {lanes}")
    ordered = _order(e, value, "<32 x i32>", "splat (i32 31)", f"splat (i32 {HIGHEST})")
    found = _order(e, reduced(e, word, ordered, number), "i32", "31", str(HIGHEST))
    nans, numbers = (e.op(f"bitcast <32 x i1> {each} to i32") for each in (nan, number))
    test = f"icmp ne i32 {nans}, 0" if keep_nan else f"icmp eq i32 {numbers}, 0"
    return e.op(f"select i1 {e.op(test)}, i32 {CANONICAL_NAN[32]}, i32 {found}")


def _order(e: Emitter, bits: str, kind: str, shift: str, rest: str) -> str:
    """Bits of floats as signed integers in the same order, and back."""
    sign = e.op(f"ashr {kind} {bits}, {shift}")
    return e.op(f"xor {kind} {bits}, {e.op(f'and {kind} {sign}, {rest}')}")


def by_mask(e: Emitter, mask: str, reduce: Callable[[str], str]) -> str:
    """``reduce`` over the executing lanes of each mask by itself; every lane gets its group's result."""
    if mask.startswith("splat"):
        return e.splat(reduce(e.lanes()), "i32")
    lanes = e.lanes()
    e.put(f"store <32 x i32> {mask}, ptr %lanes.32.1")
    e.put("store <32 x i32> zeroinitializer, ptr %lanes.32.result")
    with lowest_lane(e, lanes) as (left, lane):
        own = e.op(f"load i32, ptr {e.op(f'getelementptr i32, ptr %lanes.32.1, i32 {lane}')}")
        same = e.op(f"icmp eq <32 x i32> {mask}, {e.splat(own, 'i32')}")
        group = e.op(f"and <32 x i1> {same}, {e.op(f'bitcast i32 {left} to <32 x i1>')}")
        result = e.splat(reduce(group), "i32")
        before = e.op("load <32 x i32>, ptr %lanes.32.result")
        after = e.op(f"select <32 x i1> {group}, <32 x i32> {result}, <32 x i32> {before}")
        e.put(f"store <32 x i32> {after}, ptr %lanes.32.result")
        gone = e.op(f"bitcast <32 x i1> {group} to i32")
        e.put(f"store i32 {e.op(f'xor i32 {left}, {gone}')}, ptr %lanes.left")
    return e.op("load <32 x i32>, ptr %lanes.32.result")


HANDLERS: dict[str, Handler] = {
    "shfl": lower_shfl, "vote": lower_vote, "activemask": lower_activemask, "match": lower_match,
    "redux": lower_redux, "elect": lower_elect,
}  # fmt: skip
