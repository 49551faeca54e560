"""Merges of bits under a select on every level of x86-64, and the guard against LLVM's wrong truth tables."""

import itertools

import llvmlite.binding as llvm
import numpy as np
import pytest

from rayplay.tracer.lower import compile as jit
from rayplay.tracer.native.cpu import Cpu
from rayplay.tracer.native.ternary_logic import fenced, is_suspect, is_suspect_object
from tests.tracer.harness.execution import both
from tests.tracer.harness.processors import LEVELS, translate_anew, use

KERNEL = """
.visible .entry k(.param .u64 one, .param .u64 two, .param .u64 out)
{
    .reg .f32 %f<9>; .reg .b32 %r<12>; .reg .b64 %rd<9>; .reg .pred %p<4>;
    ld.param.u64 %rd1, [one]; ld.param.u64 %rd2, [two]; ld.param.u64 %rd3, [out];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd1, %rd1, %rd4; add.u64 %rd2, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;
    ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd2];
    mov.f32 %f5, %f2; setp.lt.f32 %p1, %f5, 0f00000000; @%p1 bra L;
L:  mov.b32 %r4, %f1; mov.b32 %r5, %f5; setp.nan.f32 %p2, %f5, %f5;
    MERGE
    st.global.b32 [%rd3], %r9;
    ret;
}
"""
MERGES = {
    "and-or": "and.b32 %r6, %r4, 0x80000000; and.b32 %r7, %r5, 0x7fffffff; or.b32 %r8, %r6, %r7;",
    "lop3": "lop3.b32 %r8, %r4, %r5, 0x80000000, 0xe4;",
    "bfi": "bfi.b32 %r8, %r5, %r4, 0, 31;",
    "copysign": "copysign.f32 %f8, %f1, %f5; mov.b32 %r8, %f8;",
}
CHOICE = " selp.b32 %r9, %r5, %r8, %p2;"
PREDICATED = "mov.b32 %r9, %r5; @!%p2 copysign.f32 %f5, %f1, %f5; mov.b32 %r9, %f5;"
FORMS = {**{name: text + CHOICE for name, text in MERGES.items()}, "predicated": PREDICATED}
ANSWERS = ((1, np.inf, np.inf), (-1, np.inf, -np.inf), (3, -2, 2), (-1, -2, -2), (-3, np.nan, np.nan), (0, 0, 0))

# what the pattern above is for LLVM: x in memory, y in a register and under the select
MERGE = """
define void @merge(ptr %xs, ptr %ys, ptr %out) {
  %x = load <16 x i32>, ptr %xs, align 64
  %y = load <16 x i32>, ptr %ys, align 64
  %f = bitcast <16 x i32> %y to <16 x float>
  %nan = fcmp uno <16 x float> %f, %f
  %sign = and <16 x i32> %x, splat (i32 -2147483648)
  %size = and <16 x i32> %y, splat (i32 2147483647)
  %merged = or disjoint <16 x i32> %sign, %size
  %chosen = select <16 x i1> %nan, <16 x i32> %y, <16 x i32> %merged
  store <16 x i32> %chosen, ptr %out, align 64
  ret void
}
"""
AVX512 = Cpu("x86-64-v4")


def numbers() -> list[np.ndarray]:
    """x and y of the answers, then every pair of some numbers."""
    some = (0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-40)
    pairs = [*((x, y) for x, y, _ in ANSWERS), *itertools.product(some, repeat=2)]
    return [np.array(column, np.float32) for column in zip(*pairs, strict=True)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("form", FORMS)
def test_the_sign_of_one_number_and_the_rest_of_another(form: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(level, monkeypatch)
    translate_anew(monkeypatch)
    x, y = numbers()
    outcome = both(KERNEL.replace("MERGE", FORMS[form]), [x, y, np.zeros(len(x), np.uint32)], block=(len(x), 1, 1))
    merged = outcome.buffers[2].view(np.float32)[: len(ANSWERS)]
    np.testing.assert_array_equal(merged, np.array([answer for _, _, answer in ANSWERS], np.float32))


@pytest.mark.parametrize("form", FORMS)
def test_without_fences_code_without_avx512_is_right(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second guard alone."""
    monkeypatch.setattr(jit, "fenced", lambda text: text)
    test_the_sign_of_one_number_and_the_rest_of_another(form, "avx512", monkeypatch)


def made(text: str) -> bytes:
    module = llvm.parse_assembly(text)
    machine = AVX512.machine()
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return machine.emit_object(module)


@pytest.mark.skipif("x86_64" not in llvm.get_default_triple(), reason="machine code of x86-64")
def test_this_llvm_needs_the_guard_and_fences_suffice() -> None:
    """With an LLVM that has the pull request the first line fails: then the guard can go."""
    assert is_suspect_object(made(MERGE))
    assert not is_suspect_object(made(fenced(MERGE)))
    assert not is_suspect_object(jit.translate(MERGE, AVX512))


def test_fences_stand_before_each_operand_of_a_select_of_vectors() -> None:
    text = fenced(MERGE)
    assert text.count("call <16 x float> @llvm.arithmetic.fence") == 2
    assert "select <16 x i1> %nan, <16 x i32> %fence.one.chosen, <16 x i32> %fence.other.chosen" in text
    constant = "  %a = select <32 x i1> %c, <32 x i64> splat (i64 7), <32 x i64> %b"
    assert fenced(constant).splitlines()[-1] == constant.replace("%b", "%fence.other.a")
    for other in ("  %a = select i1 %c, i32 %b, i32 %d", "  %a = select <32 x i1> %c, <32 x i1> %b, <32 x i1> %d"):
        assert fenced(other) == other


@pytest.mark.parametrize(
    ("code", "suspect"),
    [
        ("62f3754925472fe4", True),  # vpternlogd zmm0{k1}, zmm1, [rdi + 0x2f * 64], 0xe4: merges, of memory
        ("6263f5d7258424000200e4e4", False),  # the same opcode, and zeroing
        ("62f3f55f2500e4", True),  # vpternlogq zmm0{k7}, zmm1, qword [rax]{1to8}, 0xe4
        ("62f3754825472fe4", False),  # no mask
        ("62f3754925c2e4", False),  # registers alone
        ("62f1754925472fe4", False),  # another map of opcodes
    ],
)
def test_instructions_under_suspicion(code: str, suspect: bool) -> None:
    assert is_suspect(bytes.fromhex(f"90{code}c3")) is suspect
