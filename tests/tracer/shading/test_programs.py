"""Program configurations: reading, refusals, and the bytes they lay out."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes.description import Geometry
from rayplay.tracer.shading.config import BUILT_IN, PROGRAM_FOLDER, ProgramConfig, read_config
from rayplay.tracer.shading.fields import pack_fields, params_symbol
from rayplay.tracer.shading.prepare import Sampling, prepare_image
from rayplay.tracer.shading.table import build_table, find_programs
from tests.tracer.harness.optix_programs import HEAD, SET_RAY, both, prepare, program, scene, store, trace

DATA = Path(__file__).parents[1] / "data"
NORMALS = (DATA / "normals.toml").read_text()


def config_of(folder: Path, text: str) -> ProgramConfig:
    path = folder / "mine.toml"
    path.write_text(text)
    return read_config(path)


def symbol(config: ProgramConfig, module: ptx.ir.Module, place: str) -> str | None:
    return params_symbol(config.params_symbol, config.params, [module], place)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as caught:
        config_of(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_program_is_bound_like_any_other(name: str) -> None:
    config = read_config(PROGRAM_FOLDER / f"{name}.toml")
    module = ptx.parse_file(PROGRAM_FOLDER / f"{name}.ptx")
    assert find_programs(config, [module], name)[0][1].name == config.raygen.program
    assert symbol(config, module, name) == "params"
    last = config.params[-1]
    assert last.offset + last.bytes == module.variables["params"].bytes, "the .toml and struct Params differ"


def test_committed_ptx_is_what_its_source_gives() -> None:
    compiler = shutil.which("nvcc")
    if (
        not compiler
        or "release 13.0" not in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    ):
        pytest.skip("needs the compiler that made the committed PTX: nvcc 13.0")
    result = subprocess.run([sys.executable, "-m", "tools.compile_programs", "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_offsets_follow_c(tmp_path: Path) -> None:
    kinds = ["u8", "f32x3", "u16", "f32x2", "u8x3", "pointer", "f32", "f32x4", "f64"]
    fields = ",".join(f'{{name="f{i}", type="{kind}", value={[1] * int((kind + "x1").split("x")[1])}}}'
                      for i, kind in enumerate(kinds))  # fmt: skip
    config = config_of(tmp_path, f'params = [{fields}]\n[raygen]\nprogram = "__raygen__a"')
    assert [field.offset for field in config.params] == [0, 4, 16, 24, 32, 40, 48, 64, 80]
    data = pack_fields(config.params, {}, "params")
    assert len(data) == 88
    assert np.frombuffer(data, "<f4", 3, 4).tolist() == [1, 1, 1]
    assert np.frombuffer(data, "<f8", 1, 80)[0] == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("image_format", "image_fromat", "mine.toml: unknown name 'image_fromat'; did you mean 'image_format'?"),
        ('"rgba8"', '"rgb8"', "mine.toml: image_format: unknown name 'rgb8'; did you mean 'rgba8'?"),
        (
            "closest_hit =",
            "closest_hti =",
            "hit_group[0]: unknown name 'closest_hti'; did you mean 'closest_hit'?",
        ),
        ('source = "width"', 'source = "widht"', "params[1].source: unknown name 'widht'; did you mean 'width'?"),
        ('"rows", type = "u32"', '"rows", type = "f32"', "params[2].type: source 'height' must be u32, not f32"),
        ('"rows", type = "u32"', '"rows", type = "uint"', "params[2].type: unknown name 'uint'"),
        ("value = 0.25", "value = [0.25, 1]", "record[0].value: must be 1 number of type f32, found [0.25, 1]"),
        ('geometry = "triangles"', 'geometry = "sphere"', "geometry: unknown name 'sphere'; did you mean 'spheres'?"),
        (
            "closest_hit =",
            'intersection = "__intersection__a"\nclosest_hit =',
            "geometry 'triangles' has no use for an intersection program",
        ),
        ("bytes_per_pixel = 4", "bytes_per_pixel = 0", "bytes_per_pixel: must be a positive integer"),
        ("[raygen]", "[[raygen]]", "raygen: must be a table"),
        ("[[miss]]", "[miss]", "mine.toml: miss: must be a list"),
        ("[raygen]", "[raygen", "mine.toml: must be TOML"),
    ],
)
def test_what_is_refused_says_where_and_why(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in NORMALS
    assert message in refused(tmp_path, NORMALS.replace(old, new, 1))


def test_an_unknown_program_is_named_with_the_nearest(tmp_path: Path) -> None:
    module = ptx.parse_file(DATA / "normals.ptx")
    with pytest.raises(UserError, match="unknown name '__raygen__pinhol'; did you mean '__raygen__pinhole'"):
        find_programs(config_of(tmp_path, NORMALS.replace("pinhole", "pinhol")), [module], "mine.toml")
    with pytest.raises(UserError, match="'__miss__background' must be one called __closesthit__"):
        find_programs(config_of(tmp_path, NORMALS.replace("__closesthit__normal", "__miss__background")), [module], "m")


def test_a_program_that_is_not_valid_is_refused_with_its_line(tmp_path: Path) -> None:
    text = (DATA / "normals.ptx").read_text()
    where = text.index("call (%r2), _optix_get_launch_index_y")
    module = ptx.parse(text[:where] + text[where:].replace("index_y", "index_w", 1), "normals.ptx")
    with pytest.raises(UserError, match=r"^normals.ptx:\d+:2: '_optix_get_launch_index_w' is not a known") as caught:
        find_programs(config_of(tmp_path, NORMALS), [module], "m")
    assert f"normals.ptx:{1 + text[:where].count(chr(10))}:2:" in str(caught.value)


def test_the_launch_parameters_must_be_found_and_must_fit(tmp_path: Path) -> None:
    module = ptx.parse_file(DATA / "normals.ptx")
    assert symbol(config_of(tmp_path, NORMALS), module, "m") == "optixLaunchParams"
    with pytest.raises(UserError, match=r"\.const objects of .*normals.ptx: unknown name 'launch'"):
        symbol(config_of(tmp_path, 'params_symbol = "launch"\n' + NORMALS), module, "m")
    more = NORMALS.replace("bytes_per_pixel = 4 },", 'bytes_per_pixel = 4 }, { name = "x", type = "u8", value = 1 },')
    with pytest.raises(UserError, match="81 bytes do not fit optixLaunchParams, which has 80"):
        symbol(config_of(tmp_path, more), module, "m")


LISTED = """params_symbol = "params"
params = [{ name = "image", type = "pointer" }, { name = "x", type = "u32", value = 7 }]
"""
READS = {
    "ld.const.u32 %r9, [params+8];": "",
    "mov.u64 %l9, whole; ld.const.u64 %l9, [%l9+16];": "",
    "ld.const.v2.u32 {%r9, %r10}, [params+8];": "reads bytes 12 to 15 of params, which no member of params in ",
    "ld.const.u64 %l9, [params+16];": "reads bytes 16 to 23 of params",
    "mov.u64 %l9, params; ld.const.u64 %l9, [%l9+16];": "takes the address of params, and params in ",
    "mov.u64 %l9, params+16; ld.const.u64 %l9, [%l9];": "takes the address of params, and params in ",
    "ld.const.v2.u32 {%r9, _}, [params+8];": "",
    "call helper, ();": "reads bytes 20 to 23 of params",
}  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_launch_parameters_that_are_read_are_listed(tmp_path: Path, read: str) -> None:
    path = tmp_path / "test.toml"
    symbol = "whole" if "whole" in read else "params"
    path.write_text(
        LISTED.replace('"params"', f'"{symbol}"')
        + '[raygen]\nprogram = "__raygen__test"\n[[hit_group]]\ngeometry = "triangles"\n'
    )
    helper = ".func helper()\n{ .reg .b32 %w; ld.const.u32 %w, [params+20]; ret; }\n"
    body = f".visible .entry __raygen__test()\n{{ .reg .b32 %r<11>; .reg .b64 %l<10>;\n{read} ret; }}\n"
    module = ptx.parse(HEAD + helper.replace(".func", ".const .align 8 .b8 whole[16];\n.func") + body, "test.ptx")
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    if READS[read]:
        text = HEAD + "\n" + helper + body
        line = 1 + text[: text.index("ld.const.u32 %w" if "call" in read else read)].count("\n")
        with pytest.raises(UserError, match=rf"test\.ptx:{line}: {READS[read]}"):
            prepare_image(what, module, read_config(path), Sampling(32, 1), place=str(path))
    else:
        prepare_image(what, module, read_config(path), Sampling(32, 1), place=str(path))


def test_records_have_a_header_and_stand_at_one_stride(tmp_path: Path) -> None:
    second = NORMALS[NORMALS.index("[[hit_group]]") :].replace("value = 0.25", "value = 0.75")
    config = config_of(tmp_path, NORMALS + second)
    assert config.ray_types == 2
    memory = DeviceMemory()
    geometries = [Geometry(0, 0, 7, opaque=True), Geometry(0, 7, 5, opaque=False)]
    values = [{"primitive_count": 7}, {"primitive_count": 5}]
    table = build_table(config, geometries, values, {}, memory)
    assert table.hit_programs.tolist() == [[2, -1, -1]] * 4
    assert table.miss_programs.tolist() == [1]
    assert np.diff(table.hit_record_addresses.astype(np.int64)).tolist() == [48, 48, 48]
    assert int(table.hit_record_addresses[0]) % 16 == 0
    contents = [memory.view(int(a), np.uint8, 40).tobytes() for a in table.hit_record_addresses]
    assert [np.frombuffer(c, "<f4", 1, 32)[0] for c in contents] == [0.25, 0.75, 0.25, 0.75]
    assert [np.frombuffer(c, "<u4", 1, 36)[0] for c in contents] == [7, 7, 5, 5]
    background = memory.view(int(table.miss_record_addresses[0]) + 32, np.float32, 3)
    assert background.tolist() == [0.25, 0.5, 1.0]


def test_a_geometry_without_a_hit_group_is_refused(tmp_path: Path) -> None:
    spheres = Geometry(0, 0, 1, opaque=True, procedural=True)
    with pytest.raises(UserError, match="the scene has spheres, so the program needs a hit_group"):
        build_table(config_of(tmp_path, NORMALS), [spheres], [{}], {}, DeviceMemory())


def test_ray_types_must_agree(tmp_path: Path) -> None:
    extra = '\n[[hit_group]]\ngeometry = "alpha_triangles"\n' * 2
    assert "one group per ray type" in refused(tmp_path, NORMALS + extra)


def test_modules_records_and_strides_as_people_have_them(tmp_path: Path) -> None:
    """Two modules that share extern parameters, a variable and a function; records in ray generation; own strides."""
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    shared = HEAD.replace(".const .align", ".extern .const .align")
    raygen = """
.extern .global .align 4 .u32 counts[2];
.extern .func (.param .b32 r) twice(.param .b32 x);
""" + program(
        "raygen",
        "    call (%l4), _optix_get_sbt_data_ptr_64, (); ld.u64 %l5, [%l4]; ld.u32 %r5, [%l4+8];\n"
        "    ld.global.u32 %r6, [counts+4];\n"
        "    {\n    .param .b32 r; .param .b32 x;\n"
        "    st.param.b32 [x], %r6; call (r), twice, (x); ld.param.b32 %r7, [r];\n    }\n"
        + store(0, "%l5") + store(2, "%r5") + store(3, "%r7") + SET_RAY + trace(),
    )  # fmt: skip
    other = (
        """
.visible .global .align 4 .u32 counts[2] = {3, 21};
.visible .func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2;
    ret;
}
"""
        + program("miss", "    mov.u32 %r4, 9;\n" + store(4, "%r4"))
        + program("closesthit", "    mov.u32 %r4, 8;\n" + store(4, "%r4"))
    )
    bound = """
record = [{ name = "picture", type = "pointer", source = "image" },
          { name = "columns", type = "u32", source = "width" }]
[strides]
hit = 96
miss = 64
[[miss]]
program = "__miss__test"
[[miss]]
program = "__miss__test"
[[hit_group]]
geometry = "triangles"
closest_hit = "__closesthit__test"
[[hit_group]]
geometry = "triangles"
closest_hit = "__closesthit__test"
"""
    prepared = prepare(tmp_path, [shared + raygen, shared + other], bound, what)
    assert np.diff(prepared.launch.hit_record_addresses).tolist() == [96] * (len(what.geometries()) * 2 - 1)
    assert np.diff(prepared.launch.miss_record_addresses).tolist() == [64]
    words = both(prepared)
    assert set(words[:, 4]) == {8, 9}
    assert (words[:, 3] == 42).all()
    assert (words[:, 2] == 32).all()
    assert (words[:, :2].copy().view(np.uint64) == prepared.image_address).all()


def test_a_program_without_launch_parameters_runs(tmp_path: Path) -> None:
    text = HEAD.replace(".const .align 8 .b8 params[24];", "") + (
        ".visible .entry __raygen__test()\n{\n    .reg .b64 %l<3>; .reg .b32 %r<3>;\n"
        "    call (%l1), _optix_get_sbt_data_ptr_64, (); ld.u64 %l2, [%l1];\n"
        "    call (%r1), _optix_get_launch_index_x, (); mul.wide.u32 %l1, %r1, 16; add.u64 %l2, %l2, %l1;\n"
        "    st.global.u32 [%l2], %r1;\n    ret;\n}\n"
    )
    path = tmp_path / "test.toml"
    path.write_text(
        '[raygen]\nprogram = "__raygen__test"\nrecord = [{ name = "image", type = "pointer" }]\n'
        '[[hit_group]]\ngeometry = "triangles"\n'
    )
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    prepared = prepare_image(what, ptx.parse(text, "test.ptx"), read_config(path), Sampling(32, 1))
    assert prepared.launch.constants == {}
    run_image_launch(prepared.launch, None, progress=False)
    picture = prepared.launch.memory.view(prepared.image_address, np.uint32, (32, 4))
    assert picture[:, 0].tolist() == list(range(32))


def test_a_stride_must_hold_the_record(tmp_path: Path) -> None:
    what = scene([np.eye(3, 4, dtype=np.float32)], [()])
    text = program("raygen", "") + program("closesthit", "")
    bound = (
        "[strides]\nhit = 32\n"
        '[[hit_group]]\ngeometry = "triangles"\nclosest_hit = "__closesthit__test"\n'
        'record = [{ name = "x", type = "u32", value = 1 }]\n'
    )
    with pytest.raises(
        UserError, match=r"strides\.hit: must be at least 48, the bytes of the longest record, found 32"
    ):
        prepare(tmp_path, text, bound, what)
    assert "hit must be a multiple of 16, found 20" in refused(tmp_path, NORMALS + "[strides]\nhit = 20\n")
