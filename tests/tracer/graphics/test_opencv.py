"""Drawn pictures against another rasteriser, OpenCV's (``cv2.triangleRasterize``): pixels covered, depth, colour.

OpenCV covers pixel centres with 24.8 fixed-point edges as well, but clips no triangle at the near plane: all cameras
stand outside. It interpolates three numbers a vertex with correct perspective: texture coordinates, then normals.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.tracer.graphics.frame import AMBIENT, LIGHT, NEAR_SHARE, SUN
from rayplay.tracer.graphics.maps import Filtering
from rayplay.tracer.graphics.shaders import BUILT_IN, read_shaders
from rayplay.tracer.graphics.stages import Rules, draw_scene
from rayplay.tracer.scenes.ball import read_ball
from rayplay.tracer.scenes.camera import fit_camera
from rayplay.tracer.scenes.description import Camera, triple
from rayplay.tracer.scenes.instances import records_of, with_instances
from rayplay.tracer.scenes.textured import Draw, TexturedScene, read_textured
from rayplay.tracer.units.texture.texel import SRGB_TO_LINEAR

cv2 = pytest.importorskip("cv2", reason="OpenCV belongs to the test extra")

SIZE = (320, 240)
ROCKS = 400
FAR = 50.0
"""Times the scene's diagonal."""


def scene_of(data: Path, name: str) -> TexturedScene:
    """A scene of the suite, opaque, both sides drawn; of the planets' rocks the first ones."""
    folder = data / "scenes" / "textured"
    if name == "bricks":
        return read_ball(folder / "bricks_pbr")
    path = folder / f"{name}.glb"
    made = read_textured(path)
    if name == "planets":
        made = with_instances(made, records_of(path))
        rocks = replace(made.draws[1], instances=made.draws[1].instances[:ROCKS])  # type: ignore[index]
        made = replace(made, draws=[made.draws[0], rocks])
    surfaces = [replace(each, alpha="OPAQUE", is_double_sided=True) for each in made.surfaces]
    return replace(made, surfaces=surfaces)


def camera_of(scene: TexturedScene) -> Camera:
    """Half as far as the one that sees all, but outside of the scene."""
    fitted = fit_camera(*scene.bounds())
    middle, eye = np.array(fitted.look_at), np.array(fitted.eye)
    return replace(fitted, eye=triple(middle + 0.6 * (eye - middle)))


def turned(angles: np.ndarray) -> np.ndarray:
    """float64[n, 3, 3]: rotations about x, then y, then z."""
    made = np.broadcast_to(np.eye(3), (len(angles), 3, 3))
    for axis in range(3):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        step = np.zeros((len(angles), 3, 3))
        step[:, axis, axis] = 1
        step[:, one, one] = step[:, other, other] = np.cos(angles[:, axis])
        step[:, other, one] = np.sin(angles[:, axis])
        step[:, one, other] = -step[:, other, one]
        made = step @ made
    return made


def placed(draw: Draw) -> list[tuple[np.ndarray, int]]:
    """float64[3, 4] and layer of each instance."""
    if draw.instances is None:
        return [(place.astype(np.float64), 0) for place in draw.places]
    rows = turned(draw.instances["rotation"].astype(np.float64)) * draw.instances["scale"][:, None, None]
    rows = np.concatenate([rows, draw.instances["position"][:, :, None]], axis=2)
    node = np.vstack([draw.places[0].astype(np.float64), [0, 0, 0, 1]])
    made = [(node @ np.vstack([row, [0, 0, 0, 1]]))[:3] for row in rows]
    return list(zip(made, draw.instances["layer"].tolist(), strict=True))


class Meshes:
    """All triangles of a scene in the world; each vertex has texture coordinates in 0 to 1, a mesh and a normal."""

    def __init__(self, scene: TexturedScene) -> None:
        points, triangles, uv, normals, self.ranges = [], [], [], [], []
        first = 0
        for draw in scene.draws:
            low, size = draw.uv.min(axis=0), np.maximum(np.ptp(draw.uv, axis=0), 1e-6)
            for place, layer in placed(draw):
                points.append(draw.positions @ place[:, :3].T + place[:, 3])
                triangles.append(draw.indices.reshape(-1, 3).astype(np.int64) + first)
                number = np.full(len(draw.positions), len(self.ranges))
                uv.append(np.column_stack([(draw.uv - low) / size, number]))
                turned_to = draw.normals @ np.linalg.inv(place[:, :3])
                normals.append(turned_to / np.linalg.norm(turned_to, axis=1).max() / 2 + 0.5)
                self.ranges.append((draw, layer, low, size))
                first += len(draw.positions)
        self.points, self.triangles = np.concatenate(points), np.concatenate(triangles)
        self.uv, self.normals = np.concatenate(uv), np.concatenate(normals)
        self.uv[:, 2] /= len(self.ranges)

    def raster(
        self, values: np.ndarray, camera: Camera, near: float, far: float, size: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Depth float32[height, width] and values float64[height, width, 3], by OpenCV."""
        settings = cv2.TriangleRasterizeSettings()
        settings.setCullingMode(cv2.RASTERIZE_CULLING_NONE)
        settings.setShadingType(cv2.RASTERIZE_SHADING_SHADED)
        made, depth = np.zeros((*size[::-1], 3), np.float32), np.full(size[::-1], far, np.float32)
        cv2.triangleRasterize(
            self.points.astype(np.float32), self.triangles.astype(np.int32), values.astype(np.float32), made, depth,
            view_of(camera), float(np.deg2rad(camera.vfov_deg)), near, far, settings,
        )  # fmt: skip
        return depth, made.astype(np.float64)


def view_of(camera: Camera) -> np.ndarray:
    """World to camera, which looks along -z."""
    eye = np.array(camera.eye)
    forward = np.array(camera.look_at) - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.up)
    right /= np.linalg.norm(right)
    made = np.eye(4)
    made[:3, :3] = right, np.cross(right, forward), -forward
    made[:3, 3] = -made[:3, :3] @ eye
    return made


def bilinear(texels: np.ndarray, uv: np.ndarray) -> np.ndarray:
    """Linear RGB of repeated sRGB texels."""
    light = np.array(SRGB_TO_LINEAR)[texels[..., :3]]
    at = uv * texels.shape[1::-1] - 0.5
    low = np.floor(at).astype(int)
    part = at - low
    found = np.zeros((len(uv), 3))
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
        weight = np.abs(1 - dx - part[:, 0]) * np.abs(1 - dy - part[:, 1])
        found += weight[:, None] * light[(low[:, 1] + dy) % texels.shape[0], (low[:, 0] + dx) % texels.shape[1]]
    return found


def colours(scene: TexturedScene, meshes: Meshes, camera: Camera, covered: np.ndarray, uv: np.ndarray,
            normals: np.ndarray) -> np.ndarray:  # fmt: skip
    """Linear RGB of the covered pixels by Lambert's law; fronts are where the normal looks to the eye."""
    height, width = covered.shape
    number = np.rint(uv[covered][:, 2] * len(meshes.ranges)).astype(int)
    normal = normals[covered] * 2 - 1
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    rows, columns = np.nonzero(covered)
    half = np.tan(np.deg2rad(camera.vfov_deg) / 2)
    across, down = (columns + 0.5) * 2 / width - 1, 1 - (rows + 0.5) * 2 / height
    rays = np.column_stack([across * half * width / height, down * half, -np.ones(len(rows))]) @ view_of(camera)[:3, :3]
    normal *= np.where((normal * rays).sum(axis=1) > 0, -1, 1)[:, None]
    facing = np.maximum(normal @ (np.array(SUN) / np.linalg.norm(SUN)), 0)
    made = np.array(AMBIENT) + facing[:, None] / np.pi * np.array(LIGHT)
    for each in np.unique(number):
        draw, layer, low, size = meshes.ranges[each]
        surface, chosen = scene.surfaces[draw.surface], number == each
        picture = draw.layers[layer] if draw.layers else surface.pictures[0]
        made[chosen] *= surface.base_color[:3]
        if picture >= 0:
            made[chosen] *= bilinear(scene.pictures[picture].texels, uv[covered][chosen][:, :2] * size + low)
    return made


@pytest.mark.parametrize(("name", "compares_colours"), [
    ("bricks", True), ("flight_helmet", True), ("planets", True), ("sponza_tex", False),
])  # fmt: skip
def test_pixels_depths_and_colours_are_opencvs(data: Path, name: str, compares_colours: bool) -> None:
    """At most 1 pixel in 5,000 is covered by one alone, 1 in 2,000 lies deeper by 0.2 %, 1 in 500 has another colour.

    Sponza's textures repeat up to 60 times, more than OpenCV's single precision can follow.
    """
    scene = scene_of(data, name)
    compare(scene, camera_of(scene), SIZE, compares_colours)


def test_colours_of_vertices_are_opencvs(data: Path) -> None:
    """In perspective: OpenCV interpolates them too, and they multiply the texture."""
    scene = scene_of(data, "bricks")
    rng = np.random.default_rng(5)
    colors = rng.uniform(0, 1, (len(scene.draws[0].positions), 4)).astype(np.float32)
    colored = replace(scene, draws=[replace(scene.draws[0], colors=colors)])
    rules, camera = Rules(textures=Filtering(lod=False)), camera_of(scene)
    pictures = [
        draw_scene(each, read_shaders(BUILT_IN, "lit"), camera, SIZE, rules, None, progress=False).framebuffer
        for each in (scene, colored)
    ]
    diagonal = float(np.linalg.norm(np.subtract(*scene.bounds()).astype(np.float64)))
    depth, tints = Meshes(scene).raster(colors[:, :3], camera, NEAR_SHARE * diagonal, FAR * diagonal, SIZE)
    both = (depth < FAR * diagonal) & (pictures[0].depth < 1)
    assert both.sum() > both.size / 40
    plain, seen = (each.colour[both][:, :3] for each in pictures)
    assert (np.abs(seen - plain * tints[both]).max(axis=1) < 0.004).mean() > 0.998


def mirrored(scene: TexturedScene) -> TexturedScene:
    """Its mirror image along x, of which fronts alone are drawn."""
    mirror = np.diag([-1, 1, 1]).astype(np.float32)
    draws = [replace(draw, places=np.stack([mirror @ place for place in draw.places])) for draw in scene.draws]
    return replace(scene, draws=draws, surfaces=[replace(each, is_double_sided=False) for each in scene.surfaces])


def flattened(scene: TexturedScene) -> TexturedScene:
    """Triangles that are hundreds of times longer than wide, seen along their plane."""
    flat = np.diag([1, 0.003, 1]).astype(np.float32)
    return replace(
        scene, draws=[replace(draw, places=np.stack([flat @ place for place in draw.places])) for draw in scene.draws]
    )


@pytest.mark.parametrize(("size", "change"), [
    ((161, 119), mirrored), ((161, 119), flattened), ((53, 211), mirrored), ((401, 37), flattened),
])  # fmt: skip
def test_odd_sizes_rolled_cameras_mirrors_and_slivers_are_opencvs(
    data: Path, size: tuple[int, int], change: Callable[[TexturedScene], TexturedScene]
) -> None:
    scene = change(scene_of(data, "bricks"))
    compare(scene, replace(camera_of(scene), up=(0.7, 0.6, 0.2)), size, change is mirrored)


def compare(scene: TexturedScene, camera: Camera, size: tuple[int, int], compares_colours: bool) -> None:
    """The bounds of the first test; of a small picture two pixels."""
    meshes = Meshes(scene)
    low, high = scene.bounds()
    diagonal = float(np.linalg.norm((high - low).astype(np.float64)))
    near, far = NEAR_SHARE * diagonal, FAR * diagonal
    rules = Rules(textures=Filtering(lod=False))
    ours = draw_scene(scene, read_shaders(BUILT_IN, "lit"), camera, size, rules, None, progress=False)
    depth, uv = meshes.raster(meshes.uv, camera, near, far, size)
    covered, drawn = depth < far, ours.framebuffer.depth < 1
    assert drawn.sum() > drawn.size / 40
    assert (covered != drawn).sum() <= max(2e-4 * drawn.size, 2)
    both = covered & drawn
    distance = near / (1 - ours.framebuffer.depth[both].astype(np.float64))
    assert np.isclose(distance, depth[both], rtol=2e-3).mean() > 0.9995
    if compares_colours:
        normals = meshes.raster(meshes.normals, camera, near, far, size)[1]
        expected = colours(scene, meshes, camera, both, uv, normals)
        same = np.abs(ours.framebuffer.colour[both][:, :3] - expected).max(axis=1) < 0.02
        assert same.mean() > 0.998
