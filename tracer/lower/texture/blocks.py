"""Texels of BC1 and BC3 blocks as LLVM IR, all lanes at once (``tracer.units.texture.block`` is the definition).

``texture.decode`` finds the words of each lane's block, alpha first, where it leaves a texel's channels: parts of
``TOPS``, in two words of 16 bits each, as a texel of four 16-bit elements has them.
"""

import struct

from rayplay.tracer.emit.text import expanded
from rayplay.tracer.units.texture.block import SRGB, TOPS

DECODE = expanded("""
define internal void @texture.decode($I %offset, i32 %mask, ptr %words, i1 %alpha) #0 {
entry:
  %lanes = bitcast i32 %mask to $B
  %texel = and $I %offset, splat (i32 15)
  %ends.word = select i1 %alpha, i64 2, i64 0
  %ends.at = getelementptr [32 x i32], ptr %words, i64 %ends.word
  %ends = load $I, ptr %ends.at, align 64
  %codes.at = getelementptr i8, ptr %ends.at, i64 128
  %codes = load $I, ptr %codes.at, align 64
  %texel.2 = shl $I %texel, splat (i32 1)
  %code.all = lshr $I %codes, %texel.2
  %code = and $I %code.all, splat (i32 3)
  %c0 = and $I %ends, splat (i32 65535)
  %c1 = lshr $I %ends, splat (i32 16)
  %greater = icmp ugt $I %c0, %c1
  %alphas = spread i1 %alpha
  %thirds = or $B %greater, %alphas
  %is.end = icmp ult $I %code, splat (i32 2)
  %sixth = mul $I %code, splat (i32 6)
  %before = sub $I %code, splat (i32 1)
  %third = shl $I %before, splat (i32 1)
  %between = select $B %thirds, $I %third, $I splat (i32 3)
  %w1 = select $B %is.end, $I %sixth, $I %between
  %w0 = sub $I splat (i32 6), %w1
  %is.last = icmp eq $I %code, splat (i32 3)
  %halves = xor $B %thirds, splat (i1 true)
  %black = and $B %is.last, %halves
  %not.black = xor $B %black, splat (i1 true)
  %shown = and $B %not.black, %lanes
  %r0 = lshr $I %c0, splat (i32 11)
  %r1 = lshr $I %c1, splat (i32 11)
  %g0.all = lshr $I %c0, splat (i32 5)
  %g1.all = lshr $I %c1, splat (i32 5)
  %g0 = and $I %g0.all, splat (i32 63)
  %g1 = and $I %g1.all, splat (i32 63)
  %b0 = and $I %c0, splat (i32 31)
  %b1 = and $I %c1, splat (i32 31)
  %r0.w = mul $I %r0, %w0
  %r1.w = mul $I %r1, %w1
  %r = add $I %r0.w, %r1.w
  %g0.w = mul $I %g0, %w0
  %g1.w = mul $I %g1, %w1
  %g = add $I %g0.w, %g1.w
  %b0.w = mul $I %b0, %w0
  %b1.w = mul $I %b1, %w1
  %b = add $I %b0.w, %b1.w
  %g.high = shl $I %g, splat (i32 16)
  %rg = or $I %r, %g.high
  %rg.shown = select $B %shown, $I %rg, $I zeroinitializer
  %b.shown = select $B %shown, $I %b, $I zeroinitializer
  br i1 %alpha, label %smooth, label %leave
smooth:
  %low = load $I, ptr %words, align 64
  %high.at = getelementptr i8, ptr %words, i64 128
  %high = load $I, ptr %high.at, align 64
  %a0 = and $I %low, splat (i32 255)
  %a1.all = lshr $I %low, splat (i32 8)
  %a1 = and $I %a1.all, splat (i32 255)
  %texel.3 = mul $I %texel, splat (i32 3)
  %bit = add $I %texel.3, splat (i32 16)
  %bit.word = and $I %bit, splat (i32 31)
  %both = call $I @llvm.fshr.v32i32($I %high, $I %low, $I %bit.word)
  %above = lshr $I %high, %bit.word
  %is.above = icmp ugt $I %bit, splat (i32 31)
  %step.all = select $B %is.above, $I %above, $I %both
  %step = and $I %step.all, splat (i32 7)
  %sevenths = icmp ugt $I %a0, %a1
  %parts = select $B %sevenths, $I splat (i32 7), $I splat (i32 5)
  %part = select $B %sevenths, $I splat (i32 5), $I splat (i32 7)
  %step.end = icmp ult $I %step, splat (i32 2)
  %step.ends = mul $I %step, %parts
  %step.between = sub $I %step, splat (i32 1)
  %v1 = select $B %step.end, $I %step.ends, $I %step.between
  %v0 = sub $I %parts, %v1
  %a0.v = mul $I %a0, %v0
  %a1.v = mul $I %a1, %v1
  %a.sum = add $I %a0.v, %a1.v
  %a.between = mul $I %a.sum, %part
  %is.six = icmp ugt $I %step, splat (i32 5)
  %fifths = xor $B %sevenths, splat (i1 true)
  %fixed = and $B %is.six, %fifths
  %is.seven = icmp eq $I %step, splat (i32 7)
  %a.fixed = select $B %is.seven, $I splat (i32 $TOP), $I zeroinitializer
  %a.smooth = select $B %fixed, $I %a.fixed, $I %a.between
  br label %leave
leave:
  %a = phi $I [ splat (i32 $TOP), %entry ], [ %a.smooth, %smooth ]
  %visible = select i1 %alpha, $B %lanes, $B %shown
  %a.shown = select $B %visible, $I %a, $I zeroinitializer
  %a.high = shl $I %a.shown, splat (i32 16)
  %ba = or $I %b.shown, %a.high
  store $I %rg.shown, ptr %words, align 64
  %second = getelementptr i8, ptr %words, i64 128
  store $I %ba, ptr %second, align 64
  ret void
}
""", TOP=TOPS[3])  # fmt: skip


def tables() -> str:
    """The numbers that stand for 1.0 by channel, and linear values of sRGB's."""
    tops = ", ".join(f"float {float(top)!r}" for top in TOPS)
    values = ", ".join(f"double 0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}" for value in SRGB)
    return f"""
@texture.tops = internal constant [4 x float] [{tops}]
@texture.part.srgb = internal constant [{len(SRGB)} x double] [{values}]"""
