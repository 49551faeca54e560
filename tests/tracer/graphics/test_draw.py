"""The verb ``draw``: a trace that holds its laws, a picture, the stages by draw; a wrong request is one clear line."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.__main__ import main
from rayplay.tracer.draw import DrawRequest, draw
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.drawn import drawn


def test_a_scene_for_rays_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "cornell.trace"
    assert main(["draw", "cornell", "--size", "40x30", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "vertex invocations" in said
    stages = open_trace(out).read("stages")
    assert set(stages["stage"]) == {"vertex", "fragment"}
    assert (stages["live"] <= stages["shaded"]).all()
    with Image.open(out.with_suffix(".png")) as image:
        assert image.size == (40, 30)
        left, right = (np.asarray(image.convert("RGB"))[15, x].astype(int) for x in (7, 32))
    assert left[1] > left[0] + 30, "the green wall"
    assert right[0] > right[1] + 30, "the red wall"


def test_the_same_picture_has_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        draw(DrawRequest("cornell", tmp_path / f"{name}.trace", 32, 24, "pbr"))
        files = sorted((tmp_path / f"{name}.trace").iterdir())
        made.append(
            [(file.name, file.read_bytes()) for file in (*files, tmp_path / f"{name}.png") if file.suffix != ".png"]
        )
    assert made[0] == made[1]


def test_spheres_become_instances_and_glass_comes_last() -> None:
    scene = load("wknd")
    made = drawn(scene)
    placed = sum(len(each.places) for each in made.draws if each.name.startswith("spheres"))
    assert placed == len(scene.spheres)
    blends = [made.surfaces[each.surface].alpha == "BLEND" for each in made.draws]
    assert blends == sorted(blends)
    assert any(blends)


@pytest.mark.parametrize(("words", "message"), [
    (["nowhere"], "no scene is called nowhere"), (["absent.glb"], "absent.glb: no such scene file"),
    (["qqqq"], "no scene is called qqqq; known are (?:.*, )?cornell, (?:.*, )?wknd, bricks, sponza$"),
    (["spnoza"], "no scene is called spnoza; did you mean 'sponza'"),
    (["cornell", "--camera", "eye=nan,0,0"], "--camera: eye must be 3 finite numbers"),
])  # fmt: skip
def test_a_wrong_request_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    textured, out = tmp_path / "data" / "scenes" / "textured", tmp_path / "out"
    (textured / "bricks_pbr").mkdir(parents=True)
    (textured / "sponza.glb").touch()
    out.mkdir()
    monkeypatch.setenv("RAYPLAY_DATA", str(tmp_path / "data"))
    with pytest.raises(UserError, match=message):
        main(["draw", *words, "--size", "8x8", "--out", str(out / "x.trace")])
    assert not list(out.iterdir())
