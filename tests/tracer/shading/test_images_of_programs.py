"""Buffers, textures and surfaces that a ray-tracing program's file makes, as fields of parameters and records.

Every element, geometry and reading that the texture unit has, against numpy; both backends agree on every bit.
"""

from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.render import Request, program_files
from rayplay.tracer.shading.config import read_config
from rayplay.tracer.shading.prepare import Prepared, Sampling, prepare_image
from rayplay.tracer.units.texture.texel import SRGB_TO_LINEAR
from tests.tracer.harness.optix_programs import SET_RAY, both, program, scene, store, trace

WIDE_HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n.const .align 8 .b8 params[48];\n"
PARAMS = """
params_symbol = "params"
params = [{ name = "out", type = "pointer", bytes_per_pixel = 256 }, { name = "scene", type = "u64" },
          { name = "image", type = "pointer" }, { name = "map", type = "u64", source = "picture" },
          { name = "table", type = "pointer" }, { name = "target", type = "u64" }]
"""
RAYGEN = '[raygen]\nprogram = "__raygen__test"\n'
LOAD = "    ld.const.u64 %l8, [params+24]; ld.const.u64 %l9, [params+40];\n"
OPERANDS = {
    "1d": "{%r10}", "2d": "{%r10, %r11}", "3d": "{%r10, %r11, %r12, %r12}", "a1d": "{%r12, %r10}",
    "a2d": "{%r12, %r10, %r11, %r11}",
}  # fmt: skip
SHAPES = {"1d": (32,), "2d": (4, 8), "3d": (2, 4, 4), "a1d": (4, 8), "a2d": (2, 4, 4), "cube": (6, 4, 4)}
ELEMENTS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")


def prepared(folder: Path, body: str, tables: str, arrays: dict[str, np.ndarray], rest: str = "") -> Prepared:
    """A launch of one row of 32 pixels whose ray generation program is ``body``; arrays become buffers of files."""
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
        tables += f'[buffers.{name}]\ndtype = "{values.dtype.name}"\nfile = "{name}.npy"\n'
    path = folder / "test.toml"
    path.write_text(PARAMS + RAYGEN + ("" if rest else '[[hit_group]]\ngeometry = "triangles"\n') + tables)
    module = ptx.parse(WIDE_HEAD + program("raygen", LOAD + body) + rest, "test.ptx")
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    return prepare_image(what, module, read_config(path), Sampling(32, 1))


def indices(geometry: str) -> tuple[np.ndarray, ...]:
    """Of each pixel the place of its texel, x last; the layer or depth first."""
    return np.unravel_index(np.arange(32) % np.prod(SHAPES[geometry]), SHAPES[geometry])


def coordinates(geometry: str) -> str:
    """Instructions: %r10, %r11, %r12 are x, y, and z or the layer of the pixel's texel."""
    *_, x = SHAPES[geometry]
    if geometry in ("1d", "a1d", "2d"):
        second = "%r12" if geometry == "a1d" else "%r11"
        return f"    rem.u32 %r10, %r1, {x}; div.u32 {second}, %r1, {x};\n"
    return "    rem.u32 %r10, %r1, 4; shr.u32 %r11, %r1, 2; and.b32 %r11, %r11, 3; shr.u32 %r12, %r1, 4;\n"


def given(geometry: str, element: str, channels: int, seed: int) -> np.ndarray:
    """Texels over the whole range of an integer, or ordinary floats."""
    random, shape = np.random.default_rng(seed), (*SHAPES[geometry], channels)
    if element[0] == "f":
        return random.standard_normal(shape).astype(element)
    limits = np.iinfo(element)
    return random.integers(limits.min, limits.max, shape, element, endpoint=True)


@pytest.mark.parametrize("geometry", OPERANDS)
@pytest.mark.parametrize("element", ELEMENTS)
def test_texels_of_every_element(tmp_path: Path, geometry: str, element: str) -> None:
    """Read as they are: integers as integers of 32 bits, halves as floats."""
    channels = (1, 2, 4)[(len(geometry) + len(element)) % 3]
    texels = given(geometry, element, channels, 3)
    kind = {"f": "f32", "u": "u32", "i": "s32"}[element[0]]
    results = "{%f10, %f11, %f12, %f13}" if kind == "f32" else "{%r20, %r21, %r22, %r23}"
    names = [f"%f{10 + k}" if kind == "f32" else f"%r{20 + k}" for k in range(4)]
    body = coordinates(geometry) + f"    tex.{geometry}.v4.{kind}.s32 {results}, [%l8, {OPERANDS[geometry]}];\n"
    tables = f'[textures.picture]\nbuffer = "texels"\ngeometry = "{geometry}"\nchannels = {channels}\n'
    tables += '[surfaces.target]\nbuffer = "table"\ngeometry = "1d"\n'
    arrays = {"texels": texels, "table": np.zeros(4, np.uint32)}
    words = both(prepared(tmp_path, body + "".join(store(k, name) for k, name in enumerate(names)), tables, arrays))
    found = texels[indices(geometry)]
    if kind == "f32":
        assert np.array_equal(words[:, :4].copy().view(np.float32)[:, :channels], found.astype(np.float32))
    else:
        assert np.array_equal(words[:, :channels], found.astype(np.int64).astype(np.uint32))


@pytest.mark.parametrize("element", ["uint8", "int8", "uint16", "int16", "srgb"])
def test_normalised_texels_and_filters(tmp_path: Path, element: str) -> None:
    """The nearest texel of normalised coordinates as a fraction, sRGB as light; halfway between two their mean."""
    is_srgb, dtype = element == "srgb", "uint8" if element == "srgb" else element
    texels = given("2d", dtype, 4, 5)
    tables = '[textures.picture]\nbuffer = "texels"\nchannels = 4\nread = "normalized"\nnormalized = true\n'
    tables += f"srgb = {str(is_srgb).lower()}\n" + '[surfaces.target]\nbuffer = "table"\ngeometry = "1d"\n'
    centre = (
        "    cvt.rn.f32.u32 %f6, %r10; cvt.rn.f32.u32 %f7, %r11; add.f32 %f6, %f6, 0f3f000000;\n"
        "    add.f32 %f7, %f7, 0f3f000000; mul.f32 %f6, %f6, 0f3e000000; mul.f32 %f7, %f7, 0f3e800000;\n"
        "    tex.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%l8, {%f6, %f7}];\n"
    )
    body = coordinates("2d") + centre + "".join(store(k, f"%f{10 + k}") for k in range(4))
    arrays = {"texels": texels, "table": np.zeros(4, np.uint32)}
    words = both(prepared(tmp_path, body, tables, arrays))
    found = words[:, :4].copy().view(np.float32)
    most = np.iinfo(dtype).max
    wanted = np.maximum(texels[indices("2d")].astype(np.float64) / most, -1)
    if is_srgb:
        wanted[:, :3] = np.array(SRGB_TO_LINEAR)[texels[indices("2d")][:, :3]]
    assert np.abs(found - wanted).max() < 1e-7
    moved = body.replace("add.f32 %f6, %f6, 0f3f000000", "add.f32 %f6, %f6, 0f3f800000")
    tables = tables.replace("[textures.picture]", '[textures.picture]\nfilter = "linear"')
    words = both(prepared(tmp_path, moved, tables, arrays))
    y, x = indices("2d")
    light = np.maximum(texels.astype(np.float64) / most, -1)
    if is_srgb:
        light[..., :3] = np.array(SRGB_TO_LINEAR)[texels[..., :3]]
    mean = (light[y, x] + light[y, np.minimum(x + 1, 7)]) / 2
    assert np.abs(words[:, :4].copy().view(np.float32) - mean).max() < 2e-7


def test_a_cube_and_a_mip_chain(tmp_path: Path) -> None:
    """A direction along an axis reads the middle of a face; an explicit level reads its buffer."""
    cube = np.broadcast_to(np.arange(6, dtype=np.float32)[:, None, None], (6, 4, 4)).copy()
    signs = "    and.b32 %r20, %r1, 1; shl.b32 %r20, %r20, 1; sub.s32 %r20, 1, %r20; cvt.rn.f32.s32 %f9, %r20;\n"
    axis = "    shr.u32 %r21, %r1, 1; rem.u32 %r21, %r21, 3;\n" + "".join(
        f"    setp.eq.u32 %p1, %r21, {k}; selp.f32 %f{6 + k}, %f9, %f2, %p1;\n" for k in range(3)
    )
    chain = {f"level{k}": np.full((8 >> k, 8 >> k), 10.0 + k, np.float32) for k in range(4)}
    body = (
        "    mov.f32 %f2, 0f00000000;\n" + signs + axis
        + "    tex.cube.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%l8, {%f6, %f7, %f8, %f8}];\n" + store(0, "%f10")
        + "    ld.const.u64 %l10, [params+32]; ld.global.u64 %l10, [%l10+8];\n"
        + "    rem.u32 %r22, %r1, 4; cvt.rn.f32.u32 %f20, %r22;\n"
        + "    tex.level.2d.v4.f32.f32 {%f14, %f15, %f16, %f17}, [%l10, {%f9, %f9}], %f20;\n" + store(1, "%f14")
    )  # fmt: skip
    tables = '[textures.picture]\nbuffer = "cube"\ngeometry = "cube"\nnormalized = true\n'
    tables += '[textures.chain]\nbuffer = "level0"\nlevels = ["level1", "level2", "level3"]\nnormalized = true\n'
    tables += 'stored = [{ buffer = "table", offset_bytes = 8 }]\n[surfaces.target]\nbuffer = "level3"\n'
    launch = prepared(tmp_path, body, tables, {"cube": cube, "table": np.zeros(2, np.uint64), **chain})
    values = both(launch)[:, :2].copy().view(np.float32)
    pixel = np.arange(32)
    assert np.array_equal(values[:, 0], 2 * (pixel // 2 % 3) + pixel % 2)
    assert np.array_equal(values[:, 1], 10 + pixel % 4)


@pytest.mark.parametrize("bounds", ["trap", "clamp", "zero"])
def test_surfaces_of_a_hit_record(tmp_path: Path, bounds: str) -> None:
    """A hit program reads one surface and writes another, both from its record, at and beyond their borders."""
    source, target = np.arange(100, 109, dtype=np.uint32).reshape(1, 9), np.zeros((1, 16), np.uint32)
    hit = program(
        "closesthit",
        "    call (%l4), _optix_get_sbt_data_ptr_64, (); ld.u64 %l5, [%l4]; ld.u64 %l6, [%l4+8];\n"
        "    ld.u32 %r30, [%l4+16];\n"
        "    sub.u32 %r10, %r1, %r30; shl.b32 %r10, %r10, 2; mov.b32 %r11, 0;\n"
        f"    suld.b.2d.b32.{bounds} %r20, [%l5, {{%r10, %r11}}];\n    add.u32 %r21, %r20, 1;\n"
        f"    sust.b.2d.b32.{bounds} [%l6, {{%r10, %r11}}], %r21;\n" + store(0, "%r20"),
    )
    miss = program("miss", "    mov.u32 %r4, 1;\n" + store(1, "%r4"))
    tables = """
[[miss]]
program = "__miss__test"
[[hit_group]]
geometry = "triangles"
closest_hit = "__closesthit__test"
record = [{ name = "source", type = "u64", source = "from" }, { name = "target", type = "u64" },
          { name = "shift", type = "u32", value = SHIFT }]
[textures.picture]
buffer = "texels"
[surfaces.from]
buffer = "texels"
[surfaces.target]
buffer = "table"
""".replace("SHIFT", "0" if bounds == "trap" else "2")
    launch = prepared(tmp_path, SET_RAY + trace(), tables, {"texels": source, "table": target}, miss + hit)
    words = both(launch)
    lanes = np.flatnonzero(words[:, 1] == 0)
    assert lanes.tolist() == list(range(9))
    x = lanes - (0 if bounds == "trap" else 2)
    read = np.where((x < 0) & (bounds == "zero"), 0, source[0, np.maximum(x, 0)])
    assert np.array_equal(words[lanes, 0], read)
    written = np.zeros(16, np.uint32)
    for place, value in zip(x, read, strict=True):
        if place >= 0 or bounds == "clamp":
            written[max(place, 0)] = value + 1
    assert np.array_equal(launch.buffers["table"][0], written)


def test_what_a_file_may_not_say(tmp_path: Path) -> None:
    good = '[textures.picture]\nbuffer = "texels"\n[surfaces.target]\nbuffer = "table"\n'
    arrays = {"texels": np.zeros((4, 8), np.float32), "table": np.zeros((1, 4), np.uint32)}
    for old, new, message in (
        ('"texels"', '"texel"', r"textures\.picture\.buffer: unknown name 'texel'; did you mean 'texels'"),
        ("[textures.picture]", "[textures.pictures]", r"params\[3\]\.source: unknown name 'picture'"),
        ("[surfaces.target]", '[surfaces.width]\nbuffer = "table"\n[surfaces.target]', "width: must be another name"),
        ("[textures.picture]", '[textures.picture]\nlevels = ["table"]', "must have normalized coordinates"),
        (
            "[textures.picture]",
            '[textures.picture]\ngeometry = "3d"',
            r"textures\.picture: a 3d image must have 3 axes",
        ),
    ):
        with pytest.raises(UserError, match=message):
            prepared(tmp_path, "", good.replace(old, new, 1), arrays)


@pytest.mark.parametrize(
    ("file", "message"), [("/dev/zero", "in the folder"), ("../x.npy", "in the folder"), ("x.npy", "no file")]
)
def test_files_that_decide_a_program_lie_beside_it(tmp_path: Path, file: str, message: str) -> None:
    path = tmp_path / "test.toml"
    params = 'params_symbol = "params"\nparams = [{ name = "texels", type = "pointer" }]\n'
    path.write_text(params + RAYGEN + f'[buffers.texels]\ndtype = "float32"\nfile = "{file}"\n')
    with pytest.raises(UserError, match=rf"test\.toml: buffers\.texels\.file: .*{message}"):
        program_files(Request("cornell", tmp_path / "test.ptx", path, tmp_path / "out.trace"))
