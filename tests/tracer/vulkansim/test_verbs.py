"""The verbs ``shader`` and ``render`` on shaders of Vulkan-Sim."""

import json
from pathlib import Path

import pytest

from rayplay import ptx
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.__main__ import main

SHADERS = Path(__file__).parents[3] / "examples" / "shaders" / "vulkan-sim"


def test_shader_lists_programs_and_writes_ptx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shaders.ptx"
    assert main(["shader", str(SHADERS), "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    programs = [line.split()[0] for line in lines if line.startswith("__")]
    assert len(programs) == len(list(SHADERS.glob("*.ptx")))
    assert any(line.startswith("set 0 binding 0") and line.endswith("scene") for line in lines)
    module = ptx.parse_file(out)
    assert not ptx.verify(module)
    assert [name for name, function in module.functions.items() if function.is_entry] == programs


def test_shader_takes_one_file_and_refuses_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shader", str(SHADERS / "MESA_SHADER_MISS_2.ptx")]) == 0
    assert capsys.readouterr().out.split()[0] == "__miss__2"
    with pytest.raises(UserError, match="must be a file of Slang or HLSL, a shader of Vulkan-Sim or a folder of them"):
        main(["shader", str(tmp_path / "a.txt")])


def test_a_folder_brings_the_size_of_its_launch(tmp_path: Path) -> None:
    out = tmp_path / "t.trace"
    assert main(["render", "cornell", "--program", str(SHADERS), "--out", str(out)]) == 0
    assert len(open_trace(out).read("image")["red"]) == 48 * 32
    manifest = json.loads((out / "manifest.json").read_text())
    inputs = manifest["provenance"]["inputs"]
    assert {"MESA_SHADER_RAYGEN_0.ptx", "0.hitsbt", "bindings.toml"} <= set(inputs)
