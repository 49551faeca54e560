"""Early PTX: default modifiers of versions 1.0 to 1.3, and targets that flush subnormal numbers."""

import numpy as np
import pytest

from rayplay import ptx
from rayplay.ptx.isa.implied import spelled_out
from tests.tracer.harness import execution

BODY = """
.entry test(.param .u64 x, .param .u64 z)
{{
    .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .u64 %l<4>;
    ld.param.u64 %l1, [x];
    ld.param.u64 %l2, [z];
    ld.global.f32 %f1, [%l1];
    ld.global.f32 %f2, [%l1+4];
    {body}
    st.global.f32 [%l2], %f3;
    exit;
}}
"""


def result(monkeypatch: pytest.MonkeyPatch, header: str, body: str, bits: list[int]) -> int:
    monkeypatch.setattr(execution, "HEADER", header)
    out = execution.both(BODY.format(body=body), [np.array(bits, np.uint32), np.zeros(1, np.uint32)])
    return int(out.buffers[1][0])


def test_an_early_target_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    body, operands = "add.f32 %f3, %f1, %f2;", [1, 2]
    assert result(monkeypatch, ".version 1.4\n.target sm_13\n", body, operands) == 0
    assert result(monkeypatch, ".version 1.4\n.target sm_20\n", body, operands) == 3
    assert result(monkeypatch, ".version 8.6\n.target sm_100\n.address_size 64\n", body, operands) == 3


def test_a_subnormal_number_reaches_64_bits_in_early_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "cvt.f64.f32 %d1, %f1; mul.rn.f64 %d1, %d1, 0d4630000000000000; cvt.rn.f32.f64 %f3, %d1;"
    assert result(monkeypatch, ".version 1.4\n.target sm_13\n", body, [1, 0]) == 0x27000000
    assert result(monkeypatch, ".version 2.0\n.target sm_13\n", body, [1, 0]) == 0


def test_the_oldest_versions_divide_approximately(monkeypatch: pytest.MonkeyPatch) -> None:
    body, operands = "div.f32 %f3, %f1, %f2;", [0x3F800000, 0x7F000000]
    assert result(monkeypatch, ".version 1.3\n.target sm_20\n", body, operands) == 0


@pytest.mark.parametrize(
    ("version", "before", "after"),
    [("1.3", "rcp.f32 %f1, %f2", "rcp.approx.ftz.f32"), ("1.3", "sqrt.f64 %d1, %d2", "sqrt.rn.f64"),
     ("1.4", "mul.f32 %f1, %f2, %f2", "mul.ftz.f32"), ("1.4", "mul.lo.s32 %r1, %r2, %r2", "mul.lo.s32"),
     ("2.3", "setp.lt.f32 %p1, %f1, %f2", "setp.lt.ftz.f32"), ("1.4", "mov.f32 %f1, %f2", "mov.f32")],
)  # fmt: skip
def test_modifiers_that_are_implied(version: str, before: str, after: str) -> None:
    registers = ".reg .f32 %f<3>; .reg .f64 %d<3>; .reg .s32 %r<3>; .reg .pred %p<3>;"
    module = ptx.parse(f".version {version}\n.target sm_13\n.entry k()\n{{ {registers} {before}; exit; }}", "old.ptx")
    assert spelled_out(module.functions["k"].body[0], module).full_opcode == after
