"""Ray Tracing in One Weekend: 487 spheres, no triangle (``docs/sources/scenes.md#wknd``).

All arithmetic is float32 in the order of the public C++ code, on the raw stream of mt19937 seeded with 42, so that
the spheres are the published ones.
"""

from collections.abc import Callable

import numpy as np

from rayplay.tracer.scenes.description import Camera, Color, Material, Scene, Spheres

SEED = 42
_F = np.float32


def uniform_stream(seed: int) -> Callable[[], np.float32]:
    """Draws of ``std::uniform_real_distribution<float>`` over ``std::mt19937``: next_u32 / 2^32, below 1."""
    bits = np.random.MT19937()
    bits._legacy_seeding(seed)  # the classic initialisation, which std::mt19937 shares
    below_one = np.nextafter(_F(1), _F(0))

    def draw() -> np.float32:
        return min(_F(bits.random_raw()) / _F(2**32), below_one)

    return draw


def wknd() -> Scene:
    """Ground, small spheres on a jittered grid, and three big ones; gradient sky, thin lens."""
    centers: list[tuple[float, float, float]] = [(0.0, -1000.0, 0.0)]
    radii = [1000.0]
    materials = [Material("ground", albedo=(0.5, 0.5, 0.5))]
    draw = uniform_stream(SEED)
    for i in range(-11, 11):
        for j in range(-11, 11):
            choose = draw()
            z = _F(j) + _F(0.9) * draw()
            x = _F(i) + _F(0.9) * draw()
            if np.sqrt((x - _F(4)) ** 2 + z**2) > _F(0.9):
                centers.append((float(x), float(_F(0.2)), float(z)))
                radii.append(0.2)
                materials.append(_small_material(f"small-{len(materials)}", choose, draw))
    for center, material in (
        ((0.0, 1.0, 0.0), Material("big-glass", "dielectric", ior=1.5)),
        ((-4.0, 1.0, 0.0), Material("big-diffuse", albedo=(0.4, 0.2, 0.1))),
        ((4.0, 1.0, 0.0), Material("big-metal", "metallic", albedo=(0.7, 0.6, 0.5))),
    ):
        centers.append(center)
        radii.append(1.0)
        materials.append(material)
    spheres = Spheres(_array(centers), _array(radii), np.arange(len(radii), dtype=np.uint16))
    camera = Camera(eye=(13.0, 2.0, 3.0), look_at=(0.0, 0.0, 0.0), vfov_deg=20.0, aperture=0.1, focus_distance=10.0)
    return Scene("wknd", [], [], materials, camera, spheres)


def _small_material(name: str, choose: np.float32, draw: Callable[[], np.float32]) -> Material:
    if choose < _F(0.8):
        return Material(name, albedo=_blue_first(lambda: draw() * draw()))
    if choose < _F(0.95):
        fuzz = float(_F(0.5) * draw())
        return Material(name, "metallic", albedo=_blue_first(lambda: _F(0.5) * (_F(1) + draw())), fuzz=fuzz)
    return Material(name, "dielectric", ior=1.5)


def _blue_first(channel: Callable[[], np.float32]) -> Color:
    blue, green, red = float(channel()), float(channel()), float(channel())
    return red, green, blue


def _array(values: list) -> np.ndarray:
    return np.array(values, dtype=np.float32)
