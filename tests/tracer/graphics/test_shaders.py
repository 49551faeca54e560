"""Shaders of one's own: entries, varyings and maps as their TOML binds them; what does not fit is one clear line."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.__main__ import main
from rayplay.tracer.graphics.shaders import BUILT_IN, MAPS, Shaders, read_shaders
from rayplay.tracer.graphics.stages import Rules
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.textured import INSTANCE, Draw
from tests.tracer.graphics.scenes import IDENTITY, SIZE, drawn, scene, square

DATA = Path(__file__).parents[1] / "data"
STRIPES = (DATA / "stripes.toml").read_text()
PLAIN = Surface("plain")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program, to which tests add its TOML."""
    shutil.copy(DATA / "stripes.ptx", tmp_path)
    return tmp_path


def shaders(folder: Path, text: str = STRIPES, name: str | None = None) -> Shaders:
    (folder / "mine.toml").write_text(text)
    return read_shaders(folder / "mine.toml", name)


def test_own_shaders_have_their_own_varyings_and_constants(folder: Path) -> None:
    """Four stripes over each unit of y, which is -1 below and 1 above; the square covers the picture's middle half."""
    picture = drawn(scene([square(0, 0.5)], [PLAIN]), shaders(folder))
    column = picture.framebuffer.colour[:, SIZE[0] // 2, 0]
    y = 1 - (np.arange(SIZE[1]) + 0.5) * 2 / SIZE[1]
    inside = np.abs(y) < 0.5
    np.testing.assert_array_equal(column[inside], np.where(4 * y[inside] % 1 < 0.5, 1, 0))
    assert (picture.framebuffer.colour[0, 0] != 1).any()


def test_maps_are_bound_by_name(folder: Path) -> None:
    texels = np.full((2, 2, 4), (255, 0, 255, 255), np.uint8)
    made = scene([square(0, 0.5)], [Surface("pink", pictures=(0, *(-1,) * 5))], (texels,))
    for bound, green in (('["base_color"]', 0.0), ('["normal"]', 1.0)):
        picture = drawn(made, shaders(folder, STRIPES.replace('["base_color"]', bound)))
        lit = picture.framebuffer.colour[SIZE[1] // 2 - 1, SIZE[0] // 2]
        assert lit.tolist() == [1.0, green, 1.0, 1.0]


@pytest.mark.parametrize(("old", "new", "message"), [
    ('"flat"', '"flatt"', r"shader.stripes.vertex: entries of .*.ptx: unknown name 'flatt'; did you mean 'flat'"),
    ('"striped"', '"with_parameters"', "shader.stripes.fragment: entry with_parameters must have no parameters, since "
     "it reads params; found 2"),
    ('source = "base_color_map"', 'source = "base_colour_map"', r"params\[7\].source: unknown name 'base_colour_map'"),
    ('maps = ["base_color"]', 'maps = ["bump"]', r"shader.stripes.maps\[0\]: unknown name 'bump'"),
    ('maps = ["base_color"]', 'varyings = ["depth"]', r"shader.stripes.varyings\[0\]: unknown name 'depth'"),
    ('level = "f32"', 'level = "f64"', "varyings.level: unknown name 'f64'"),
    ('level = "f32"', 'level = "f32"\nheight = "f32"', "varyings.height: must not be called like a source"),
    ('"stripes.ptx"', '"absent.ptx"', "program: there is no file"),
    ('"stripes.ptx"', '"../stripes.ptx"', "program: must be a file in the folder of the shaders' file"),
    ('program = "stripes.ptx"', 'program = "stripes.ptx"\nparams_symbol = "draw"', r"params_symbol: .*'draw'"),
    ('    { name = "clip", type = "pointer" },\n', "", "params: needs a field with the source 'clip'"),
    ("value = 4.0 },", 'value = 4.0 },\n{ name = "more", type = "f32x4", value = [0, 0, 0, 0] },',
     "params: 96 bytes do not fit params, which has 80"),
    ("[shader.stripes]", "[shader.stripes]\ngeometry = 1", "shader.stripes: unknown name 'geometry'"),
    ('vertex = "flat"\n', "", "shader.stripes: needs the key 'vertex'"),
    ("[shader.stripes]", '[shader.other]\nvertex = "flat"\nfragment = "striped"\n[shader.stripes]',
     "--shader must choose one of other, stripes"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(folder: Path, old: str, new: str, message: str) -> None:
    assert old in STRIPES
    with pytest.raises(UserError, match=message):
        shaders(folder, STRIPES.replace(old, new, 1))


def test_an_unknown_shader_and_a_damaged_program_are_one_line(folder: Path) -> None:
    with pytest.raises(UserError, match="--shader: unknown name 'stripe'; did you mean 'stripes'"):
        shaders(folder, name="stripe")
    (folder / "stripes.ptx").write_text((DATA / "stripes.ptx").read_text().replace("ld.const.u32", "ld.const.q32", 1))
    with pytest.raises(UserError, match=r"stripes.ptx:\d+:\d+: "):
        shaders(folder)


def test_instances_with_records_need_entries_of_their_own(folder: Path) -> None:
    one = square(0)
    records = Draw(one.name, one.positions, one.normals, one.uv, one.indices, IDENTITY, 0, np.zeros(1, INSTANCE))
    with pytest.raises(UserError, match="instanced: must name the entries"):
        drawn(scene([records], [PLAIN]), shaders(folder))


def test_output_traffic_needs_an_entry_of_its_own(folder: Path) -> None:
    with pytest.raises(UserError, match=r"mine.toml: --output-traffic on needs the key merged beside fragment \w+$"):
        drawn(scene([square(0)], [PLAIN]), shaders(folder), rules=Rules(merges=True))


STORE = "st.global.v4.f32 \t[%rd14], {%f20, %f19, %f18, %f10};"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ret;", "ret;", None),
        (
            "striped()\n{",
            "striped()\n{ .shared .align 4 .b8 mine[64];",
            "--varyings chip: a shader must have no shared memory of its own",
        ),
        (
            STORE,
            f"selp.b64 %rd14, %rd14, %rd8, %p3; {STORE}",
            r"--target rgba8: an instruction must access the target alone, and '(?:st.global.v4.*)' also accesses",
        ),
    ],
)
def test_own_shaders_take_other_places_for_data_between_stages(
    folder: Path, old: str, new: str, message: str | None
) -> None:
    """The same picture; two habits that the trace has no place for are one line."""
    text = (folder / "stripes.ptx").read_text()
    (folder / "stripes.ptx").write_text(text.replace(old, new))
    made, mine, sink = scene([square(0)], [PLAIN]), shaders(folder), MemorySink()
    rules = Rules(varyings="chip", target="rgba8")
    if message is not None:
        with pytest.raises(UserError, match=rf"mine.toml: {message}"):
            drawn(made, mine, sink, rules=rules)
        return
    colour = drawn(made, mine, sink, rules=rules).framebuffer.colour
    np.testing.assert_array_equal(colour, drawn(made, mine).framebuffer.colour)
    assert sink.table("kernels")["shared_bytes"].tolist() == [64 * (16 + 4), 64 * (4 + 4)]


def test_a_shader_that_writes_outside_its_buffers_is_stopped_with_its_place(folder: Path) -> None:
    """The vertex shader stores beyond the varyings that its file declares."""
    text = STRIPES.replace('source = "base_color_map"', 'value = 0').replace('name = "level_out", type = "pointer"',
                           'name = "level_out", type = "u64", value = 64')  # fmt: skip
    with pytest.raises(UserError, match=r"stripes.ptx:\d+"):
        drawn(scene([square(0)], [PLAIN]), shaders(folder, text))


def test_the_command_takes_the_file(folder: Path) -> None:
    (folder / "mine.toml").write_text(STRIPES)
    out = folder / "x.trace"
    words = ["draw", "cornell", "--size", "16x16", "--out", str(out)]
    assert main([*words, "--shaders", str(folder / "mine.toml")]) == 0
    assert out.with_suffix(".png").is_file()
    with pytest.raises(UserError, match="--shader: unknown name 'phong'"):
        main([*words, "--shader", "phong"])


def test_every_built_in_shader_binds_maps_that_exist() -> None:
    for name in ("lit", "pbr", "ball"):
        made = read_shaders(BUILT_IN, name)
        assert set(made.entries.maps) <= set(MAPS)
        assert sum(each.bytes for each in made.params) <= made.module.variables[made.symbol].bytes
    assert len(read_shaders(BUILT_IN, "pbr").entries.maps) == 8
