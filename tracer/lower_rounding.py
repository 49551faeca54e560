"""add, sub, mul and fma of f32 rounded towards zero, minus or plus infinity (.rz, .rm, .rp) as LLVM IR.

A product of two f32 is exact in f64. A sum is rounded to nearest there, with its error as a second f64 (Knuth's
two-sum), and then to f32. The result is off by at most one unit, and sum and error say whether it is.
"""

from ptx.ir import Instruction
from tracer.lower_emit import FLOAT, INT, Emitter

DIRECTED = ("rz", "rm", "rp")
DOUBLE, BITS = FLOAT[64], INT[32]
SMALLEST, SMALLEST_NEGATIVE = 1, (1 << 31) + 1


def directed_rounding(i: Instruction) -> str | None:
    """``rz``, ``rm`` or ``rp`` where the instruction asks for it."""
    return next((modifier for modifier in i.modifiers if modifier in DIRECTED), None)


def lower_directed(e: Emitter, i: Instruction, operands: list[str], rounding: str) -> str:
    """Bits of the result of ``operands``, the f32 lanes of the instruction's two or three sources."""
    wide = [e.op(f"fpext {FLOAT[32]} {value} to {DOUBLE}") for value in operands]
    if i.opcode == "mul":
        total, error = e.op(f"fmul {DOUBLE} {wide[0]}, {wide[1]}"), "zeroinitializer"
        return _adjust(e, total, error, rounding, None)
    if i.opcode in ("fma", "mad"):
        x, y = e.op(f"fmul {DOUBLE} {wide[0]}, {wide[1]}"), wide[2]
    else:
        x, y = wide[0], e.op(f"fneg {DOUBLE} {wide[1]}") if i.opcode == "sub" else wide[1]
    total = e.op(f"fadd {DOUBLE} {x}, {y}")
    part = e.op(f"fsub {DOUBLE} {total}, {x}")
    x_error = e.op(f"fsub {DOUBLE} {x}, {e.op(f'fsub {DOUBLE} {total}, {part}')}")
    y_error = e.op(f"fsub {DOUBLE} {y}, {part}")
    error = e.op(f"fadd {DOUBLE} {x_error}, {y_error}")
    return _adjust(e, total, error, rounding, (x, y))


def _adjust(e: Emitter, total: str, error: str, rounding: str, summands: tuple[str, str] | None) -> str:
    nearest = e.op(f"fptrunc {DOUBLE} {total} to {FLOAT[32]}")
    bits = e.op(f"bitcast {FLOAT[32]} {nearest} to {BITS}")
    back = e.op(f"fpext {FLOAT[32]} {nearest} to {DOUBLE}")
    if rounding == "rm":
        bits = _select(e, _beyond(e, "ogt", back, total, error, "olt"), _step(e, bits, down=True), bits)
        return _negative_zero(e, bits, total, summands) if summands else bits
    if rounding == "rp":
        return _select(e, _beyond(e, "olt", back, total, error, "ogt"), _step(e, bits, down=False), bits)
    is_above = _beyond(e, "ogt", back, total, error, "olt")
    is_below = _beyond(e, "olt", back, total, error, "ogt")
    positive = e.op(f"fcmp ogt {DOUBLE} {total}, zeroinitializer")
    is_larger = e.op(f"select <32 x i1> {positive}, <32 x i1> {is_above}, <32 x i1> {is_below}")
    return _select(e, is_larger, e.op(f"sub {BITS} {bits}, splat (i32 1)"), bits)


def _beyond(e: Emitter, word: str, back: str, total: str, error: str, error_word: str) -> str:
    """Lanes whose f32 result lies beyond the exact one, total + error, on the side of ``word``."""
    apart = e.op(f"fcmp {word} {DOUBLE} {back}, {total}")
    equal = e.op(f"fcmp oeq {DOUBLE} {back}, {total}")
    by_error = e.op(f"fcmp {error_word} {DOUBLE} {error}, zeroinitializer")
    return e.op(f"or <32 x i1> {apart}, {e.op(f'and <32 x i1> {equal}, {by_error}')}")


def _step(e: Emitter, bits: str, down: bool) -> str:
    """The next f32 below or above."""
    zero = e.op(f"icmp eq {BITS} {e.op(f'shl {BITS} {bits}, splat (i32 1)')}, zeroinitializer")
    positive = e.op(f"icmp sgt {BITS} {bits}, zeroinitializer")
    less, more = (e.op(f"{word} {BITS} {bits}, splat (i32 1)") for word in ("sub", "add"))
    moved = _select(e, positive, less if down else more, more if down else less)
    return _select(e, zero, f"splat (i32 {SMALLEST_NEGATIVE if down else SMALLEST})", moved)


def _negative_zero(e: Emitter, bits: str, total: str, summands: tuple[str, str]) -> str:
    """A sum that is exactly 0 is -0 under .rm, unless both summands are +0."""
    x, y = (e.op(f"bitcast {DOUBLE} {value} to {INT[64]}") for value in summands)
    some = e.op(f"icmp slt {INT[64]} {e.op(f'or {INT[64]} {x}, {y}')}, zeroinitializer")
    zero = e.op(f"fcmp oeq {DOUBLE} {total}, zeroinitializer")
    return _select(e, e.op(f"and <32 x i1> {zero}, {some}"), f"splat (i32 {1 << 31})", bits)


def _select(e: Emitter, where: str, a: str, b: str) -> str:
    return e.op(f"select <32 x i1> {where}, {BITS} {a}, {BITS} {b}")
