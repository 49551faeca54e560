"""Texels of storage images and samples of textures, as loads, stores and ``tex`` instructions.

A storage image is as wide as the launch and lies in rows, four floats (``rgba32f``) or four bytes (``rgba8``) a texel.
A descriptor of textures is the address of a table, which shaders index by their own stride; the first 8 bytes of an
entry are the texture's handle.
"""

from rayplay.ptx.vulkansim.code import IMAGE_WIDTH, Code
from rayplay.ptx.vulkansim.reader import Statement

TEXEL_BYTES = {"rgba32f": 16, "rgba8": 4}
_BYTE_SCALE, _BYTE_STEP = "0f437F0000", "0f3B808081"  # 255 and 1 / 255


def store_texel(code: Code, statement: Statement, image_format: str) -> None:
    """``image_deref_store``: bytes are the rounded 255ths of values from 0 to 1."""
    image, x, y, _, _, _, *rest = statement.operands
    colour = rest[:4]
    address = _address(code, image, x, y, image_format)
    if image_format == "rgba32f":
        code.emit(f"st.global.v4.b32 [{address}], {{{', '.join(colour)}}}")
        return
    packed = ""
    for channel in reversed(colour):
        scaled, whole = code.new("b32"), code.new("b32")
        code.emit(f"cvt.sat.f32.f32 {scaled}, {channel}")
        code.emit(f"mul.f32 {scaled}, {scaled}, {_BYTE_SCALE}")
        code.emit(f"cvt.rni.u32.f32 {whole}, {scaled}")
        if packed:
            code.emit(f"mad.lo.u32 {whole}, {packed}, 256, {whole}")
        packed = whole
    code.emit(f"st.global.b32 [{address}], {packed}")


def load_texel(code: Code, statement: Statement, image_format: str) -> None:
    """``image_deref_load``."""
    image, r, g, b, a, x, y = statement.operands[:7]
    address = _address(code, image, x, y, image_format)
    if image_format == "rgba32f":
        code.emit(f"ld.global.v4.b32 {{{r}, {g}, {b}, {a}}}, [{address}]")
        return
    packed = code.new("b32")
    code.emit(f"ld.global.b32 {packed}, [{address}]")
    for number, target in enumerate((r, g, b, a)):
        code.emit(f"bfe.u32 {target}, {packed}, {8 * number}, 8")
        code.emit(f"cvt.rn.f32.u32 {target}, {target}")
        code.emit(f"mul.f32 {target}, {target}, {_BYTE_STEP}")


def sample(code: Code, statement: Statement) -> None:
    """``txl``: a texture's colour at a level of detail."""
    texture, _, r, g, b, a, u, v, level = statement.operands
    handle = code.new("b64")
    code.emit(f"ld.global.u64 {handle}, [{texture}]")
    code.emit(f"tex.level.2d.v4.f32.f32 {{{r}, {g}, {b}, {a}}}, [{handle}, {{{u}, {v}}}], {level}")


def _address(code: Code, image: str, x: str, y: str, image_format: str) -> str:
    number, address = code.new("b32"), code.new("b64")
    code.emit(f"mad.lo.u32 {number}, {y}, {IMAGE_WIDTH}, {x}")
    code.emit(f"mad.wide.u32 {address}, {number}, {TEXEL_BYTES[image_format]}, {image}")
    return address
