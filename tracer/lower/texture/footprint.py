"""The texels of a footprint: axes, layer or face, weights and words, as LLVM IR.

Text of a part of the function that ``lookup`` writes: from the records' words on to results in their slots.
"""

from collections.abc import Iterable

from rayplay.tracer.lower.texture import texels
from rayplay.tracer.lower.texture.axes import AXIS_BYTES, INTEGER, SECOND, VALID, WEIGHT
from rayplay.tracer.lower.texture.sectors import SECTOR_SHIFT, WORD_BYTES, WORDS
from rayplay.tracer.memory import image_record as image
from rayplay.tracer.units.call import ADDRESS_SLOT, RESULT_SLOT, SCRATCH_SLOT, SLOT_BYTES
from rayplay.tracer.units.texture.plan import COORDINATE, LAYER
from rayplay.tracer.units.texture.unit import RECORDED_BYTES

CORNERS = {1: 2, 2: 4, 3: 8}
FACE_BYTES = 3 * AXIS_BYTES
"""Of the scratch, before s, t and the number of a cube's face."""
ELEMENTS = 16
CLASSES = bytes(
    texels.class_of(element, fractions, srgb)
    for srgb in (False, True) for fractions in (False, True) for element in range(ELEMENTS)
)  # fmt: skip
"""Class of texels by element + ``ELEMENTS`` * (fractions + 2 * srgb)."""

_TEXEL = f"""
axes:
  %kind.filter = icmp ne i64 %filter, 0
  %plain = xor i1 %is.linear.memory, true
  %kind.blends = and i1 %kind.filter, %plain
  %blends = and i1 %kind.blends, $BLENDS
  %kind.float = zext i1 %blends to i32
  %kind = add i32 %kind.float, $ADDED
  %class.1 = mul i64 %fractions, {ELEMENTS}
  %class.2 = mul i64 %srgb, {2 * ELEMENTS}
  %class.3 = add i64 %class.1, %class.2
  %class.4 = add i64 %class.3, %element
  %class.5 = and i64 %class.4, {len(CLASSES) - 1}
  %class.at = getelementptr i8, ptr @texture.classes, i64 %class.5
  %class = load i8, ptr %class.at
  %element.3 = and i64 %element, {ELEMENTS - 1}
  %bits.at = getelementptr i8, ptr @texture.bits, i64 %element.3
  %bits.8 = load i8, ptr %bits.at
  %bits = zext i8 %bits.8 to i32
  %count.long = call i64 @llvm.umin.i64(i64 %channels, i64 4)
  %count = trunc i64 %count.long to i32
  %texel.bits = mul i32 %bits, %count
  %step.0 = lshr i32 %texel.bits, 3
  %step.1 = trunc i64 %row.step to i32
  %step.2 = trunc i64 %slice.step to i32
  %words.7 = add i32 %step.0, 3
  %words = lshr i32 %words.7, 2
  %scratch = getelementptr i8, ptr %rows, i64 {SCRATCH_SLOT * SLOT_BYTES}
  %results = getelementptr i8, ptr %rows, i64 {RESULT_SLOT * SLOT_BYTES}
  %is.plain = icmp eq i64 %fields, 0
  %fields.0.at = getelementptr i64, ptr %record, i64 {image.FIELD_X}
  %fields.1.at = getelementptr i64, ptr %record, i64 {image.FIELD_Y}
  %fields.0 = select i1 %is.plain, ptr null, ptr %fields.0.at
  %fields.1 = select i1 %is.plain, ptr null, ptr %fields.1.at
"""
"""Class and size of a texel, kind of the axes, and where things lie in the rows."""


class Footprint:
    """Lines of the function of one kind of instruction."""

    def __init__(self, geometry: int, integer: bool, records: bool) -> None:
        self.geometry, self.integer, self.records = geometry, integer, records
        self.axes = image.DIMENSIONS[geometry]
        self.cube = geometry in (image.G_CUBE, image.G_ACUBE)
        self.lines: list[str] = []

    def put(self, text: str) -> None:
        """Write lines of the function."""
        self.lines.append(text.strip("\n"))

    def word(self, name: str, base: str, number: int, kind: str = "i64") -> None:
        """Load a word of a record."""
        self.put(f"""
  %{name}.at = getelementptr i64, ptr {base}, i64 {number}
  %{name} = load {kind}, ptr %{name}.at""")

    def find_axes(self) -> None:
        """Texels along each axis, and the offset of the layer or face."""
        blends, added = ("false", INTEGER) if self.integer else ("true", 0)
        self.put(_TEXEL.replace("$BLENDS", blends).replace("$ADDED", str(added)))
        for axis in range(3):
            slot = SLOT_BYTES * (COORDINATE + axis)
            self.put(f"""
  %given.{axis}.at = getelementptr i8, ptr %rows, i64 {slot}
  %given.{axis} = load $I, ptr %given.{axis}.at, align 64
  %axis.{axis} = getelementptr i8, ptr %scratch, i64 {axis * AXIS_BYTES}""")
        if self.cube:
            self.put(f"""
  %face.at = getelementptr i8, ptr %scratch, i64 {FACE_BYTES}
  call void @texture.face(ptr %face.at, $I %given.0, $I %given.1, $I %given.2)
  %s = load $I, ptr %face.at, align 64
  %t.at = getelementptr i8, ptr %face.at, i64 128
  %t = load $I, ptr %t.at, align 64
  %face.number.at = getelementptr i8, ptr %face.at, i64 256
  %face = load $I, ptr %face.number.at, align 64""")
        for axis in range(self.axes):
            given, norm = (("%s", "%t")[axis], "true") if self.cube else (f"%given.{axis}", "%norm")
            fields = f"%fields.{axis}" if axis < 2 else "null"
            rest = f"i32 %mode.{axis}, i32 %kind, i1 {norm}, i32 %step.{axis}, ptr {fields}"
            self.put(f"""
  %length.{axis}.word = trunc i64 %length.{axis} to i32
  call void @texture.axis(ptr %axis.{axis}, $I {given}, i32 %length.{axis}.word, {rest})""")
        self._layer()

    def _layer(self) -> None:
        """The offset that all texels of a lane share."""
        if self.geometry < image.G_A1D:
            self.put("  %layer.offset = and $I zeroinitializer, zeroinitializer")
            return
        faces = 6 if self.geometry == image.G_ACUBE else 1
        self.put(f"""
  %layer.at = getelementptr i8, ptr %rows, i64 {LAYER * SLOT_BYTES}
  %layer.given = load $I, ptr %layer.at, align 64
  %layer.count = udiv i64 %layers, {faces}
  %layer.word = trunc i64 %layer.count to i32
  %layer.last = sub i32 %layer.word, 1
  %layer.lasts = spread i32 %layer.last
  %layer.in = call $I @llvm.umin.v32i32($I %layer.given, $I %layer.lasts)
  %layer.cube = mul $I %layer.in, splat (i32 {faces})""")
        layer = {image.G_CUBE: "zeroinitializer"}.get(self.geometry, "%layer.cube")
        face = "%face" if self.cube else "zeroinitializer"
        self.put(f"""
  %layer = add $I {layer}, {face}
  %slices = spread i32 %step.2
  %layer.offset = mul $I %layer, %slices""")

    def read_texels(self) -> None:
        """The words of each texel of the footprint, then its channels."""
        for axis in range(self.axes):
            for name, place, kind in (("off", 0, "$I"), ("valid", VALID, "i32")):
                self._load(f"{name}.{axis}.0", axis, place, kind)
        offset = self._sum("near.offset", ["%layer.offset", *(f"%off.{axis}.0" for axis in range(self.axes))])
        self.put(f"""
  %base.host = add i64 %base, %moved
  %image = inttoptr i64 %base.host to ptr
  %resident.at = getelementptr i8, ptr %results, i64 {4 * SLOT_BYTES}
  store $I splat (i32 1), ptr %resident.at, align 64""")
        if self.records:
            self._note_first(offset)
        self.put("  br i1 %blends, label %linear, label %near")
        self.put("near:")
        self._tap(0, (0, 0, 0), "splat (i32 256)", "near")
        self._gather("near.0", offset)
        self._classes("near", range(len(texels.NAMES)), 1)
        if not self.integer:
            self._linear()
        else:
            self.put("linear:\n  br label %slow")
        self.put(f"""
rest:
  %taps = phi i32 [ 1, %near.done ]{"" if self.integer else f", [ {CORNERS[self.axes]}, %linear.done ]"}
  %complete = icmp eq i32 %count, 4
  br i1 %complete, label %leave, label %missing
missing:
  %whole = icmp eq i64 %fractions, 0
  call void @texture.missing(ptr %scratch, ptr %results, i32 %count, i32 %taps, i1 %whole)
  br label %leave
leave:
  ret i64 0""")

    def _moved(self, name: str, offset: str) -> None:
        """The distance from the image of the access that a texel of each lane is (``texel.address_of``)."""
        self.put(f"""
  %{name}.moved = lshr $I {offset}, %shifts
  %{name}.within = and $I %{name}.moved, %offset.masks""")

    def _note_first(self, offset: str) -> None:
        """The address of each lane's first texel into its slot."""
        self.put("""
  %shift = trunc i64 %address.shift to i32
  %shifts = spread i32 %shift
  %offset.mask = trunc i64 %address.mask to i32
  %offset.masks = spread i32 %offset.mask
  %base.spread = spread i64 %address.base
  %base.word = trunc i64 %address.base to i32
  %base.words = spread i32 %base.word""")
        self._moved("first", offset)
        self.put(f"""
  %first.long = zext $I %first.within to <32 x i64>
  %first.address = add <32 x i64> %first.long, %base.spread
  %first.kept = and <32 x i64> %first.address, splat (i64 {-RECORDED_BYTES})
  %addresses.at = getelementptr i8, ptr %rows, i64 {ADDRESS_SLOT * SLOT_BYTES}
  store <32 x i64> %first.kept, ptr %addresses.at, align 64""")

    def _note(self, tap: int, name: str, offset: str) -> None:
        """Leave the sector of a texel that is read to ``texture.sectors``."""
        self._moved(name, offset)
        self.put(f"""
  %{name}.noted = select $B %{name}.some, $I %{name}.within, $I %first.within
  %{name}.noted.word = add $I %{name}.noted, %base.words
  %{name}.noted.sector = and $I %{name}.noted.word, splat (i32 {-(1 << SECTOR_SHIFT)})
  %{name}.noted.at = getelementptr i8, ptr %rows, i64 {WORDS + tap * WORD_BYTES}
  store $I %{name}.noted.sector, ptr %{name}.noted.at, align 64""")

    def _load(self, name: str, axis: int, place: int, kind: str) -> None:
        self.put(f"""
  %{name}.at = getelementptr i8, ptr %axis.{axis}, i64 {place}
  %{name} = load {kind}, ptr %{name}.at, align {64 if kind == "$I" else 4}""")

    def _sum(self, name: str, parts: list[str]) -> str:
        """Add vectors; returns the name of the sum."""
        total = parts[0]
        for number, part in enumerate(parts[1:]):
            self.put(f"  %{name}.{number} = add $I {total}, {part}")
            total = f"%{name}.{number}"
        return total

    def _tap(self, tap: int, corner: tuple[int, int, int], weight: str, path: str) -> None:
        """The lanes that read a texel: where it has a weight and lies inside the image."""
        name, inside = f"{path}.{tap}", "%mask.word"
        for axis in range(self.axes):
            self.put(f"  %{name}.in.{axis} = and i32 {inside}, %valid.{axis}.{corner[axis]}")
            inside = f"%{name}.in.{axis}"
        self.put(f"""
  %{name}.lanes = bitcast i32 {inside} to $B
  %{name}.weight = select $B %{name}.lanes, $I {weight}, $I zeroinitializer
  %{name}.weight.at = getelementptr i8, ptr %scratch, i64 {texels.WEIGHTS + tap * SLOT_BYTES // 2}
  store $I %{name}.weight, ptr %{name}.weight.at, align 64
  %{name}.some = icmp ne $I %{name}.weight, zeroinitializer
  %{name}.read = bitcast $B %{name}.some to i32
  %{name}.words = getelementptr i8, ptr %scratch, i64 {texels.WORDS + tap * texels.TAP_WORD_BYTES}""")

    def _gather(self, name: str, offset: str) -> None:
        """Read the words of a texel."""
        self.put(f"""
  call void @texture.gather(ptr %scratch, ptr %image, $I {offset}, i32 %{name}.read, ptr %{name}.words, i32 %words,
    i64 %element)""")

    def _weights(self) -> list[str]:
        """Weights of the texels of a linear filter, as ``addressing.weight_of`` has them."""
        if self.axes == 1:
            self.put("  %flat.0 = sub $I splat (i32 256), %weight.0")
            return ["%flat.0", "%weight.0"]
        self.put("""
  %product = mul $I %weight.0, %weight.1
  %product.up = add $I %product, splat (i32 128)
  %flat.3 = lshr $I %product.up, splat (i32 8)
  %flat.1 = sub $I %weight.0, %flat.3
  %flat.2 = sub $I %weight.1, %flat.3
  %flat.12 = add $I %flat.1, %weight.1
  %flat.0 = sub $I splat (i32 256), %flat.12""")
        if self.axes == 2:
            return [f"%flat.{tap}" for tap in range(4)]
        for tap in range(4):
            self.put(f"""
  %deep.{tap} = mul $I %flat.{tap}, %weight.2
  %deep.{tap}.up = add $I %deep.{tap}, splat (i32 128)
  %flat.{tap + 4} = lshr $I %deep.{tap}.up, splat (i32 8)
  %thin.{tap} = sub $I %flat.{tap}, %flat.{tap + 4}""")
        return [*(f"%thin.{tap}" for tap in range(4)), *(f"%flat.{tap + 4}" for tap in range(4))]

    def _linear(self) -> None:
        """The texels of a linear filter."""
        self.put("linear:")
        for axis in range(self.axes):
            self._load(f"off.{axis}.1", axis, SECOND, "$I")
            self._load(f"valid.{axis}.1", axis, VALID + 4, "i32")
            self._load(f"weight.{axis}", axis, WEIGHT, "$I")
        weights = self._weights()
        offsets = []
        for tap, weight in enumerate(weights):
            corner = tap & 1, tap >> 1 & 1, tap >> 2
            parts = ["%layer.offset", *(f"%off.{axis}.{corner[axis]}" for axis in range(self.axes))]
            offsets.append(self._sum(f"corner.{tap}", parts))
            self._tap(tap, corner, weight, "linear")
        self._read_pairs(offsets)
        if self.records:
            for tap, offset in enumerate(offsets):
                self._note(tap, f"linear.{tap}", offset)
            self.put(f"  call void @texture.sectors(ptr %rows, i32 %mask.word, i32 {len(weights)}, i64 %address.base)")
        self._classes("blend", texels.BLENDED, len(weights))

    def _read_pairs(self, offsets: list[str]) -> None:
        """Read the words of all texels, of neighbours along x by one load where all lanes have them side by side."""
        self.put(f"""
  %beside.steps = spread i32 %step.0
  %beside = add $I %off.0.0, %beside.steps
  %astray = icmp ne $I %off.0.1, %beside
  %astray.bits = bitcast $B %astray to i32
  %none.astray = icmp eq i32 %astray.bits, 0
  %step.is.4 = icmp eq i32 %step.0, 4
  %step.is.8 = icmp eq i32 %step.0, 8
  %has.pairs = or i1 %step.is.4, %step.is.8
  %no.block = icmp ult i64 %element, {image.BC1}
  %pairs.fit = and i1 %has.pairs, %no.block
  %paired = and i1 %none.astray, %pairs.fit
  %pair.words = shl i32 %words, 1
  br i1 %paired, label %pairs, label %singles
pairs:""")
        for tap in range(0, len(offsets), 2):
            one, other = f"%linear.{tap}", f"%linear.{tap + 1}"
            self.put(f"""
  call void @texture.load(ptr %scratch, ptr %image, $I {offsets[tap]}, i32 %pair.words, i32 {one}.read, ptr {one}.words,
    i32 {other}.read, ptr {other}.words)""")
        self.put("  br label %filled\nsingles:")
        for tap, offset in enumerate(offsets):
            self._gather(f"linear.{tap}", offset)
        self.put("  br label %filled\nfilled:")

    def _classes(self, path: str, kinds: Iterable[int], taps: int) -> None:
        """Call the function of the class of texels."""
        end = "near" if path == "near" else "linear"
        cases = " ".join(f"i8 {kind}, label %{path}.{kind}" for kind in kinds)
        self.put(f"  switch i8 %class, label %slow [ {cases} ]")
        for kind in kinds:
            self.put(f"""
{path}.{kind}:
  call void @texture.{path}.{texels.NAMES[kind]}(ptr %scratch, ptr %results, i32 %count, i32 %bits, i32 {taps})
  br label %{end}.done""")
        self.put(f"{end}.done:\n  br label %rest")
