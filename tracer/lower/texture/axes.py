"""Coordinates to texels as LLVM IR, all lanes at once (``tracer.units.texture.addressing`` is the definition)."""

from rayplay.tracer.emit.text import expanded
from rayplay.tracer.memory.image_record import AXIS_FIELDS, MIRROR, OUTSIDE, WRAP

AXIS_BYTES, SECOND, WEIGHT, VALID = 512, 128, 256, 384
"""Of an axis in the scratch: offsets of the first and second texel, weight of the second, lanes inside the image."""
NEAREST, LINEAR, INTEGER = range(3)
"""Kinds of an axis; the last one has texels for coordinates."""

AXIS = expanded(
    """
define internal void @texture.axis(
  ptr %out, $I %bits, i32 %length, i32 %mode, i32 %kind, i1 %norm, i32 %step, ptr %fields
) #0 {
entry:
  %last = sub i32 %length, 1
  %lengths = spread i32 %length
  %lasts = spread i32 %last
  %steps = spread i32 %step
  %wraps = icmp ule i32 %mode, $MIRROR
  %has.second = icmp eq i32 %kind, $LINEAR
  %final = zext i1 %has.second to i32
  %is.integer = icmp eq i32 %kind, $INTEGER
  br i1 %is.integer, label %texels, label %float
float:
  %given = bitcast $I %bits to $F
  %nan = fcmp uno $F %given, %given
  %x = select $B %nan, $F zeroinitializer, $F %given
  br i1 %norm, label %normalized, label %reach
normalized:
  %size = sitofp i32 %length to float
  %sizes = spread float %size
  br i1 %wraps, label %repeat, label %scale
repeat:
  %huge.size = call $F @llvm.fabs.v32f32($F %x)
  %huge = fcmp ogt $F %huge.size, splat (float 8388608.0)
  %small = select $B %huge, $F zeroinitializer, $F %x
  %whole = call $F @llvm.floor.v32f32($F %small)
  %part = fsub $F %small, %whole
  %count = fptosi $F %whole to $I
  %odd = trunc $I %count to $B
  %mirrored = icmp eq i32 %mode, $MIRROR
  %mirrors = spread i1 %mirrored
  %back = and $B %odd, %mirrors
  %rest = fsub $F splat (float 1.0), %part
  %turned = select $B %back, $F %rest, $F %part
  br label %scale
scale:
  %unit = phi $F [ %x, %normalized ], [ %turned, %repeat ]
  %scaled = fmul $F %unit, %sizes
  br label %reach
reach:
  %texel = phi $F [ %x, %float ], [ %scaled, %scale ]
  %length.f = sitofp i32 %length to float
  %most = fadd float %length.f, 32.0
  %mosts = spread float %most
  %low = fcmp olt $F %texel, splat (float -32.0)
  %above = select $B %low, $F splat (float -32.0), $F %texel
  %high = fcmp ogt $F %above, %mosts
  %within = select $B %high, $F %mosts, $F %above
  br i1 %has.second, label %linear, label %nearest
linear:
  %fine = fmul $F %within, splat (float 256.0)
  %down = call $F @llvm.floor.v32f32($F %fine)
  %over = fsub $F %fine, %down
  %rounds = fcmp oge $F %over, splat (float 0.5)
  %up.one = zext $B %rounds to $I
  %fixed.down = fptosi $F %down to $I
  %fixed.near = add $I %fixed.down, %up.one
  %fixed = sub $I %fixed.near, splat (i32 128)
  %fixed.first = ashr $I %fixed, splat (i32 8)
  %fixed.weight = and $I %fixed, splat (i32 255)
  br label %texels
nearest:
  %floor = call $F @llvm.floor.v32f32($F %within)
  %near = fptosi $F %floor to $I
  br label %texels
texels:
  %index = phi $I [ %bits, %entry ], [ %fixed.first, %linear ], [ %near, %nearest ]
  %weight = phi $I [ zeroinitializer, %entry ], [ %fixed.weight, %linear ], [ zeroinitializer, %nearest ]
  %weight.at = getelementptr i8, ptr %out, i64 $WEIGHT
  store $I %weight, ptr %weight.at, align 64
  br label %place
place:
  %texel.number = phi i32 [ 0, %texels ], [ 1, %found ]
  %i = phi $I [ %index, %texels ], [ %next, %found ]
  %next = add $I %i, splat (i32 1)
  %before = icmp slt $I %i, zeroinitializer
  %behind = icmp sgt $I %i, %lasts
  %off = or $B %before, %behind
  %off.bits = bitcast $B %off to i32
  switch i32 %mode, label %clamp [ i32 $WRAP, label %wrap i32 $MIRROR, label %mirror i32 $OUTSIDE, label %outside ]
wrap:
  %up = add $I %i, %lengths
  %wrap.low = select $B %before, $I %up, $I %i
  %fewer = sub $I %i, %lengths
  %wrap.high = select $B %behind, $I %fewer, $I %wrap.low
  br label %clamp
mirror:
  %mirror.before = sub $I splat (i32 -1), %i
  %mirror.low = select $B %before, $I %mirror.before, $I %i
  %twice = shl $I %lengths, splat (i32 1)
  %end = sub $I %twice, splat (i32 1)
  %mirror.behind = sub $I %end, %i
  %mirror.high = select $B %behind, $I %mirror.behind, $I %mirror.low
  br label %clamp
outside:
  %kept = select $B %off, $I zeroinitializer, $I %i
  %here = xor i32 %off.bits, -1
  br label %clamp
clamp:
  %j = phi $I [ %i, %place ], [ %wrap.high, %wrap ], [ %mirror.high, %mirror ], [ %kept, %outside ]
  %valid = phi i32 [ -1, %place ], [ -1, %wrap ], [ -1, %mirror ], [ %here, %outside ]
  %j.low = call $I @llvm.smax.v32i32($I %j, $I zeroinitializer)
  %j.in = call $I @llvm.smin.v32i32($I %j.low, $I %lasts)
  %near.offset = mul $I %j.in, %steps
  %is.plain = icmp eq ptr %fields, null
  br i1 %is.plain, label %found, label %field
field:
  %field.number = phi i32 [ 0, %clamp ], [ %field.next, %field ]
  %sum = phi $I [ zeroinitializer, %clamp ], [ %sum.next, %field ]
  %field.words = getelementptr [2 x i64], ptr %fields, i32 %field.number
  %field.mask = load i32, ptr %field.words
  %factor.at = getelementptr i64, ptr %field.words, i64 1
  %field.factor = load i32, ptr %factor.at
  %field.masks = spread i32 %field.mask
  %field.factors = spread i32 %field.factor
  %field.bits = and $I %j.in, %field.masks
  %field.offset = mul $I %field.bits, %field.factors
  %sum.next = add $I %sum, %field.offset
  %field.next = add i32 %field.number, 1
  %field.within = icmp ult i32 %field.next, $AXIS_FIELDS
  %mask.next.at = getelementptr i64, ptr %factor.at, i64 1
  %mask.next = load i32, ptr %mask.next.at
  %mask.some = icmp ne i32 %mask.next, 0
  %field.more = and i1 %field.within, %mask.some
  br i1 %field.more, label %field, label %found
found:
  %offset = phi $I [ %near.offset, %clamp ], [ %sum.next, %field ]
  %far = mul i32 %texel.number, $SECOND
  %offset.at = getelementptr i8, ptr %out, i32 %far
  store $I %offset, ptr %offset.at, align 64
  %valid.base = getelementptr i8, ptr %out, i64 $VALID
  %valid.at = getelementptr i32, ptr %valid.base, i32 %texel.number
  store i32 %valid, ptr %valid.at
  %done = icmp eq i32 %texel.number, %final
  br i1 %done, label %leave, label %place
leave:
  ret void
}
""", MIRROR=MIRROR, WRAP=WRAP, OUTSIDE=OUTSIDE, INTEGER=INTEGER, LINEAR=LINEAR, AXIS_FIELDS=AXIS_FIELDS,
    WEIGHT=WEIGHT, SECOND=SECOND, VALID=VALID)  # fmt: skip
"""The texels along an axis, as offsets: in multiples of ``step``, or by ``fields``, unless null
(``tracer.memory.layout``). Beside them the weight of the second, and which are inside. A coordinate in 1/256 less 127.5
is rounded down by its own fraction, which single precision has exactly.
"""

FACE = expanded("""
define internal void @texture.face(ptr %out, $I %u, $I %v, $I %w) #0 {
  %x = bitcast $I %u to $F
  %y = bitcast $I %v to $F
  %z = bitcast $I %w to $F
  %across = call $F @llvm.fabs.v32f32($F %x)
  %up = call $F @llvm.fabs.v32f32($F %y)
  %down = call $F @llvm.fabs.v32f32($F %z)
  %x.y = fcmp oge $F %across, %up
  %x.z = fcmp oge $F %across, %down
  %is.x = and $B %x.y, %x.z
  %is.y = fcmp oge $F %up, %down
  %minus.x = fneg $F %x
  %minus.y = fneg $F %y
  %minus.z = fneg $F %z
  %x.front = fcmp oge $F %x, zeroinitializer
  %y.front = fcmp oge $F %y, zeroinitializer
  %z.front = fcmp oge $F %z, zeroinitializer
  %x.face = select $B %x.front, $I zeroinitializer, $I splat (i32 1)
  %y.face = select $B %y.front, $I splat (i32 2), $I splat (i32 3)
  %z.face = select $B %z.front, $I splat (i32 4), $I splat (i32 5)
  %x.s = select $B %x.front, $F %minus.z, $F %z
  %y.t = select $B %y.front, $F %z, $F %minus.z
  %z.s = select $B %z.front, $F %x, $F %minus.x
  %yz.face = select $B %is.y, $I %y.face, $I %z.face
  %yz.m = select $B %is.y, $F %up, $F %down
  %yz.s = select $B %is.y, $F %x, $F %z.s
  %yz.t = select $B %is.y, $F %y.t, $F %minus.y
  %face = select $B %is.x, $I %x.face, $I %yz.face
  %m = select $B %is.x, $F %across, $F %yz.m
  %s = select $B %is.x, $F %x.s, $F %yz.s
  %t = select $B %is.x, $F %minus.y, $F %yz.t
  %s.m = fdiv $F %s, %m
  %t.m = fdiv $F %t, %m
  %s.1 = fadd $F %s.m, splat (float 1.0)
  %t.1 = fadd $F %t.m, splat (float 1.0)
  %s.half = fmul $F %s.1, splat (float 0.5)
  %t.half = fmul $F %t.1, splat (float 0.5)
  store $F %s.half, ptr %out, align 64
  %t.at = getelementptr i8, ptr %out, i64 128
  store $F %t.half, ptr %t.at, align 64
  %face.at = getelementptr i8, ptr %out, i64 256
  store $I %face, ptr %face.at, align 64
  ret void
}
""")
"""Coordinates on the face of a cube that a direction meets, and the face's number (``addressing.cube_face``)."""
