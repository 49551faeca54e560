"""Words of one texel of every lane as LLVM IR, by a load of each lane: processors gather slower than they load.

``texture.gather`` leaves the words in the scratch; lanes that read none have zeros. Every lane loads, since coordinates
of all have been brought inside the image. ``texture.load`` puts the upper half of the words elsewhere, for other lanes:
two texels side by side are one load.
"""

from rayplay.tracer.emit.text import expanded
from rayplay.tracer.memory import image_record as image

OFFSETS = 16384
"""Of the scratch: int32[32]."""
_LANES = range(32)
_HALVES = (0, 16)

_BEGIN = """
define internal void @texture.gather(
  ptr %scratch, ptr %base, $I %offset, i32 %mask, ptr %words, i32 %count, i64 %element
) #0 {
entry:
  %is.block = icmp uge i64 %element, $BC1
  br i1 %is.block, label %block, label %plain
block:
  %alpha = icmp eq i64 %element, $BC3
  %size = select i1 %alpha, i32 4, i32 3
  %sizes = spread i32 %size
  %number = lshr $I %offset, splat (i32 4)
  %start = shl $I %number, %sizes
  %block.words = select i1 %alpha, i32 4, i32 2
  %block.bytes = mul i32 %block.words, 64
  %block.upper = getelementptr i8, ptr %words, i32 %block.bytes
  call void @texture.load(ptr %scratch, ptr %base, $I %start, i32 %block.words, i32 %mask, ptr %words, i32 %mask,
    ptr %block.upper)
  call void @texture.decode($I %offset, i32 %mask, ptr %words, i1 %alpha)
  ret void
plain:
  %bytes = mul i32 %count, 64
  %upper = getelementptr i8, ptr %words, i32 %bytes
  call void @texture.load(ptr %scratch, ptr %base, $I %offset, i32 %count, i32 %mask, ptr %words, i32 %mask, ptr %upper)
  ret void
}

define internal void @texture.load(
  ptr %scratch, ptr %base, $I %offset, i32 %count, i32 %lower.mask, ptr %lower, i32 %upper.mask, ptr %upper
) #0 {
entry:
  %lower.lanes = bitcast i32 %lower.mask to $B
  %upper.lanes = bitcast i32 %upper.mask to $B
  %offsets = getelementptr i8, ptr %scratch, i64 $OFFSETS
  store $I %offset, ptr %offsets, align 64
  switch i32 %count, label %four [ i32 1, label %one i32 2, label %two ]
"""
_KEPT = """
  %{name}.kept = select $B %{half}.lanes, $I %{name}, $I zeroinitializer
  %{name}.at = getelementptr [32 x i32], ptr %{half}, i32 {word}
  store $I %{name}.kept, ptr %{name}.at, align 64"""


def _loads(path: str, kind: str) -> str:
    """A value of each lane, ``%path.lane``. Volatile: offsets stored as a vector are loaded again, not extracted."""
    return "".join(
        f"""
  %{path}.{lane}.from = getelementptr i32, ptr %offsets, i64 {lane}
  %{path}.{lane}.offset = load volatile i32, ptr %{path}.{lane}.from
  %{path}.{lane}.long = zext i32 %{path}.{lane}.offset to i64
  %{path}.{lane}.place = getelementptr i8, ptr %base, i64 %{path}.{lane}.long
  %{path}.{lane} = load {kind}, ptr %{path}.{lane}.place, align 1"""
        for lane in _LANES
    )


def _inserted(path: str, bits: int) -> str:
    """The lanes' values as one vector, ``%path.31.all``."""
    text, total = "", "poison"
    for lane in _LANES:
        text += f"\n  %{path}.{lane}.all = insertelement <32 x i{bits}> {total}, i{bits} %{path}.{lane}, i64 {lane}"
        total = f"%{path}.{lane}.all"
    return text


def _kept(name: str, word: int, words: int) -> str:
    """A store of a word in its half of the words."""
    is_upper, number = divmod(word, max(words // 2, 1))
    return _KEPT.format(name=name, half="upper" if is_upper else "lower", word=number)


def _shuffled(name: str, first: str, second: str, kind: str, places: list[int]) -> str:
    mask = ", ".join(f"i32 {place}" for place in places)
    return f"\n  %{name} = shufflevector {kind} {first}, {kind} {second}, <{len(places)} x i32> <{mask}>"


def _two() -> str:
    text = _loads("two", "i64") + _inserted("two", 64) + "\n  %pairs = bitcast <32 x i64> %two.31.all to <64 x i32>"
    for word in range(2):
        places = [2 * lane + word for lane in _LANES]
        text += _shuffled(f"pair.{word}", "%pairs", "poison", "<64 x i32>", places) + _kept(f"pair.{word}", word, 2)
    return text


def _four() -> str:
    """Texels of lanes k, k + 4, k + 8 and k + 12 side by side, then transposed in quarters of a vector."""
    text, kind = _loads("four", "<4 x i32>"), "<16 x i32>"
    for half in _HALVES:
        for k in range(4):
            lanes, name = [half + k + 4 * quarter for quarter in range(4)], f"side.{half}.{k}"
            for part in range(2):
                one, other = lanes[2 * part : 2 * part + 2]
                text += _shuffled(f"{name}.{part}", f"%four.{one}", f"%four.{other}", "<4 x i32>", [*range(8)])
            text += _shuffled(name, f"%{name}.0", f"%{name}.1", "<8 x i32>", [*range(16)])
        for pair, (one, other) in enumerate(((0, 1), (2, 3))):
            for upper in range(2):
                name, places = f"mixed.{half}.{pair}.{upper}", []
                for quarter in range(0, 16, 4):
                    at = quarter + 2 * upper
                    places += [at, at + 16, at + 1, at + 17]
                text += _shuffled(name, f"%side.{half}.{one}", f"%side.{half}.{other}", kind, places)
        for word in range(4):
            upper, odd, places = word // 2, word % 2, []
            for quarter in range(0, 16, 4):
                at = quarter + 2 * odd
                places += [at, at + 1, at + 16, at + 17]
            name = f"word.{half}.{word}"
            text += _shuffled(name, f"%mixed.{half}.0.{upper}", f"%mixed.{half}.1.{upper}", kind, places)
    for word in range(4):
        name = f"word.{word}"
        text += _shuffled(name, f"%word.0.{word}", f"%word.16.{word}", kind, [*_LANES]) + _kept(name, word, 4)
    return text


def gather() -> str:
    """The function's text."""
    one = _loads("one", "i32") + _inserted("one", 32) + _kept("one.31.all", 0, 1)
    leave = "\n  br label %leave"
    body = f"{_BEGIN}one:{one}{leave}\ntwo:{_two()}{leave}\nfour:{_four()}{leave}\nleave:\n  ret void\n}}"
    return expanded(body, BC1=image.BC1, BC3=image.BC3, OFFSETS=OFFSETS)
