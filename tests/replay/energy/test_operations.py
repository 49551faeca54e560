"""Which event counts an instruction, and what its operands count."""

import numpy as np
import pytest

from rayplay.formats.exchange.accelsim.sass_classes import CLASSES
from rayplay.formats.schema.trace import OPERATION_CLASSES
from rayplay.replay.energy.instructions import operands
from rayplay.replay.energy.operations import TABLES, event_of
from rayplay.replay.energy.table import EVENTS


@pytest.mark.parametrize(("opcode", "event"), [
    ("IADD3", "INT_ACC"), ("IMAD", "INT_MUL_ACC"), ("IMAD.WIDE", "INT_MUL_ACC"), ("IMAD.MOV", "INT_ACC"),
    ("IMAD.MOV.U32", "INT_MUL_ACC"), ("LEA.HI", "INT_MUL_ACC"), ("ULEA", "INT_ACC"), ("XMAD.PSL.CBCC", "INT_MUL_ACC"),
    ("FFMA", "FP_MUL_ACC"), ("FADD", "FP_ACC"), ("HFMA2.MMA", "FP_MUL_ACC"), ("FSETP.GT.AND", "FP_ACC"),
    ("ISETP.GE.AND", "INT_ACC"), ("DSETP.GT.AND", "DP_ACC"), ("DFMA", "DP_MUL_ACC"), ("DADD", "DP_ACC"),
    ("MUFU.RCP", "FP_EXP_ACC"), ("MUFU.EX2", "FP_EXP_ACC"), ("MUFU.RSQ", "FP_SQRT_ACC"), ("MUFU.LG2", "FP_LG_ACC"),
    ("MUFU.COS", "FP_SIN_ACC"), ("MUFU.TANH", "FP_SIN_ACC"), ("I2F.RP", "FP_ACC"), ("I2I", "INT_ACC"),
    ("MOV", "INT_ACC"), ("S2R", "none"), ("S2UR", "INT_ACC"), ("SHFL.BFLY", "INT_ACC"), ("VOTE.ALL", "none"),
    ("LDG.E", "none"), ("STS", "none"), ("LDC", "none"), ("ULDC.64", "none"), ("BRA", "none"), ("EXIT", "none"),
    ("HMMA.16816.F32", "TENSOR_ACC"), ("TEX", "TEX_ACC"), ("SULD", "none"),
])  # fmt: skip
def test_sass_as_accelwattch_has_it(opcode: str, event: str) -> None:
    assert event_of(opcode, CLASSES[opcode.partition(".")[0]], "sass") == event


@pytest.mark.parametrize(("opcode", "kind", "event"), [
    ("add.s32", "int", "INT_ACC"), ("mad.lo.s32", "int", "INT_MUL_ACC"), ("fma.rn.f32", "fp32", "FP_MUL_ACC"),
    ("add.f32", "fp32", "FP_ACC"), ("fma.rn.f64", "fp64", "DP_MUL_ACC"), ("setp.lt.f32", "predicate", "FP_ACC"),
    ("setp.lt.u32", "predicate", "INT_ACC"), ("setp.lt.f64", "predicate", "DP_ACC"),
    ("cvt.rn.f32.s32", "convert", "FP_ACC"), ("cvt.u64.u32", "convert", "INT_ACC"),
    ("rcp.approx.f32", "sfu", "FP_EXP_ACC"), ("rsqrt.approx.f32", "sfu", "FP_SQRT_ACC"),
    ("ld.global.f32", "load", "none"), ("call", "runtime", "none"), ("shfl.sync.bfly.b32", "shuffle", "INT_ACC"),
    ("vote.sync.all.pred", "shuffle", "none"), ("mov.u32", "move", "INT_ACC"),
])  # fmt: skip
def test_ptx_as_what_it_becomes(opcode: str, kind: str, event: str) -> None:
    assert event_of(opcode, kind, "ptx") == event


def test_the_tables_name_classes_opcodes_and_events_that_exist() -> None:
    events = {*TABLES["classes"].values(), *TABLES["sass"], *(event for of in TABLES["ptx"].values() for event in of)}
    assert events <= {*EVENTS, "none"}
    assert {*TABLES["classes"], *TABLES["ptx"]} <= set(OPERATION_CLASSES)
    assert {opcode.partition(".")[0] for of in TABLES["sass"].values() for opcode in of.split()} <= set(CLASSES)


@pytest.mark.parametrize(("source", "kind", "text", "read", "written", "counted"), [
    ("sass", "int", "IMAD R6, R6, R3", [6, 3], [6], (2, 1, 0)),
    ("sass", "int", "XMAD R0, R0, RZ, R0", [0, 255, 0], [0], (2, 1, 0)),
    ("sass", "exit", "@P0 EXIT", [320], [], (0, 0, 0)),
    ("sass", "int", "UIADD3 UR4, UR4, UR5", [260, 261], [260], (0, 0, 0)),
    ("ptx", "int", "add.s32 %r1, %r2, -7;", [2], [1], (1, 1, 1)),
    ("ptx", "fp32", "@%p1 fma.rn.f32 %f1, %f2, 0f3F800000, %f3;", [9, 2, 3], [1], (2, 1, 1)),
    ("ptx", "predicate", "setp.eq.u32 %p1, %r1, 16;", [1], [9], (1, 0, 1)),
    ("ptx", "load", "ld.global.u32 %r1, [%rd1+4];", [1], [2], (1, 1, 0)),
])  # fmt: skip
def test_operands(
    source: str, kind: str, text: str, read: list[int], written: list[int], counted: tuple[int, int, int]
) -> None:
    table = {
        "text": [text], "operation_class": [kind],
        "source_registers": np.array(read), "source_registers_offset": np.array([0, len(read)]),
        "destination_registers": np.array(written), "destination_registers_offset": np.array([0, len(written)]),
    }  # fmt: skip
    assert operands(table, 0, source) == counted
