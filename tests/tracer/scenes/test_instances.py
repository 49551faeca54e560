"""Records of instances beside a glTF file, and material balls of a folder: what they hold; damage is one clear line."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.ball import ROUGHNESS, read_ball
from rayplay.tracer.scenes.instances import records_of, with_instances
from rayplay.tracer.scenes.textured import INSTANCE, TexturedScene, read_textured
from tests.tracer.scenes.test_textured import Document, textured, write


def template(**changes: object) -> Document:
    """A document whose only node places one primitive with two materials' pictures."""
    made = textured()
    made["nodes"] = [{"name": "rock_template", "mesh": 0}]
    made["scenes"] = [{"nodes": [0]}]
    made["meshes"] = [{"name": "rock", "primitives": [made["meshes"][0]["primitives"][0] | {"material": 0}]}]
    made["materials"] = [
        {"name": f"layer{number}", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}} for number in range(2)
    ]
    return made | changes


def read(folder: Path, document: Document, records: bytes) -> TexturedScene:
    path = write(folder, document)
    records_of(path).write_bytes(records)
    return with_instances(read_textured(path), records_of(path))


def records(count: int = 3, **values: object) -> np.ndarray:
    made = np.zeros(count, INSTANCE)
    made["scale"] = 1
    for name, value in values.items():
        made[name] = value
    return made


def test_records_stand_for_the_template(tmp_path: Path) -> None:
    given = records(position=[[0, 0, 0], [5, 0, 0], [0, -7, 0]], scale=[1, 2, -1], layer=[0, 1, 1])
    (draw,) = read(tmp_path, template(), given.tobytes()).draws
    assert draw.instances is not None
    assert draw.instances.tobytes() == given.tobytes()
    assert draw.layers == (0, 0)
    assert draw.instance_count == 3
    radius = np.sqrt((draw.positions**2).sum(axis=1).max())
    low, high = draw.corners().min(axis=0), draw.corners().max(axis=0)
    np.testing.assert_allclose(low, [-radius, -7 - radius, -2 * radius], rtol=1e-5)
    np.testing.assert_allclose(high, [5 + 2 * radius, 2 * radius, 2 * radius], rtol=1e-5)


@pytest.mark.parametrize(("content", "message"), [
    (b"", "must be one or more records of 32 bytes, found 0 bytes"), (b"x" * 33, "found 33 bytes"),
    (records(rotation=np.nan).tobytes(), "record 0: rotation must be finite"),
    (records(position=[[0, 0, 0], [np.inf, 0, 0], [0, 0, 0]]).tobytes(), "record 1: position must be finite"),
    (records(layer=2).tobytes(), "a layer must be below the 2 materials from the template's on, found 2"),
    (records(layer=2**32 - 1).tobytes(), "found 4294967295"),
])  # fmt: skip
def test_damaged_records_are_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, template(), content)


def test_records_need_one_template(tmp_path: Path) -> None:
    for nodes in ([{"mesh": 0}], [{"name": "a_template", "mesh": 0}, {"mesh": 0}]):
        made = template(nodes=nodes, scenes=[{"nodes": [*range(len(nodes))]}])
        with pytest.raises(UserError, match=r"must be of one mesh .* whose node is called NAME_template"):
            read(tmp_path, made, records().tobytes())


def ball(folder: Path, **shapes: tuple[int, ...]) -> Path:
    for name, shape in shapes.items():
        Image.fromarray(np.full(shape, 51, np.uint8)).save(folder / f"{name}.png")
    return folder


def test_a_folder_of_maps_is_a_ball(tmp_path: Path) -> None:
    made = read_ball(ball(tmp_path, stone=(4, 4, 3), stone_normal=(2, 2, 3), stone_metal=(4, 4), stone_depth=(4, 4)))
    (surface,) = made.surfaces
    assert surface.pictures == (0, 1, 2, -1, -1, 3)
    assert (surface.metallic, surface.roughness) == (1.0, ROUGHNESS)
    assert made.pictures[1].texels[0, 0].tolist() == [255, 255, 51, 255]
    (draw,) = made.draws
    corners = draw.positions[draw.indices.reshape(-1, 3)].astype(np.float64)
    outside = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert ((outside * corners.sum(axis=1)).sum(axis=1) > -1e-9).all(), "fronts look outwards"


@pytest.mark.parametrize(("shapes", "message"), [
    ({"stone_normal": (2, 2, 3)}, "must have a picture of the base colour"),
    ({"stone": (2, 2, 3), "brick": (2, 2, 3)}, "must have one picture for base colour, found brick.png and stone.png"),
    ({"stone": (2, 2, 3), "a_rough": (2, 2), "a_metal": (4, 2)}, "pictures of rough and metal must have one size"),
])  # fmt: skip
def test_a_wrong_folder_is_one_line(tmp_path: Path, shapes: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_ball(ball(tmp_path, **shapes))
    (tmp_path / "x_normal.png").write_bytes(b"none")
    with pytest.raises(UserError):
        read_ball(tmp_path)


def test_planets_have_their_instances(data: Path) -> None:
    path = data / "scenes" / "textured" / "planets.glb"
    made = with_instances(read_textured(path), records_of(path))
    planet, rock = made.draws
    assert planet.instances is None
    assert rock.instance_count == 8192
    assert len(rock.layers) == 5
    np.testing.assert_allclose(np.abs(rock.corners()).max(axis=0), [3.6, 0.1, 3.6], atol=0.06)
