"""glTF files: what the specification allows is read or refused by name, in the order of the file."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from tests.reliability.specimens import OBJ, PLY, glb
from tests.tracer.scenes.test_limits import binary, document, write_pack

Document = dict[str, Any]
DIGEST = """
import hashlib, sys
from pathlib import Path
from rayplay.tracer.scenes import load
for path in sorted(Path(sys.argv[1]).iterdir()):
    scene, digest = load(path), hashlib.sha256()
    for mesh in scene.meshes:
        digest.update(mesh.vertices.tobytes() + mesh.triangles.tobytes())
    for instance in scene.instances:
        digest.update(bytes([instance.mesh]) + instance.object_to_world.tobytes())
    print(path.name, digest.hexdigest(), scene.camera)
"""


def two_materials(made: Document) -> None:
    """Meshes of several primitives, used by several nodes, some of which have names and some the same one."""
    primitive = made["meshes"][0]["primitives"][0]
    made["meshes"] = [{"name": "same", "primitives": [primitive, primitive, primitive]}] * 3
    made["nodes"] = [{"mesh": n % 3, "name": f"n{n % 7}", "translation": [n, 0, 0]} for n in range(20)]
    made["scenes"] = [{"nodes": list(range(20))}]


def test_no_order_depends_on_the_hash_seed(tmp_path: Path) -> None:
    made = document()
    two_materials(made)
    (tmp_path / "a.glb").write_bytes(glb(made, binary()))
    made["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(binary()).decode()
    (tmp_path / "b.gltf").write_text(json.dumps(made))
    (tmp_path / "c.obj").write_text(OBJ + "".join(f"o {n}\ng {n % 3}\nusemtl {n % 4}\nf 1 2 3\n" for n in range(9)))
    (tmp_path / "d.ply").write_text(PLY)
    (tmp_path / "e.stl").write_text(
        "".join(
            f"solid {name}\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 {name}\nvertex 0 1 0\nendloop\n"
            f"endfacet\nendsolid {name}\n"
            for name in (3, 1, 2)
        )
    )
    said = set()
    for seed in ("0", "1", "3"):
        command = [sys.executable, "-c", DIGEST, str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONHASHSEED": seed})
        assert run.returncode == 0, run.stderr
        said.add(run.stdout)
    assert len(said) == 1
    assert len(next(iter(said)).splitlines()) == 5


def test_instances_stand_in_the_order_of_the_nodes(tmp_path: Path) -> None:
    made = document()
    two_materials(made)
    path = tmp_path / "quad.glb"
    path.write_bytes(glb(made, binary()))
    scene = load(path)
    assert [len(mesh.triangles) for mesh in scene.meshes] == [6, 6, 6]
    assert [(i.mesh, i.object_to_world[0, 3]) for i in scene.instances] == [(n % 3, n) for n in range(20)]


def with_parts(made: Document, parts: list[np.ndarray]) -> bytes:
    """The file of a document whose binary chunk has more buffer views: their numbers follow the three it has."""
    data = binary()
    for part in parts:
        data += b"\0" * (-len(data) % 4)
        made["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": part.nbytes})
        data += part.tobytes()
    made["buffers"][0]["byteLength"] = len(data)
    return glb(made, data + b"\0" * (-len(data) % 4))


@pytest.mark.parametrize("base", ["values", "zeros"])
@pytest.mark.parametrize("suffix", ["glb", "json"])
def test_sparse_accessors_are_applied(tmp_path: Path, base: str, suffix: str) -> None:
    made = document()
    made["accessors"][0]["sparse"] = {
        "count": 2, "indices": {"bufferView": 3, "componentType": 5121}, "values": {"bufferView": 4},
    }  # fmt: skip
    if base == "zeros":
        del made["accessors"][0]["bufferView"]
    data = with_parts(made, [np.array([1, 2], "<u1"), np.array([[7, 8, 9], [4, 5, 6]], "<f4")])
    path = write_pack(tmp_path)
    (tmp_path / "quad.glb").write_bytes(data)
    ends = [[0, 0, 0], [0, 1, 0]] if base == "values" else [[0, 0, 0], [0, 0, 0]]
    found = load(path.with_suffix(f".{suffix}")).meshes[0].vertices
    assert found.tolist() == [ends[0], [7, 8, 9], [4, 5, 6], ends[1]]


def strip(made: Document) -> None:
    made["meshes"][0]["primitives"][0]["mode"] = 5


def fan(made: Document) -> None:
    made["meshes"][0]["primitives"][0]["mode"] = 6


@pytest.mark.parametrize(
    ("change", "triangles"),
    [(strip, [[0, 1, 2], [1, 0, 2], [2, 0, 2], [0, 3, 2]]), (fan, [[1, 2, 0], [2, 0, 0], [0, 2, 0], [2, 3, 0]])],
)
def test_strips_and_fans_are_triangles(tmp_path: Path, change: Callable[[Document], None], triangles: list) -> None:
    made = document()  # its indices are 0 1 2 0 2 3
    change(made)
    (tmp_path / "quad.glb").write_bytes(glb(made, binary()))
    assert load(tmp_path / "quad.glb").meshes[0].triangles.tolist() == triangles


def test_whole_numbers_are_fractions_where_the_accessor_says_so(tmp_path: Path) -> None:
    made = document()
    made["extensionsRequired"] = ["KHR_mesh_quantization"]
    made["accessors"][0] |= {"bufferView": 3, "componentType": 5122, "normalized": True}
    corners = np.array([[0, 0, 0], [32767, 0, 0], [-32768, 0, 0], [0, 32767, 0]], "<i2")
    (tmp_path / "quad.glb").write_bytes(with_parts(made, [corners]))
    assert load(tmp_path / "quad.glb").meshes[0].vertices[:, 0].tolist() == [0, 1, -1, 0]


def required(made: Document) -> None:
    made["extensionsRequired"] = ["EXT_meshopt_compression"]


def next_mesh(made: Document) -> None:
    """Vertex numbers of the first primitive that lie in the second one."""
    made["accessors"].append(made["accessors"][0] | {"count": 2})
    primitives = made["meshes"][0]["primitives"]
    primitives.insert(0, {"attributes": {"POSITION": 3}, "indices": 2, "material": 0})


def floats(made: Document) -> None:
    made["meshes"][0]["primitives"][0]["indices"] = 0


def short(made: Document) -> None:
    made["accessors"][2]["count"] -= 1


def falling(made: Document) -> None:
    made["accessors"][0]["sparse"] = {
        "count": 2, "indices": {"bufferView": 2, "byteOffset": 4, "componentType": 5123}, "values": {"bufferView": 0},
    }  # fmt: skip


def far_sparse(made: Document) -> None:
    made["accessors"][0]["sparse"] = {"count": 1 << 39, "indices": {"componentType": 5121}, "values": {}}


def short_uv(made: Document) -> None:
    made["accessors"][1]["count"] = 3


def roots(made: Document) -> None:
    made["scenes"] = [{"nodes": [1, 2]}]


def scale(made: Document) -> None:
    made["nodes"][0]["scale"] = [1, 1, 1e309]


def matrix(made: Document) -> None:
    made["nodes"][0]["matrix"] = [1e30 if n % 5 == 0 else 0 for n in range(16)]


def rows(made: Document) -> None:
    made["nodes"][0]["scale"] = [[1, 1, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (required, "extensionsRequired must be of extensions that are read here, found EXT_meshopt_compression"),
        (next_mesh, "accessor 2: a vertex number must be below 2, found 3"),
        (floats, "accessor 0 must be unsigned whole numbers"),
        (short, r"triangles must have three corners each, found \d+ in all"),
        (falling, "accessor 0: sparse indices must rise and be below 4"),
        (far_sparse, "accessor 0: sparse.count must be at most 4, found"),
        (roots, "scene 0 must name each root once, and no node below another"),
        (scale, "numbers must be finite, not Infinity"),
        (rows, "node 0: scale must be 3 finite numbers"),
        (matrix, "instance 0: its matrix must be invertible"),
    ],
)
@pytest.mark.parametrize("suffix", ["glb", "json"])
def test_what_is_not_read_is_refused(
    tmp_path: Path, change: Callable[[Document], None], message: str, suffix: str
) -> None:
    made = document()
    change(made)
    path = write_pack(tmp_path, made).with_suffix(f".{suffix}")
    with pytest.raises(UserError, match=message):
        load(path)


def test_uv_of_another_number_than_vertices_is_refused(tmp_path: Path) -> None:
    made = document()
    short_uv(made)
    with pytest.raises(UserError, match="TEXCOORD_0 must have 4 elements, found 3"):
        load(write_pack(tmp_path, made))


def test_a_chain_of_a_hundred_thousand_nodes_is_walked(tmp_path: Path) -> None:
    made = document()
    count = 100_000
    made["nodes"] = [{"children": [n + 1]} for n in range(count - 1)] + [{"mesh": 0}]
    made["scenes"] = [{"nodes": [0]}]
    (tmp_path / "quad.glb").write_bytes(glb(made, binary()))
    assert len(load(tmp_path / "quad.glb").instances) == 1


def test_normals_are_read_and_counted(tmp_path: Path) -> None:
    made = document()
    attributes = made["meshes"][0]["primitives"][0]["attributes"]
    (tmp_path / "flat.glb").write_bytes(glb(made, binary()))
    assert load(tmp_path / "flat.glb").meshes[0].normals is None
    attributes["NORMAL"] = attributes["POSITION"]
    (tmp_path / "smooth.glb").write_bytes(glb(made, binary()))
    mesh = load(tmp_path / "smooth.glb").meshes[0]
    np.testing.assert_array_equal(mesh.normals, mesh.vertices)
    accessor = made["accessors"][attributes["POSITION"]]
    made["accessors"].append(accessor | {"count": accessor["count"] - 1})
    attributes["NORMAL"] = len(made["accessors"]) - 1
    (tmp_path / "short.glb").write_bytes(glb(made, binary()))
    with pytest.raises(UserError, match=r"NORMAL must have .* elements, found"):
        load(tmp_path / "short.glb")
