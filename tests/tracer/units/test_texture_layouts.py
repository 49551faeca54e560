"""Layouts of textures against slow twins: BC1 and BC3 texels in exact fractions, addresses of tiles by quotients."""

import json

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Module
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import Image, Sampler, Texture, place_sampler, place_surface, place_texture
from rayplay.tracer.memory.layout import FORMATS, TILINGS, Layout, plain
from tests.reference.block_slow import address, picture
from tests.reference.texture_slow import fetch
from tests.tracer.harness.execution import Handle, Outcome, both, execute

SIZES = ((1, 1), (16384, 1), (1, 300), (37, 70), (128, 257))
"""Width and height: of one texel, long, tall, and of several tiles with parts of others."""
BASE_BYTES = 1 << 16
TEXT = """
    .visible .entry k(.param .u64 texture, .param .u64 given, .param .u64 result) {{
    .reg .b64 %rd<9>; .reg .f32 %f<20>; .reg .b32 %r<12>; .reg .b32 %q<4>; .reg .u32 %t;
    ld.param.u64 %rd0, [texture]; ld.param.u64 %rd1, [given]; ld.param.u64 %rd2, [result];
    mov.u32 %t, %tid.x; mul.wide.u32 %rd3, %t, 8; add.s64 %rd1, %rd1, %rd3;
    mul.wide.u32 %rd3, %t, 16; add.s64 %rd2, %rd2, %rd3;
    ld.global.v2.b32 {{%r1, %r2}}, [%rd1]; mov.b32 %f1, %r1; mov.b32 %f2, %r2; {tex}
    st.global.v4.b32 [%rd2], {{%q0, %q1, %q2, %q3}}; ret; }}"""
BY_FLOATS = TEXT.format(tex="tex.2d.v4.f32.f32 {%q0, %q1, %q2, %q3}, [%rd0, {%f1, %f2}];")
BY_TEXELS = TEXT.format(tex="tex.2d.v4.f32.s32 {%q0, %q1, %q2, %q3}, [%rd0, {%r1, %r2}];")


def layout_of(name: str, tiling: str) -> Layout:
    return Layout(FORMATS.get(name, plain({"rgba8": 4, "r8": 1}.get(name, 0))), tiling)


def stored(random: np.random.Generator, name: str, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Random blocks or texels as memory holds them, and their channels [1, y, x, channel] as fractions of 1."""
    if name in ("bc1", "bc3"):
        form = FORMATS[name]
        blocks = random.integers(0, 256, (-(-height // 4), -(-width // 4), form.block_bytes), np.uint8, endpoint=False)
        return blocks, picture(blocks, width, height)[None]
    texels = random.integers(0, 256, (height, width, 1 if name == "r8" else 4), np.uint8, endpoint=False)
    return texels, texels[None] / 255


def textured(name: str, tiling: str, size: tuple[int, int], blocks: np.ndarray, **settings: object) -> Handle:
    """A texture with a layout; its block addresses, where texels lie beside, begin ``BASE_BYTES`` behind it."""
    width, height = size
    layout, srgb = layout_of(name, tiling), bool(settings.pop("srgb", False))

    def make(memory: DeviceMemory, module: Module, place: int) -> int:
        at = place + BASE_BYTES if layout.format.is_stored_beside else 0
        channels = 1 if name == "r8" else 4
        image = Image(place, (height, width), "uint8", channels, layout=layout, recorded_at=at)
        return place_texture(memory, Texture(image, Sampler(**settings), "normalized", srgb))  # type: ignore[arg-type]

    return Handle(layout.arranged(blocks, width, height), make)


def addresses_of(out: Outcome) -> np.ndarray:
    """Addresses that the look-up was recorded with, a thread each."""
    instructions, accesses = out.sink.table("instructions"), out.sink.table("accesses")
    rows = np.flatnonzero(instructions["operation_class"][accesses["instruction_id"]] == "texture")
    starts = accesses["address_offset"][rows]
    return np.concatenate([accesses["address"][start : start + 32] for start in starts]).astype(np.int64)


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("name", ["rgba8", "r8", "bc1", "bc3", "astc"])
def test_texels_and_addresses_are_those_of_the_twin(name: str, tiling: str) -> None:
    random = np.random.default_rng(1)
    for width, height in SIZES:
        blocks, texels = stored(random, name, width, height)
        points = np.stack([random.integers(0, width, 64), random.integers(0, height, 64)], axis=1).astype(np.int32)
        points[0] = 0
        handle = textured(name, tiling, (width, height), blocks)
        out = both(BY_TEXELS, [handle, points, np.zeros((64, 4), np.float32)], block=(64, 1, 1))
        found = out.buffers[2][:, : texels.shape[-1]]
        assert np.array_equal(found, texels[0, points[:, 1], points[:, 0]].astype(np.float32)), (width, height)
        seen = addresses_of(out)
        wanted = [address(tiling, name, int(x), int(y), width, height) & -16 for x, y in points]
        assert np.array_equal(seen - seen[0], wanted), (width, height)


@pytest.mark.parametrize("name", ["bc1", "bc3", "astc", "rgba8"])
@pytest.mark.parametrize("mode", ["wrap", "border"])
def test_blocks_are_filtered_as_texels_are(name: str, mode: str) -> None:
    random = np.random.default_rng(2)
    blocks, texels = stored(random, name, 37, 21)
    points = random.uniform(-0.5, 1.5, (96, 2)).astype(np.float32)
    settings = {"filter": "linear", "address": mode, "normalized": True}
    handle = textured(name, "block", (37, 21), blocks, **settings)
    out = both(BY_FLOATS, [handle, points, np.zeros((96, 4), np.float32)], block=(96, 1, 1))
    wanted = [fetch(texels, [*point, 0, 0], 0, 2, (mode,) * 3, True, True, False) for point in points]
    assert np.array_equal(out.buffers[2], wanted)


@pytest.mark.parametrize("name", ["bc1", "bc3"])
def test_colours_of_blocks_may_be_srgb(name: str) -> None:
    random = np.random.default_rng(3)
    blocks, texels = stored(random, name, 16, 16)
    y, x = np.divmod(np.arange(256, dtype=np.int32), 16)
    points = np.ascontiguousarray(np.stack([x, y], axis=1))
    handle = textured(name, "linear", (16, 16), blocks, srgb=True)
    out = both(BY_TEXELS, [handle, points, np.zeros((256, 4), np.float32)], block=(256, 1, 1))
    shown = texels[0, y, x]
    linear = np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)
    linear[:, 3] = shown[:, 3]
    assert np.abs(out.buffers[2] - linear).max() < 1e-7
    blended = textured(name, "linear", (16, 16), blocks, srgb=True, filter="linear", normalized=True, address="wrap")
    both(BY_FLOATS, [blended, random.random((64, 2)).astype(np.float32), np.zeros((64, 4))], block=(64, 1, 1))


def test_every_texel_has_a_place_of_its_own() -> None:
    for name in ("rgba8", "bc1", "bc3", "astc"):
        for tiling in TILINGS:
            for width, height in SIZES:
                level = layout_of(name, tiling).level(width, height)
                offsets = np.stack(list(level.offsets(width, height)))
                assert offsets.min() == 0
                assert offsets.max() < level.extent
                assert len(np.unique(offsets)) == offsets.size, (name, tiling, width, height)


OVERWRITE = """
    .visible .entry k(.param .u64 texture, .param .u64 given, .param .u64 result) {
    .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .b32 %r<12>; .reg .b32 %q<4>; .reg .pred %p;
    ld.param.u64 %rd0, [texture]; ld.param.u64 %rd1, [given]; ld.param.u64 %rd2, [result];
    mov.u32 %r1, 0; mov.u32 %r2, 31; mov.u64 %rd5, 0x5000000000000000;
again:
    tex.2d.v4.f32.s32 {%q0, %q1, %q2, %q3}, [%rd0, {%r2, %r2}];
    mov.u32 %r3, 0; mov.u64 %rd4, %rd0;
fill:
    st.global.u64 [%rd4], %rd5; add.s64 %rd4, %rd4, 8; add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, 25; @%p bra fill;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 3; @%p bra again;
    st.global.v4.b32 [%rd2], {%q0, %q1, %q2, %q3}; ret; }"""


def test_what_a_handle_stands_for_is_out_of_reach() -> None:
    """A program that writes all over a handle's memory still reads its texture, and no other memory."""
    texels = np.random.default_rng(4).integers(0, 256, (32, 32, 4), np.uint8)
    handle = textured("rgba8", "linear", (32, 32), texels)
    out = both(OVERWRITE, [handle, np.zeros(1), np.zeros((1, 4), np.float32)], block=(1, 1, 1))
    assert np.array_equal(out.buffers[2][0], (texels[31, 31] / 255).astype(np.float32))


@pytest.mark.parametrize("beside", [1, 8, 64, 256])
def test_an_address_beside_a_handle_stands_for_nothing(beside: int) -> None:
    handle = textured("rgba8", "linear", (4, 4), np.zeros((4, 4, 4), np.uint8))
    text = BY_TEXELS.replace("mov.u32 %t", f"add.s64 %rd0, %rd0, {beside}; mov.u32 %t")
    for backend in ("machine", "interpreter"):
        with pytest.raises(UserError, match="no texture, sampler or surface"):
            execute(text, [handle, np.zeros((32, 2), np.int32), np.zeros((32, 4), np.float32)], backend)


def test_records_are_part_of_a_checkpoint() -> None:
    """A memory that goes back knows its handles up to then; a restored one knows all handles of the other."""
    memory, image = DeviceMemory(), Image(0, (4, 4), "float32")
    texture = Texture(image)
    place_texture(memory, texture)
    mark, (facts, arrays) = memory.mark(), memory.snapshot()
    later = [place_texture(memory, texture), place_surface(memory, image)]
    after, (more, blocks) = memory.mark(), memory.snapshot()
    memory.go_back(mark)
    memory.restore(facts, arrays)
    assert memory.machine_words()["record_count"] == 2
    assert place_texture(memory, texture) == later[0]
    assert memory.machine_words()["record_count"] == 3
    fresh = DeviceMemory()
    fresh.go_back(after)
    fresh.restore(json.loads(json.dumps(more)), blocks)
    assert fresh.machine_words()["record_count"] == 4
    assert place_sampler(fresh, Sampler()) > later[1]


def test_what_layouts_do_not_do() -> None:
    bc1 = Layout(FORMATS["bc1"])
    with pytest.raises(UserError, match="packed rows and of texels of its format, found float32"):
        Image(0, (4, 4), "float32", 1, layout=bc1)
    with pytest.raises(UserError, match="packed rows and of texels of its format, found uint8"):
        Image(0, (4, 4), "uint8", 2, layout=Layout(plain(4), "block"))
    with pytest.raises(UserError, match="read must be 'normalized' for a block-compressed image"):
        Texture(Image(0, (4, 4), "uint8", 4, layout=bc1))
    with pytest.raises(UserError, match="a surface must have plain texels in rows"):
        place_surface(DeviceMemory(), Image(0, (4, 4), "uint8", 4, layout=bc1))
