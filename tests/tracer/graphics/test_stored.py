"""Pictures in memory: what compression loses, and what draws show and record with each format and tiling."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.ptx.ir import Module
from rayplay.tracer.__main__ import TEXTURE_FORMATS as COMMAND_FORMATS
from rayplay.tracer.__main__ import TILINGS as COMMAND_TILINGS
from rayplay.tracer.__main__ import main
from rayplay.tracer.graphics.stored import TEXTURE_FORMATS, Storage
from rayplay.tracer.memory import image_record as record
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.encode import encode
from rayplay.tracer.memory.images import Sampler, Texture, place_texture
from rayplay.tracer.memory.layout import FORMATS, TILINGS, Layout, below, plain
from rayplay.tracer.scenes.textured import read_textured
from tests.reference.block_slow import address, picture
from tests.tracer.harness.execution import Handle, both


def smooth(height: int, width: int) -> np.ndarray:
    """A picture of slopes and edges, with noise."""
    y, x = np.mgrid[0:height, 0:width]
    channels = [128 + 100 * np.sin(x / 9), 90 + 60 * (y > height // 2) + x / 2, 255 * y / height, 255 - 2 * x]
    noise = np.random.default_rng(1).normal(0, 3, (height, width, 4))
    return np.clip(np.stack(np.broadcast_arrays(*channels), axis=2) + noise, 0, 255).astype(np.uint8)


def noise_ratio(found: np.ndarray, wanted: np.ndarray) -> float:
    """Peak signal-to-noise ratio in dB of values of which 1 is the peak."""
    return float(-10 * np.log10(max(np.mean((found - wanted) ** 2), 1e-12)))


def test_what_compression_loses() -> None:
    texels = smooth(61, 91)
    for with_alpha in (True, False):
        shown = texels if with_alpha else np.dstack([texels[..., :3], np.full(texels.shape[:2], 255, np.uint8)])
        found = picture(encode(shown, with_alpha), 91, 61)
        assert noise_ratio(found[..., :3], texels[..., :3] / 255) > 33
        assert noise_ratio(found[..., 3], shown[..., 3] / 255) > 40


@pytest.mark.parametrize("with_alpha", [True, False])
def test_blocks_of_one_colour_err_by_half_a_step(with_alpha: bool) -> None:
    colours = np.random.default_rng(2).integers(0, 256, (40, 4), np.uint8)
    colours[:, 3] |= 0 if with_alpha else 128
    for colour in colours:
        found = picture(encode(np.tile(colour, (4, 4, 1)), with_alpha), 4, 4)
        assert (found == found[0, 0]).all()
        error = np.abs(255 * found[0, 0] - colour)
        assert (error[:3] <= [4.2, 2.1, 4.2]).all()
        assert found[0, 0, 3] == (colour[3] / 255 if with_alpha else 1)


def test_texels_of_bc1_are_transparent_or_not() -> None:
    texels = smooth(16, 16)
    texels[..., 3] = np.random.default_rng(3).integers(0, 256, (16, 16))
    texels[:4, :4, 3] = 0
    found = picture(encode(texels, False), 16, 16)
    shown = texels[..., 3] >= 128
    assert np.array_equal(found[..., 3] == 1, shown)
    assert (found[~shown] == 0).all()
    assert np.abs(found[shown][:, :3] - texels[shown][:, :3] / 255).max() < 0.25


@pytest.mark.parametrize("name", ["flight_helmet", "sponza_tex"])
def test_pictures_of_real_scenes_lose_little(data: Path, name: str) -> None:
    for each in read_textured(data / "scenes" / "textured" / f"{name}.glb").pictures:
        texels = np.ascontiguousarray(each.texels[64:160, 64:160])
        assert noise_ratio(picture(encode(texels, True), 96, 96), texels / 255) > 28, each.name


def test_the_command_knows_every_format_and_tiling() -> None:
    assert COMMAND_FORMATS == TEXTURE_FORMATS
    assert COMMAND_TILINGS == TILINGS


@pytest.mark.parametrize(("chosen", "share"), [("rgba8", 1), ("bc1", 8), ("bc3", 4), ("astc", 1)])
def test_pictures_take_their_memory(chosen: str, share: int) -> None:
    memory = DeviceMemory()
    Storage(chosen, "block").place(memory, [smooth(256, 256)], "x", "2d", "hardware")
    assert next(size for _, size, name in memory.allocations if name == "x") == 4 * 256 * 256 // share
    if chosen == "astc":
        assert next(size for _, size, name in memory.allocations if name == "addresses of x") == 256 * 256 // 4


LAYERED = """
    .visible .entry k(.param .u64 texture, .param .u64 given, .param .u64 result) {
    .reg .b64 %rd<9>; .reg .b32 %r<12>; .reg .b32 %q<4>; .reg .f32 %f<4>; .reg .u32 %t;
    ld.param.u64 %rd0, [texture]; ld.param.u64 %rd1, [given]; ld.param.u64 %rd2, [result];
    mov.u32 %t, %tid.x; mul.wide.u32 %rd3, %t, 16; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
    ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1]; cvt.rn.f32.u32 %f1, %r4;
    mov.b32 %f2, %r1; mov.b32 %f3, %r2;
    tex.level.a2d.v4.f32.f32 {%q0, %q1, %q2, %q3}, [%rd0, {%r3, %f2, %f3, %f3}], %f1;
    st.global.v4.b32 [%rd2], {%q0, %q1, %q2, %q3}; ret; }"""


@pytest.mark.parametrize("tiling", TILINGS)
@pytest.mark.parametrize("chosen", TEXTURE_FORMATS)
def test_layers_and_levels_are_where_look_ups_read_them(chosen: str, tiling: str) -> None:
    """A layered chain of odd sizes, each level of each layer by itself, texel after texel."""
    random = np.random.default_rng(4)
    chain = [random.integers(0, 256, (3, 37 >> k, max(19 >> k, 1), 4), np.uint8) for k in range(6)]
    given, wanted = [], []
    for level, layers in enumerate(chain):
        height, width = layers.shape[1:3]
        for layer, shown in enumerate(layers):
            y, x = random.integers(0, height, 6), random.integers(0, width, 6)
            place = np.stack([(x + 0.5) / width, (y + 0.5) / height], axis=1).astype(np.float32).view(np.uint32)
            given.append(np.column_stack([place, np.full(6, layer), np.full(6, level)]).astype(np.uint32))
            stored = shown / 255
            if chosen in ("bc1", "bc3"):
                stored = picture(encode(shown, chosen == "bc3"), width, height)
            wanted.append(stored[y, x].astype(np.float32))
    points = np.concatenate(given)

    def make(memory: DeviceMemory, module: Module, address: int) -> int:
        first, *rest = Storage(chosen, tiling).place(memory, chain, "x", "a2d", "hardware")
        return place_texture(memory, Texture(first, Sampler(normalized=True), "normalized", levels=tuple(rest)))

    handle = Handle(np.zeros(1), make)
    out = both(LAYERED, [handle, points, np.zeros((len(points), 4), np.float32)], block=(len(points), 1, 1))
    assert np.array_equal(out.buffers[2], np.concatenate(wanted))


@pytest.mark.parametrize("chosen", TEXTURE_FORMATS)
def test_levels_of_crisp_lie_below_the_first(chosen: str) -> None:
    """Each texel of each level lies where its place in the whole image says; origins by hand."""
    chain = [np.zeros((64 >> k, 128 >> k, 4), np.uint8) for k in range(4)]
    memory = DeviceMemory()
    images = Storage(chosen).place(memory, chain, "x", "2d", "crisp")
    origins = [(0, 0), (0, 64), (64, 64), (64, 80)]
    tiles = Layout(FORMATS.get(chosen, plain(4)), "crisp").level(128, 96)
    for image, (x, y), level in zip(images, origins, chain, strict=True):
        words = image.words(record.TEXTURE_MAGIC)
        height, width = level.shape[:2]
        offsets = tiles.offsets(width, height, 1, (int(words[record.ORIGIN_X]), int(words[record.ORIGIN_Y])))
        kept = np.stack(list(offsets)) >> words[record.ADDRESS_SHIFT] & words[record.ADDRESS_MASK]
        wanted = [[address("crisp", chosen, x + i, y + j, 128, 96) for i in range(width)] for j in range(height)]
        assert np.array_equal(kept, wanted), (chosen, x, y)
        assert words[record.ADDRESS_BASE] == images[0].words(record.TEXTURE_MAGIC)[record.ADDRESS_BASE]


@pytest.mark.parametrize("size", [(1, 1), (1, 64), (64, 1), (5, 3), (37, 70)])
@pytest.mark.parametrize("chosen", TEXTURE_FORMATS)
def test_levels_of_crisp_keep_clear_of_each_other(chosen: str, size: tuple[int, int]) -> None:
    sizes = [(max(size[0] >> k, 1), max(size[1] >> k, 1)) for k in range(max(size).bit_length())]
    form = FORMATS.get(chosen, plain(4))
    layouts = below(form, sizes)
    seen: set[int] = set()
    for layout, (width, height) in zip(layouts, sizes, strict=True):
        level = layout.level(width, height)
        offsets = np.stack(list(level.offsets(width, height, 1, layout.origin)))
        assert offsets.max() < level.extent
        found = set((offsets >> (4 if form.side == 4 else 0)).reshape(-1).tolist())
        assert not seen & found
        seen |= found


def drawn(scene: Path, tmp_path: Path, *words: str) -> tuple[np.ndarray, np.ndarray]:
    """The picture of a scene with a texture, float, and the addresses of its look-ups."""
    out = tmp_path / f"drawn{len(list(tmp_path.iterdir()))}.trace"
    command = ["draw", str(scene), "--shader", "pbr", "--size", "64x48", "--out", str(out), *words]
    assert main(command) == 0
    from PIL import Image

    with Image.open(out.with_suffix(".png")) as image:
        shown = np.asarray(image.convert("RGB")) / 255
    trace = open_trace(out)
    accesses, instructions = trace.read("accesses"), trace.read("instructions")
    is_texture = instructions["memory_space"][accesses["instruction_id"]] == "texture"
    return shown, accesses["address"][accesses["address_offset"][:-1][is_texture]]


def test_astc_shows_the_picture_itself(data: Path, tmp_path: Path) -> None:
    """All tilings and ASTC show the same picture, compressed ones nearly, each with addresses of its own."""
    scene = data / "scenes" / "textured" / "flight_helmet.glb"
    plain, addresses = drawn(scene, tmp_path)
    for words in (["--texture-tiling", "block"], ["--texture-tiling", "crisp"], ["--texture-format", "astc"]):
        shown, others = drawn(scene, tmp_path, *words)
        assert np.array_equal(plain, shown), words
        assert not np.array_equal(addresses, others), words
    for chosen in ("bc1", "bc3"):
        shown, others = drawn(scene, tmp_path, "--texture-format", chosen, "--texture-tiling", "block")
        assert 30 < noise_ratio(shown, plain) < 90, chosen
