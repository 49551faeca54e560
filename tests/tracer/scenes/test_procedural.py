"""Generated scenes are the published ones where they are public, and always the same."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Scene


def test_wknd_is_the_published_scene(data: Path) -> None:
    ours, published = load("wknd"), load(data / "scenes" / "wknd.json")
    np.testing.assert_array_equal(ours.spheres.center, published.spheres.center)
    np.testing.assert_array_equal(ours.spheres.radius, published.spheres.radius)
    assert ours.camera == published.camera
    assert ours.sky == published.sky
    for number in range(487):
        mine = ours.materials[ours.spheres.material[number]]
        theirs = published.materials[published.spheres.material[number]]
        assert mine.model == theirs.model
        assert mine.fuzz == pytest.approx(theirs.fuzz, abs=1e-7)
        if mine.model == "dielectric":
            assert mine.ior == theirs.ior
        else:
            assert mine.albedo == pytest.approx(theirs.albedo, abs=1e-7)


def test_cornell_is_the_published_box(data: Path) -> None:
    ours, published = load("cornell"), load(data / "scenes" / "cornell.json")
    assert ours.camera == published.camera
    assert ours.lights == published.lights
    assert ours.sky.gradient is published.sky.gradient is False
    for mine, theirs in zip(ours.instances, published.instances, strict=True):
        np.testing.assert_allclose(mine.object_to_world, theirs.object_to_world, atol=1e-6)
        assert _surface(ours, mine.mesh) == _surface(published, theirs.mesh)
    for mine, theirs in zip(ours.materials, published.materials, strict=True):
        assert (mine.name, mine.model, mine.albedo, mine.emission) == (
            theirs.name,
            theirs.model,
            theirs.albedo,
            theirs.emission,
        )


def _surface(scene: Scene, mesh: int) -> set[tuple[int, int, float, float]]:
    """Area per material and plane: equal for two triangulations of the same rectangles."""
    corners = scene.meshes[mesh].vertices[scene.meshes[mesh].triangles].astype(np.float64)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.abs(normal).argmax(axis=1)
    offset = np.take_along_axis(corners[:, 0], axis[:, None], axis=1)[:, 0]
    areas: dict[tuple[int, int, float], float] = {}
    for row in range(len(corners)):
        key = int(scene.meshes[mesh].material[row]), int(axis[row]), round(float(offset[row]), 2)
        areas[key] = areas.get(key, 0.0) + float(np.abs(normal[row, axis[row]])) / 2
    return {(*key, round(area, 2)) for key, area in areas.items()}


def test_forest_has_a_million_alpha_tested_triangles() -> None:
    scene = load("forest")
    assert scene.instanced_triangles >= 1_000_000
    tested = scene.alpha_tested()
    leaves = sum(int(tested[scene.meshes[item.mesh].material].sum()) for item in scene.instances)
    assert leaves > scene.instanced_triangles / 2
    for texture in scene.textures:
        assert 0.05 < np.mean(texture.alpha >= 128) < 0.6
        assert set(np.unique(texture.alpha)) == {0, 255}


def test_forest_is_deterministic_and_its_seed_matters() -> None:
    first, second, other = load("forest", trees=3), load("forest", trees=3), load("forest", trees=3, seed=8)
    for one, two in zip(first.instances, second.instances, strict=True):
        np.testing.assert_array_equal(one.object_to_world, two.object_to_world)
    np.testing.assert_array_equal(first.meshes[1].vertices, second.meshes[1].vertices)
    assert not np.array_equal(first.meshes[1].vertices, other.meshes[1].vertices)


@pytest.mark.parametrize("triangles", [2, 7, 50_001, 4_000_000])
def test_terrain_has_exactly_the_asked_triangles(triangles: int) -> None:
    scene = load(f"terrain:{triangles}")
    assert [len(mesh.triangles) for mesh in scene.meshes] == [triangles]
    mesh = scene.meshes[0]
    sample = mesh.vertices[mesh.triangles[:: max(triangles // 1000, 1)]].astype(np.float64)
    normal = np.cross(sample[:, 1] - sample[:, 0], sample[:, 2] - sample[:, 0])
    assert (normal[:, 1] > 0).all()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("terrain:4000001", {}, "from 2 to 4000000, found 4000001"),
        ("terrain:many", {}, "whole number, found many"),
        ("cornell:5", {}, "takes no number of triangles"),
        ("forest", {"leaves": 3}, "no option leaves; it takes trees, seed"),
        ("forest", {"trees": 0}, "from 1 to 20000, found 0"),
        ("cornel", {}, "no scene is called cornel; did you mean 'cornell'"),
        ("nowhere/scene.glb", {}, "no such scene file"),
    ],
)
def test_a_wrong_name_is_one_clear_line(name: str, options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(name, **options)
