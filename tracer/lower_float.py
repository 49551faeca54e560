"""Floating point instructions as LLVM IR: one IEEE operation per instruction, NaN results canonical, .ftz explicit."""

from collections.abc import Callable

from ptx.ir import Instruction
from tracer.lower_emit import FLOAT, INT, TYPES, Emitter, type_names
from tracer.lower_rounding import directed_rounding, lower_directed

CANONICAL_NAN = {32: 0x7FFFFFFF, 64: 0x7FF8000000000000}
EXPONENT = {32: 0x7F800000, 64: 0x7FF0000000000000}
SIGN = {32: 1 << 31, 64: 1 << 63}
ONE = {32: 0x3F800000, 64: 0x3FF0000000000000}


def to_float(e: Emitter, bits: str, width: int) -> str:
    """The lanes' bits as floats."""
    return e.op(f"bitcast {INT[width]} {bits} to {FLOAT[width]}")


def to_bits(e: Emitter, value: str, width: int) -> str:
    """The lanes' floats as bits, every NaN the canonical one."""
    nan = e.op(f"fcmp uno {FLOAT[width]} {value}, zeroinitializer")
    bits = e.op(f"bitcast {FLOAT[width]} {value} to {INT[width]}")
    canonical = f"splat (i{width} {CANONICAL_NAN[width]})"
    return e.op(f"select <32 x i1> {nan}, {INT[width]} {canonical}, {INT[width]} {bits}")


def flush(e: Emitter, bits: str) -> str:
    """Subnormal f32 numbers become zero with their sign (.ftz)."""
    exponent = e.op(f"and <32 x i32> {bits}, splat (i32 {EXPONENT[32]})")
    small = e.op(f"icmp eq <32 x i32> {exponent}, zeroinitializer")
    sign = e.op(f"and <32 x i32> {bits}, splat (i32 {SIGN[32]})")
    return e.op(f"select <32 x i1> {small}, <32 x i32> {sign}, <32 x i32> {bits}")


def saturate(e: Emitter, bits: str, width: int) -> str:
    """Clamp to [0, 1]; NaN and -0 become +0 (.sat)."""
    value, kind = to_float(e, bits, width), INT[width]
    positive = e.op(f"fcmp ogt {FLOAT[width]} {value}, zeroinitializer")
    low = e.op(f"select <32 x i1> {positive}, {kind} {bits}, {kind} zeroinitializer")
    one = f"splat (i{width} {ONE[width]})"
    above = e.op(f"icmp ugt {kind} {low}, {one}")
    return e.op(f"select <32 x i1> {above}, {kind} {one}, {kind} {low}")


def read_float(e: Emitter, i: Instruction, index: int, name: str) -> str:
    """Operand ``index`` as floats, flushed under .ftz."""
    bits = e.read(i.operands[index], name)
    if "ftz" in i.modifiers and name == "f32":
        bits = flush(e, bits)
    return to_float(e, bits, TYPES[name])


def write_float(e: Emitter, i: Instruction, value: str, name: str) -> None:
    """Assign a float result: canonical NaN, then .ftz, then .sat."""
    write_float_bits(e, i, to_bits(e, value, TYPES[name]), name)


def write_float_bits(e: Emitter, i: Instruction, bits: str, name: str) -> None:
    """Assign the bits of a float result under .ftz and .sat."""
    if "ftz" in i.modifiers and name == "f32":
        bits = flush(e, bits)
    if "sat" in i.modifiers:
        bits = saturate(e, bits, TYPES[name])
    e.write(i.operands[0], bits, TYPES[name])


def _binary(word: str) -> Callable[[Emitter, Instruction], None]:
    def lower(e: Emitter, i: Instruction) -> None:
        name = type_names(i)[-1]
        a, b = read_float(e, i, 1, name), read_float(e, i, 2, name)
        rounding = directed_rounding(i)
        if rounding and name == "f32" and i.opcode in ("add", "sub", "mul"):
            write_directed(e, i, [a, b], rounding)
            return
        _nearest_only(e, i)
        write_float(e, i, e.op(f"{word} {FLOAT[TYPES[name]]} {a}, {b}"), name)

    return lower


def write_directed(e: Emitter, i: Instruction, operands: list[str], rounding: str) -> None:
    """Assign the result of .rz, .rm or .rp on f32."""
    bits = lower_directed(e, i, operands, rounding)
    write_float(e, i, to_float(e, bits, 32), "f32")


def _nearest_only(e: Emitter, i: Instruction) -> None:
    if directed_rounding(i):
        raise e.unknown()


def lower_fma(e: Emitter, i: Instruction) -> None:
    """fma and mad on floats: one rounding."""
    name = type_names(i)[-1]
    kind = FLOAT[TYPES[name]]
    a, b, c = (read_float(e, i, index, name) for index in (1, 2, 3))
    rounding = directed_rounding(i)
    if rounding and name == "f32":
        write_directed(e, i, [a, b, c], rounding)
        return
    _nearest_only(e, i)
    result = e.op(f"call {kind} @llvm.fma.v32f{TYPES[name]}({kind} {a}, {kind} {b}, {kind} {c})")
    write_float(e, i, result, name)


def lower_min_max(e: Emitter, i: Instruction) -> None:
    """min, max: a number wins over NaN (unless .NaN), -0 is below +0."""
    name = type_names(i)[-1]
    width = TYPES[name]
    kind, floats = INT[width], FLOAT[width]
    a, b = read_float(e, i, 1, name), read_float(e, i, 2, name)
    x, y = (e.op(f"bitcast {floats} {value} to {kind}") for value in (a, b))
    first = e.op(f"fcmp {'olt' if i.opcode == 'min' else 'ogt'} {floats} {a}, {b}")
    equal = e.op(f"fcmp oeq {floats} {a}, {b}")
    both = e.op(f"{'or' if i.opcode == 'min' else 'and'} {kind} {x}, {y}")
    bits = e.op(f"select <32 x i1> {first}, {kind} {x}, {kind} {y}")
    bits = e.op(f"select <32 x i1> {equal}, {kind} {both}, {kind} {bits}")
    a_nan, b_nan = (e.op(f"fcmp uno {floats} {value}, {value}") for value in (a, b))
    if "NaN" in i.modifiers:
        nan = f"splat (i{width} {CANONICAL_NAN[width]})"
        either = e.op(f"or <32 x i1> {a_nan}, {b_nan}")
        bits = e.op(f"select <32 x i1> {either}, {kind} {nan}, {kind} {bits}")
    else:
        bits = e.op(f"select <32 x i1> {b_nan}, {kind} {x}, {kind} {bits}")
        bits = e.op(f"select <32 x i1> {a_nan}, {kind} {y}, {kind} {bits}")
        bits = to_bits(e, to_float(e, bits, width), width)
    write_float_bits(e, i, bits, name)


def lower_sign(e: Emitter, i: Instruction) -> None:
    """neg, abs: the sign bit, also of NaN; copysign: the sign of a, the rest of b."""
    name = type_names(i)[-1]
    width = TYPES[name]
    kind = INT[width]
    bits = e.op(f"bitcast {FLOAT[width]} {read_float(e, i, 1, name)} to {kind}")
    if i.opcode == "neg":
        result = e.op(f"xor {kind} {bits}, splat (i{width} {SIGN[width]})")
    elif i.opcode == "abs":
        result = e.op(f"and {kind} {bits}, splat (i{width} {SIGN[width] - 1})")
    else:
        sign = e.op(f"and {kind} {bits}, splat (i{width} {SIGN[width]})")
        rest = e.op(f"and {kind} {e.read(i.operands[2], name)}, splat (i{width} {SIGN[width] - 1})")
        result = e.op(f"or {kind} {sign}, {rest}")
    e.write(i.operands[0], result, width)


def lower_testp(e: Emitter, i: Instruction) -> None:
    """testp: the class of a float."""
    name = type_names(i)[-1]
    width = TYPES[name]
    codes = {"finite": 0x1F8, "infinite": 0x204, "number": 0x3FC, "notanumber": 0x3, "normal": 0x108, "subnormal": 0x90}
    word = next((m for m in i.modifiers if m in codes), None)
    if word is None:
        raise e.unknown()
    value = to_float(e, e.read(i.operands[1], name), width)
    test = f"call <32 x i1> @llvm.is.fpclass.v32f{width}({FLOAT[width]} {value}, i32 {codes[word]})"
    e.write(i.operands[0], e.op(test), 1)


FLOAT_COMPARISONS = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno",
}  # fmt: skip


def compare_float(e: Emitter, i: Instruction, a: str, b: str, name: str) -> str:
    """The ``<32 x i1>`` of a float comparison on bits ``a`` and ``b``."""
    if "ftz" in i.modifiers and name == "f32":
        a, b = flush(e, a), flush(e, b)
    width = TYPES[name]
    word = FLOAT_COMPARISONS[i.modifiers[0]]
    return e.op(f"fcmp {word} {FLOAT[width]} {to_float(e, a, width)}, {to_float(e, b, width)}")


def lower_divide(e: Emitter, i: Instruction) -> None:
    """div: correctly rounded, .approx and .full too."""
    _binary("fdiv")(e, i)


def lower_root(e: Emitter, i: Instruction) -> None:
    """sqrt, rcp: correctly rounded, .approx too; rsqrt: 1 / sqrt in f64, rounded once more for f32."""
    name = type_names(i)[-1]
    _nearest_only(e, i)
    width = TYPES[name]
    kind = FLOAT[width]
    a = read_float(e, i, 1, name)
    if i.opcode == "sqrt":
        result = e.op(f"call {kind} @llvm.sqrt.v32f{width}({kind} {a})")
    elif i.opcode == "rcp":
        result = e.op(f"fdiv {kind} splat ({'float' if width == 32 else 'double'} 1.0), {a}")
    else:
        wide = a if width == 64 else e.op(f"fpext {kind} {a} to <32 x double>")
        root = e.op(f"call <32 x double> @llvm.sqrt.v32f64(<32 x double> {wide})")
        result = e.op(f"fdiv <32 x double> splat (double 1.0), {root}")
        result = result if width == 64 else e.op(f"fptrunc <32 x double> {result} to {kind}")
    write_float(e, i, result, name)


HANDLERS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "add": _binary("fadd"), "sub": _binary("fsub"), "mul": _binary("fmul"), "fma": lower_fma, "mad": lower_fma,
    "div": lower_divide, "min": lower_min_max, "max": lower_min_max, "neg": lower_sign, "abs": lower_sign,
    "copysign": lower_sign, "testp": lower_testp, "sqrt": lower_root, "rcp": lower_root, "rsqrt": lower_root,
}  # fmt: skip
