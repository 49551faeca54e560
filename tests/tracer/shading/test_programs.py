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
from rayplay.tracer.scenes.description import Geometry
from rayplay.tracer.shading.config import BUILT_IN, PROGRAM_FOLDER, ProgramConfig, read_config
from rayplay.tracer.shading.fields import pack_fields, params_symbol
from rayplay.tracer.shading.table import build_table, find_programs

DATA = Path(__file__).parents[1] / "data"
NORMALS = (DATA / "normals.toml").read_text()


def config_of(folder: Path, text: str) -> ProgramConfig:
    path = folder / "mine.toml"
    path.write_text(text)
    return read_config(path)


def symbol(config: ProgramConfig, module: ptx.ir.Module, place: str) -> str:
    return params_symbol(config.params_symbol, config.params, module, place)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as caught:
        config_of(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_program_is_bound_like_any_other(name: str) -> None:
    config = read_config(PROGRAM_FOLDER / f"{name}.toml")
    module = ptx.parse_file(PROGRAM_FOLDER / f"{name}.ptx")
    assert find_programs(config, module, name)[0].name == config.raygen.program
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
        ('geometry = "triangles"', 'geometry = "spheres"', "geometry 'spheres' needs an intersection program"),
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
        find_programs(config_of(tmp_path, NORMALS.replace("pinhole", "pinhol")), module, "mine.toml")
    with pytest.raises(UserError, match="'__miss__background' must be one called __closesthit__"):
        find_programs(config_of(tmp_path, NORMALS.replace("__closesthit__normal", "__miss__background")), module, "m")


def test_a_program_that_is_not_valid_is_refused_with_its_line(tmp_path: Path) -> None:
    text = (DATA / "normals.ptx").read_text()
    where = text.index("call (%r2), _optix_get_launch_index_y")
    module = ptx.parse(text[:where] + text[where:].replace("index_y", "index_w", 1), "normals.ptx")
    with pytest.raises(UserError, match=r"^normals.ptx:\d+:2: '_optix_get_launch_index_w' is not a known") as caught:
        find_programs(config_of(tmp_path, NORMALS), module, "m")
    assert f"normals.ptx:{1 + text[:where].count(chr(10))}:2:" in str(caught.value)


def test_the_launch_parameters_must_be_found_and_must_fit(tmp_path: Path) -> None:
    module = ptx.parse_file(DATA / "normals.ptx")
    assert symbol(config_of(tmp_path, NORMALS), module, "m") == "optixLaunchParams"
    with pytest.raises(UserError, match=r"\.const objects of .*normals.ptx: unknown name 'launch'"):
        symbol(config_of(tmp_path, 'params_symbol = "launch"\n' + NORMALS), module, "m")
    more = NORMALS.replace("bytes_per_pixel = 4 },", 'bytes_per_pixel = 4 }, { name = "x", type = "u8", value = 1 },')
    with pytest.raises(UserError, match="81 bytes do not fit optixLaunchParams, which has 80"):
        symbol(config_of(tmp_path, more), module, "m")


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
