"""Answers of scalar instructions worked out by hand from the PTX manual, on both backends."""

import numpy as np
import pytest

from tests.tracer.harness.execution import both
from tests.tracer.harness.scalar_programs import PROLOGUE, Form, register, signature, store

Row = tuple[str, tuple[int, ...], int]
INF, NAN, ONE, TWO = 0x7F800000, 0x7FFFFFFF, 0x3F800000, 0x40000000
D_ONE, D_INF, D_NAN = 0x3FF0000000000000, 0x7FF0000000000000, 0x7FF8000000000000

INTEGERS: list[Row] = [
    ("add.u16", (0xFFFF, 2), 1), ("add.sat.s32", (0x7FFFFFFF, 1), 0x7FFFFFFF),
    ("sub.sat.s32", (0x80000000, 1), 0x80000000), ("add.u16x2", (0xFFFF0001, 0x00010002), 0x00000003),
    ("mul.hi.s32", (0xFFFFFFFF, 2), 0xFFFFFFFF), ("mul.hi.u32", (0xFFFFFFFF, 2), 1),
    ("mul.wide.s16", (0xFFFF, 3), 0xFFFFFFFD), ("mul.wide.u32", (0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFE00000001),
    ("mul.hi.u64", (1 << 63, 4), 2), ("mul.hi.s64", ((1 << 64) - 1, 5), (1 << 64) - 1),
    ("mad.hi.sat.s32", (0x40000000, 0x40000000, 0x7FFFFFFF), 0x7FFFFFFF), ("mad.lo.s32", (3, 5, 7), 22),
    ("mad.wide.s32", (0xFFFFFFFF, 2, 5), 3), ("mul24.lo.u32", (0xFF000003, 5), 15),
    ("mul24.hi.u32", (0x00FFFFFF, 0x00FFFFFF), 0xFFFFFE00), ("mul24.lo.s32", (0x00FFFFFF, 2), 0xFFFFFFFE),
    ("mul24.hi.s32", (0x00800000, 0x00800000), 0x40000000),
    ("mad24.hi.sat.s32", (0x007FFFFF, 0x007FFFFF, 0x7FFFFFFF), 0x7FFFFFFF), ("mad24.lo.u32", (3, 4, 5), 17),
    ("sad.u32", (3, 10, 100), 107), ("sad.s32", (0xFFFFFFFF, 1, 0), 2), ("sad.u16", (1, 0xFFFF, 1), 0xFFFF),
    ("div.s32", (0xFFFFFFF9, 2), 0xFFFFFFFD), ("rem.s32", (0xFFFFFFF9, 2), 0xFFFFFFFF),
    ("div.u32", (7, 0), 0xFFFFFFFF), ("div.s64", (1 << 63, (1 << 64) - 1), 1 << 63), ("rem.s16", (0x8000, 0xFFFF), 0),
    ("rem.u32", (7, 0), 0xFFFFFFFF), ("abs.s32", (0x80000000,), 0x80000000), ("neg.s16", (5,), 0xFFFB),
    ("min.s32", (0xFFFFFFFF, 1), 0xFFFFFFFF), ("min.relu.s32", (0xFFFFFFFF, 1), 0),
    ("max.relu.s16x2", (0xFFFF0003, 0xFFFE0001), 0x00000003), ("min.u16x2", (0xFFFF0003, 0x00010004), 0x00010003),
    ("max.s16x2", (0x80000001, 0x7FFF8000), 0x7FFF0001), ("popc.b64", (0xFF00000000000001,), 9),
    ("clz.b32", (1,), 31), ("clz.b64", (0,), 64), ("bfind.u32", (0,), 0xFFFFFFFF), ("bfind.u32", (0x00010000,), 16),
    ("bfind.s32", (0xFFFFFFFE,), 0), ("bfind.s32", (0xFFFFFFFF,), 0xFFFFFFFF),
    ("bfind.shiftamt.u32", (0x00010000,), 15), ("bfind.s64", (0x0000FFFF00000000,), 47),
    ("brev.b32", (6,), 0x60000000), ("brev.b64", (1,), 1 << 63), ("fns.b32", (0b10110, 0, 2), 2),
    ("fns.b32", (0b10110, 2, 1), 2), ("fns.b32", (0b10110, 3, 0xFFFFFFFF), 2),
    ("fns.b32", (0b10110, 3, 0xFFFFFFFE), 1), ("fns.b32", (0b10110, 4, 0), 4),
    ("fns.b32", (0b10110, 3, 0), 0xFFFFFFFF), ("fns.b32", (0b10110, 0, 4), 0xFFFFFFFF),
    ("bfe.u32", (0x12345678, 8, 8), 0x56), ("bfe.s32", (0x0000F000, 12, 4), 0xFFFFFFFF),
    ("bfe.s32", (0x80000000, 40, 4), 0xFFFFFFFF), ("bfe.u64", (0xFEDCBA9876543210, 60, 32), 0xF),
    ("bfe.s64", (0xFEDCBA9876543210, 4, 0), 0), ("bfi.b32", (0xF, 0x12345678, 8, 4), 0x12345F78),
    ("bfi.b64", (1, 0, 63, 8), 1 << 63), ("bfi.b32", (0xFF, 0, 32, 8), 0),
    ("szext.clamp.s32", (0x0000008F, 8), 0xFFFFFF8F), ("szext.clamp.u32", (0xFFFFFF8F, 8), 0x8F),
    ("szext.clamp.s32", (0x12345678, 40), 0x12345678), ("szext.wrap.s32", (0x12345678, 32), 0),
    ("bmsk.clamp.b32", (4, 8), 0xFF0), ("bmsk.clamp.b32", (32, 8), 0), ("bmsk.wrap.b32", (36, 8), 0xFF0),
    ("bmsk.clamp.b32", (28, 8), 0xF0000000), ("dp4a.u32.u32", (0x01020304, 0x01010101, 5), 15),
    ("dp4a.s32.s32", (0xFF01FF01, 0x02020202, 0), 0), ("dp4a.s32.u32", (0xFF000000, 0xFF000000, 0), 0xFFFFFF01),
    ("dp2a.lo.u32.u32", (0x00020003, 0x05040302, 1), 13), ("dp2a.hi.u32.u32", (0x00020003, 0x05040302, 1), 23),
    ("dp2a.lo.s32.s32", (0xFFFF0001, 0x000001FF, 0), 0xFFFFFFFE), ("shl.b32", (1, 32), 0),
    ("shl.b16", (0xFFFF, 4), 0xFFF0), ("shr.s32", (0x80000000, 40), 0xFFFFFFFF), ("shr.u64", (1 << 63, 63), 1),
    ("shr.s16", (0x8000, 15), 0xFFFF), ("shf.l.wrap.b32", (0x80000000, 1, 33), 3),
    ("shf.l.clamp.b32", (0x12345678, 0x9ABCDEF0, 40), 0x12345678),
    ("shf.r.clamp.b32", (1, 0x9ABCDEF0, 40), 0x9ABCDEF0), ("shf.r.wrap.b32", (0x12345678, 0x9ABCDEF0, 8), 0xF0123456),
    ("prmt.b32", (0x33221100, 0x77665544, 0x7531), 0x77553311),
    ("prmt.b32", (0x80000000, 0x00000080, 0xCB43), 0xFFFF8080),
    ("prmt.b32.f4e", (0x33221100, 0x77665544, 1), 0x44332211),
    ("prmt.b32.b4e", (0x33221100, 0x77665544, 1), 0x66770011),
    ("prmt.b32.rc8", (0x33221100, 0x77665544, 2), 0x22222222),
    ("prmt.b32.ecl", (0x33221100, 0x77665544, 1), 0x33221111),
    ("prmt.b32.ecr", (0x33221100, 0x77665544, 1), 0x11111100),
    ("prmt.b32.rc16", (0x33221100, 0x77665544, 3), 0x33223322), ("cnot.b32", (0,), 1), ("cnot.b64", (7,), 0),
    ("not.b16", (1,), 0xFFFE), ("lop3.b32", (0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA), 0x6A6A6A6A),
]  # fmt: skip
FLOATS: list[Row] = [
    ("add.rz.f32", (0x4B800000, 0x3F800001), 0x4B800000), ("add.rp.f32", (0x4B800000, 0x3F800001), 0x4B800001),
    ("add.rm.f32", (ONE, 0xBF800000), 0x80000000), ("add.rn.f32", (ONE, 0xBF800000), 0), ("add.ftz.f32", (1, 1), 0),
    ("add.f32", (1, 1), 2), ("add.sat.f32", (ONE, ONE), ONE), ("sub.sat.f32", (ONE, TWO), 0),
    ("add.sat.f32", (INF, 0xFF800000), 0), ("mul.ftz.f32", (0x00800000, 0xBF000000), 0x80000000),
    ("mul.rp.f64", (0x0000000000000001, 0x3FE0000000000000), 1), ("mul.rz.f64", (1, 0x3FE0000000000000), 0),
    ("add.rm.f64", (D_ONE, 0x3C00000000000000), D_ONE), ("add.rp.f64", (D_ONE, 0x3C00000000000000), D_ONE + 1),
    ("fma.rz.f64", (0x3FF0000000000001, 0x3FF0000000000001, 0), 0x3FF0000000000002),
    ("fma.rp.f64", (0x3FF0000000000001, 0x3FF0000000000001, 0), 0x3FF0000000000003),
    ("div.rz.f32", (ONE, 0x40400000), 0x3EAAAAAA), ("div.rp.f32", (ONE, 0x40400000), 0x3EAAAAAB),
    ("div.rn.f64", (D_ONE, 0), D_INF), ("div.rn.f64", (0, 0), D_NAN), ("div.rn.f32", (0x00000001, TWO), 0),
    ("rcp.rm.f32", (0x40400000,), 0x3EAAAAAA), ("rcp.rn.ftz.f32", (1,), INF), ("sqrt.rp.f32", (TWO,), 0x3FB504F4),
    ("sqrt.rz.f64", (0x4000000000000000,), 0x3FF6A09E667F3BCC), ("sqrt.rn.f32", (0x80000000,), 0x80000000),
    ("div.approx.f32", (ONE, 0x7F000000), 0), ("div.approx.f32", (INF, 0x7F000000), NAN),
    ("div.full.f32", (0x7F000000, 0x7F000000), ONE), ("div.approx.ftz.f32", (ONE, 1), INF),
    ("rcp.approx.ftz.f64", (0x4008000012345678,), 0x3FD5555500000000), ("rcp.approx.ftz.f64", (1,), D_INF),
    ("min.f32", (NAN, ONE), ONE), ("min.NaN.f32", (NAN, ONE), NAN), ("min.f32", (0, 0x80000000), 0x80000000),
    ("max.xorsign.abs.f32", (0xC0000000, ONE), 0xC0000000), ("min.xorsign.abs.f32", (0xC0000000, 0xBF800000), ONE),
    ("max.abs.f32", (0xC0400000, ONE, TWO), 0x40400000), ("max.ftz.f32", (0x80000001, 0x80000002), 0x80000000),
    ("testp.subnormal.f32", (1,), 1), ("testp.normal.f32", (1,), 0), ("testp.infinite.f64", (D_INF,), 1),
    ("testp.notanumber.f32", (0x7F800001,), 1), ("copysign.f32", (0x80000000, ONE), 0xBF800000),
    ("neg.ftz.f32", (1,), 0x80000000), ("abs.f64", (1 << 63,), 0), ("fma.rn.sat.f32", (TWO, TWO, ONE), ONE),
    ("fma.rn.f32", (0x3F800001, 0x3F800001, 0xBF800002), 0x28800000),
    ("add.rn.f32x2", (ONE << 32 | TWO, ONE << 32 | TWO), TWO << 32 | 0x40800000),
    ("add.rn.f32.f16", (0x3C00, ONE), TWO), ("fma.rn.f32.bf16", (0x4000, 0x4040, ONE), 0x40E00000),
]  # fmt: skip
HALVES: list[Row] = [
    # the first fma is 3 * 683 + 2**-24, just above the tie between 2048 and 2050 that f32 would make of it
    ("add.f16", (0x3C00, 0x1000), 0x3C00), ("add.f16", (0x3C01, 0x1000), 0x3C02),
    ("add.f16", (0x7BFF, 0x7BFF), 0x7C00), ("add.sat.f16", (0x3C00, 0x3C00), 0x3C00),
    ("add.ftz.f16", (0x0001, 0x0001), 0), ("add.f16", (1, 1), 2), ("sub.f16x2", (0x3C004000, 0x3C003C00), 0x00003C00),
    ("mul.f16", (0x0001, 0x3800), 0), ("mul.f16", (0x0003, 0x3800), 2),
    ("fma.rn.f16", (0x4200, 0x6156, 0x0001), 0x6801), ("fma.rn.relu.f16", (0xC000, 0x3C00, 0x3C00), 0),
    ("fma.rn.relu.f16", (0x7E00, 0x3C00, 0x3C00), 0x7FFF), ("fma.rn.bf16", (0x3F80, 0x3F80, 0x3F80), 0x4000),
    ("fma.rn.bf16", (0x3F81, 0x3F81, 0x0001), 0x3F82), ("add.rn.bf16", (0x3F80, 0x3B80), 0x3F80),
    ("add.rn.bf16", (0x3F81, 0x3B80), 0x3F82), ("neg.bf16x2", (0x3F80BF80,), 0xBF803F80),
    ("abs.ftz.f16", (0x8001,), 0), ("min.f16", (0x7E00, 0xBC00), 0xBC00), ("max.NaN.bf16", (0x7FC0, 0x3F80), 0x7FFF),
    ("max.xorsign.abs.f16x2", (0xC0003C00, 0x3C00C000), 0xC000C000), ("ex2.approx.f16", (0x4000,), 0x4400),
    ("ex2.approx.ftz.bf16", (0x4040,), 0x4100), ("tanh.approx.f16", (0x7C00,), 0x3C00),
    ("tanh.approx.f32", (0x80000000,), 0x80000000), ("tanh.approx.f16", (0x8000,), 0x8000),
    ("tanh.approx.bf16x2", (0xFF800000,), 0xBF800000), ("set.lt.f16.f16", (0x3C00, 0x4000), 0x3C00),
    ("set.gtu.u32.f16x2", (0x7E003C00, 0x00004000), 0xFFFF0000),
    ("set.eq.bf16x2.bf16x2", (0x3F804000, 0x3F803F80), 0x3F800000), ("setp.nan.f16", (0x7E00, 0), 1),
    ("setp.lt.ftz.f16", (0x8001, 0x0001), 0), ("setp.lt.f16", (0x8001, 0x0001), 1),
]  # fmt: skip
COMPARISONS: list[Row] = [
    ("setp.lo.u32", (1, 0xFFFFFFFF), 1), ("setp.lt.s32", (1, 0xFFFFFFFF), 0), ("setp.hs.u16", (0xFFFF, 1), 1),
    ("setp.equ.f32", (NAN, ONE), 1), ("setp.eq.f32", (NAN, NAN), 0), ("setp.num.f64", (D_ONE, D_NAN), 0),
    ("setp.ne.f32", (NAN, ONE), 0), ("setp.neu.f32", (NAN, ONE), 1), ("setp.eq.f32", (0x80000000, 0), 1),
    ("setp.eq.ftz.f32", (1, 2), 1), ("setp.geu.f64", (D_NAN, D_ONE), 1), ("set.gt.u32.f32", (TWO, ONE), 0xFFFFFFFF),
    ("set.le.f32.s32", (1, 2), ONE), ("set.ltu.s32.f32", (NAN, ONE), 0xFFFFFFFF),
    ("slct.b32.f32", (1, 2, 0x80000000), 1), ("slct.b32.f32", (1, 2, NAN), 2),
    ("slct.b32.f32", (1, 2, 0x80000001), 2), ("slct.ftz.b32.f32", (1, 2, 0x80000001), 1),
    ("slct.u64.s32", (1, 2, 0xFFFFFFFF), 2),
]  # fmt: skip
CONVERSIONS: list[Row] = [
    ("cvt.s32.s8", (0x80,), 0xFFFFFF80), ("cvt.u32.s16", (0x8000,), 0xFFFF8000), ("cvt.sat.u8.s32", (0xFFFFFFFF,), 0),
    ("cvt.sat.s8.s32", (200,), 0x7F), ("cvt.u16.u32", (0x12345,), 0x2345),
    ("cvt.s64.s32", (0x80000000,), 0xFFFFFFFF80000000), ("cvt.sat.s32.u64", (1 << 40,), 0x7FFFFFFF),
    ("cvt.s8.s32", (0x1FF,), 0xFFFFFFFF), ("cvt.u8.s32", (0x1FF,), 0xFF), ("cvt.rni.s32.f32", (0x40200000,), 2),
    ("cvt.rni.s32.f32", (0x40600000,), 4), ("cvt.rzi.s32.f32", (0xBFE00000,), 0xFFFFFFFF),
    ("cvt.rmi.s32.f32", (0xBF000000,), 0xFFFFFFFF), ("cvt.rpi.s32.f32", (0x3F000000,), 1),
    ("cvt.rzi.u32.f32", (0xBF800000,), 0), ("cvt.rzi.s32.f32", (0x4F000000,), 0x7FFFFFFF),
    ("cvt.rzi.s32.f32", (NAN,), 0), ("cvt.rzi.s64.f32", (NAN,), 1 << 63), ("cvt.rzi.u32.f64", (D_NAN,), 1 << 31),
    ("cvt.rzi.u64.f64", (0x43F0000000000000,), (1 << 64) - 1), ("cvt.rzi.u8.f32", (0x43FF0000,), 0xFF),
    ("cvt.rzi.s8.f32", (0xC3FF0000,), 0xFFFFFF80), ("cvt.rzi.u16.f16", (0x7BFF,), 65504),
    ("cvt.rn.f32.u32", (0xFFFFFFFF,), 0x4F800000), ("cvt.rz.f32.u32", (0xFFFFFFFF,), 0x4F7FFFFF),
    ("cvt.rp.f32.s32", (0x80000001,), 0xCEFFFFFF), ("cvt.rm.f64.u64", ((1 << 64) - 1,), 0x43EFFFFFFFFFFFFF),
    ("cvt.rn.sat.f32.s32", (5,), ONE), ("cvt.rn.f16.s32", (65519,), 0x7BFF), ("cvt.rn.f16.s32", (65520,), 0x7C00),
    ("cvt.rz.f16.u64", ((1 << 64) - 1,), 0x7BFF), ("cvt.rn.bf16.s64", ((1 << 62) + (1 << 54) + 1,), 0x5E81),
    ("cvt.rn.f32.f64", (0x3FF0000010000000,), ONE), ("cvt.rp.f32.f64", (0x3FF0000010000000,), ONE + 1),
    ("cvt.rz.f32.f64", (0x7FEFFFFFFFFFFFFF,), 0x7F7FFFFF), ("cvt.ftz.f64.f32", (1,), 0),
    ("cvt.f64.f32", (1,), 0x36A0000000000000), ("cvt.rn.ftz.f32.f64", (0x3800000000000000,), 0),
    ("cvt.rni.f32.f32", (0xBF000000,), 0x80000000), ("cvt.sat.f32.f32", (NAN,), 0),
    ("cvt.rn.f16.f32", (0x477FEFFF,), 0x7BFF), ("cvt.rn.f16.f32", (0x477FF000,), 0x7C00),
    ("cvt.rz.f16.f32", (0x477FF000,), 0x7BFF), ("cvt.rn.f16.f32", (0x33000000,), 0),
    ("cvt.rn.f16.f32", (0x33000001,), 1), ("cvt.rp.f16.f32", (1,), 1), ("cvt.rm.f16.f32", (0x80000001,), 0x8001),
    ("cvt.rn.f16.f64", (0x3FF0020000000001,), 0x3C01), ("cvt.f32.f16", (0x0001,), 0x33800000),
    ("cvt.f64.f16", (0xFC00,), 0xFFF0000000000000), ("cvt.rn.bf16.f32", (0x3F808000,), 0x3F80),
    ("cvt.rn.bf16.f32", (0x3F818000,), 0x3F82), ("cvt.rz.bf16.f32", (0x3F81FFFF,), 0x3F81),
    ("cvt.rn.relu.bf16.f32", (0xBF800000,), 0), ("cvt.rn.satfinite.f16.f32", (INF,), 0x7BFF),
    ("cvt.rn.bf16.f32", (0x7F7FFFFF,), 0x7F80), ("cvt.rna.tf32.f32", (0x3F801000,), 0x3F802000),
    ("cvt.rn.tf32.f32", (0x3F801000,), ONE), ("cvt.rz.tf32.f32", (0x3F803FFF,), 0x3F802000),
    ("cvt.rn.f16x2.f32", (ONE, TWO), 0x3C004000), ("cvt.rn.bf16x2.f32", (ONE, 0xC0000000), 0x3F80C000),
    ("cvt.rn.satfinite.e4m3x2.f32", (0x43E00000, 0x43F00000), 0x7E7E),
    ("cvt.rn.satfinite.e4m3x2.f32", (NAN, 0xBF800000), 0x7FB8),
    ("cvt.rn.satfinite.e5m2x2.f32", (0x47800000, ONE), 0x7B3C),
    ("cvt.rn.satfinite.e4m3x2.f32", (0x3A800000, 0x3A800001), 0x0001),
    ("cvt.rn.satfinite.relu.e5m2x2.f16x2", (0xBC003C00,), 0x003C), ("cvt.rn.f16x2.e4m3x2", (0x7F38,), 0x7FFF3C00),
    ("cvt.rn.f16x2.e5m2x2", (0xFC01,), 0xFC000100), ("cvt.rn.satfinite.e2m3x2.f32", (0x40F00000, 0xBE000000), 0x1F21),
    ("cvt.rz.satfinite.ue8m0x2.f32", (0x40400000, INF), 0x80FE), ("cvt.rp.ue8m0x2.f32", (0x40400000, INF), 0x81FF),
    ("cvt.rn.bf16x2.ue8m0x2", (0xFF00,), 0x7FFF0040), ("cvt.pack.sat.s16.s32", (0x00012345, 0xFFFF0000), 0x7FFF8000),
    ("cvt.pack.sat.u8.s32.b32", (300, 0xFFFFFFFF, 0xAABB), 0xAABBFF00),
    ("cvt.pack.sat.s4.s32.b32", (7, 0xFFFFFFF0, 1), 0x178),
]  # fmt: skip
VIDEO: list[Row] = [
    ("vadd.s32.u32.u32.sat", (0xFFFFFFFF, 1), 0x7FFFFFFF), ("vadd.u32.s32.s32.sat", (0xFFFFFFFF, 0), 0),
    ("vadd.u32.u32.u32.add", (1, 2, 3), 6), ("vsub.s32.u32.u32.min", (1, 2, 5), 0xFFFFFFFF),
    ("vabsdiff.u32.s32.s32", (0xFFFFFFFF, 4), 5), ("vmin.u32.u32.u32.max", (5, 3, 4), 4),
    ("vshl.u32.u32.u32.sat.clamp", (3, 31), 0xFFFFFFFF), ("vshl.u32.u32.u32.wrap", (3, 33), 6),
    ("vshr.s32.s32.u32.clamp", (0x80000000, 40), 0xFFFFFFFF),
    ("vmad.s32.s32.s32.sat", (0x7FFFFFFF, 2, 0), 0x7FFFFFFF), ("vmad.u32.u32.u32.po.shr7", (16, 8, 127), 2),
    ("vset.s32.u32.lt", (0xFFFFFFFF, 0), 1), ("vset.u32.u32.ge.add", (2, 1, 41), 42),
    ("vadd2.u32.u32.u32.sat", (0xFFFF0001, 0x00020003, 0), 0xFFFF0004),
    ("vsub2.s32.s32.s32", (0x00010005, 0x00020003, 0), 0xFFFF0002),
    ("vavrg4.u32.u32.u32", (0x01020304, 0x03030303, 0), 0x02030304),
    ("vavrg2.s32.s32.s32", (0xFFFE0001, 0xFFFF0002, 0), 0xFFFE0002),
    ("vabsdiff4.u32.u32.u32.add", (0x01020304, 0x04030201, 100), 108),
    ("vmax4.s32.s32.s32", (0x80FF7F01, 0, 0), 0x00007F01),
    ("vset4.u32.u32.eq", (0x01020304, 0x01000304, 0xAAAAAAAA), 0x01000101),
    ("vset2.u32.u32.gt.add", (0x00020002, 0x00010001, 7), 9),
]  # fmt: skip


def program(rows: list[Row]) -> str:
    """A kernel that computes each row from constants."""
    lines: list[str] = []
    for index, (opcode, values, _) in enumerate(rows):
        first, *modifiers = opcode.split(".")
        form: Form = (first, tuple(modifiers))
        targets, sources = signature(form)
        assert len(sources) == len(values), opcode
        names = [register(name, k + 1) for k, name in enumerate(sources)]
        for name, kind, value in zip(names, sources, values, strict=True):
            lines.append(f"mov.b{ {'h': 16, 'r': 32, 'l': 64}[register(kind, 1)[1]] } {name}, {value};")
        extra = [", 0x6A"] if first == "lop3" else []
        target = register(targets[0], 4)
        lines.append(f"{opcode} {target}, {', '.join(names)}{''.join(extra)};")
        lines += store(target, 16 * 32 * index)
    return PROLOGUE.format(x=128, xx=256, y=256, yy=512, body="\n".join(lines))


@pytest.mark.parametrize("rows", [INTEGERS, FLOATS, HALVES, COMPARISONS, CONVERSIONS, VIDEO],
                         ids=["integers", "floats", "halves", "comparisons", "conversions", "video"])  # fmt: skip
def test_known_answers(rows: list[Row]) -> None:
    out = both(
        program(rows), [np.zeros(96, np.uint32), np.zeros(96, np.uint64), np.zeros(64 * len(rows), np.uint64)]
    ).buffers[2]
    found = out.reshape(len(rows), 32, 2)[:, 5, 0].tolist()
    pairs = zip(rows, found, strict=True)
    assert not [(row[0], [hex(v) for v in row[1]], hex(row[2]), hex(value)) for row, value in pairs if row[2] != value]
