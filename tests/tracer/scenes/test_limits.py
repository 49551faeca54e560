"""A scene's files may ask for so much and no more, and for files of their own folder alone."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.tracer.scenes import load
from tests.reliability.specimens import PACK, glb, quad_glb


def document() -> dict[str, Any]:
    """The document of a valid GLB file."""
    return json.loads(quad_glb()[20 : 20 + int.from_bytes(quad_glb()[12:16], "little")])


def binary() -> bytes:
    """Its binary chunk."""
    return quad_glb()[28 + int.from_bytes(quad_glb()[12:16], "little") :]


def write_pack(folder: Path, content: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A scene pack with a GLB file of ``content``."""
    (folder / "quad.glb").write_bytes(quad_glb() if content is None else glb(content, binary()))
    (folder / "quad.json").write_text(json.dumps(PACK | changes))
    return folder / "quad.json"


def with_texture(folder: Path) -> Path:
    """A scene pack whose foliage is 7x3 pixels."""
    Image.fromarray(np.zeros((3, 7, 4), np.uint8)).save(folder / "leaf.png")
    material = PACK["materials"]["grey"] | {"alpha_texture": "leaf.png"}  # type: ignore[index]
    return write_pack(folder, materials={"grey": material})


def obj(folder: Path) -> Path:
    """Two triangles as text."""
    (folder / "quad.obj").write_text(QUAD)
    return folder / "quad.obj"


def text_ply(folder: Path) -> Path:
    """Two triangles as text, of another kind."""
    head = "element vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n"
    head = f"ply\nformat ascii 1.0\n{head}property list uchar int vertex_indices\nend_header\n"
    (folder / "quad.ply").write_text((head + "0 0 0\n2 0 0\n2 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n").ljust(300, "\n"))
    return folder / "quad.ply"


QUAD = "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"
BOUNDS = [
    ("RAYPLAY_MAX_MESH_ELEMENTS", write_pack, 3 + 4 * 3 + 4 * 2 + 6),
    ("RAYPLAY_MAX_MESH_BYTES", write_pack, len(quad_glb())),
    ("RAYPLAY_MAX_GLTF_BYTES", write_pack, int.from_bytes(quad_glb()[12:16], "little")),
    ("RAYPLAY_MAX_INSTANCES", write_pack, 3),
    ("RAYPLAY_MAX_OBJ_BYTES", obj, len(QUAD)),
    ("RAYPLAY_MAX_MESH_TEXT_BYTES", text_ply, 300),
    ("RAYPLAY_MAX_TEXTURE_PIXELS", with_texture, 7 * 3),
]


@pytest.mark.parametrize(("variable", "make", "size"), BOUNDS)
def test_a_limit_is_exact_and_can_be_raised(
    tmp_path: Path, monkeypatch, variable: str, make: Callable[[Path], Path], size: int
) -> None:
    path = make(tmp_path)
    for limit in (size + 1, size):
        monkeypatch.setenv(variable, str(limit))
        assert load(path).unique_triangles == 2
    monkeypatch.setenv(variable, str(size - 1))
    with pytest.raises(FormatError, match=f"at most {size - 1} .*, not {size}; .* {variable} raises the limit"):
        load(path)
    if make is write_pack:  # the same file without a pack is as limited
        with pytest.raises(FormatError, match=f"{variable} raises the limit"):
            load(tmp_path / "quad.glb")


def no_stride(asked: dict[str, Any]) -> None:
    """A billion elements at one place."""
    asked["bufferViews"][0]["byteStride"] = 0
    asked["accessors"][0]["count"] = 1_000_000_000


def no_buffer(asked: dict[str, Any]) -> None:
    """A billion elements that are zero."""
    del asked["accessors"][0]["bufferView"]
    asked["accessors"][0]["count"] = 1_000_000_000


def many_uses(asked: dict[str, Any]) -> None:
    """One accessor, used by ten million primitives' worth of meshes."""
    asked["accessors"][0]["count"] = 1_000_000
    del asked["accessors"][0]["bufferView"]
    asked["meshes"] = asked["meshes"] * 100


def doubling_nodes(asked: dict[str, Any]) -> None:
    """Each node has the next one as a child twice: 2^60 instances."""
    asked["nodes"] = [{"children": [n + 1, n + 1]} for n in range(60)] + [{"mesh": 0}]
    asked["scenes"] = [{"nodes": [0]}]


def circle(asked: dict[str, Any]) -> None:
    """Two nodes that are each other's children."""
    asked["nodes"] = [{"children": [1], "mesh": 0}, {"children": [0]}]
    asked["scenes"] = [{"nodes": [0]}]


def from_the_end(asked: dict[str, Any]) -> None:
    """An index that Python would count from the end."""
    asked["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = -3


@pytest.mark.parametrize("suffix", ["json", "glb"])
@pytest.mark.parametrize("ask", [no_stride, no_buffer, many_uses, doubling_nodes, circle, from_the_end])
def test_a_document_that_asks_for_too_much_is_refused(tmp_path: Path, ask, suffix: str) -> None:
    asked = document()
    ask(asked)
    path = write_pack(tmp_path, asked).with_suffix(f".{suffix}")
    with pytest.raises(UserError, match=r"quad\.glb") as caught:
        load(path)
    assert re.fullmatch(r"[^\n]{1,1000}", str(caught.value))


def test_a_picture_of_gigabytes_is_not_decoded(tmp_path: Path) -> None:
    path = with_texture(tmp_path)
    Image.new("1", (9000, 9000)).save(tmp_path / "leaf.png")
    with pytest.raises(FormatError, match=r"leaf\.png: its pixels must be at most 67108864 pixels, not 81000000"):
        load(path)
