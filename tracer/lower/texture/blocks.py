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
  %code.4 = shl $I %code, splat (i32 2)
  %parts.4 = select $B %thirds, $I splat (i32 $THIRDS), $I splat (i32 $HALVES)
  %parts.all = lshr $I %parts.4, %code.4
  %w1 = and $I %parts.all, splat (i32 15)
  %w1.high = shl $I %w1, splat (i32 16)
  %w0 = sub $I splat (i32 6), %w1
  %w = or $I %w0, %w1.high
  %weights = bitcast $I %w to <64 x i16>
  %is.last = icmp eq $I %code, splat (i32 3)
  %halves = xor $B %thirds, splat (i1 true)
  %black = and $B %is.last, %halves
  %not.black = xor $B %black, splat (i1 true)
  %shown = and $B %not.black, %lanes
  %r.all = lshr $I %ends, splat (i32 11)
  %r.both = and $I %r.all, splat (i32 2031647)
  %g.all = lshr $I %ends, splat (i32 5)
  %g.both = and $I %g.all, splat (i32 4128831)
  %b.both = and $I %ends, splat (i32 2031647)
  %r.halves = bitcast $I %r.both to <64 x i16>
  %g.halves = bitcast $I %g.both to <64 x i16>
  %b.halves = bitcast $I %b.both to <64 x i16>
  %r.products = mul <64 x i16> %r.halves, %weights
  %g.products = mul <64 x i16> %g.halves, %weights
  %b.products = mul <64 x i16> %b.halves, %weights
  %r.pair = bitcast <64 x i16> %r.products to $I
  %g.pair = bitcast <64 x i16> %g.products to $I
  %b.pair = bitcast <64 x i16> %b.products to $I
  %r.first = and $I %r.pair, splat (i32 65535)
  %r.second = lshr $I %r.pair, splat (i32 16)
  %g.first = shl $I %g.pair, splat (i32 16)
  %g.second = and $I %g.pair, splat (i32 -65536)
  %rg.first = or $I %r.first, %g.first
  %rg.second = or $I %r.second, %g.second
  %rg = add $I %rg.first, %rg.second
  %b.second = lshr $I %b.pair, splat (i32 16)
  %b.sum = add $I %b.pair, %b.second
  %b = and $I %b.sum, splat (i32 65535)
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
""", TOP=TOPS[3], THIRDS=0x4260, HALVES=0x3360)  # fmt: skip
"""The two ends of a channel lie side by side in 16 bits each, and so do their weights in sixths; ``THIRDS`` and
``HALVES`` have the second one's by code, four bits each.
"""


def tables() -> str:
    """The numbers that stand for 1.0 by channel, and linear values of sRGB's."""
    tops = ", ".join(f"float {float(top)!r}" for top in TOPS)
    values = ", ".join(f"double 0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}" for value in SRGB)
    return f"""
@texture.tops = internal constant [4 x float] [{tops}]
@texture.part.srgb = internal constant [{len(SRGB)} x double] [{values}]"""
