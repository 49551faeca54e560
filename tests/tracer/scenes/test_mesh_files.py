"""Plain mesh files: geometry comes through, anything unreadable is one line."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.obj import Materials, read_obj

OBJ = "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
)


def test_obj_and_ply(tmp_path: Path) -> None:
    (tmp_path / "quad.obj").write_text(OBJ)
    (tmp_path / "one.ply").write_text(PLY)
    quad, one = load(tmp_path / "quad.obj"), load(str(tmp_path / "one.ply"))
    assert (quad.unique_triangles, one.unique_triangles) == (2, 1)
    low, high = quad.bounds()
    np.testing.assert_array_equal([low, high], [[0, 0, 0], [2, 1, 0]])
    assert [material.model for material in quad.materials] == ["lambertian"]


def test_obj_numbers_count_from_1_or_backwards_and_polygons_are_fans(tmp_path: Path) -> None:
    text = "v 9 9 9\nv 0 0 0\nv\t1 0 0\n  v 1 1 \\\n 0\nv 0 1 0\nf\t-4 3/7 4/7/ -1\nv 5 5 5\nf 2 3\np 1\nf -5 -2 -1\n"
    (tmp_path / "a.obj").write_text(text)
    mesh = load(tmp_path / "a.obj").meshes[0]
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [5, 5, 5]]
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]


def test_a_vertex_with_two_normals_is_two(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nvn 1 0 0\nf 1//1 2//1 3//1\nf 1//-1 3//-1 4//2\nf 1 2 4\n"
    )
    vertices, normals, uv, triangles, _ = read_obj(tmp_path / "a.obj", lambda _: Materials({}, 0, is_mapped=False))
    assert normals is not None
    assert uv is None
    corners = [(vertices[n].tolist(), normals[n].tolist()) for n in triangles.reshape(-1)]
    flat, up, side = [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
    assert [normal for _, normal in corners] == [up] * 3 + [side] * 3 + [flat] * 3
    assert [corners[k][0] for k in (0, 3, 6)] == [flat] * 3
    assert len(vertices) == 9, "no corner of these shares vertex and normal with another"


@pytest.mark.parametrize(("name", "size"), [("groups.obj", 20_000), ("solids.stl", 20_000)])
def test_names_in_a_file_divide_nothing_and_cost_nothing(tmp_path: Path, name: str, size: int) -> None:
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    text = f"solid a\n{facet}endsolid a\n" * size
    if name.endswith(".obj"):
        text = OBJ + "".join(f"g {n}\nusemtl {n}\nf 1 2 3\n" for n in range(size - 2))
    (tmp_path / name).write_text(text)
    scene = load(tmp_path / name)
    assert [len(mesh.triangles) for mesh in scene.meshes] == [size]


def test_plain_glb_keeps_instances(data: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.glb").write_bytes((data / "scenes" / "spnza.glb").read_bytes())
    plain, pack = load(tmp_path / "plain.glb"), load(data / "scenes" / "spnza.json")
    assert plain.unique_triangles == pack.unique_triangles
    assert plain.instanced_triangles == pack.instanced_triangles
    np.testing.assert_allclose(np.array(plain.bounds()), np.array(pack.bounds()), rtol=1e-6)


def test_camera_is_fitted_or_given(tmp_path: Path) -> None:
    (tmp_path / "quad.obj").write_text(OBJ)
    fitted = load(tmp_path / "quad.obj").camera
    assert fitted.look_at == pytest.approx((1.0, 0.5, 0.0))
    distance = np.linalg.norm(np.subtract(fitted.eye, fitted.look_at))
    assert distance * np.sin(np.deg2rad(fitted.vfov_deg / 2)) == pytest.approx(np.sqrt(5) / 2)
    given = Camera((0.0, 0.0, 9.0), (0.0, 0.0, 0.0))
    assert load(tmp_path / "quad.obj", camera=given).camera == given


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("empty.obj", "", "empty.obj"),
        (
            "zero.obj",
            "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n",
            r"zero\.obj:4: a number of a face must be from 1 on, .*found 0",
        ),
        ("early.obj", "v 0 0 0\nv 1 0 0\nf -1 -2 -3\nv 0 1 0\n", r"early\.obj:3: .*or from -2 to -1; found -3"),
        ("two.obj", "v 0 0\n", r"two\.obj:1: not enough values"),
        ("normal.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1//1 2//1 3//1\n", "a normal number must be at most 0, found 1"),
        ("line.obj", "v 0 0 0\nf" + " 1" * (1 << 20), r"line\.obj:2: a line must be of at most 1048576 bytes"),
        ("lines.obj", "\\\n" * (1 << 20), r"lines\.obj:\d+: a line must be of at most 1048576 bytes"),
        ("more.ply", PLY.replace("face 1", "face 2"), "a line for each of 5 elements, found 4"),
        ("huge.ply", PLY.replace("vertex 3", f"vertex {10**12}"), "a line for each of 1000000000001 elements"),
        ("count.stl", "\0" * 80 + "\x7f" * 4, "50 bytes for each of the facets that its header counts"),
        ("points.obj", "v 0 0 0\nv 1 1 1\n", "points.obj"),
        ("bad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "bad.obj"),
        ("bad.ply", "ply\nformat ascii 1.0\nelement vertex many\nend_header\n", "bad.ply"),
        ("bad.glb", "not a glb", "bad.glb"),
        ("nan.obj", "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "nan.obj"),
        ("scene.xyz", "0 0 0", "a scene file ends in"),
    ],
)
def test_an_unreadable_file_is_one_clear_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_normals_are_the_files(tmp_path: Path) -> None:
    (tmp_path / "flat.obj").write_text(OBJ)
    (tmp_path / "smooth.obj").write_text(
        "v 0 0 0\nv 2 0 0\nv 2 1 0\nvn 0 0 1\nvn 0 0.6 0.8\nvn 0 0 2\nf 1//1 2//2 3//3\n"
    )
    (tmp_path / "flat.ply").write_text(PLY)
    (tmp_path / "smooth.ply").write_text(
        PLY.replace("property float z\n", "property float z\nproperty float nx\nproperty float ny\nproperty float nz\n")
        .replace("0 0 0\n", "0 0 0 0 0 1\n").replace("1 0 0\n", "1 0 0 0 1 0\n").replace("0 1 0\n3", "0 1 0 1 0 0\n3")
    )  # fmt: skip
    assert all(load(tmp_path / f"flat.{kind}").meshes[0].normals is None for kind in ("obj", "ply"))
    smooth = load(tmp_path / "smooth.obj").meshes[0]
    assert smooth.normals is not None
    corner = smooth.triangles[0]
    np.testing.assert_allclose(smooth.normals[corner][:2], [[0, 0, 1], [0, 0.6, 0.8]], atol=1e-6)
    np.testing.assert_allclose(load(tmp_path / "smooth.ply").meshes[0].normals, [[0, 0, 1], [0, 1, 0], [1, 0, 0]])
