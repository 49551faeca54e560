"""Floating point instructions as LLVM IR: one IEEE operation per instruction, NaN results canonical, .ftz explicit."""

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.form import signature
from rayplay.ptx.isa.types import HALVES, TYPES
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.narrow import widen
from rayplay.tracer.emit.rounding import lower_rounded
from rayplay.tracer.emit.series import hyperbolic_tangent
from rayplay.tracer.emit.text import FLOAT, INT, typed
from rayplay.tracer.meaning.floats import CANONICAL_NAN, EXPONENT, ONE, SIGN, directed_rounding


def to_float(e: Emitter, bits: str, width: int) -> str:
    """The lanes' bits as floats."""
    return e.op(f"bitcast {INT[width]} {bits} to {FLOAT[width]}")


def to_bits(e: Emitter, value: str, width: int) -> str:
    """The lanes' floats as bits, every NaN the canonical one."""
    nan = e.op(f"fcmp uno {FLOAT[width]} {value}, zeroinitializer")
    bits = e.op(f"bitcast {FLOAT[width]} {value} to {INT[width]}")
    canonical = f"splat (i{width} {CANONICAL_NAN[width]})"
    return e.op(f"select <32 x i1> {nan}, {INT[width]} {canonical}, {INT[width]} {bits}")


def flush(e: Emitter, bits: str, name: str = "f32") -> str:
    """Subnormal numbers of a format become zero with their sign (.ftz)."""
    width, kind = TYPES[name], INT[TYPES[name]]
    exponent = e.op(f"and {kind} {bits}, splat (i{width} {EXPONENT[name]})")
    small = e.op(f"icmp eq {kind} {exponent}, zeroinitializer")
    sign = e.op(f"and {kind} {bits}, splat (i{width} {1 << width - 1})")
    return e.op(f"select <32 x i1> {small}, {kind} {sign}, {kind} {bits}")


def saturate(e: Emitter, bits: str, width: int) -> str:
    """Clamp to [0, 1]; NaN and -0 become +0 (.sat)."""
    value, kind = to_float(e, bits, width), INT[width]
    positive = e.op(f"fcmp ogt {FLOAT[width]} {value}, zeroinitializer")
    low = e.op(f"select <32 x i1> {positive}, {kind} {bits}, {kind} zeroinitializer")
    one = f"splat (i{width} {ONE[f'f{width}']})"
    above = e.op(f"icmp ugt {kind} {low}, {one}")
    return e.op(f"select <32 x i1> {above}, {kind} {one}, {kind} {low}")


def read_float(e: Emitter, i: Instruction, index: int, name: str) -> str:
    """Operand ``index`` as floats, flushed under .ftz; a half precision one as f32."""
    if name in HALVES:
        return widen(e, e.read(i.operands[index], name), name)
    bits = e.read(i.operands[index], name)
    if i.form.ftz and name == "f32":
        bits = flush(e, bits)
    return to_float(e, bits, TYPES[name])


def write_float(e: Emitter, i: Instruction, value: str, name: str) -> None:
    """Assign a float result: canonical NaN, then .ftz, then .sat."""
    write_float_bits(e, i, to_bits(e, value, TYPES[name]), name)


def write_float_bits(e: Emitter, i: Instruction, bits: str, name: str) -> None:
    """Assign the bits of a float result under .ftz and .sat."""
    e.write(i.operands[0], finished(e, i, bits, name), TYPES[name])


def finished(e: Emitter, i: Instruction, bits: str, name: str) -> str:
    """The bits of a float result after .ftz and .sat."""
    if i.form.ftz and name == "f32":
        bits = flush(e, bits)
    return saturate(e, bits, TYPES[name]) if i.form.saturates else bits


def _computed(e: Emitter, i: Instruction, word: str, operands: list[str], width: int) -> str:
    """fadd, fsub, fmul, fdiv, fma or sqrt, rounded as the instruction says."""
    rounding = directed_rounding(i)
    if rounding:
        return lower_rounded(e, word, rounding, operands, f"f{width}", width)
    kind = FLOAT[width]
    if word in ("fma", "sqrt"):
        return e.op(f"call {kind} @llvm.{word}.v32f{width}({', '.join(f'{kind} {value}' for value in operands)})")
    return e.op(f"{word} {kind} {operands[0]}, {operands[1]}")


ARITHMETIC = {
    "add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "rcp": "fdiv", "sqrt": "sqrt", "fma": "fma",
    "mad": "fma",
}  # fmt: skip


def lower_arithmetic(e: Emitter, i: Instruction) -> None:
    """The operations of ARITHMETIC, rounded once; factors and terms may be of half precision."""
    name = i.form.types[0]
    values = [read_float(e, i, index, operand.type) for index, operand in enumerate(signature(i.form)[1:], 1)]
    if i.opcode == "rcp":
        values.insert(0, f"splat ({'float' if name == 'f32' else 'double'} 1.0)")
    write_float(e, i, _computed(e, i, ARITHMETIC[i.opcode], values, TYPES[name]), name)


def lower_pair(e: Emitter, i: Instruction) -> None:
    """add, sub, mul, fma on f32x2: each half as f32."""
    words = [e.read(operand, "f32x2") for operand in i.operands[1:]]
    result = "zeroinitializer"
    for shift in (0, 32):
        values = []
        for bits in words:
            low = e.resize(e.op(f"lshr {INT[64]} {bits}, splat (i64 {shift})"), 64, 32)
            values.append(to_float(e, flush(e, low) if i.form.ftz else low, 32))
        bits = to_bits(e, _computed(e, i, ARITHMETIC[i.opcode], values, 32), 32)
        bits = e.resize(finished(e, i, bits, "f32"), 32, 64)
        result = e.op(f"or {INT[64]} {result}, {e.op(f'shl {INT[64]} {bits}, splat (i64 {shift})')}")
    e.write(i.operands[0], result, 64)


def lower_min_max(e: Emitter, i: Instruction) -> None:
    """min, max of two or three numbers."""
    name = i.form.type
    values = [read_float(e, i, index, name) for index in range(1, len(i.operands))]
    write_float_bits(e, i, extreme(e, i, values, TYPES[name]), name)


def extreme(e: Emitter, i: Instruction, values: list[str], width: int) -> str:
    """Bits of min or max: a number wins over NaN (unless .NaN), -0 is below +0.

    .abs compares magnitudes; .xorsign gives the result the product's sign.
    """
    kind = INT[width]
    bits = [e.op(f"bitcast {FLOAT[width]} {value} to {kind}") for value in values]
    if i.form.absolute:
        magnitude = f"splat (i{width} {SIGN[width] - 1})"
        sizes = [e.op(f"and {kind} {each}, {magnitude}") for each in bits]
    else:
        sizes = bits
    result = sizes[0]
    for other in sizes[1:]:
        result = _nearer(e, i, result, other, width)
    nan = e.op(f"fcmp uno {FLOAT[width]} {to_float(e, result, width)}, zeroinitializer")
    if i.form.xorsign:
        signs = e.op(f"and {kind} {e.op(f'xor {kind} {bits[0]}, {bits[1]}')}, splat (i{width} {SIGN[width]})")
        result = e.op(f"or {kind} {result}, {signs}")
    canonical = f"splat (i{width} {CANONICAL_NAN[width]})"
    return e.op(f"select <32 x i1> {nan}, {kind} {canonical}, {kind} {result}")


def _nearer(e: Emitter, i: Instruction, x: str, y: str, width: int) -> str:
    floats = FLOAT[width]
    word = {"min": "minimum", "max": "maximum"}[i.opcode] + ("" if i.form.keeps_nan else "num")
    operands = ", ".join(f"{floats} {to_float(e, bits, width)}" for bits in (x, y))
    result = e.op(f"call {floats} @llvm.{word}.v32f{width}({operands})")
    return e.op(f"bitcast {floats} {result} to {INT[width]}")


def lower_sign(e: Emitter, i: Instruction) -> None:
    """neg, abs: the sign bit, also of NaN; copysign: the sign of a, the rest of b."""
    name, width, kind = typed(i)
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
    name, width, _ = typed(i)
    codes = {"finite": 0x1F8, "infinite": 0x204, "number": 0x3FC, "notanumber": 0x3, "normal": 0x108, "subnormal": 0x90}
    value = to_float(e, e.read(i.operands[1], name), width)
    test = f"call <32 x i1> @llvm.is.fpclass.v32f{width}({FLOAT[width]} {value}, i32 {codes[i.form.variant]})"
    e.write(i.operands[0], e.op(test), 1)


def lower_function(e: Emitter, i: Instruction) -> None:
    """tanh on f32."""
    x = e.op(f"fpext <32 x float> {read_float(e, i, 1, 'f32')} to {FLOAT[64]}")
    value = hyperbolic_tangent(e, x)
    write_float(e, i, e.op(f"fptrunc {FLOAT[64]} {value} to <32 x float>"), "f32")


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(ARITHMETIC, lower_arithmetic), "min": lower_min_max, "max": lower_min_max, "neg": lower_sign,
    "abs": lower_sign, "copysign": lower_sign, "testp": lower_testp, "tanh": lower_function,
}  # fmt: skip
PAIR_HANDLERS: dict[str, Handler] = dict.fromkeys(("add", "sub", "mul", "fma"), lower_pair)
