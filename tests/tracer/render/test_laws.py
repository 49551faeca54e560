"""Pictures obey laws that need no reference picture: energy, sky, walls, shadows, occlusion."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.tracer.render import Request, render_scene
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import (
    Camera,
    Instance,
    Light,
    Material,
    Mesh,
    Scene,
    Sky,
    Spheres,
    Texture,
    moved_into_world,
    sort_by_kind,
)
from rayplay.tracer.scenes.sound import validate
from rayplay.tracer.shading.config import PROGRAM_FOLDER

WHITE_SKY = Sky(bottom=(1.0, 1.0, 1.0), top=(1.0, 1.0, 1.0))
BLACK_SKY = Sky(gradient=False)
FRONT = Camera((0.0, 0.0, 5.0), (0.0, 0.0, 0.0), vfov_deg=40.0)

_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]], np.uint32,
)  # fmt: skip


def picture(
    folder: Path, scene: Scene, workload: str = "path-tracing", size: tuple[int, int] = (24, 16), **options: object
) -> np.ndarray:
    """float32[height, width, 3] of a rendering, read back from its trace."""
    scene = sort_by_kind(scene)
    validate(scene, scene.name)
    program = PROGRAM_FOLDER / f"{workload}.ptx"
    out = folder / f"{scene.name}-{workload}.trace"
    request = Request(scene.name, program, program.with_suffix(".toml"), out, *size, **options)  # type: ignore[arg-type]
    render_scene(scene, request)
    columns = open_trace(out).read("image")
    return np.stack([columns[name] for name in ("red", "green", "blue")], axis=-1).reshape(size[1], size[0], 3)


def cube(material: Material, sky: Sky = WHITE_SKY, camera: Camera = FRONT, **more: object) -> Scene:
    """A cube from -1 to 1, turned and stretched by its instance so that normals must be transformed."""
    turn = np.array([[0.8, 0.0, 0.6, 0.0], [0.0, 1.5, 0.0, 0.1], [-0.6, 0.0, 0.8, 0.0]], np.float32)
    mesh = Mesh("cube", _CORNERS, _FACES, np.zeros(12, np.uint16))
    return Scene("cube", [mesh], [Instance(0, turn)], [material], camera, sky=sky, **more)  # type: ignore[arg-type]


def quad(material: Material, half: float, textures: list[Texture], **more: object) -> Scene:
    """A square in the plane z = 0, seen from the front, its UV from (0, 0) at the top left to (1, 1)."""
    corners = half * np.array([[-1, 1, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 0]], np.float32)
    uv = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    mesh = Mesh("quad", corners, np.array([[0, 2, 1], [0, 3, 2]], np.uint32), np.zeros(2, np.uint16), uv)
    return Scene("quad", [mesh], [Instance(0)], [material], FRONT, textures=textures, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "material",
    [
        Material("matt", albedo=(1.0, 1.0, 1.0)),
        Material("mirror", "metallic", albedo=(1.0, 1.0, 1.0)),
        Material("glass", "dielectric", albedo=(1.0, 1.0, 1.0), ior=1.5),
    ],
)
def test_white_furnace(tmp_path: Path, material: Material) -> None:
    """A white body under a white sky is invisible: what comes in goes out."""
    seen = picture(tmp_path, cube(material), samples=4, bounces=64)
    assert np.abs(seen - 1.0).max() < 1e-5


def test_white_furnace_of_spheres(tmp_path: Path) -> None:
    spheres = Spheres(
        np.array([[-1.1, 0, 0], [1.1, 0, 0]], np.float32), np.ones(2, np.float32), np.array([0, 1], np.uint16)
    )
    materials = [Material("matt", albedo=(1.0, 1.0, 1.0)), Material("glass", "dielectric", albedo=(1.0, 1.0, 1.0))]
    scene = Scene("balls", [], [], materials, FRONT, spheres=spheres, sky=WHITE_SKY)
    assert np.abs(picture(tmp_path, scene, samples=4, bounces=64) - 1.0).max() < 1e-5


def test_black_body_is_black_and_the_rest_is_the_sky(tmp_path: Path) -> None:
    sky = Sky(bottom=(1.0, 0.5, 0.25), top=(0.5, 0.7, 1.0))
    seen = picture(tmp_path, cube(Material("coal", albedo=(0.0, 0.0, 0.0)), sky), samples=1)
    assert not seen[8, 12].any()
    corner_y = np.tan(np.deg2rad(20.0)) * (1.0 - 1.0 / 16.0)
    direction_y = corner_y / np.sqrt(1.0 + corner_y**2 * (1.0 + 1.5**2))
    share = 0.5 * (direction_y + 1.0)
    expected = (1.0 - share) * np.array(sky.bottom) + share * np.array(sky.top)
    assert np.allclose(seen[0, 0], expected, atol=0.01), "within a jittered pixel"


def test_inside_a_closed_room_without_a_light_nothing_is_seen(tmp_path: Path) -> None:
    inside = Camera((0.0, 0.0, 0.0), (0.0, 0.2, -1.0))
    scene = cube(Material("matt", albedo=(1.0, 1.0, 1.0)), camera=inside)
    assert not picture(tmp_path, scene, samples=2, bounces=6).any()


def test_a_light_shows_its_emission(tmp_path: Path) -> None:
    lamp = Material("lamp", "diffuse_light", albedo=(0.0, 0.0, 0.0), emission=(3.0, 2.0, 1.0))
    seen = picture(tmp_path, cube(lamp, BLACK_SKY))
    assert seen[8, 12].tolist() == [3.0, 2.0, 1.0]
    assert not seen[0, 0].any()


def test_cornell_walls_have_their_colours(tmp_path: Path) -> None:
    seen = picture(tmp_path, load("cornell"), size=(32, 32), samples=16)
    left, right = seen[10:26, 1:4].mean(axis=(0, 1)), seen[10:26, 28:31].mean(axis=(0, 1))
    assert left[1] > 1.5 * left[0], "left is green"
    assert right[0] > 1.5 * right[1], "right is red"
    assert seen.max() <= 15.0


def test_mean_brightness_of_a_sunlit_floor(tmp_path: Path) -> None:
    """A flat matt surface under a white sky reflects its albedo: one bounce, then the sky."""
    grey = Material("grey", albedo=(0.5, 0.25, 0.125))
    seen = picture(tmp_path, quad(grey, 50.0, [], sky=WHITE_SKY))
    assert np.allclose(seen, (0.5, 0.25, 0.125), atol=1e-6)


def test_scattered_directions_are_the_normal_and_a_point_of_the_unit_ball(tmp_path: Path) -> None:
    """Seen from the surface the ball reaches to 2 c along a direction of cosine c: c has density 4 c^3."""
    grey = Material("grey", albedo=(0.5, 0.5, 0.5))
    picture(tmp_path, quad(grey, 50.0, [], sky=WHITE_SKY), size=(32, 32), samples=8)
    rays = open_trace(tmp_path / "quad-path-tracing.trace").read("rays")
    scattered = rays["direction_z"] > 0
    assert scattered.sum() == 32 * 32 * 8
    cosine = rays["direction_z"][scattered].astype(float)
    spread = 4 * 0.25 / np.sqrt(len(cosine))
    assert abs(cosine.mean() - 4 / 5) < spread
    assert abs((cosine**2).mean() - 2 / 3) < spread
    assert abs(rays["direction_x"][scattered].mean()) < 2 * spread
    assert np.allclose(sum(rays[f"direction_{a}"] ** 2 for a in "xyz"), 1.0, atol=1e-5)


@pytest.mark.parametrize("model", ["lambertian", "metallic"])
def test_a_path_ends_at_a_back_face(tmp_path: Path, model: str) -> None:
    behind = replace(FRONT, eye=(0.0, 0.0, -5.0))
    scene = replace(quad(Material("grey", model, albedo=(0.5, 0.5, 0.5)), 50.0, [], sky=WHITE_SKY), camera=behind)
    assert not picture(tmp_path, scene).any()
    assert len(open_trace(tmp_path / "quad-path-tracing.trace").read("rays")["warp_id"]) == 2 * 24 * 16


def test_alpha_holes_let_rays_pass(tmp_path: Path) -> None:
    """Left half opaque, right half a hole; the surface is black and the sky white."""
    alpha = np.zeros((4, 8), np.uint8)
    alpha[:, :4] = 255
    leaf = Material("leaf", albedo=(0.0, 0.0, 0.0), alpha_texture=0)
    seen = picture(tmp_path, quad(leaf, 50.0, [Texture("half", alpha)], sky=WHITE_SKY))
    assert not seen[:, :12].any()
    assert np.all(seen[:, 12:] == 1.0)


def test_alpha_texture_is_not_upside_down(tmp_path: Path) -> None:
    alpha = np.zeros((8, 4), np.uint8)
    alpha[:4] = 255
    leaf = Material("leaf", albedo=(0.0, 0.0, 0.0), alpha_texture=0)
    seen = picture(tmp_path, quad(leaf, 50.0, [Texture("half", alpha)], sky=WHITE_SKY), "ambient-occlusion")
    assert np.all(seen[8:] == 1.0), "the hole is below"
    assert np.all(seen[:8] == 1.0), "nothing is near the upper half"
    assert not picture(tmp_path, quad(leaf, 50.0, [Texture("half", alpha)], sky=WHITE_SKY))[:8].any()


def test_shadow_of_a_light_behind_the_surface(tmp_path: Path) -> None:
    """Lit from the front a wall shows its albedo; from behind it is black."""
    grey = Material("grey", albedo=(0.5, 0.25, 0.125))
    scene = quad(grey, 50.0, [], sky=BLACK_SKY)
    front = picture(tmp_path, replace(scene, lights=[Light((0.0, 0.0, 40.0), 1.0)]), "shadows")
    behind = picture(tmp_path, replace(scene, lights=[Light((0.0, 0.0, -40.0), 1.0)]), "shadows")
    assert np.allclose(front, (0.5, 0.25, 0.125))
    assert not behind.any()


def test_occlusion_of_a_small_room_is_total_and_of_a_wall_none(tmp_path: Path) -> None:
    grey = Material("grey", albedo=(0.5, 0.25, 0.125))
    inside = cube(grey, camera=Camera((0.0, 0.0, 0.0), (0.0, 0.2, -1.0)))
    assert picture(tmp_path, inside, "ambient-occlusion").mean() < 1e-3, "what begins within tmin of an edge gets out"
    assert np.all(picture(tmp_path, quad(grey, 50.0, []), "ambient-occlusion") == 1.0)


def test_seed_changes_noise_and_nothing_else(tmp_path: Path) -> None:
    first = picture(tmp_path, load("cornell"), size=(16, 16), samples=4)
    again = picture(tmp_path, load("cornell"), size=(16, 16), samples=4)
    other = picture(tmp_path, load("cornell"), size=(16, 16), samples=4, seed=7)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("moved", [False, True])
def test_a_mirror_reflects_about_the_normals_of_its_vertices(moved: bool, tmp_path: Path) -> None:
    sky = Sky(bottom=(0.0, 0.0, 0.0), top=(1.0, 1.0, 1.0))
    flat = quad(Material("mirror", "metallic", albedo=(1.0, 1.0, 1.0)), 3.0, [], sky=sky)
    stretched = Instance(0, np.diag([1.0, 2.0, 1.0, 1.0]).astype(np.float32)[:3])
    seen = {}
    for tilt in (0.0, 0.3):  # of the normal in the world: the object's is stretched by the inverse
        normals = np.tile(np.array([0.0, 2.0 * np.sin(tilt), np.cos(tilt)], np.float32), (4, 1))
        mesh = replace(flat.meshes[0], normals=normals)
        scene = replace(flat, meshes=[mesh], instances=[stretched])
        seen[tilt] = picture(tmp_path, moved_into_world(scene) if moved else scene)
    unsmooth = picture(tmp_path, replace(flat, instances=[stretched]))
    np.testing.assert_allclose(seen[0.0], unsmooth, atol=1e-5)
    assert seen[0.3][8, 12, 0] - seen[0.0][8, 12, 0] == pytest.approx(0.5 * np.sin(0.6), abs=0.02)


def test_a_normal_of_length_zero_is_the_triangles(tmp_path: Path) -> None:
    scene = quad(Material("matt", albedo=(0.5, 0.5, 0.5)), 3.0, [])
    mesh = replace(scene.meshes[0], normals=np.zeros((4, 3), np.float32))
    seen = [picture(tmp_path, each) for each in (replace(scene, meshes=[mesh]), scene)]
    np.testing.assert_allclose(*seen, atol=1e-4)


@pytest.mark.parametrize("traversal", ["nearest", "vulkan-sim"])
@pytest.mark.parametrize("turned", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_a_two_sided_surface_is_hit_on_the_side_that_faces_the_ray(
    turned: list[int], traversal: str, tmp_path: Path
) -> None:
    """A path ends at a back face, so that a white square with triangles for both sides would be black in places."""
    scene = quad(Material("matt", albedo=(1.0, 1.0, 1.0)), 30.0, [], sky=WHITE_SKY)
    mesh = scene.meshes[0]
    back = mesh.triangles[:, [1, 0, 2]][:, turned]
    both = np.concatenate([back, mesh.triangles]) if turned[0] else np.concatenate([mesh.triangles, back])
    mesh = replace(mesh, triangles=both, material=np.zeros(4, np.uint16))
    turn = np.array([[0.8, 0.0, 0.6, 0.3], [0.0, 1.0, 0.0, 0.1], [-0.6, 0.0, 0.8, 0.0]], np.float32)
    scene = replace(scene, meshes=[mesh], instances=[Instance(0, turn)])
    seen = picture(tmp_path, scene, traversal=traversal, bounces=8)
    assert np.abs(seen - 1.0).max() < 1e-5
