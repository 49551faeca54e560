"""Built-in spheres and curves against a slow statement of what they are: the first of all spheres that a ray enters.

The twin takes thousands of spheres along each segment, in float64; the intersection programs solve for cones.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import CONTROL_POINTS, Camera, Curves, Material, Scene, Sky, Spheres
from rayplay.tracer.shading.config import read_config
from rayplay.tracer.shading.prepare import Prepared, Sampling, prepare_image
from tests.tracer.harness.optix_programs import both, call, program, store

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n.const .align 8 .b8 params[32];\n"
CONFIG = """
params_symbol = "params"
params = [{ name = "out", type = "pointer", bytes_per_pixel = 256 }, { name = "scene", type = "u64" },
          { name = "image", type = "pointer" }, { name = "rays", type = "pointer" }]
[raygen]
program = "__raygen__test"
[[miss]]
program = "__miss__test"
[[hit_group]]
geometry = "GEOMETRY"
closest_hit = "__closesthit__test"
[buffers.rays]
dtype = "float32"
file = "rays.npy"
"""
RAYS, SAMPLES = 96, 4001
RAYGEN = program(
    "raygen",
    "    ld.const.u64 %l8, [params+24]; mul.wide.u32 %l9, %r1, 32; add.u64 %l8, %l8, %l9;\n"
    "    ld.global.v4.f32 {%f20, %f21, %f22, %f26}, [%l8]; ld.global.v4.f32 {%f23, %f24, %f25, %f27}, [%l8+16];\n"
    "    mov.f32 %f2, 0f00000000;\n"
    + call("_optix_trace_typed_32",
           "0, %l2, %f20, %f21, %f22, %f23, %f24, %f25, %f26, %f27, %f2, 255, 0, 0, 1, 0, 4"),
)  # fmt: skip
MISS = program("miss", "    mov.u32 %r4, 1;\n" + store(63, "%r4"))
GETTERS = {
    "sphere": ("get_sphere_data", 4), "linear": ("get_linear_curve_vertex_data", 8),
    "quadratic_bspline": ("get_quadratic_bspline_vertex_data", 12),
    "cubic_bspline": ("get_cubic_bspline_vertex_data", 16), "catmullrom": ("get_catmullrom_vertex_data", 16),
    "cubic_bezier": ("get_cubic_bezier_vertex_data", 16),
}  # fmt: skip
TYPES = {
    "sphere": 0x2506, "linear": 0x2503, "quadratic_bspline": 0x2501, "cubic_bspline": 0x2502, "catmullrom": 0x2504,
    "cubic_bezier": 0x2507,
}  # fmt: skip


def hit(shape: str) -> str:
    """Distance, primitive, kind, type, side, curve parameter; the primitive's data, by each way to ask."""
    name, floats = GETTERS[shape]
    results = ", ".join(f"%f{30 + k}" for k in range(floats))
    return program(
        "closesthit",
        "    call (%f6), _optix_get_ray_tmax, (); call (%r5), _optix_read_primitive_idx, ();\n"
        "    call (%r6), _optix_get_hit_kind, (); call (%r7), _optix_get_primitive_type_from_hit_kind, (%r6);\n"
        "    call (%r8), _optix_get_backface_from_hit_kind, (%r6); call (%f7), _optix_get_curve_parameter, ();\n"
        + "".join(store(k, name) for k, name in enumerate(("%f6", "%r5", "%r6", "%r7", "%r8", "%f7")))
        + f"    call ({results}), _optix_{name}_current_hit, ();\n"
        + "".join(store(8 + k, f"%f{30 + k}") for k in range(floats))
        + "    call (%l6), _optix_get_gas_traversable_handle, (); call (%r9), _optix_read_sbt_gas_idx, ();\n"
        + f"    call ({results}), _optix_{name}_from_handle, (%l6, %r5, %r9, %f2);\n"
        + "".join(store(24 + k, f"%f{30 + k}") for k in range(floats))
        + f"    call ({results}), _optix_{name}, (%l6, 999999, %r9, %f2);\n" + store(40, "%f30"),
    )  # fmt: skip


def scene(spheres: Spheres | None = None, curves: Curves | None = None) -> Scene:
    camera = Camera((0.0, 0.0, -5.0), (0.0, 0.0, 0.0))
    return Scene("test", [], [], [Material("grey")], camera, spheres or Spheres.none(), sky=Sky(False),
                 curves=curves or Curves.none())  # fmt: skip


def prepared(folder: Path, what: Scene, shape: str, rays: np.ndarray, rest: str = "", group: str = "") -> Prepared:
    np.save(folder / "rays.npy", rays)
    path = folder / "test.toml"
    config = CONFIG.replace("GEOMETRY", "spheres" if shape == "sphere" else "curves")
    path.write_text(config.replace('"__closesthit__test"\n', f'"__closesthit__test"\n{group}'))
    module = ptx.parse(HEAD + RAYGEN + MISS + hit(shape) + rest, "test.ptx")
    return prepare_image(what, module, read_config(path), Sampling(RAYS, 1))


def random_rays(seed: int, targets: np.ndarray) -> np.ndarray:
    """float32[RAYS, 8]: origin, least distance, direction, largest distance; towards targets and past them."""
    random = np.random.default_rng(seed)
    origin = random.uniform(-6, 6, (RAYS, 3))
    origin[: RAYS // 4] = targets[random.integers(0, len(targets), RAYS // 4)] + 0.01  # inside
    aim = targets[random.integers(0, len(targets), RAYS)] + random.normal(0, 0.15, (RAYS, 3))
    direction = (aim - origin) * random.uniform(0.2, 3, (RAYS, 1))
    return np.column_stack([origin, np.full(RAYS, 1e-3), direction, np.full(RAYS, 100.0)]).astype(np.float32)


def weights(basis: str, u: np.ndarray) -> np.ndarray:
    """float64[len(u), control points], as the books have them."""
    v = 1 - u
    rows = {
        "linear": [v, u], "quadratic_bspline": [v**2 / 2, (1 + 2 * u - 2 * u**2) / 2, u**2 / 2],
        "cubic_bspline": [v**3 / 6, (3 * u**3 - 6 * u**2 + 4) / 6, (-3 * u**3 + 3 * u**2 + 3 * u + 1) / 6, u**3 / 6],
        "catmullrom": [
            (-u + 2 * u**2 - u**3) / 2, (2 - 5 * u**2 + 3 * u**3) / 2, (u + 4 * u**2 - 3 * u**3) / 2,
            (u**3 - u**2) / 2,
        ],
        "cubic_bezier": [v**3, 3 * u * v**2, 3 * u**2 * v, u**3],
    }  # fmt: skip
    return np.stack(rows[basis], axis=1)


def random_curves(basis: str, seed: int) -> Curves:
    """A strand of five segments that bends, and a lone one."""
    random, count = np.random.default_rng(seed), CONTROL_POINTS[basis]
    step = 3 if basis == "cubic_bezier" else 1
    long = 4 * step + count
    steps = random.normal((0.9, 0, 0), 0.35, (long + count, 3)) / step
    centre = np.cumsum(steps, axis=0) - (2, 0, 0)
    points = np.column_stack([centre, random.uniform(0.08, 0.2, long + count)]).astype(np.float32)
    first = np.array([*range(0, 5 * step, step), long], np.uint32)
    return Curves(basis, points, first, np.zeros(len(first), np.uint16))


@pytest.mark.parametrize("seed", range(3))
def test_spheres(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(100 + seed)
    centre, radius = random.uniform(-2, 2, (9, 3)).astype(np.float32), random.uniform(0.2, 0.9, 9).astype(np.float32)
    what = scene(Spheres(centre, radius, np.zeros(9, np.uint16), apart=seed == 2))
    rays = random_rays(seed, centre.astype(np.float64))
    words = both(prepared(tmp_path, what, "sphere", rays), RAYS)
    values, hits, inside = words.view(np.float32), 0, 0
    for x, row in enumerate(words):
        origin, direction = rays[x, :3].astype(np.float64), rays[x, 4:7].astype(np.float64)
        scale, away = direction @ direction, origin - centre
        half = (away @ direction) / scale
        under = half**2 - ((away**2).sum(axis=1) - radius.astype(np.float64) ** 2) / scale
        roots = np.where(under >= 0, np.sqrt(np.maximum(under, 0)), np.nan) * np.array([[-1], [1]]) - half
        roots[(roots < 1e-3) | (roots > 100)] = np.nan
        if (np.abs(under) < 1e-4).any():
            continue
        assert bool(row[63]) == np.isnan(roots).all()
        if row[63]:
            continue
        side, nearest = np.unravel_index(np.nanargmin(roots), roots.shape)
        assert abs(values[x, 0] - roots[side, nearest]) < 2e-5 * max(1.0, roots[side, nearest])
        assert (row[1], row[3], row[4]) == (nearest, TYPES["sphere"], side)
        assert np.array_equal(values[x, 8:12], [*centre[nearest], radius[nearest]])
        assert np.array_equal(values[x, 24:28], values[x, 8:12])
        assert row[40] == 0, "a primitive that does not exist"
        hits, inside = hits + 1, inside + int(side)
    assert hits > 40
    assert inside > 5


def entered(curves: Curves, ray: np.ndarray) -> tuple[float, float, int, float]:
    """First distance, parameter and segment at which a ray enters a sphere of a curve; and the nearest approach of all
    surfaces to the ray, negative where it enters."""
    u = np.linspace(0, 1, SAMPLES)
    spheres = np.einsum("uk,skc->suc", weights(curves.basis, u), curves.control.astype(np.float64))
    origin, direction = ray[:3].astype(np.float64), ray[4:7].astype(np.float64)
    scale = direction @ direction
    away = origin - spheres[..., :3]
    closest = -(away @ direction) / scale
    gap = np.linalg.norm(away + closest[..., None] * direction, axis=-1)
    under = spheres[..., 3] ** 2 - gap**2
    t = np.where(under >= 0, closest - np.sqrt(np.maximum(under, 0) / scale), np.inf)
    # A segment is entered once; where its first sphere lies before the ray's begin the ray starts inside or beyond it.
    first = t.min(axis=1)
    first[first < 1e-3] = np.inf
    segment = int(np.argmin(first))
    return float(first[segment]), float(u[np.argmin(t[segment])]), segment, float((gap - spheres[..., 3]).min())


@pytest.mark.parametrize("basis", CONTROL_POINTS)
def test_curves(tmp_path: Path, basis: str) -> None:
    curves = random_curves(basis, 7)
    on = np.einsum("uk,skc->suc", weights(basis, np.linspace(0, 1, 5)), curves.control.astype(np.float64))
    rays = random_rays(3, on.reshape(-1, 4)[:, :3])
    rays[: RAYS // 4, :3] += 1  # from outside: a ray within a curve sees the pieces of it that the twin does not part
    words = both(prepared(tmp_path, scene(curves=curves), basis, rays), RAYS)
    values, hits = words.view(np.float32), 0
    slack = 1e-4 if basis == "linear" else 0.02  # eight cones stand for a curved segment
    for x, row in enumerate(words):
        t, u, segment, gap = entered(curves, rays[x])
        if t == np.inf:
            assert row[63] or abs(gap) < slack
        if abs(gap) < slack or t == np.inf:
            continue
        open_end = basis != "linear" and (u < 0.02 or u > 0.98)
        if open_end:
            continue
        assert not row[63]
        length = np.linalg.norm(rays[x, 4:7])
        if abs(values[x, 0] - t) * length > slack:  # where it grazes, the point still lies on the surface
            point = rays[x, :3] + values[x, 0] * rays[x, 4:7].astype(np.float64)
            there = np.einsum("uk,kc->uc", weights(basis, np.linspace(0, 1, SAMPLES)), curves.control[row[1]])
            assert abs((np.linalg.norm(point - there[:, :3], axis=1) - there[:, 3]).min()) < slack
            continue
        assert row[3] == TYPES[basis]
        assert not row[4]
        if int(row[1]) == segment:
            assert abs(values[x, 5] - u) < (1e-2 if basis == "linear" else 0.1)
        floats = GETTERS[basis][1]
        assert np.array_equal(values[x, 8 : 8 + floats], curves.control[row[1]].ravel())
        assert np.array_equal(values[x, 24 : 24 + floats], values[x, 8 : 8 + floats])
        hits += 1
    assert hits > 25
    past = rays.copy()
    past[:, 4:7] *= -1
    past[:, :3] += 50 * np.sign(past[:, :3])
    assert both(prepared(tmp_path, scene(curves=curves), basis, past), RAYS)[:, 63].sum() > RAYS // 2


def test_an_any_hit_program_looks_through_the_front(tmp_path: Path) -> None:
    """Which leaves the inside, as of a sphere that a ray starts in."""
    skips = program(
        "anyhit",
        "    call (%r6), _optix_get_hit_kind, (); call (%r8), _optix_get_backface_from_hit_kind, (%r6);\n"
        "    setp.eq.u32 %p1, %r8, 0; @%p1 call _optix_ignore_intersection, ();",
    )
    what = scene(Spheres(np.zeros((1, 3), np.float32), np.ones(1, np.float32), np.zeros(1, np.uint16)))
    rays = np.tile(np.array([0, 0, -5, 1e-3, 0, 0, 1, 100], np.float32), (RAYS, 1))
    group = 'any_hit = "__anyhit__test"\n'
    values = both(prepared(tmp_path, what, "sphere", rays, skips, group), RAYS)
    assert (values.view(np.float32)[:, 0] == 6).all()
    assert (values[:, 4] == 1).all()


def test_a_pack_with_curves_and_what_is_refused(tmp_path: Path) -> None:
    pack = tmp_path / "hair.json"
    text = """{"format": "scene-pack/1", "name": "hair", "mesh": null, "spheres": [], "lights": [],
    "camera": {"eye": [0, 0, -5], "look_at": [0, 0, 0], "up": [0, 1, 0], "vfov_deg": 40, "aperture": 0,
    "focus_distance": 1}, "sky": {"type": "none"}, "materials": {"brown": {"model": "lambertian"}},
    "curves": {"basis": "catmullrom", "material": "brown", "segments": [0, 1],
    "points": [[0, 0, 0, 0.1], [1, 0, 0, 0.1], [1, 1, 0, 0.1], [0, 1, 0, 0.2], [0, 2, 1, 0.1]]}}"""
    pack.write_text(text)
    what = load(str(pack))
    assert [g.curves for g in what.geometries()] == [True]
    low, high = what.bounds()
    assert (low < (0, 0, 0)).all()
    assert (high > (1, 1, 0)).all()
    for old, new, message in (
        ("catmullrom", "hermite", "basis must be one of linear, .*found 'hermite'"),
        ("[0, 1],\n", "[0, 2],\n", "segments must begin at point 0 to 1"),
        ("[0, 1],\n", "[0, 1.7],\n", "segments must be a list of numbers of points"),
        ("[0, 1],\n", "[[0, 1]],\n", "segments must be a list of numbers of points"),
        ('"curves": {', '"curves": [], "more": {', "curves must be one object: basis, points, segments, material"),
        ('"material": "brown"', '"material": {}', r"curves\.material must be a name of materials, found \{\}"),
        ("[1, 0, 0, 0.1]", "[1, 0, 0.1]", "hair.json"),
        ("[1, 0, 0, 0.1]", "[1, 0, 0, 0]", r"points\[1\] must be finite, its radius above 0"),
    ):
        pack.write_text(text.replace(old, new, 1))
        with pytest.raises(UserError, match=message):
            load(str(pack))
    with pytest.raises(UserError, match="the scene has curves, so the program needs a hit_group"):
        prepared(tmp_path, replace(what, name="x"), "sphere", np.zeros((RAYS, 8), np.float32))


def test_boxes_hold_radii_that_overshoot() -> None:
    """Between radii of 5, 0.1, 0.1 and 5 a Catmull-Rom radius is -0.51 half-way, of a curve 0.51 thick."""
    points = np.array([[0, 0, 0, 5], [1, 0, 0, 0.1], [2, 0, 0, 0.1], [3, 0, 0, 5]], np.float32)
    low, high = Curves("catmullrom", points, np.zeros(1, np.uint32), np.zeros(1, np.uint16)).boxes()
    assert low[0, 1] <= -0.51 < 0.51 <= high[0, 1]
