"""Texels to channels as LLVM IR, all lanes at once (``tracer.units.texture.texel`` is the definition).

``texture.gather`` reads the words of one texel of every lane; lanes without one have zeros. For each class of texels
``near`` takes the channels of the first texel, ``blend`` the sum of texels by weight, ``missing`` the channels that the
image lacks. Words and weights lie in the scratch. Sums of unsigned fractions are whole numbers below 2**24: one
division in single precision rounds them as the unit's sums in double precision are. All others are in double precision.
"""

import struct

from rayplay.tracer.emit.text import expanded
from rayplay.tracer.memory import image_record as image
from rayplay.tracer.units.call import SLOT_BYTES
from rayplay.tracer.units.texture.block import GREEN_FIRST, TOPS
from rayplay.tracer.units.texture.texel import SRGB_TO_LINEAR

WEIGHTS, WORDS, TAP_WORD_BYTES = 2048, 4096, 512
"""Offsets in the scratch: int32[taps][32] and int32[taps][4][32]."""
NAN = 0x7FFFFFFF

GATHER = expanded(
    """
define internal void @texture.gather(ptr %base, $I %offset, i32 %mask, ptr %words, i32 %count, i64 %element) #0 {
entry:
  %lanes = bitcast i32 %mask to $B
  %is.block = icmp uge i64 %element, $BC1
  br i1 %is.block, label %block, label %plain
block:
  %alpha = icmp eq i64 %element, $BC3
  call void @texture.decode(ptr %base, $I %offset, i32 %mask, ptr %words, i1 %alpha)
  br label %leave
plain:
  br label %word
word:
  %k = phi i32 [ 0, %plain ], [ %next, %word ]
  %byte = shl i32 %k, 2
  %start = getelementptr i8, ptr %base, i32 %byte
  %at = getelementptr i8, ptr %start, $I %offset
  %value = call $I @llvm.masked.gather.v32i32.v32p0(<32 x ptr> align 1 %at, $B %lanes, $I zeroinitializer)
  %place = getelementptr [32 x i32], ptr %words, i32 %k
  store $I %value, ptr %place, align 64
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %count
  br i1 %more, label %word, label %leave
leave:
  ret void
}
""",
    BC1=image.BC1,
    BC3=image.BC3,
)

SINGLE, HALF, UNORM, SRGB, SNORM, PART, PART_SRGB, UNSIGNED, SIGNED = range(9)
"""Classes of texels: ``PART`` are those of blocks; the last two are integers that are read as such."""
NAMES = ("single", "half", "unorm", "srgb", "snorm", "part", "part.srgb", "unsigned", "signed")
BLENDED = (SINGLE, HALF, UNORM, SRGB, SNORM, PART, PART_SRGB)


def class_of(element: int, fractions: bool, srgb: bool) -> int:
    """The class of texels of an element; ``fractions``: integers are read as such."""
    if element >= image.BC1:
        return PART_SRGB if srgb else PART
    if element >= image.F16:
        return SINGLE if element == image.F32 else HALF
    if fractions and element < image.U32:
        return SNORM if element & 1 else SRGB if srgb and element == image.U8 else UNORM
    return SIGNED if element & 1 else UNSIGNED


_HALF = """
  %half.size = and $I %raw, splat (i32 32767)
  %half.moved = shl $I %half.size, splat (i32 13)
  %half.small = bitcast $I %half.moved to $F
  %half.value = fmul $F %half.small, splat (float 0x46F0000000000000)
  %half.bits = bitcast $F %half.value to $I
  %half.exponent = and $I %raw, splat (i32 31744)
  %half.special = icmp eq $I %half.exponent, splat (i32 31744)
  %half.infinite = or $I %half.bits, splat (i32 2139095040)
  %half.all = select $B %half.special, $I %half.infinite, $I %half.bits
  %half.sign = and $I %raw, splat (i32 32768)
  %half.signed = shl $I %half.sign, splat (i32 16)
  %half.word = or $I %half.all, %half.signed
  %value = bitcast $I %half.word to $F"""
_TABLE = """
  %table.first = select i1 %is.alpha, i32 256, i32 0
  %table = getelementptr double, ptr @texture.fractions, i32 %table.first
  %entries = getelementptr double, ptr %table, $I %raw
  %value = call $D @llvm.masked.gather.v32f64.v32p0(<32 x ptr> align 8 %entries, $B splat (i1 true), $D poison)"""
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
_VALUE = {
    SINGLE: "  %value = bitcast $I %raw to $F", HALF: _HALF, UNORM: "  %value = sitofp $I %raw to $F", SRGB: _TABLE,
    SNORM: _SNORM, PART: _PART, PART_SRGB: _PART_SRGB, UNSIGNED: "", SIGNED: "",
}  # fmt: skip
"""From ``%raw``, the bits of a channel, to its value; that of ``unorm`` and ``part`` is the whole number."""
_ROUND = """
  $rounded
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
  br label %channel
channel:
  %c = phi i32 [ 0, %entry ], [ %c.next, %store ]
  %bit = mul i32 %c, %bits
  %word = lshr i32 %bit, 5
  %low = and i32 %bit, 31
  %high = sub i32 %left, %low
  %highs = spread i32 %high
  %is.alpha = icmp eq i32 %c, 3
  %first = getelementptr [32 x i32], ptr %words, i32 %word
  br label %tap
tap:"""
_LOAD = """
  %loaded = load $I, ptr %at, align 64
  %upper = shl $I %loaded, %highs
  %raw = $shift $I %upper, %lefts
"""
_TAIL = """
  %place = getelementptr i8, ptr %results, i32 %place.bytes
  store $I %result, ptr %place, align 64
  %c.next = add i32 %c, 1
  %more = icmp ult i32 %c.next, %channels
  br i1 %more, label %channel, label %leave
leave:
  ret void
}
"""
_SUM = """
  %t = phi i32 [ 0, %channel ], [ %t.next, %tap ]
  %sum = phi $K [ zeroinitializer, %channel ], [ %total, %tap ]
  %one = phi $K [ zeroinitializer, %channel ], [ %only, %tap ]
  %t.words = mul i32 %t, $TAP_WORD_BYTES
  %at = getelementptr i8, ptr %first, i32 %t.words
  %weight.at = getelementptr [32 x i32], ptr %weights, i32 %t
  %weight = load $I, ptr %weight.at, align 64"""
_ADD = """
  $wide
  %factor = sitofp $I %weight to $K
  %product = fmul $K %factor, %operand
  %total = fadd $K %sum, %product
  %whole.weight = icmp eq $I %weight, splat (i32 256)
  %only = select $B %whole.weight, $K %operand, $K %one
  %t.next = add i32 %t, 1
  %t.more = icmp ult i32 %t.next, %taps
  br i1 %t.more, label %tap, label %store
store:"""
_SUM_OF = {
    "$F": """
  %scale = fmul $F $tops, splat (float 256.0)
  %single = fdiv $F %total, %scale""",
    "$D": """
  %first.weight = load $I, ptr %weights, align 64
  %alone = icmp eq $I %first.weight, splat (i32 256)
  %divided = fmul $D %total, splat (double 0.00390625)
  %double = select $B %alone, $D %only, $D %divided
  %single = fptrunc $D %double to $F""",
}


WHOLE = {UNORM: "%tops", PART: "%tops.part"}
"""Classes whose sums are whole numbers, and the number that stands for 1.0."""


def near(kind: int) -> str:
    """The function that takes the channels of the first texel."""
    value = _VALUE[kind]
    if kind in (UNSIGNED, SIGNED):
        ending = "  %result = or $I %raw, zeroinitializer"
    else:
        single = "fptrunc $D %value to $F" if kind in (SRGB, SNORM, PART_SRGB) else _same("$F")
        single = f"fdiv $F %value, {WHOLE[kind]}" if kind in WHOLE else single
        ending = _ROUND.replace("$rounded", f"%single = {single}")
    body = f"  br label %store\nstore:\n  %at = getelementptr i8, ptr %first, i32 0{_LOAD}{value}\n{ending}"
    return _made(f"near.{NAMES[kind]}", kind, body)


def blend(kind: int) -> str:
    """The function that adds the channels of ``%taps`` texels by weight."""
    total = "$F" if kind in WHOLE else "$D"
    wide = "fpext $F %value to $D" if kind in (SINGLE, HALF) else _same(total)
    steps = (_SUM + _LOAD + _VALUE[kind] + _ADD).replace("$wide", f"%operand = {wide}").replace("$K", total)
    return _made(
        f"blend.{NAMES[kind]}",
        kind,
        steps + _SUM_OF[total].replace("$tops", WHOLE.get(kind, "")) + _ROUND.replace("  $rounded\n", ""),
    )


def _same(lanes: str) -> str:
    """The value under another name."""
    return f"select i1 true, {lanes} %value, {lanes} %value"


def _made(name: str, kind: int, body: str) -> str:
    shift = "ashr" if kind in (SNORM, SIGNED) else "lshr"
    text = f"{_HEAD}{body}\n  %place.bytes = mul i32 %c, $SLOT_BYTES{_TAIL}"
    return expanded(text, name=name, shift=shift, NAN=NAN, WEIGHTS=WEIGHTS, WORDS=WORDS,
                    TAP_WORD_BYTES=TAP_WORD_BYTES, SLOT_BYTES=SLOT_BYTES)  # fmt: skip


def fractions() -> str:
    """The table of 8-bit channels as fractions: sRGB made linear, then linear ones."""
    values = (*SRGB_TO_LINEAR, *(level / 255.0 for level in range(256)))
    words = ", ".join(f"double 0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}" for value in values)
    return f"@texture.fractions = internal constant [512 x double] [{words}]"


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
