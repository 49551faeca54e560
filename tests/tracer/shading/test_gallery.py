"""The gallery's programs: each holds a law of its own, pictures of equal estimators agree, and the page is the code's.

Laws are stated in numpy over the scene's arrays, or against the built-in workloads, which share no random number with
the gallery.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.bvh.instances import all_instances
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_image_launch
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.shading.config import PROGRAM_FOLDER, ProgramConfig, read_config
from rayplay.tracer.shading.picture import read_image
from rayplay.tracer.shading.prepare import Prepared, Sampling, prepare_image
from rayplay.tracer.shading.upload import pixel_rays
from rayplay.tracer.slang.compile import find_nvrtc, find_slangc
from tests.tracer.shading.whitted import Spheres, whitted_colour
from tools.gallery import (
    GALLERY,
    KINDS,
    PAGE,
    REORDERED,
    ROOT,
    figures_of,
    picture_of,
    reorder_row,
    row_of,
    run_piece,
)

FOLDER = ROOT / "examples" / "gallery"
SUN = (0.408, 0.816, 0.408)


def prepared(
    name: str, scene: Scene, sampling: Sampling, config: ProgramConfig | None = None, folder: Path = FOLDER
) -> Prepared:
    file = folder / f"{name}.toml"
    return prepare_image(scene, ptx.parse_file(file.with_suffix(".ptx")), config or read_config(file), sampling)


def picture(made: Prepared, sink: MemorySink | None = None, backend: str = "machine") -> np.ndarray:
    """float32[height, width, 3]."""
    run_image_launch(made.launch, sink, backend, progress=False)
    return read_image(made.launch.memory, made.image_address, made.launch.width, made.launch.height, made.image_format)


@pytest.mark.parametrize("piece", [p for p in GALLERY if p.source.endswith(".cu")], ids=lambda p: p.name)
def test_interpreter_equals_machine_code(piece) -> None:
    scene = load("forest", trees=2) if piece.scene == "forest" else load(piece.scene)
    sinks, found = [], []
    for backend in ("machine", "interpreter"):
        sinks.append(MemorySink())
        made = prepared(Path(piece.source).stem, scene, Sampling(6, 3, 1, 4))  # local memory lies behind all else
        found.append(picture(made, sinks[-1], backend))
    ours, theirs = found
    assert np.array_equal(ours, theirs)
    assert ours.any()
    for table in ("visits", "accesses", "rays"):
        mine, other = sinks[0].table(table), sinks[1].table(table)
        assert all(np.array_equal(mine[column], other[column]) for column in mine), table


def first_rays(sink: MemorySink, width: int, height: int) -> dict[str, np.ndarray]:
    """Columns of each pixel's first ray, as the hit has left it, row by row; width at most 32."""
    rays = sink.table("rays")
    key = rays["warp_id"].astype(np.int64) * 32 + rays["lane"]
    visit = rays["visit"].astype(np.int64)
    found = []
    for row in range(height):
        for lane in range(width):
            mine = np.flatnonzero(key == 32 * row + lane)
            found.append(mine[0] if len(mine) == 1 else mine[np.argmin(visit[mine])])
    return {name: column[found] for name, column in rays.items() if len(column) == len(key)}


def test_normals_are_the_triangles() -> None:
    scene, sink = load("rabbit"), MemorySink()
    found = picture(prepared("normals", scene, Sampling(24, 24)), sink).reshape(-1, 3)
    rays = first_rays(sink, 24, 24)
    hit = np.isfinite(rays["hit_t"])
    assert 200 < hit.sum() < 576
    assert not found[~hit].any(), "the scene has no sky"
    instances = all_instances(scene)
    for k in np.flatnonzero(hit):
        placed = scene.instances[rays["instance"][k]]
        mesh = scene.meshes[placed.mesh]
        a, b, c = mesh.vertices[mesh.triangles[rays["primitive"][k]]].astype(np.float64)
        matrix = instances.matrix[rays["instance"][k]].astype(np.float64)[:, :3]
        normal = np.linalg.inv(matrix).T @ np.cross(b - a, c - a)
        np.testing.assert_allclose(found[k], 0.5 * (normal / np.linalg.norm(normal) + 1), atol=2e-5)


def test_whitted_equals_a_recursion_in_plain_python() -> None:
    scene, width, height = load("wknd"), 20, 14
    found = picture(prepared("whitted", scene, Sampling(width, height)))
    eye, directions = pixel_rays(scene.camera, width, height)
    spheres = Spheres.of(scene)
    right = 0
    for row in range(height):
        for column in range(width):
            direction = directions[row, column] / np.linalg.norm(directions[row, column])
            expected = whitted_colour(spheres, scene, np.array(SUN), eye, direction, 0)
            right += np.allclose(found[row, column], expected, atol=5e-3)
    assert right >= 0.95 * width * height, "the rest are edges, where single precision meets another sphere"


def test_rings_are_where_intersections_were_reported() -> None:
    scene, sink = load("wknd"), MemorySink()
    picture(prepared("procedural", scene, Sampling(32, 24)), sink)
    rays = sink.table("rays")
    hit = np.isfinite(rays["hit_t"]) & (scene.spheres.radius[np.maximum(rays["primitive"], 0)] < 100)
    hit &= rays["primitive"] >= 0
    assert hit.sum() > 50
    origin = np.stack([rays[f"origin_{axis}"] for axis in "xyz"], -1)[hit].astype(np.float64)
    direction = np.stack([rays[f"direction_{axis}"] for axis in "xyz"], -1)[hit].astype(np.float64)
    sphere = rays["primitive"][hit]
    point = (origin + rays["hit_t"][hit, None] * direction - scene.spheres.center[sphere]) / scene.spheres.radius[
        sphere, None
    ]
    along = point @ np.array([0.36, 0.8, 0.48])
    across = np.sqrt(np.maximum((point**2).sum(-1) - along**2, 0)) - 0.66
    assert np.abs(np.hypot(across, along) - 0.3).max() < 2e-3


def test_light_through_leaves_does_not_depend_on_their_order() -> None:
    scene, sampling = load("forest", trees=20), Sampling(32, 16)
    config, file = read_config(FOLDER / "foliage.toml"), FOLDER / "foliage.ptx"
    pictures = [
        picture(prepare_image(scene, ptx.parse_file(file), config, sampling, bvh=bvh)) for bvh in ("bvh6", "bvh8")
    ]
    np.testing.assert_allclose(pictures[0], pictures[1], rtol=1e-5)
    whole = replace(config, hit_groups=tuple(replace(group, any_hit=None) for group in config.hit_groups))
    assert (picture(prepared("foliage", scene, sampling, whole)) != pictures[0]).any(-1).mean() > 0.02


def test_callables_and_hit_objects_are_one_estimator() -> None:
    scene, sampling = load("wknd"), Sampling(24, 16, 2)
    ours, theirs = (picture(prepared(name, scene, sampling)) for name in ("callables", "hit_objects"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def reach(config: ProgramConfig, field: str, value: float) -> ProgramConfig:
    """A configuration with another constant."""
    fields = tuple(replace(each, value=(value,)) if each.name == field else each for each in config.params)
    return replace(config, params=fields)


EQUAL = {
    "callables": ("wknd", "path-tracing", "", 0.02),
    "hit_objects": ("wknd", "path-tracing", "", 0.02),
    "next_event": ("cornell", "path-tracing", "", 0.05),
    "ambient_occlusion": ("cornell", "ambient-occlusion", "secondary_tmax", 0.01),
}
"""Scene, built-in workload, the field of its launch parameters that is set to 200, most relative standard error."""


@pytest.mark.parametrize("name", EQUAL)
def test_equal_estimators_agree(name: str) -> None:
    """Means over the picture and over its quarters, within four standard errors of both; the errors are small."""
    scene_name, workload, field, most = EQUAL[name]
    scene, sampling = load(scene_name), Sampling(64, 64, 8)
    if name == "ambient_occlusion":
        sampling = replace(sampling, samples=2)
    config = read_config(PROGRAM_FOLDER / f"{workload}.toml")
    built_in = prepared(workload, scene, sampling, reach(config, field, 200.0), PROGRAM_FOLDER)
    theirs = picture(built_in).astype(np.float64)
    ours = picture(prepared(name, scene, replace(sampling, seed=2))).astype(np.float64)
    for rows in (slice(None), slice(0, 32), slice(32, 64)):
        for columns in (slice(None), slice(0, 32), slice(32, 64)):
            mine, other = ours[rows, columns].mean(-1), theirs[rows, columns].mean(-1)
            error = np.sqrt(noise(mine) + noise(other))
            assert abs(mine.mean() - other.mean()) < 4 * error, (rows, columns)
            if rows == columns == slice(None):
                assert error < most * other.mean()


def noise(pixels: np.ndarray) -> float:
    """Variance of a picture's mean, from differences of neighbours: a picture is smooth, its noise is not."""
    differences = pixels[:, 1::2] - pixels[:, ::2]
    return float((differences**2).mean() / 2 / pixels.size)


def test_next_event_estimation_has_less_noise() -> None:
    scene, sampling = load("cornell"), Sampling(48, 48, 4)
    floor = slice(38, 47), slice(8, 40)
    ours = picture(prepared("next_event", scene, sampling))[floor].mean(-1)
    theirs = picture(prepared("path-tracing", scene, sampling, None, PROGRAM_FOLDER))[floor].mean(-1)
    assert noise(ours) < 0.25 * noise(theirs)


@pytest.mark.parametrize("piece", [p for p in GALLERY if p.name not in ("foliage", "next-event estimation")],
                         ids=lambda p: p.name)  # fmt: skip
def test_the_page_shows_what_programs_do(piece, tmp_path: Path) -> None:
    if piece.name == "Slang":
        try:
            find_slangc()
            find_nvrtc()
        except UserError as error:
            pytest.skip(str(error))
    out = tmp_path / "a.trace"
    figures = run_piece(piece, out)
    assert row_of(piece, figures) in PAGE.read_text()
    assert out.with_suffix(".png").read_bytes() == picture_of(piece).read_bytes()
    assert figures == figures_of(open_trace(out), piece.width * piece.height)
    assert sum(figures.shares.values()) == pytest.approx(1)
    assert set(figures.shares) == set(KINDS)
    if piece.name == REORDERED:
        first, off = reorder_row(open_trace(out), 0, 0)
        assert first in PAGE.read_text()
        assert reorder_row(open_trace(out), 2, off)[0] in PAGE.read_text()


def test_the_page_has_all_programs_and_their_commands() -> None:
    text = PAGE.read_text()
    assert len(GALLERY) == 10
    for piece in GALLERY:
        assert piece.command in text
        assert picture_of(piece).is_file()
        assert piece.program.exists()
