"""Half precision and bfloat16 arithmetic, alone and in pairs, as LLVM IR: in f32, then rounded once more.

f32 has more than twice the digits plus two, so the second rounding changes nothing (Figueroa 1995); fma, whose sum can
be longer, is rounded to odd first.
"""

from collections.abc import Callable

from rayplay.ptx.ir import Instruction
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.narrow import DOUBLE, SINGLE, narrow, odd_single, widen, word
from rayplay.tracer.emit.series import FUNCTIONS
from rayplay.tracer.emit.text import FLOAT, INT
from rayplay.tracer.lower.floats import extreme, flush

HALF = INT[16]


def parts_of(e: Emitter, bits: str, packed: bool) -> list[str]:
    """The i16 lanes of a half precision operand, two of a packed one, low half first."""
    if not packed:
        return [bits]
    return [e.resize(value, 32, 16) for value in (bits, e.op(f"lshr {INT[32]} {bits}, {word(16)}"))]


def joined(e: Emitter, parts: list[str]) -> str:
    """Two i16 lanes as one word, or the only one."""
    if len(parts) == 1:
        return parts[0]
    high = e.op(f"shl {INT[32]} {e.resize(parts[1], 16, 32)}, {word(16)}")
    return e.op(f"or {INT[32]} {e.resize(parts[0], 16, 32)}, {high}")


def read_parts(e: Emitter, i: Instruction, index: int, name: str) -> list[str]:
    """Operand ``index`` as i16 lanes, flushed under .ftz."""
    parts = parts_of(e, e.read(i.operands[index], name), name.endswith("x2"))
    base = name.removesuffix("x2")
    return [flush(e, part, base) for part in parts] if i.form.ftz else parts


def _sum(word_: str) -> Callable[[Emitter, Instruction, str, list[str]], str]:
    def compute(e: Emitter, i: Instruction, base: str, values: list[str]) -> str:
        return e.op(f"{word_} {SINGLE} {values[0]}, {values[1]}")

    return compute


def odd_sum(e: Emitter, x: str, y: str, width: int) -> str:
    """x + y rounded to odd, from the sum to nearest and its error (Knuth's two-sum)."""
    kind, bits = FLOAT[width], INT[width]
    total = e.op(f"fadd {kind} {x}, {y}")
    part = e.op(f"fsub {kind} {total}, {x}")
    x_error = e.op(f"fsub {kind} {x}, {e.op(f'fsub {kind} {total}, {part}')}")
    error = e.op(f"fadd {kind} {x_error}, {e.op(f'fsub {kind} {y}, {part}')}")
    inexact = e.op(f"fcmp one {kind} {error}, zeroinitializer")
    signs = e.op(f"xor {bits} {e.op(f'bitcast {kind} {total} to {bits}')}, {e.op(f'bitcast {kind} {error} to {bits}')}")
    apart = e.op(f"icmp slt {bits} {signs}, zeroinitializer")
    beyond = e.resize(e.op(f"and <32 x i1> {inexact}, {apart}"), 1, width)
    truncated = e.op(f"sub {bits} {e.op(f'bitcast {kind} {total} to {bits}')}, {beyond}")
    odd = e.op(f"or {bits} {truncated}, {e.resize(inexact, 1, width)}")
    return e.op(f"bitcast {bits} {odd} to {kind}")


def _fused(e: Emitter, i: Instruction, base: str, values: list[str]) -> str:
    """a * b is exact in f32 for f16; bfloat16 has f32's range of exponents and needs f64."""
    if base == "f16":
        product = e.op(f"fmul {SINGLE} {values[0]}, {values[1]}")
        return odd_sum(e, product, values[2], 32)
    a, b, c = (e.op(f"fpext {SINGLE} {value} to {DOUBLE}") for value in values)
    return odd_single(e, odd_sum(e, e.op(f"fmul {DOUBLE} {a}, {b}"), c, 64))


def _extreme(e: Emitter, i: Instruction, base: str, values: list[str]) -> str:
    bits = extreme(e, i, values, 32)
    return e.op(f"bitcast {INT[32]} {bits} to {SINGLE}")


def _function(e: Emitter, i: Instruction, base: str, values: list[str]) -> str:
    wide = e.op(f"fpext {SINGLE} {values[0]} to {DOUBLE}")
    return odd_single(e, FUNCTIONS[i.opcode](e, wide))


COMPUTE: dict[str, Callable[[Emitter, Instruction, str, list[str]], str]] = {
    "add": _sum("fadd"), "sub": _sum("fsub"), "mul": _sum("fmul"), "fma": _fused, "min": _extreme, "max": _extreme,
    "ex2": _function, "tanh": _function,
}  # fmt: skip


def lower_half(e: Emitter, i: Instruction) -> None:
    """An operation of COMPUTE on every part of its operands."""
    name = i.form.type
    base = name.removesuffix("x2")
    sources = [read_parts(e, i, index, name) for index in range(1, len(i.operands))]
    results = []
    for parts in zip(*sources, strict=True):
        value = COMPUTE[i.opcode](e, i, base, [widen(e, part, base) for part in parts])
        if i.form.saturates:
            value = _saturated(e, value)
        bits = narrow(e, value, base, relu=i.form.relu)
        results.append(flush(e, bits, base) if i.form.ftz else bits)
    e.write(i.operands[0], joined(e, results), 16 * len(results))


def _saturated(e: Emitter, value: str) -> str:
    """Clamp f32 lanes to [0, 1]; NaN and -0 become +0."""
    positive = e.op(f"fcmp ogt {SINGLE} {value}, zeroinitializer")
    low = e.op(f"select <32 x i1> {positive}, {SINGLE} {value}, {SINGLE} zeroinitializer")
    above = e.op(f"fcmp ogt {SINGLE} {low}, splat (float 1.0)")
    return e.op(f"select <32 x i1> {above}, {SINGLE} splat (float 1.0), {SINGLE} {low}")


def lower_sign(e: Emitter, i: Instruction) -> None:
    """neg, abs: the sign bit alone, also of NaN."""
    name = i.form.type
    mask = -0x8000 if i.opcode == "neg" else 0x7FFF
    operation = "xor" if i.opcode == "neg" else "and"
    parts = [e.op(f"{operation} {HALF} {part}, {word(mask, 16)}") for part in read_parts(e, i, 1, name)]
    e.write(i.operands[0], joined(e, parts), 16 * len(parts))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(COMPUTE, lower_half), "neg": lower_sign, "abs": lower_sign,
}  # fmt: skip
