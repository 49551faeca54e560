"""Every instruction on random and special values: machine code equals the interpreter, and known answers hold."""

import numpy as np
import pytest

from tests.tracer.harness.execution import both
from tests.tracer.harness.processors import LEVELS, translate_anew, use

SPECIAL_32 = (
    0, 1, 2, 31, 32, 33, 63, 64, 255, 256, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0x00800000,
    0x007FFFFF, 0x807FFFFF, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345,
    0x3F000000, 0x3FC00000, 0x40200000, 0x4B000001, 0x4F000000, 0xCF000000, 0x5F000000, 0x7F7FFFFF, 0x00000001,
)  # fmt: skip
SPECIAL_64 = (
    0, 1, 63, 64, 65, 2**63 - 1, 2**63, 2**64 - 1, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000,
    0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x0010000000000000, 0x000FFFFFFFFFFFFF,
    0x3FE0000000000000, 0x4330000000000001, 0x43E0000000000000, 0xC3E0000000000000, 0x41DFFFFFFFC00000,
    0x36A0000000000000,    0x47EFFFFFF0000000, 0x3810000000000000,
)  # fmt: skip
THREADS = 256


def numbers(bits: int, seed: int) -> np.ndarray:
    """Special values mixed with random bits and random floats of moderate size."""
    generator = np.random.default_rng(seed)
    special = np.array(SPECIAL_32 if bits == 32 else SPECIAL_64, np.uint64)
    kind = generator.integers(0, 4, THREADS)
    plain = generator.integers(0, 2**bits, THREADS, dtype=np.uint64, endpoint=False)
    small = generator.integers(0, 70, THREADS, dtype=np.uint64)
    floats = (generator.standard_normal(THREADS) * 10.0 ** generator.integers(-6, 7, THREADS)).astype(f"f{bits // 8}")
    float_bits = floats.view(f"u{bits // 8}").astype(np.uint64)
    made = np.choose(kind, (special[generator.integers(0, len(special), THREADS)], plain, small, float_bits))
    return made.astype(f"u{bits // 8}")


def program(forms: list[tuple[str, str, str]]) -> str:
    """A kernel that stores the result of every (instruction, operands, result register) for every thread."""
    lines = []
    for opcode, operands, result in forms:
        lines.append(f"    {opcode} {operands};")
        if result[1] == "p":
            lines.append(f"    selp.u32 %r9, 1, 0, {result};")
            result = "%r9"
        wide = f"mov.b64 %out, {result};" if result[1] in "dl" else f"cvt.u64.u32 %out, {result};"
        if result[1] == "h":
            wide = f"cvt.u64.u16 %out, {result};"
        lines += [f"    {wide}", "    st.global.u64 [%at], %out;", f"    add.u64 %at, %at, {8 * THREADS};"]
    body = "\n".join(lines)
    return f"""
.visible .entry test(.param .u64 x, .param .u64 y, .param .u64 z)
{{
    .reg .pred %p<6>;
    .reg .b16 %h<6>;
    .reg .b32 %r<20>;
    .reg .b64 %l<20>;
    .reg .b64 %at, %out;
    mov.u32 %r10, %tid.x;
    ld.param.u64 %l10, [x];
    ld.param.u64 %l11, [y];
    ld.param.u64 %at, [z];
    mul.wide.u32 %l12, %r10, 4;
    mul.wide.u32 %l13, %r10, 8;
    add.u64 %l10, %l10, %l12;
    add.u64 %l11, %l11, %l13;
    add.u64 %at, %at, %l13;
    ld.global.u32 %r1, [%l10];
    ld.global.u32 %r2, [%l10+{4 * THREADS}];
    ld.global.u32 %r3, [%l10+{8 * THREADS}];
    ld.global.u64 %l1, [%l11];
    ld.global.u64 %l2, [%l11+{8 * THREADS}];
    ld.global.u64 %l3, [%l11+{16 * THREADS}];
    cvt.u16.u32 %h1, %r1;
    cvt.u16.u32 %h2, %r2;
    setp.lt.s32 %p1, %r3, 0;
{body}
    ret;
}}
"""


def integer_forms() -> list[tuple[str, str, str]]:
    forms = []
    for t, r in (("u32", "r"), ("s32", "r"), ("u64", "l"), ("s64", "l"), ("u16", "h"), ("s16", "h")):
        abc = f"%{r}4, %{r}1, %{r}2"
        for op in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            forms.append((f"{op}.{t}", abc, f"%{r}4"))
        if r != "h":
            forms.append((f"mad.lo.{t}", f"{abc}, %{r}3", f"%{r}4"))
            forms.append((f"sad.{t}", f"{abc}, %{r}3", f"%{r}4"))
            forms.append((f"bfe.{t}", f"%{r}4, %{r}1, %r2, %r3", f"%{r}4"))
            forms.append((f"bfind.{t}", f"%r4, %{r}1", "%r4"))
            forms.append((f"bfind.shiftamt.{t}", f"%r4, %{r}1", "%r4"))
        forms.append((f"shr.{t}", f"%{r}4, %{r}1, %r2", f"%{r}4"))
        if t[0] == "s":
            forms += [(f"{op}.{t}", f"%{r}4, %{r}1", f"%{r}4") for op in ("neg", "abs")]
        for cmp in ("eq", "ne", "lt", "le", "gt", "ge", *(("lo", "ls", "hi", "hs") if t[0] == "u" else ())):
            forms.append((f"setp.{cmp}.{t}", f"%p2, %{r}1, %{r}2", "%p2"))
    forms += [(f"mul.wide.{t}", "%l4, %r1, %r2", "%l4") for t in ("u32", "s32")]
    forms += [(f"mul.wide.{t}", "%r4, %h1, %h2", "%r4") for t in ("u16", "s16")]
    forms += [(f"mad.wide.{t}", "%l4, %r1, %r2, %l3", "%l4") for t in ("u32", "s32")]
    forms += [(f"{op}.{t}", "%r4, %r1, %r2", "%r4") for op in ("mul24.lo",) for t in ("u32", "s32")]
    forms += [("add.sat.s32", "%r4, %r1, %r2", "%r4"), ("sub.sat.s32", "%r4, %r1, %r2", "%r4")]
    for w, r in (("b32", "r"), ("b64", "l"), ("b16", "h")):
        forms += [(f"{op}.{w}", f"%{r}4, %{r}1, %{r}2", f"%{r}4") for op in ("and", "or", "xor")]
        forms += [(f"{op}.{w}", f"%{r}4, %{r}1", f"%{r}4") for op in ("not", "cnot")]
        forms.append((f"shl.{w}", f"%{r}4, %{r}1, %r2", f"%{r}4"))
        if r != "h":
            forms += [(f"{op}.{w}", f"%r4, %{r}1", "%r4") for op in ("popc", "clz")]
            forms += [(f"brev.{w}", f"%{r}4, %{r}1", f"%{r}4")]
            forms.append((f"bfi.{w}", f"%{r}4, %{r}1, %{r}2, %r2, %r3", f"%{r}4"))
    forms += [(f"shf.{d}.{m}.b32", "%r4, %r1, %r2, %r3", "%r4") for d in "lr" for m in ("wrap", "clamp")]
    forms += [("prmt.b32", "%r4, %r1, %r2, %r3", "%r4"), ("prmt.b32", "%r4, %r1, %r2, 0x7632", "%r4")]
    forms += [("lop3.b32", f"%r4, %r1, %r2, %r3, {table}", "%r4") for table in (0x96, 0xE8, 0x1D, 0, 255)]
    forms += [(f"bmsk.{m}.b32", "%r4, %r1, %r2", "%r4") for m in ("clamp", "wrap")]
    forms += [("selp.b32", "%r4, %r1, %r2, %p1", "%r4"), ("slct.b32.s32", "%r4, %r1, %r2, %r3", "%r4")]
    forms += [("slct.b64.f32", "%l4, %l1, %l2, %r3", "%l4"), ("set.lt.u32.s32", "%r4, %r1, %r2", "%r4")]
    forms += [("setp.lt.and.s32", "%p2|%p3, %r1, %r2, %p1", "%p3"), ("setp.ge.xor.u32", "%p2, %r1, %r2, !%p1", "%p2")]
    forms += [("mov.b64", "%l4, {%r1, %r2}", "%l4"), ("mov.b64", "{%r4, %r5}, %l1", "%r5")]
    forms += [("mov.b32", "%r4, {%h1, %h2}", "%r4"), ("mov.b32", "{%h4, _}, %r1", "%h4")]
    forms += [("@%p1 add.u32", "%r4, %r1, 5", "%r4"), ("@!%p1 mov.u64", "%l4, %l1", "%l4")]
    forms += [("add.cc.u32", "%r4, %r1, %r2", "%r4"), ("addc.cc.u32", "%r5, %r2, %r3", "%r5")]
    forms += [("addc.u32", "%r5, %r1, %r3", "%r5"), ("sub.cc.u32", "%r4, %r1, %r2", "%r4")]
    return [*forms, ("subc.u32", "%r5, %r3, %r1", "%r5")]


def float_forms() -> list[tuple[str, str, str]]:
    forms = []
    for t, r, modes in (("f32", "r", ("", ".ftz", ".sat", ".ftz.sat")), ("f64", "l", ("",))):
        abc = f"%{r}4, %{r}1, %{r}2"
        for mode in modes:
            rn = ".rn" if t == "f64" else ""
            forms += [(f"{op}{rn}{mode}.{t}", abc, f"%{r}4") for op in ("add", "sub", "mul")]
            forms.append((f"fma.rn{mode}.{t}", f"{abc}, %{r}3", f"%{r}4"))
            if "sat" not in mode:
                forms += [(f"{op}{mode}.{t}", abc, f"%{r}4") for op in ("min", "max")]
                forms += [(f"{op}.rn{mode}.{t}", f"%{r}4, %{r}1", f"%{r}4") for op in ("sqrt", "rcp")]
                forms.append((f"div.rn{mode}.{t}", abc, f"%{r}4"))
                forms += [(f"{op}{mode}.{t}", f"%{r}4, %{r}1", f"%{r}4") for op in ("neg", "abs")]
                for cmp in ("eq", "ne", "lt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"):
                    forms.append((f"setp.{cmp}{mode}.{t}", f"%p2, %{r}1, %{r}2", "%p2"))
        forms += [(f"testp.{c}.{t}", f"%p2, %{r}1", "%p2") for c in ("finite", "infinite", "number", "notanumber")]
        forms += [(f"testp.{c}.{t}", f"%p2, %{r}1", "%p2") for c in ("normal", "subnormal")]
        forms.append((f"copysign.{t}", abc, f"%{r}4"))
    for op in ("sin", "cos", "ex2", "lg2", "rcp", "sqrt", "rsqrt"):
        forms += [(f"{op}.approx{mode}.f32", "%r4, %r1", "%r4") for mode in ("", ".ftz")]
    forms += [("tanh.approx.f32", "%r4, %r1", "%r4"), ("div.approx.f32", "%r4, %r1, %r2", "%r4")]
    return [*forms, ("div.full.ftz.f32", "%r4, %r1, %r2", "%r4"), ("min.NaN.f32", "%r4, %r1, %r2", "%r4")]


def conversion_forms() -> list[tuple[str, str, str]]:
    register = {"16": "h", "32": "r", "64": "l"}
    forms = []
    integers = ("u16", "s16", "u32", "s32", "u64", "s64")
    for source in (*integers, "f32", "f64"):
        s = register[source[1:]]
        for target in (*integers, "f32", "f64"):
            d = register[target[1:]]
            operands, result = f"%{d}4, %{s}1", f"%{d}4"
            if source[0] == "f" and target[0] == "f":
                modes = [".rn"] if target < source else [""] if target > source else [".rni", ".rzi", ".rmi", ".rpi"]
                modes += [".sat"] if target == source else []
            elif source[0] == "f":
                modes = [".rni", ".rzi", ".rmi", ".rpi", ".rzi.sat"]
            elif target[0] == "f":
                modes = [".rn", ".rn.sat"]
            else:
                modes = ["", ".sat"]
            forms += [(f"cvt{mode}.{target}.{source}", operands, result) for mode in modes]
    forms += [("cvt.rzi.ftz.s32.f32", "%r4, %r1", "%r4"), ("cvt.rn.ftz.f32.f64", "%r4, %l1", "%r4")]
    return [*forms, ("cvt.s32.s8", "%r4, %r1", "%r4"), ("cvt.u32.u8", "%r4, %r1", "%r4")]


@pytest.mark.parametrize("forms", [integer_forms(), float_forms(), conversion_forms()], ids=["int", "float", "cvt"])
def test_machine_code_equals_the_interpreter(forms: list[tuple[str, str, str]]) -> None:
    text = program(forms)
    words = np.concatenate([numbers(32, seed) for seed in (1, 2, 3)])
    doubles = np.concatenate([numbers(64, seed) for seed in (4, 5, 6)])
    both(text, [words, doubles, np.zeros(len(forms) * THREADS, np.uint64)], block=(THREADS, 1, 1))


def evaluate(opcode: str, operands: str, result: str, words: list[int]) -> int:
    """The result of one instruction on up to three 32-bit words, in both backends."""
    x = np.zeros(3 * THREADS, np.uint32)
    for index, word in enumerate(words):
        x[index * THREADS : (index + 1) * THREADS] = word
    out = both(
        program([(opcode, operands, result)]), [x, np.zeros(3 * THREADS, np.uint64), np.zeros(THREADS, np.uint64)]
    )
    return int(out.buffers[2][0])


@pytest.mark.parametrize(
    ("opcode", "operands", "words", "expected"),
    [
        ("bfe.s32", "%r4, %r1, %r2, %r3", [0x80, 4, 4], 0xFFFFFFF8),
        ("bfi.b32", "%r4, %r1, %r2, 8, 4", [0xF, 0x12345678], 0x12345F78),
        ("prmt.b32", "%r4, %r1, %r2, 0x3456", [0x03020100, 0x07060504], 0x03040506),
        ("lop3.b32", "%r4, %r1, %r2, %r3, 0x96", [0b0011, 0b0101, 0b1111], 0b1001),
        ("shf.l.wrap.b32", "%r4, %r1, %r2, 8", [0x11223344, 0x55667788], 0x66778811),
        ("div.s32", "%r4, %r1, %r2", [0x80000000, 0xFFFFFFFF], 0x80000000),
        ("rem.u32", "%r4, %r1, %r2", [17, 0], 0xFFFFFFFF),
        ("min.f32", "%r4, %r1, %r2", [0x7FC00000, 0x3F800000], 0x3F800000),
        ("max.f32", "%r4, %r1, %r2", [0x80000000, 0], 0),
        ("mul.ftz.f32", "%r4, %r1, %r2", [0x80400000, 0x3F800000], 0x80000000),
        ("fma.rn.f32", "%r4, %r1, %r2, %r3", [0x3F800001, 0x3F800001, 0xBF800002], 0x28800000),
        ("sub.f32", "%r4, %r1, %r1", [0x7F800000], 0x7FFFFFFF),
        ("cvt.rzi.s32.f32", "%r4, %r1", [0x7FC00000], 0),
        ("cvt.rni.s32.f32", "%r4, %r1", [0x40200000], 2),
        ("ex2.approx.f32", "%r4, %r1", [0x41200000], 0x44800000),
        ("lg2.approx.f32", "%r4, %r1", [0x44800000], 0x41200000),
        ("cos.approx.f32", "%r4, %r1", [0], 0x3F800000),
        ("sqrt.approx.f32", "%r4, %r1", [0x41100000], 0x40400000),
    ],
)
def test_known_answers(opcode: str, operands: str, words: list[int], expected: int) -> None:
    assert evaluate(opcode, operands, "%r4", words) == expected


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("forms", [integer_forms(), float_forms(), conversion_forms()], ids=["int", "float", "cvt"])
def test_code_for_every_level_of_processors_gives_the_same(
    forms: list[tuple[str, str, str]], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other instructions, the same bits."""
    use(level, monkeypatch)
    translate_anew(monkeypatch)
    words = np.concatenate([numbers(32, seed) for seed in (7, 8, 9)])
    doubles = np.concatenate([numbers(64, seed) for seed in (10, 11, 12)])
    both(program(forms), [words, doubles, np.zeros(len(forms) * THREADS, np.uint64)], block=(THREADS, 1, 1))
