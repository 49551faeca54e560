"""Inputs of a trace: every file that a scene was read from, so that a digest tells of each change."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.draw import load_drawn
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.instances import records_of
from rayplay.tracer.scenes.resolve import scene_files
from tests.tracer.scenes.test_gltf import binary
from tests.tracer.scenes.test_instances import records, template
from tests.tracer.scenes.test_limits import document
from tests.tracer.scenes.test_textured import png

opened: list[Path] | None = None
"""Files opened, while a test wants to know."""


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and opened is not None and isinstance(arguments[0], (str, Path)):
        opened.append(Path(arguments[0]))


sys.addaudithook(_note)


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """A glTF document with its buffer, picture and instances beside it; an unused picture is missing."""
    made = template()
    made["buffers"][0]["uri"] = "its%20buffer.bin"
    made["buffers"] = made["buffers"][:1]
    made["bufferViews"] = made["bufferViews"][:3]
    made["images"] = [{"uri": "picture.png"}, {"uri": "unused.png"}]
    path = tmp_path / "rocks.gltf"
    path.write_text(json.dumps(made))
    (tmp_path / "its buffer.bin").write_bytes(binary())
    (tmp_path / "picture.png").write_bytes(png())
    records_of(path).write_bytes(records().tobytes())
    return path


def read_by(act: Any, folder: Path) -> set[str]:
    """Names of the files of a folder that an act opens."""
    global opened
    opened = []
    act()
    found, opened = opened, None
    return {path.name for path in found if path.parent == folder}


def test_every_file_that_is_read_is_an_input(apart: Path) -> None:
    drawn = {path.name for path in load_drawn(str(apart))[2]}
    assert drawn == {"rocks.gltf", "its buffer.bin", "picture.png", "rocks_instances.bin"}
    assert drawn == read_by(lambda: load_drawn(str(apart)), apart.parent)
    traced = {path.name for path in scene_files(str(apart))}
    assert traced == {"rocks.gltf", "its buffer.bin", "picture.png"}
    assert traced >= read_by(lambda: load(str(apart)), apart.parent), "an input may be a map that rays do not see"


def test_a_pack_brings_what_its_mesh_lies_in(tmp_path: Path) -> None:
    made = document()
    made["buffers"][0]["uri"] = "mesh.bin"
    (tmp_path / "mesh.gltf").write_text(json.dumps(made))
    (tmp_path / "mesh.bin").write_bytes(binary())
    (tmp_path / "pack.json").write_text(json.dumps({"mesh": "mesh.gltf"}))
    assert [path.name for path in scene_files(str(tmp_path / "pack.json"))] == ["pack.json", "mesh.gltf", "mesh.bin"]


@pytest.mark.parametrize("change", [{"buffers": 3}, {"buffers": [{"uri": 4}]}, {"buffers": [[]]}, {"nodes": 1}])
def test_a_damaged_document_is_one_line(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "a.gltf").write_text(json.dumps(document() | change))
    with pytest.raises(UserError, match=r"a\.gltf: damaged glTF document: "):
        scene_files(str(tmp_path / "a.gltf"))
