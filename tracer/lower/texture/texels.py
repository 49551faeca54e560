"""Texels to channels as LLVM IR, all lanes at once (``tracer.units.texture.texel`` is the definition).

``gather`` reads the words of texels; lanes without one have zeros. For each class of texels ``near`` takes the channels
of the first texel, ``blend`` the sum of texels by weight, ``missing`` the channels that the image lacks. Words and
weights lie in the scratch. Sums of unsigned fractions are whole numbers below 2**24: one division in single precision
rounds them as the unit's sums in double precision are. All others are in double precision.
"""

import re
import struct
from collections.abc import Iterable

from rayplay.tracer.emit.text import expanded
from rayplay.tracer.memory import image_record as image
from rayplay.tracer.units.call import SLOT_BYTES
from rayplay.tracer.units.texture.block import GREEN_FIRST, TOPS
from rayplay.tracer.units.texture.texel import SRGB_TO_LINEAR

WEIGHTS, WORDS, FACTORS, TAP_WORD_BYTES = 2048, 4096, 12288, 512
"""Offsets in the scratch: int32[taps][32], int32[taps][4][32], and float or double[taps][32], weights as numbers."""
NAN = 0x7FFFFFFF

SINGLE, HALF, BYTES, UNORM, SRGB, SNORM, PART, PART_SRGB, UNSIGNED, SIGNED = range(10)
"""Classes of texels: ``BYTES`` are unsigned fractions of 8 bits, ``PART`` those of blocks; the last two are integers
that are read as such.
"""
NAMES = ("single", "half", "bytes", "unorm", "srgb", "snorm", "part", "part.srgb", "unsigned", "signed")
BLENDED = (SINGLE, HALF, BYTES, UNORM, SRGB, SNORM, PART, PART_SRGB)


def class_of(element: int, fractions: bool, srgb: bool) -> int:
    """The class of texels of an element; ``fractions``: integers are read as such."""
    if element >= image.BC1:
        return PART_SRGB if srgb else PART
    if element >= image.F16:
        return SINGLE if element == image.F32 else HALF
    if fractions and element < image.U32:
        return SNORM if element & 1 else UNORM if element != image.U8 else SRGB if srgb else BYTES
    return SIGNED if element & 1 else UNSIGNED


_SINGLE = "  %value = bitcast $I %loaded to $F"
_HALF = f"""
  %half.moved = ashr $I %upper, splat (i32 3)
  %half.bits = and $I %half.moved, splat (i32 {0x8FFFE000 - (1 << 32)})
  %half.small = bitcast $I %half.bits to $F
  %half.value = fmul $F %half.small, splat (float 0x46F0000000000000)
  %half.word = bitcast $F %half.value to $I
  %half.exponent = and $I %half.bits, splat (i32 {0x0F800000})
  %half.special = icmp eq $I %half.exponent, splat (i32 {0x0F800000})
  %half.infinite = or $I %half.word, splat (i32 {0x7F800000})
  %half.all = select $B %half.special, $I %half.infinite, $I %half.word
  %value = bitcast $I %half.all to $F"""
"""Sign, exponent and fraction in a single's places, then 2**112 for what the exponents count from."""


def _table() -> str:
    """A load of each lane, which costs less than a gather."""
    text, total = "  %bytes.at = getelementptr i8, ptr %at, i32 %c", "poison"
    for lane in range(32):
        name = "%value" if lane == 31 else f"%value.{lane}"
        text += f"""
  %byte.{lane}.at = getelementptr i8, ptr %bytes.at, i64 {4 * lane}
  %byte.{lane} = load i8, ptr %byte.{lane}.at
  %byte.{lane}.long = zext i8 %byte.{lane} to i64
  %entry.{lane}.at = getelementptr double, ptr @texture.fractions, i64 %byte.{lane}.long
  %entry.{lane} = load double, ptr %entry.{lane}.at
  {name} = insertelement $D {total}, double %entry.{lane}, i64 {lane}"""
        total = name
    return text


_SNORM = """
  %whole = sitofp $I %raw to $D
  %fraction = fdiv $D %whole, %tops.signed
  %beyond = fcmp olt $D %fraction, splat (double -1.0)
  %value = select $B %beyond, $D splat (double -1.0), $D %fraction"""
_PART = """
  %top.at = getelementptr float, ptr @texture.tops, i32 %c
  %top.part = load float, ptr %top.at
  %tops.part = spread float %top.part
  %value = sitofp $I %raw to $F"""
_PART_SRGB = f"""
  %is.green = icmp eq i32 %c, 1
  %table.first = select i1 %is.green, i32 {GREEN_FIRST}, i32 0
  %table = getelementptr double, ptr @texture.part.srgb, i32 %table.first
  %part = select i1 %is.alpha, $I zeroinitializer, $I %raw
  %entries = getelementptr double, ptr %table, $I %part
  %colour = call $D @llvm.masked.gather.v32f64.v32p0(<32 x ptr> align 8 %entries, $B splat (i1 true), $D poison)
  %whole = sitofp $I %raw to $D
  %fraction = fdiv $D %whole, splat (double {float(TOPS[3])!r})
  %value = select i1 %is.alpha, $D %fraction, $D %colour"""
_WHOLE = "  %value = sitofp $I %raw to $F"
_VALUE = {
    SINGLE: _SINGLE, HALF: _HALF, BYTES: _WHOLE, UNORM: _WHOLE, SRGB: _table(), SNORM: _SNORM, PART: _PART,
    PART_SRGB: _PART_SRGB, UNSIGNED: "", SIGNED: "",
}  # fmt: skip
"""From ``%raw``, the bits of a channel, to its value; that of ``bytes``, ``unorm`` and ``part`` is the whole number."""
_ROUND = """
  %nan = fcmp uno $F %single, %single
  %single.bits = bitcast $F %single to $I
  %result = select $B %nan, $I splat (i32 $NAN), $I %single.bits"""
_HEAD = """
define internal void @texture.$name(ptr %scratch, ptr %results, i32 %channels, i32 %bits, i32 %taps) #0 {
entry:
  %left = sub i32 32, %bits
  %lefts = spread i32 %left
  %ones = lshr i32 -1, %left
  %top = uitofp i32 %ones to float
  %tops = spread float %top
  %half.top = lshr i32 %ones, 1
  %top.signed = sitofp i32 %half.top to double
  %tops.signed = spread double %top.signed
  %weights = getelementptr i8, ptr %scratch, i64 $WEIGHTS
  %words = getelementptr i8, ptr %scratch, i64 $WORDS
  %factors = getelementptr i8, ptr %scratch, i64 $FACTORS"""
_ALPHA = """
  call void @texture.$path.$alpha(ptr %scratch, ptr %results, i32 %channels, i32 %bits, i32 %taps)
  %looped = call i32 @llvm.umin.i32(i32 %channels, i32 3)"""
"""Alpha of sRGB is linear: in double precision it is rounded to the same single one (tops are below 2**16)."""
_ALL = """
  %looped = add i32 %channels, 0"""
_FACTORS = """
  br label %weigh
weigh:
  %w = phi i32 [ 0, %entry ], [ %w.next, %weigh ]
  %whole.at = getelementptr [32 x i32], ptr %weights, i32 %w
  %whole.weight = load $I, ptr %whole.at, align 64
  %factor.whole = sitofp $I %whole.weight to $K
  %factor.place = getelementptr $K, ptr %factors, i32 %w
  store $K %factor.whole, ptr %factor.place, align 64
  %w.next = add i32 %w, 1
  %w.more = icmp ult i32 %w.next, %taps
  br i1 %w.more, label %weigh, label %begin
begin:
  br label %channel"""
"""Weights as the numbers that they are multiplied as, once for all channels."""
_CHANNEL = """
channel:
  %c = phi i32 [ 0, $before ], [ %c.next, %store ]
  %bit = mul i32 %c, %bits
  %word = lshr i32 %bit, 5
  %low = and i32 %bit, 31
  %high = sub i32 %left, %low
  %highs = spread i32 %high
  %is.alpha = icmp eq i32 %c, 3
  %first = getelementptr [32 x i32], ptr %words, i32 %word"""
_LOAD = """
  %loaded = load $I, ptr %at, align 64
  %upper = shl $I %loaded, %highs
  %raw = $shift $I %upper, %lefts
"""
_TAIL = """
  %place.bytes = mul i32 %c, $SLOT_BYTES
  %place = getelementptr i8, ptr %results, i32 %place.bytes
  store $I %result, ptr %place, align 64
  %c.next = add i32 %c, 1
  %more = icmp ult i32 %c.next, %looped
  br i1 %more, label %channel, label %leave
leave:
  ret void
}
"""
_SUM = """
  br label %tap
tap:
  %t = phi i32 [ 0, %channel ], [ %t.next, %tap ]
  %sum = phi $K [ zeroinitializer, %channel ], [ %total, %tap ]
  %t.words = mul i32 %t, $TAP_WORD_BYTES
  %at = getelementptr i8, ptr %first, i32 %t.words
  %factor.at = getelementptr $K, ptr %factors, i32 %t
  %factor = load $K, ptr %factor.at, align 64"""
_ADDED = """
  %product = fmul $K %factor, %operand
  %total = fadd $K %sum, %product"""
_FUSED = """
  %total = call $K @llvm.fmuladd.$LANES($K %factor, $K %operand, $K %sum)"""
"""Where the product is exact, so that one rounding gives the bits of two."""
_NEXT = """
  %t.next = add i32 %t, 1
  %t.more = icmp ult i32 %t.next, %taps
  br i1 %t.more, label %tap, label %store
store:"""
_SUM_OF = {
    "$F": """
  %scale = fmul $F $tops, splat (float 256.0)
  %single = fdiv $F %total, %scale""",
    "$D": """
  %double = fmul $D %total, splat (double 0.00390625)
  %$blended = fptrunc $D %double to $F""",
}
_ALONE = """
  %first.weight = load $I, ptr %weights, align 64
  %alone = icmp eq $I %first.weight, splat (i32 256)
  %single = select $B %alone, $F %alone.value, $F %blended"""
"""A texel with all the weight keeps the sign of a zero, which a sum loses."""
_BYTES = """
define internal void @texture.blend.$name(ptr %scratch, ptr %results, i32 %channels, i32 %bits, i32 %taps) #0 {
entry:
  %weights = getelementptr i8, ptr %scratch, i64 $WEIGHTS
  %words = getelementptr i8, ptr %scratch, i64 $WORDS
  br label %tap
tap:
  %t = phi i32 [ 0, %entry ], [ %t.next, %tap ]
  %even = phi <64 x i16> [ zeroinitializer, %entry ], [ %even.total, %tap ]
  %odd = phi <64 x i16> [ zeroinitializer, %entry ], [ %odd.total, %tap ]
  %t.words = mul i32 %t, $TAP_WORD_BYTES
  %at = getelementptr i8, ptr %words, i32 %t.words
  %word = load $I, ptr %at, align 64
  %weight.at = getelementptr [32 x i32], ptr %weights, i32 %t
  %weight = load $I, ptr %weight.at, align 64
  %weight.upper = shl $I %weight, splat (i32 16)
  %weight.both = or $I %weight, %weight.upper
  %factor = bitcast $I %weight.both to <64 x i16>
  %even.bytes = and $I %word, splat (i32 16711935)
  %word.8 = lshr $I %word, splat (i32 8)
  %odd.bytes = and $I %word.8, splat (i32 16711935)
  %even.wide = bitcast $I %even.bytes to <64 x i16>
  %odd.wide = bitcast $I %odd.bytes to <64 x i16>
  %even.product = mul <64 x i16> %even.wide, %factor
  %odd.product = mul <64 x i16> %odd.wide, %factor
  %even.total = add <64 x i16> %even, %even.product
  %odd.total = add <64 x i16> %odd, %odd.product
  %t.next = add i32 %t, 1
  %t.more = icmp ult i32 %t.next, %taps
  br i1 %t.more, label %tap, label %store.0
store.0:
  %evens = bitcast <64 x i16> %even.total to $I
  %odds = bitcast <64 x i16> %odd.total to $I
  %part.0 = and $I %evens, splat (i32 65535)
$store_0
  %one = icmp eq i32 %channels, 1
  br i1 %one, label %leave, label %store.1
store.1:
  %part.1 = and $I %odds, splat (i32 65535)
  %part.2 = lshr $I %evens, splat (i32 16)
  %part.3 = lshr $I %odds, splat (i32 16)
$store_1
$store_2
$store_3
  br label %leave
leave:
  ret void
}
"""
"""Two channels side by side in 16 bits each: weights make up 256 at most, and 255 times that has 16 bits."""


def _bytes(name: str, channels: Iterable[int]) -> str:
    """The function that blends bytes, of which it stores some channels."""
    text = _BYTES
    for number in range(4):
        store = f"""
  %float.{number} = sitofp $I %part.{number} to $F
  %result.{number} = fdiv $F %float.{number}, splat (float {255.0 * 256.0})
  %place.{number} = getelementptr i8, ptr %results, i64 {number * SLOT_BYTES}
  store $F %result.{number}, ptr %place.{number}, align 64"""
        text = text.replace(f"\n$store_{number}", store if number in channels else "")
    return _filled(text, name=name)


WHOLE = {BYTES: "%tops", UNORM: "%tops", PART: "%tops.part"}
"""Classes whose sums are whole numbers, and the number that stands for 1.0."""


def near(kind: int) -> str:
    """The function that takes the channels of the first texel."""
    value = _VALUE[kind]
    if kind in (UNSIGNED, SIGNED):
        ending = "  %result = or $I %raw, zeroinitializer"
    else:
        single = "fptrunc $D %value to $F" if kind in (SRGB, SNORM, PART_SRGB) else _same("$F")
        single = f"fdiv $F %value, {WHOLE[kind]}" if kind in WHOLE else single
        ending = f"  %single = {single}{_ROUND}"
    body = f"  br label %store\nstore:\n  %at = getelementptr i8, ptr %first, i32 0{_LOAD}{value}\n{ending}"
    return _made("near", kind, f"\n  br label %channel{_CHANNEL}\n{body}", "%entry")


def blend(kind: int) -> str:
    """The function that adds the channels of ``%taps`` texels by weight."""
    if kind == BYTES:
        return _bytes("bytes", range(4)) + _bytes("alpha", (3,))
    total = "$F" if kind in WHOLE else "$D"
    signed_zero = kind in (SINGLE, HALF)
    operand = f"\n  %operand = {'fpext $F %value to $D' if signed_zero else _same(total)}"
    added = _FUSED if signed_zero or kind in WHOLE else _ADDED
    text = _FACTORS + _CHANNEL + _SUM + _LOAD + _VALUE[kind] + operand + added + _NEXT
    text += (
        _SUM_OF[total].replace("$tops", WHOLE.get(kind, "")).replace("$blended", "blended" if signed_zero else "single")
    )
    if signed_zero:
        again = "\n  %at = getelementptr i8, ptr %first, i32 0" + _LOAD + _VALUE[kind]
        text += re.sub(r"%(at|loaded|upper|raw|value|half\.\w+)", r"%alone.\1", again) + _ALONE
    text = text.replace("$LANES", "v32f32" if total == "$F" else "v32f64").replace("$K", total)
    return _made("blend", kind, text + _ROUND, "%begin")


def _same(lanes: str) -> str:
    """The value under another name."""
    return f"select i1 true, {lanes} %value, {lanes} %value"


def _made(path: str, kind: int, body: str, before: str) -> str:
    shift = "ashr" if kind in (SNORM, SIGNED) else "lshr"
    looped = (_ALPHA if kind == SRGB else _ALL).replace("$alpha", "bytes" if path == "near" else "alpha")
    return _filled(f"{_HEAD}{looped}{body}{_TAIL}", name=f"{path}.{NAMES[kind]}", path=path, shift=shift, before=before)


def _filled(text: str, **words: str) -> str:
    return expanded(text, **words, NAN=NAN, WEIGHTS=WEIGHTS, WORDS=WORDS, FACTORS=FACTORS,
                    TAP_WORD_BYTES=TAP_WORD_BYTES, SLOT_BYTES=SLOT_BYTES)  # fmt: skip


def fractions() -> str:
    """The table of sRGB's 8-bit channels made linear."""
    words = ", ".join(f"double 0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}" for value in SRGB_TO_LINEAR)
    return f"@texture.fractions = internal constant [256 x double] [{words}]"


MISSING = expanded(
    """
define internal void @texture.missing(ptr %scratch, ptr %results, i32 %channels, i32 %taps, i1 %whole) #0 {
entry:
  %weights = getelementptr i8, ptr %scratch, i64 $WEIGHTS
  br label %tap
tap:
  %t = phi i32 [ 0, %entry ], [ %t.next, %tap ]
  %sum = phi $I [ zeroinitializer, %entry ], [ %total, %tap ]
  %at = getelementptr [32 x i32], ptr %weights, i32 %t
  %weight = load $I, ptr %at, align 64
  %total = add $I %sum, %weight
  %t.next = add i32 %t, 1
  %t.more = icmp ult i32 %t.next, %taps
  br i1 %t.more, label %tap, label %alpha
alpha:
  %one = lshr $I %total, splat (i32 8)
  %float = sitofp $I %total to $F
  %share = fmul $F %float, splat (float 0x3F70000000000000)
  %share.bits = bitcast $F %share to $I
  %last = select i1 %whole, $I %one, $I %share.bits
  %last.at = getelementptr i8, ptr %results, i64 $LAST
  store $I %last, ptr %last.at, align 64
  br label %channel
channel:
  %c = phi i32 [ %channels, %alpha ], [ %c.next, %zero ]
  %more = icmp ult i32 %c, 3
  br i1 %more, label %zero, label %leave
zero:
  %bytes = mul i32 %c, $SLOT_BYTES
  %place = getelementptr i8, ptr %results, i32 %bytes
  store $I zeroinitializer, ptr %place, align 64
  %c.next = add i32 %c, 1
  br label %channel
leave:
  ret void
}
""",
    WEIGHTS=WEIGHTS, LAST=3 * SLOT_BYTES, SLOT_BYTES=SLOT_BYTES,
)  # fmt: skip
"""Channels that the image lacks: 0, 0 and the share of the weights inside the image; ``%whole``: as an integer."""
