"""Sectors of a warp's footprints as LLVM IR (``tracer.units.texture.sectors`` is the definition).

Vectors first leave out each texel in the sector of its lane's first texel, of its neighbours' first texels, of the
texel before in the lane, or of a texel of the same row in the lane before: all of these sectors stand in the list or
never will. The few texels left are compared with the first texels of all lanes and with those before them in order
(``few``). Of more than ``FEW`` the first one goes into the list and all of its sector are struck out, until none is
left (``many``).
"""

from rayplay.tracer.emit.text import expanded
from rayplay.tracer.units.call import ADDRESS_SLOT, SCRATCH_SLOT, SECTORS_SLOT, SLOT_BYTES
from rayplay.tracer.units.texture.sectors import SECTOR_SHIFT

WORDS = SCRATCH_SLOT * SLOT_BYTES + (8 << 10)
"""int32[taps][32]: low words of the addresses of texels' sectors, the first texel of a lane where one is not read."""
WORD_BYTES = 128
FEW = 16
BITS = SCRATCH_SLOT * SLOT_BYTES
"""int32[taps]: lanes whose texel is left."""
_BEFORE = ", ".join(f"i32 {max(lane - 1, 0)}" for lane in range(32))
_AFTER = ", ".join(f"i32 {min(lane + 1, 31)}" for lane in range(32))
_MOVED = ", ".join(f"i32 {place}" for place in range(1, FEW + 1))
_TAP = """
  %{tap}.place = getelementptr [32 x i32], ptr %words.at, i32 %{tap}
  %{tap}.sector = load $I, ptr %{tap}.place, align 64
  %{tap}.before = shufflevector $I %{tap}.sector, $I poison, <32 x i32> <$BEFORE>"""
_LEFT = """
  %{tap}.is.own = icmp eq $I %{tap}.sector, %own
  %{tap}.is.last = icmp eq $I %{tap}.sector, {last}
  %{tap}.is.own.before = icmp eq $I %{tap}.sector, %own.before
  %{tap}.is.even.before = icmp eq $I %{tap}.sector, %even.before
  %{tap}.is.odd.before = icmp eq $I %{tap}.sector, %odd.before
  %{tap}.is.tap.before = or $B %{tap}.is.even.before, %{tap}.is.odd.before
  %{tap}.is.before.some = or $B %{tap}.is.own.before, %{tap}.is.tap.before
  %{tap}.is.before = and $B %{tap}.is.before.some, %has.before
  %{tap}.is.own.after = icmp eq $I %{tap}.sector, %own.after
  %{tap}.is.after = and $B %{tap}.is.own.after, %has.after
  %{tap}.is.here = or $B %{tap}.is.own, %{tap}.is.last
  %{tap}.is.beside = or $B %{tap}.is.before, %{tap}.is.after
  %{tap}.is.known = or $B %{tap}.is.here, %{tap}.is.beside
  %{tap}.is.new = xor $B %{tap}.is.known, splat (i1 true)
  %{tap}.is.left = and $B %{tap}.is.new, %lanes
  %{tap}.left = bitcast $B %{tap}.is.left to i32
  %{tap}.bits.at = getelementptr i32, ptr %bits.at, i32 %{tap}
  store i32 %{tap}.left, ptr %{tap}.bits.at
  %{tap}.count = call i32 @llvm.ctpop.i32(i32 %{tap}.left)"""
_SET = """
{path}.tap:
  %{path}.t = phi i32 [ 0, %{path}.lane ], [ %{path}.t.next, %{path}.tap ]
  %{path}.part = phi i32 [ 0, %{path}.lane ], [ %{path}.set, %{path}.tap ]
  %{path}.t.at = getelementptr i32, ptr %bits.at, i32 %{path}.t
  %{path}.t.bits = load i32, ptr %{path}.t.at
  %{path}.t.lane = lshr i32 %{path}.t.bits, %{path}.number
  %{path}.t.one = and i32 %{path}.t.lane, 1
  %{path}.t.here = shl i32 %{path}.t.one, %{path}.t
  %{path}.set = or i32 %{path}.part, %{path}.t.here
  %{path}.t.next = add i32 %{path}.t, 1
  %{path}.t.more = icmp ult i32 %{path}.t.next, %taps
  br i1 %{path}.t.more, label %{path}.tap, label %{path}.chosen"""
"""The texels left of a lane, a bit each."""
_LISTED = """
  %{path}.at = getelementptr [32 x i32], ptr %words.at, i32 %{path}.k, i32 %{path}.number
  %{path}.word = load i32, ptr %{path}.at
  %{path}.apart = sub i32 %{path}.word, %base.word
  %{path}.far = zext i32 %{path}.apart to i64
  %{path}.sector = add i64 %base.sector, %{path}.far
  %{path}.new.at = getelementptr i64, ptr %list.at, i64 %{path}.count
  store i64 %{path}.sector, ptr %{path}.new.at
  %{path}.all = spread i32 %{path}.word
  %{path}.same = icmp eq $I %own, %{path}.all
  %{path}.same.here = and $B %{path}.same, %lanes
  %{path}.same.bits = bitcast $B %{path}.same.here to i32
  %{path}.is.further = icmp eq i32 %{path}.same.bits, 0"""
"""A texel's sector behind the list, and whether it is no lane's first."""


SECTORS = expanded(
    """
define internal void @texture.sectors(ptr %rows, i32 %mask, i32 %taps, i64 %base) #0 {
entry:
  %base.sector = and i64 %base, $SECTOR
  %base.word = trunc i64 %base.sector to i32
  %words.at = getelementptr i8, ptr %rows, i64 $WORDS
  %bits.at = getelementptr i8, ptr %rows, i64 $BITS
  %list.at = getelementptr i8, ptr %rows, i64 $LIST
  %lanes = bitcast i32 %mask to $B
  %mask.before = shl i32 %mask, 1
  %mask.after = lshr i32 %mask, 1
  %has.before = bitcast i32 %mask.before to $B
  %has.after = bitcast i32 %mask.after to $B
  %firsts.at = getelementptr i8, ptr %rows, i64 $ADDRESSES
  %firsts = load <32 x i64>, ptr %firsts.at, align 64
  %firsts.words = trunc <32 x i64> %firsts to $I
  %own = and $I %firsts.words, splat (i32 $SECTOR)
  %own.before = shufflevector $I %own, $I poison, <32 x i32> <$BEFORE>
  %own.after = shufflevector $I %own, $I poison, <32 x i32> <$AFTER>
  br label %pair
pair:
  %even = phi i32 [ 0, %entry ], [ %even.next, %pair ]
  %any = phi i32 [ 0, %entry ], [ %any.next, %pair ]
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %pair ]
  %last = phi $I [ %own, %entry ], [ %odd.sector, %pair ]
  %odd = add i32 %even, 1"""
    + _TAP.format(tap="even")
    + _TAP.format(tap="odd")
    + _LEFT.format(tap="even", last="%last")
    + _LEFT.format(tap="odd", last="%even.sector")
    + """
  %both.left = or i32 %even.left, %odd.left
  %any.next = or i32 %any, %both.left
  %both.count = add i32 %even.count, %odd.count
  %sum.next = add i32 %sum, %both.count
  %even.next = add i32 %even, 2
  %even.more = icmp ult i32 %even.next, %taps
  br i1 %even.more, label %pair, label %found
found:
  %nothing = icmp eq i32 %any.next, 0
  br i1 %nothing, label %leave, label %some
some:
  %is.few = icmp ule i32 %sum.next, $FEW
  br i1 %is.few, label %few.lane, label %many.lane
few.lane:
  %few.lanes = phi i32 [ %any.next, %some ], [ %few.lanes.next, %few.done ]
  %few.start = phi i64 [ 0, %some ], [ %few.count.next, %few.done ]
  %few.given = phi <$FEW x i32> [ zeroinitializer, %some ], [ %few.seen.next, %few.done ]
  %few.number = call i32 @llvm.cttz.i32(i32 %few.lanes, i1 true)
  %few.fewer = sub i32 %few.lanes, 1
  %few.lanes.next = and i32 %few.lanes, %few.fewer
  br label %few.tap"""
    + _SET.format(path="few")
    + """
few.chosen:
  %few.bits = phi i32 [ %few.set, %few.tap ], [ %few.bits.next, %few.chosen ]
  %few.count = phi i64 [ %few.start, %few.tap ], [ %few.count.next, %few.chosen ]
  %few.seen = phi <$FEW x i32> [ %few.given, %few.tap ], [ %few.seen.next, %few.chosen ]
  %few.k = call i32 @llvm.cttz.i32(i32 %few.bits, i1 true)"""
    + _LISTED.format(path="few")
    + """
  %few.marked = or i32 %few.word, 1
  %few.mark.1 = insertelement <$FEW x i32> poison, i32 %few.marked, i64 0
  %few.mark = shufflevector <$FEW x i32> %few.mark.1, <$FEW x i32> poison, <$FEW x i32> zeroinitializer
  %few.again = icmp eq <$FEW x i32> %few.seen, %few.mark
  %few.again.bits = bitcast <$FEW x i1> %few.again to i$FEW
  %few.is.new = icmp eq i$FEW %few.again.bits, 0
  %few.is.kept = and i1 %few.is.new, %few.is.further
  %few.kept = zext i1 %few.is.kept to i64
  %few.count.next = add i64 %few.count, %few.kept
  %few.seen.next = shufflevector <$FEW x i32> %few.seen, <$FEW x i32> %few.mark, <$FEW x i32> <$MOVED>
  %few.less = sub i32 %few.bits, 1
  %few.bits.next = and i32 %few.bits, %few.less
  %few.more = icmp ne i32 %few.bits.next, 0
  br i1 %few.more, label %few.chosen, label %few.done
few.done:
  %few.end = icmp eq i32 %few.lanes.next, 0
  br i1 %few.end, label %counted, label %few.lane
many.lane:
  %many.lanes = phi i32 [ %any.next, %some ], [ %left.next, %struck ]
  %many.count = phi i64 [ 0, %some ], [ %many.count.next, %struck ]
  %many.number = call i32 @llvm.cttz.i32(i32 %many.lanes, i1 true)
  br label %many.tap"""
    + _SET.format(path="many")
    + """
many.chosen:
  %many.k = call i32 @llvm.cttz.i32(i32 %many.set, i1 true)"""
    + _LISTED.format(path="many")
    + """
  %many.further = zext i1 %many.is.further to i64
  %many.count.next = add i64 %many.count, %many.further
  br label %strike
strike:
  %s = phi i32 [ 0, %many.chosen ], [ %s.next, %strike ]
  %left = phi i32 [ 0, %many.chosen ], [ %left.next, %strike ]
  %s.words.at = getelementptr [32 x i32], ptr %words.at, i32 %s
  %s.words = load $I, ptr %s.words.at, align 64
  %s.other = icmp ne $I %s.words, %many.all
  %s.other.bits = bitcast $B %s.other to i32
  %s.at = getelementptr i32, ptr %bits.at, i32 %s
  %s.bits = load i32, ptr %s.at
  %s.left = and i32 %s.bits, %s.other.bits
  store i32 %s.left, ptr %s.at
  %left.next = or i32 %left, %s.left
  %s.next = add i32 %s, 1
  %s.more = icmp ult i32 %s.next, %taps
  br i1 %s.more, label %strike, label %struck
struck:
  %done = icmp eq i32 %left.next, 0
  br i1 %done, label %counted, label %many.lane
counted:
  %count.next = phi i64 [ %few.count.next, %few.done ], [ %many.count.next, %struck ]
  %count.at = getelementptr i8, ptr %rows, i64 $COUNT
  store i64 %count.next, ptr %count.at
  br label %leave
leave:
  ret void
}
""",
    ADDRESSES=ADDRESS_SLOT * SLOT_BYTES, SECTOR=-(1 << SECTOR_SHIFT), BEFORE=_BEFORE, AFTER=_AFTER,
    WORDS=WORDS, BITS=BITS, FEW=FEW, MOVED=_MOVED, COUNT=SECTORS_SLOT * SLOT_BYTES, LIST=SECTORS_SLOT * SLOT_BYTES + 8,
)  # fmt: skip
"""Each sector once, in the order of lanes and texels, behind their number in ``SECTORS_SLOT``. Addresses of a look-up
lie less than 2 GiB apart, so that their low words tell sectors apart.
"""
