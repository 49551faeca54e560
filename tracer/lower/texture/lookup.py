"""Look-ups of a texture as LLVM IR, all lanes at once: what machine code does of the texture unit's work.

A program has one function for each kind of tex, ``texture.SETTINGS``, called as the unit is. It does a warp whose lanes
share a texture that the unit has served for this instruction before, and hands every other one to the unit, which also
does mip chains and the rare forms: borders of a colour, offsets, results of half precision, images beyond 2 GiB. Its
results have the unit's bits.

``axes`` finds the texels along each axis, ``footprint`` weighs them, ``texels`` reads them and makes channels of them.
The scratch of the rows holds what they hand on: the axes, then ``WEIGHTS`` and ``WORDS`` of each texel of a footprint.
"""

from functools import partial

from rayplay.tracer.abi.words import MACHINE, RECORD_ALL
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.text import expanded
from rayplay.tracer.lower.texture import blocks, gather, sectors, texels
from rayplay.tracer.lower.texture.axes import AXIS, FACE
from rayplay.tracer.lower.texture.footprint import CLASSES, Footprint
from rayplay.tracer.memory import image_record as image
from rayplay.tracer.units.call import NUMBERS, SLOT_BYTES
from rayplay.tracer.units.settings import WIDTH_SHIFT
from rayplay.tracer.units.texture.plan import HANDLE, RESULTS, SAMPLE, SAMPLER, TEXTURE

PLAIN_RESULTS = RESULTS[:3]
DETAIL = TEXTURE.pack(detail=3)
SECTORS = TEXTURE.pack(sectors=1)
IMAGE_WORDS = {
    "base": image.BASE, "layers": image.LAYERS, "row.step": image.ROW_BYTES, "slice.step": image.SLICE_BYTES,
    "element": image.ELEMENT, "channels": image.CHANNELS, "total": image.TOTAL_BYTES, "srgb": image.SRGB,
    "linear.memory": image.LINEAR_MEMORY, "fractions": image.READ_FLOAT, "norm.1": image.NORMALIZED,
    "extent": image.EXTENT, "address.base": image.ADDRESS_BASE, "address.shift": image.ADDRESS_SHIFT,
    "address.mask": image.ADDRESS_MASK, "fields": image.FIELDS, "levels": image.LEVELS,
}  # fmt: skip
_CHECKS = """
  %is.linear.memory = icmp ne i64 %linear.memory, 0
  %norm.both = and i64 %norm.1, %norm.2
  %norm.word = icmp ne i64 %norm.both, 0
  %norm = and i1 %norm.word, $NORM
  %not.norm = xor i1 %norm, true
  %border.01 = or i64 %border.0, %border.1
  %border.23 = or i64 %border.2, %border.3
  %border.all = or i64 %border.01, %border.23
  %coloured = icmp ne i64 %border.all, 0
  %large = icmp ugt i64 %extent, 2147483647
  %from = sub i64 %base, %arena_first
  %end = add i64 %from, %total
  %far.end = icmp ugt i64 %end, %arena_bytes
  %far.from = icmp ugt i64 %from, %arena_bytes
  %far = or i1 %far.end, %far.from
  %chain = icmp ugt i64 %levels, 1
  %detail = and i64 %settings, $DETAIL
  %has.detail = icmp ne i64 %detail, 0
  %chosen = and i1 %chain, %has.detail
  %large.far = or i1 %large, %far
  %bad.0 = or i1 %large.far, %chosen
"""


def _field(settings: int, name: str) -> int:
    shift, bits = TEXTURE.places[name]
    return settings >> shift & (1 << bits) - 1


def is_plain(settings: int) -> bool:
    """Whether machine code does such an instruction of the texture unit."""
    plain = _field(settings, "action") == SAMPLE and not _field(settings, "has_offset")
    return plain and _field(settings, "result") < len(PLAIN_RESULTS)


def texture_function(e: Emitter, settings: int) -> str:
    """The function that does an instruction with these settings."""
    settings &= ~(DETAIL | SECTORS)  # one function does all textures without a chain
    name = f"texture.{settings}"
    if name not in e.helpers:
        e.helper("texture.axis", lambda: AXIS)
        e.helper("texture.face", lambda: FACE)
        e.helper("texture.gather", gather.gather)
        e.helper("texture.decode", lambda: blocks.DECODE)
        e.helper("texture.parts", blocks.tables)
        e.helper("texture.missing", lambda: texels.MISSING)
        e.helper("texture.sectors", lambda: sectors.SECTORS)
        e.helper("texture.fractions", texels.fractions)
        e.helper("texture.classes", lambda: _constants("classes", CLASSES))
        e.helper("texture.bits", lambda: _constants("bits", bytes(8 * size for size in image.ELEMENT_BYTES)))
        for kind, word in enumerate(texels.NAMES):
            e.helper(f"texture.near.{word}", partial(texels.near, kind))
            if kind in texels.BLENDED:
                e.helper(f"texture.blend.{word}", partial(texels.blend, kind))
        e.helper(name, _LookUp(name, settings, e.records == RECORD_ALL).text)
    return f"@{name}"


def _constants(name: str, table: bytes) -> str:
    values = ", ".join(f"i8 {value}" for value in table)
    return f"@texture.{name} = internal constant [{len(table)} x i8] [{values}]"


class _LookUp(Footprint):
    """Text of the function of one kind of instruction: first whether it can serve the warp."""

    def __init__(self, name: str, settings: int, records: bool) -> None:
        super().__init__(_field(settings, "geometry"), _field(settings, "integer") != 0, records)
        self.name = name
        self.indirect = _field(settings, "indirect"), _field(settings, "sampler_indirect")
        self.has_sampler = _field(settings, "has_sampler") != 0

    def text(self) -> str:
        """The whole function."""
        self.lines = [f"define internal i64 @{self.name}(ptr %machine, ptr %rows, i64 %mask, i64 %settings) #0 {{"]
        self._same_handles()
        self._image()
        self.find_axes()
        self.read_texels()
        place = 8 * NUMBERS["texture"]
        self.put(f"""
slow:
  %unit.at = getelementptr i8, ptr %units, i64 {place}
  %unit = load ptr, ptr %unit.at
  %code = call i64 %unit(ptr %machine, ptr %rows, i64 %mask, i64 %settings)
  ret i64 %code
}}""")
        return expanded("\n".join(self.lines))

    def _same_handles(self) -> None:
        """Take the handles of all lanes where the unit served the same ones last; leave to the unit all others."""
        self.put("""
entry:
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %leave, label %some
some:
  %mask.word = trunc i64 %mask to i32
  %lanes = bitcast i32 %mask.word to $B
  %lane = call i64 @llvm.cttz.i64(i64 %mask, i1 true)""")
        for name in ("host_offset", "arena_first", "arena_bytes"):
            self.word(name, "%machine", MACHINE[name])
        self.word("units", "%machine", MACHINE.units, "ptr")
        self.word("bounds", "%machine", MACHINE.bounds, "ptr")
        self.word("records", "%machine", MACHINE.records, "ptr")
        shift = TEXTURE.kept & (1 << WIDTH_SHIFT) - 1
        self.put(f"""
  %moved = sub i64 %host_offset, %arena_first
  %number = lshr i64 %settings, {shift}
  %number.0 = sub i64 %number, 1
  %row = getelementptr [2 x i64], ptr %bounds, i64 %number.0""")
        self._handle("texture", HANDLE, self.indirect[0] != 0)
        good = "%texture.good"
        if self.has_sampler:
            self._handle("sampler", SAMPLER, self.indirect[1] != 0)
            self.put("  %both.good = and i1 %texture.good, %sampler.good")
            good = "%both.good"
        self.put(f"  br i1 {good}, label %open, label %slow")

    def _handle(self, name: str, slot: int, indirect: bool) -> None:
        self.put(f"""
  %{name}.slot = getelementptr i8, ptr %rows, i64 {slot * SLOT_BYTES}
  %{name}.all = load <32 x i64>, ptr %{name}.slot, align 64
  %{name}.first.at = getelementptr i64, ptr %{name}.slot, i64 %lane
  %{name}.first = load i64, ptr %{name}.first.at
  %{name}.spread = spread i64 %{name}.first
  %{name}.other = icmp ne <32 x i64> %{name}.all, %{name}.spread
  %{name}.others = and $B %{name}.other, %lanes
  %{name}.bits = bitcast $B %{name}.others to i32
  %{name}.same = icmp eq i32 %{name}.bits, 0""")
        if indirect:
            self.put(f"""
  %{name}.host = add i64 %{name}.first, %moved
  %{name}.place = inttoptr i64 %{name}.host to ptr
  %{name} = load i64, ptr %{name}.place""")
        else:
            self.put(f"  %{name} = add i64 %{name}.first, 0")
        self.word(f"{name}.number", "%row", slot)
        self.put(f"""
  %{name}.bytes = mul i64 %{name}.number, {image.RECORD_BYTES}
  %{name}.record = getelementptr i8, ptr %records, i64 %{name}.bytes""")
        self.word(f"{name}.kept", f"%{name}.record", image.HANDLE)
        self.put(f"""
  %{name}.served = icmp eq i64 %{name}, %{name}.kept
  %{name}.some = icmp ne i64 %{name}, 0
  %{name}.known = and i1 %{name}.served, %{name}.some
  %{name}.good = and i1 %{name}.same, %{name}.known""")

    def _image(self) -> None:
        """The records' words; go on where offsets of texels fit 32 bits and no border has a colour."""
        self.put("open:\n  %record = getelementptr i8, ptr %texture.record, i64 0")
        sampler = "%sampler.record" if self.has_sampler else "%record"
        for name, number in IMAGE_WORDS.items():
            self.word(name, "%record", number)
        self.word("norm.2", sampler, image.NORMALIZED)
        self.word("filter", sampler, image.FILTER)
        for number in range(4):
            self.word(f"border.{number}", sampler, image.BORDER + number)
        for axis in range(self.axes):
            self.word(f"length.{axis}", "%record", image.WIDTH + axis)
            self.word(f"mode.{axis}.given", sampler, image.ADDRESS_X + axis)
        self.put(_CHECKS.replace("$NORM", "false" if self.integer else "true").replace("$DETAIL", str(DETAIL)))
        for axis in range(self.axes):
            self._mode(axis)
        self.put(f"  br i1 %bad.{self.axes}, label %slow, label %axes")

    def _mode(self, axis: int) -> None:
        """The mode that counts along an axis, and whether a coloured border does."""
        clamp = f"i64 {image.CLAMP}"
        given = f"i64 %mode.{axis}.given" if not self.cube else clamp
        self.put(f"""
  %repeats.{axis} = icmp ult {given}, {image.CLAMP}
  %cannot.{axis} = and i1 %repeats.{axis}, %not.norm
  %mode.{axis}.can = select i1 %cannot.{axis}, {clamp}, {given}
  %mode.{axis}.long = select i1 %is.linear.memory, i64 {image.OUTSIDE}, i64 %mode.{axis}.can
  %mode.{axis} = trunc i64 %mode.{axis}.long to i32
  %outside.{axis} = icmp eq i64 %mode.{axis}.long, {image.OUTSIDE}
  %colour.{axis} = and i1 %outside.{axis}, %coloured
  %bad.{axis + 1} = or i1 %bad.{axis}, %colour.{axis}""")
