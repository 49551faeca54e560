"""Operations rounded towards zero, minus or plus infinity (.rz, .rm, .rp) as LLVM IR.

LLVM may move ordinary arithmetic across a change of the processor's rounding mode, so each operation is a function of
its own that changes the mode, computes and changes it back. The functions are weak, lest constants come into them:
LLVM takes 1 - 1 for exact and gives it the sign that it has to nearest. The name says all of it:
``@rounded.fadd.rz.v32f32.v32f32`` is operation, rounding, operand and result type; ``rounding_functions`` writes the
functions that a program calls.
"""

import re

from rayplay.ptx.ir import Instruction
from rayplay.tracer.emit.emitter import Emitter

DIRECTED = {"rz": 0, "rp": 2, "rm": 3}  # numbers of llvm.set.rounding; 1 is to nearest
SOURCES = {"fadd": 2, "fsub": 2, "fmul": 2, "fdiv": 2, "fma": 3, "sqrt": 1, "fptrunc": 1, "sitofp": 1, "uitofp": 1}
KINDS = {"f": {32: "float", 64: "double"}, "i": {8: "i8", 16: "i16", 32: "i32", 64: "i64"}}
_CALL = re.compile(r"@rounded\.(\w+)\.(\w+)\.v32([fi])(\d+)\.v32f(\d+)\(")


def directed_rounding(i: Instruction) -> str | None:
    """``rz``, ``rm`` or ``rp`` where the instruction asks for it."""
    return next((modifier for modifier in i.modifiers if modifier in DIRECTED), None)


def lower_rounded(e: Emitter, operation: str, rounding: str, operands: list[str], have: str, want: int) -> str:
    """The float lanes of ``operation`` on operands of LLVM type ``have`` (``f32``, ``i64``), ``want`` bits wide."""
    kind = f"<32 x {KINDS[have[0]][int(have[1:])]}>"
    arguments = ", ".join(f"{kind} {operand}" for operand in operands)
    result = f"<32 x {KINDS['f'][want]}>"
    return e.op(f"call {result} @rounded.{operation}.{rounding}.v32{have}.v32f{want}({arguments})")


def rounding_functions(program: str) -> str:
    """The functions of this module that LLVM text calls."""
    calls = sorted(set(_CALL.findall(program)))
    texts = [_function(operation, rounding, have + bits, int(want)) for operation, rounding, have, bits, want in calls]
    if texts:
        texts.append(
            'attributes #9 = { noinline nounwind strictfp "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
        )
    return "\n".join(texts)


def _function(operation: str, rounding: str, have: str, want: int) -> str:
    kind, result = f"<32 x {KINDS[have[0]][int(have[1:])]}>", f"<32 x {KINDS['f'][want]}>"
    names = [f"%a{k}" for k in range(SOURCES[operation])]
    parameters = ", ".join(f"{kind} {name}" for name in names)
    types = f"v32f{want}" if operation not in ("fptrunc", "sitofp", "uitofp") else f"v32f{want}.v32{have}"
    intrinsic = f"@llvm.experimental.constrained.{operation}.{types}"
    return "\n".join((
        f"define weak {result} @rounded.{operation}.{rounding}.v32{have}.v32f{want}({parameters}) #9 {{",
        f"call void @llvm.set.rounding(i32 {DIRECTED[rounding]})",
        f'%r = call {result} {intrinsic}({parameters}, metadata !"round.dynamic", metadata !"fpexcept.strict")',
        "call void @llvm.set.rounding(i32 1)",
        f"ret {result} %r",
        "}",
    ))  # fmt: skip
