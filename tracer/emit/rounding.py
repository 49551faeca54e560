"""Operations rounded towards zero, minus or plus infinity (.rz, .rm, .rp) as LLVM IR.

LLVM may move ordinary arithmetic across a change of the processor's rounding mode, so each operation is a function of
its own that changes the mode, computes and changes it back. Weak linkage stops LLVM from propagating constants into
them: it would fold 1 - 1 to +0, which is wrong for .rm. The name says operation, rounding, operand and result type:
``@rounded.fadd.rz.v32f32.v32f32``.
"""

from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.meaning.floats import DIRECTED

SOURCES = {"fadd": 2, "fsub": 2, "fmul": 2, "fdiv": 2, "fma": 3, "sqrt": 1, "fptrunc": 1, "sitofp": 1, "uitofp": 1}
ATTRIBUTES = 'attributes #9 = { noinline nounwind strictfp "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
KINDS = {"f": {32: "float", 64: "double"}, "i": {8: "i8", 16: "i16", 32: "i32", 64: "i64"}}


def lower_rounded(e: Emitter, operation: str, rounding: str, operands: list[str], have: str, want: int) -> str:
    """The float lanes of ``operation`` on operands of LLVM type ``have`` (``f32``, ``i64``), ``want`` bits wide."""
    kind = f"<32 x {KINDS[have[0]][int(have[1:])]}>"
    arguments = ", ".join(f"{kind} {operand}" for operand in operands)
    result = f"<32 x {KINDS['f'][want]}>"
    name = f"rounded.{operation}.{rounding}.v32{have}.v32f{want}"
    e.helper(name, lambda: _function(name, operation, rounding, have, want))
    e.helper("attributes 9", lambda: ATTRIBUTES)
    return e.op(f"call {result} @{name}({arguments})")


def _function(name: str, operation: str, rounding: str, have: str, want: int) -> str:
    kind, result = f"<32 x {KINDS[have[0]][int(have[1:])]}>", f"<32 x {KINDS['f'][want]}>"
    names = [f"%a{k}" for k in range(SOURCES[operation])]
    parameters = ", ".join(f"{kind} {name}" for name in names)
    types = f"v32f{want}" if operation not in ("fptrunc", "sitofp", "uitofp") else f"v32f{want}.v32{have}"
    intrinsic = f"@llvm.experimental.constrained.{operation}.{types}"
    return "\n".join((
        f"define weak {result} @{name}({parameters}) #9 {{",
        f"call void @llvm.set.rounding(i32 {DIRECTED[rounding]})",
        f'%r = call {result} {intrinsic}({parameters}, metadata !"round.dynamic", metadata !"fpexcept.strict")',
        "call void @llvm.set.rounding(i32 1)",
        f"ret {result} %r",
        "}",
    ))  # fmt: skip
