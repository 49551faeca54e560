"""Narrow float formats as LLVM IR: half precision, bfloat16, tf32, and the 8-bit and smaller ones.

All go through f32, which holds each of them exactly. A value that f32 does not hold is first rounded to odd (truncated,
its last bit set where something was cut off), from which every narrower rounding is right (Boldo and Melquiond 2008).
"""

from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.text import FLOAT, INT
from rayplay.tracer.meaning.exact import FORMATS

SINGLE, DOUBLE, WORD, LONG = FLOAT[32], FLOAT[64], INT[32], INT[64]
SIGN, MAGNITUDE = 1 << 31, (1 << 31) - 1
INFINITY, NAN = 0x7F800000, 0x7FFFFFFF
ROUNDED_BITS = {"bf16": 16, "tf32": 13}


def select(e: Emitter, where: str, a: str, b: str, kind: str = WORD) -> str:
    """Lanes of ``a`` where the predicate holds, else of ``b``."""
    return e.op(f"select <32 x i1> {where}, {kind} {a}, {kind} {b}")


def word(value: int, width: int = 32) -> str:
    """A constant in all lanes."""
    return f"splat (i{width} {value})"


def as_word(e: Emitter, value: str) -> str:
    """Bits of f32 lanes."""
    return e.op(f"bitcast {SINGLE} {value} to {WORD}")


def as_single(e: Emitter, bits: str) -> str:
    """f32 lanes of bits."""
    return e.op(f"bitcast {WORD} {bits} to {SINGLE}")


def widen(e: Emitter, bits: str, name: str) -> str:
    """Half precision or bfloat16 bits as f32 lanes, exact."""
    if name == "f16":
        half = e.op(f"bitcast {INT[16]} {bits} to {FLOAT[16]}")
        return e.op(f"fpext {FLOAT[16]} {half} to {SINGLE}")
    return as_single(e, e.op(f"shl {WORD} {e.resize(bits, 16, 32)}, {word(16)}"))


def odd_single(e: Emitter, value: str) -> str:
    """f64 lanes as f32, rounded to odd; an infinity or NaN stays."""
    nearest = e.op(f"fptrunc {DOUBLE} {value} to {SINGLE}")
    back = e.op(f"fpext {SINGLE} {nearest} to {DOUBLE}")
    size, near = (e.op(f"call {DOUBLE} @llvm.fabs.v32f64({DOUBLE} {v})") for v in (value, back))
    above = e.resize(e.op(f"fcmp ogt {DOUBLE} {near}, {size}"), 1, 32)
    inexact = e.resize(e.op(f"fcmp one {DOUBLE} {near}, {size}"), 1, 32)
    truncated = e.op(f"sub {WORD} {as_word(e, nearest)}, {above}")
    return as_single(e, e.op(f"or {WORD} {truncated}, {inexact}"))


def narrow(e: Emitter, value: str, name: str, mode: str = "rn", finite: bool = False, relu: bool = False) -> str:
    """Bits of f32 lanes rounded to format ``name``.

    ``finite`` clamps to the largest number, infinities as well; ``relu`` makes negative numbers 0. NaN becomes
    the format's canonical one, or its largest number where it has none.
    """
    bits = as_word(e, value)
    if relu:
        negative = e.op(f"fcmp ole {SINGLE} {value}, zeroinitializer")
        bits = select(e, negative, "zeroinitializer", bits)
    nan = e.op(f"fcmp uno {SINGLE} {value}, zeroinitializer")
    if name == "f16":
        code, width = _to_half(e, bits, mode), 16
    elif name in ROUNDED_BITS:
        code, width = _drop_bits(e, bits, mode, ROUNDED_BITS[name]), 32
    else:
        code, width = _small(e, bits, name), 8
    format_ = FORMATS[name]
    largest, not_a_number = format_.largest, format_.largest if format_.nan is None else format_.nan
    if name == "tf32":
        largest, not_a_number = largest << 13, NAN
    if finite:
        code = _at_most(e, code, largest, width, format_.width - 1 if name != "tf32" else 31)
    code = e.op(f"select <32 x i1> {nan}, {INT[width]} {word(not_a_number, width)}, {INT[width]} {code}")
    return code if name != "bf16" else e.resize(code, 32, 16)


def _at_most(e: Emitter, code: str, largest: int, width: int, sign_bit: int) -> str:
    """Clamp the magnitude of a code."""
    kind = INT[width]
    size = e.op(f"and {kind} {code}, {word((1 << sign_bit) - 1, width)}")
    sign = e.op(f"and {kind} {code}, {word(1 << sign_bit, width)}")
    size = e.op(f"call {kind} @llvm.umin.v32i{width}({kind} {size}, {kind} {word(largest, width)})")
    return e.op(f"or {kind} {sign}, {size}")


def _drop_bits(e: Emitter, bits: str, mode: str, count: int) -> str:
    """Round to the f32 numbers whose low ``count`` bits are 0; bfloat16 is moved down to the low half."""
    low = (1 << count) - 1
    match mode:
        case "rn":
            last = e.op(f"and {WORD} {e.op(f'lshr {WORD} {bits}, {word(count)}')}, {word(1)}")
            more = e.op(f"add {WORD} {last}, {word(low >> 1)}")
        case "rna":
            more = word((low >> 1) + 1)
        case "rz":
            more = "zeroinitializer"
        case _:
            negative = e.op(f"ashr {WORD} {bits}, {word(31)}")
            direction = negative if mode == "rm" else e.op(f"xor {WORD} {negative}, {word(-1)}")
            more = e.op(f"and {WORD} {direction}, {word(low)}")
    total = e.op(f"add {WORD} {bits}, {more}")
    if count == 16:
        return e.op(f"lshr {WORD} {total}, {word(16)}")
    return e.op(f"and {WORD} {total}, {word(-1 - low)}")


def _to_half(e: Emitter, bits: str, mode: str) -> str:
    value = as_single(e, bits)
    half = e.op(f"fptrunc {SINGLE} {value} to {FLOAT[16]}")
    code = e.op(f"bitcast {FLOAT[16]} {half} to {INT[16]}")
    if mode == "rn":
        return code
    back = e.op(f"fpext {FLOAT[16]} {half} to {SINGLE}")
    above = e.op(f"fcmp ogt {SINGLE} {back}, {value}")
    below = e.op(f"fcmp olt {SINGLE} {back}, {value}")
    negative = e.op(f"icmp slt {INT[16]} {code}, zeroinitializer")
    # the next code up has a larger magnitude
    if mode == "rz":
        shrink = select(e, negative, below, above, INT[1])
        return e.op(f"sub {INT[16]} {code}, {e.resize(shrink, 1, 16)}")
    wrong, grows = (above, negative) if mode == "rm" else (below, e.op(f"xor {INT[1]} {negative}, splat (i1 true)"))
    step = e.op(f"select <32 x i1> {grows}, {INT[16]} {word(1, 16)}, {INT[16]} {word(-1, 16)}")
    step = e.op(f"select <32 x i1> {wrong}, {INT[16]} {step}, {INT[16]} zeroinitializer")
    return e.op(f"add {INT[16]} {code}, {step}")


def _small(e: Emitter, bits: str, name: str) -> str:
    """To nearest even of a format of at most 8 bits, the largest number for all above it."""
    kind = FORMATS[name]
    size = e.op(f"and {WORD} {bits}, {word(MAGNITUDE)}")
    cut = 23 - kind.mantissa_bits
    last = e.op(f"and {WORD} {e.op(f'lshr {WORD} {size}, {word(cut)}')}, {word(1)}")
    more = e.op(f"add {WORD} {last}, {word((1 << cut - 1) - 1)}")
    normal = e.op(f"lshr {WORD} {e.op(f'add {WORD} {size}, {more}')}, {word(cut)}")
    normal = e.op(f"sub {WORD} {normal}, {word((127 - kind.bias) << kind.mantissa_bits)}")
    # adding this number rounds to multiples of the smallest subnormal number
    magic = (127 + 1 - kind.bias - kind.mantissa_bits + 23) << 23
    total = e.op(f"fadd {SINGLE} {as_single(e, size)}, {as_single(e, word(magic))}")
    subnormal = e.op(f"sub {WORD} {as_word(e, total)}, {word(magic)}")
    is_small = e.op(f"icmp ult {WORD} {size}, {word((128 - kind.bias) << 23)}")
    code = select(e, is_small, subnormal, normal)
    code = e.op(f"call {WORD} @llvm.umin.v32i32({WORD} {code}, {WORD} {word(kind.largest)})")
    sign = e.op(f"shl {WORD} {e.op(f'lshr {WORD} {bits}, {word(31)}')}, {word(kind.width - 1)}")
    return e.resize(e.op(f"or {WORD} {sign}, {code}"), 32, 8)


def widen_small(e: Emitter, code: str, name: str) -> str:
    """8-bit or smaller codes (i8 lanes) as f32 lanes, exact."""
    kind = FORMATS[name]
    bits = e.resize(code, 8, 32)
    size = e.op(f"and {WORD} {bits}, {word((1 << kind.width - 1) - 1)}")
    # exponent and mantissa in their f32 places, times the ratio of the biases: exact also for subnormal codes
    placed = as_single(e, e.op(f"shl {WORD} {size}, {word(23 - kind.mantissa_bits)}"))
    scale = as_single(e, word((127 + 127 - kind.bias) << 23))
    value = as_word(e, e.op(f"fmul {SINGLE} {placed}, {scale}"))
    if kind.infinity is not None:
        value = select(e, e.op(f"icmp uge {WORD} {size}, {word(kind.infinity)}"), word(INFINITY), value)
    if kind.nan is not None:
        least = kind.largest if kind.infinity is None else kind.infinity
        value = select(e, e.op(f"icmp ugt {WORD} {size}, {word(least)}"), word(NAN), value)
    sign = e.op(f"and {WORD} {e.op(f'shl {WORD} {bits}, {word(32 - kind.width)}')}, {word(-SIGN)}")
    return as_single(e, e.op(f"or {WORD} {value}, {sign}"))
