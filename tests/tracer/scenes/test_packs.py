"""Scene packs are read as their own statistics say."""

import json
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import MODELS

PACKS = ("cornell", "wknd", "spnza", "ref", "bunny", "car", "dragon", "chsnt", "bath", "park")


@pytest.mark.parametrize("name", PACKS)
def test_pack_has_the_stated_contents(data: Path, name: str) -> None:
    path = data / "scenes" / f"{name}.json"
    document = json.loads(path.read_text())
    scene, stats = load(path), document["stats"] if name != "wknd" else None
    if stats is None:
        stats = {"triangles_unique": 0, "triangles_instanced": 0, "meshes": 0, "instances": 0, "spheres": 487}
    assert scene.unique_triangles == stats["triangles_unique"]
    assert scene.instanced_triangles == stats["triangles_instanced"]
    assert len(scene.meshes) == stats["meshes"]
    assert len(scene.instances) == stats["instances"]
    assert len(scene.spheres) == stats["spheres"]
    if "aabb_min" in stats and not stats["spheres"]:
        low, high = scene.bounds()
        np.testing.assert_allclose(low, stats["aabb_min"], atol=2e-4)
        np.testing.assert_allclose(high, stats["aabb_max"], atol=2e-4)


def test_json_is_authoritative_for_materials(data: Path) -> None:
    scene = load(data / "scenes" / "park.json")
    document = json.loads((data / "scenes" / "park.json").read_text())
    assert [material.name for material in scene.materials] == list(document["materials"])
    bronze = next(material for material in scene.materials if material.name == "bronze")
    assert (bronze.model, bronze.albedo, bronze.fuzz) == ("metallic", (0.55, 0.4, 0.2), 0.25)
    assert all(material.model in MODELS for material in scene.materials)
    assert scene.camera.eye == tuple(document["camera"]["eye"])
    assert scene.camera.aperture == document["camera"]["aperture"]


def test_alpha_textures_cover_what_the_pack_says(data: Path) -> None:
    document = json.loads((data / "scenes" / "park.json").read_text())
    scene = load(data / "scenes" / "park.json")
    tested = [material for material in scene.materials if material.alpha_texture >= 0]
    assert len(tested) == 21
    for material in tested:
        alpha = scene.textures[material.alpha_texture].alpha
        assert alpha.shape == (256, 256)
        coverage = np.mean(alpha >= 255 * material.alpha_cutoff)
        assert coverage == pytest.approx(document["materials"][material.name]["alpha_coverage"], abs=2e-3)


def test_opaque_triangles_come_first_and_geometries_cover_every_mesh(data: Path) -> None:
    scene = load(data / "scenes" / "chsnt.json")
    tested = scene.alpha_tested()
    covered = dict.fromkeys(range(len(scene.meshes)), 0)
    for geometry in scene.geometries():
        materials = scene.meshes[geometry.mesh].material[geometry.first_primitive :][: geometry.primitive_count]
        assert set(tested[materials]) == {not geometry.opaque}
        assert geometry.first_primitive == covered[geometry.mesh]
        covered[geometry.mesh] += geometry.primitive_count
    assert covered == {index: len(mesh.triangles) for index, mesh in enumerate(scene.meshes)}


def _copy_pack(data: Path, folder: Path, name: str, **changes: object) -> Path:
    document = json.loads((data / "scenes" / f"{name}.json").read_text()) | changes
    (folder / f"{name}.glb").write_bytes((data / "scenes" / f"{name}.glb").read_bytes())
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "scene-pack/9"}, "format must be scene-pack/1, found scene-pack/9"),
        ({"materials": {}}, "material green must be in the scene's JSON"),
        ({"materials": {"green": {"model": "velvet"}}}, "materials.green.model must be one of lambertian"),
        ({"mesh": "../elsewhere.glb"}, "must lie in its own folder"),
        ({"mesh": "absent.glb"}, "missing, but cornell.json names it"),
        ({"mesh": None}, "needs at least one triangle, sphere or curve, found none"),
        ({"camera": {}}, "key 'eye' is missing"),
        ({"sky": {"type": "stars"}}, "sky.type must be gradient or none, found stars"),
        ({"lights": [{"position": "up", "radius": 1}]}, "wrong type"),
    ],
)
def test_a_wrong_pack_is_one_clear_line(data: Path, tmp_path: Path, changes: dict, message: str) -> None:
    path = _copy_pack(data, tmp_path, "cornell", **changes)
    with pytest.raises(UserError, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_every_truncation_of_a_glb_is_a_user_error(data: Path, tmp_path: Path) -> None:
    path = _copy_pack(data, tmp_path, "cornell")
    whole = (tmp_path / "cornell.glb").read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / "cornell.glb").write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"cornell\.glb"):
            load(path)


def test_json_errors_name_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"format": "scene-pack/1",\n "name": }')
    with pytest.raises(UserError, match=r"broken\.json: must be JSON: .*line 2 column 10"):
        load(path)


def test_damaged_bytes_load_or_are_one_clear_line(data: Path, tmp_path: Path) -> None:
    """Bytes of the JSON or of the GLB's head are overwritten: never anything but a scene or a ``UserError``."""
    path = _copy_pack(data, tmp_path, "cornell")
    random = np.random.default_rng(0)
    loaded, messages = 0, []
    for target in (path, tmp_path / "cornell.glb"):
        whole = target.read_bytes()
        for _ in range(150):
            damaged = bytearray(whole)
            for place in random.integers(0, min(len(whole), 2600), random.choice([1, 2, 8])):
                damaged[place] = random.choice([*b'0123456789-.{}[],"', random.integers(0, 256)])
            target.write_bytes(damaged)
            try:
                load(path)
                loaded += 1
            except UserError as error:
                messages.append(str(error))
        target.write_bytes(whole)
    assert 0 < loaded < 150
    assert not [message for message in messages if "\n" in message]
