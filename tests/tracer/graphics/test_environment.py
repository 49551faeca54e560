"""Light from around: its maps against sums over many directions, and what a surface in it looks like."""

import numpy as np
import pytest

from rayplay.tracer.graphics.environment import (
    ABOVE,
    BELOW,
    COSINE,
    LEVEL,
    ROUGHNESSES,
    TABLE_SIDE,
    brdf_table,
    cube,
    legendre,
    lobe,
)  # fmt: skip
from rayplay.tracer.graphics.frame import LIGHT, SUN
from rayplay.tracer.scenes.gltf.surfaces import Surface
from tests.tracer.graphics.scenes import drawn, middle, scene, square

COUNT = 40_000


def directions() -> np.ndarray:
    """float64[n, 3]: evenly over the sphere (Fibonacci)."""
    z = 1 - (np.arange(COUNT) + 0.5) * 2 / COUNT
    turn = np.pi * (1 + 5**0.5) * np.arange(COUNT)
    return np.stack([np.sqrt(1 - z**2) * np.cos(turn), z, np.sqrt(1 - z**2) * np.sin(turn)], axis=1)


def radiance(towards: np.ndarray) -> np.ndarray:
    y = towards[:, 1:2]
    return np.array(LEVEL) + y * (np.array(ABOVE) - BELOW) / 2 + y**2 * ((np.array(ABOVE) + BELOW) / 2 - LEVEL)


@pytest.mark.parametrize("height", [1.0, 0.3, 0.0, -0.8])
def test_irradiance_is_the_sum_over_the_hemisphere(height: float) -> None:
    normal = np.array([np.sqrt(1 - height**2), height, 0])
    cosine = np.maximum(directions() @ normal, 0)
    expected = (radiance(directions()) * cosine[:, None]).sum(axis=0) / cosine.sum()
    polynomials = np.array([1, height, 1.5 * height**2 - 0.5])
    np.testing.assert_allclose((polynomials * COSINE) @ legendre(), expected, rtol=1e-3)


@pytest.mark.parametrize("roughness", ROUGHNESSES[2:])
def test_reflections_are_the_sum_over_the_lobe(roughness: float) -> None:
    """GGX seen head on: the density of directions is D(h) / 4, weighted by the cosine."""
    mirror, squared = np.array([0.6, 0.8, 0]), roughness**4
    cosine = directions() @ mirror
    half = np.sqrt((1 + cosine) / 2)
    weight = np.maximum(cosine, 0) * squared / (half**2 * (squared - 1) + 1) ** 2
    expected = (radiance(directions()) * weight[:, None]).sum(axis=0) / weight.sum()
    np.testing.assert_allclose((np.array([1, 0.8, 0.46]) * lobe(roughness)) @ legendre(), expected, rtol=2e-3)


def test_faces_of_the_cube_look_where_cuda_says() -> None:
    """The middle of +y is above, of -y below; the upper rows of the others look up."""
    made = cube(8, (1.0, 1.0, 1.0)).astype(float)
    np.testing.assert_allclose(made[2, 3:5, 3:5, :3].mean(axis=(0, 1)), ABOVE, rtol=0.05)
    np.testing.assert_allclose(made[3, 3:5, 3:5, :3].mean(axis=(0, 1)), BELOW, rtol=0.05)
    for face in (0, 1, 4, 5):
        assert made[face, 0, 0, 2] > made[face, -1, 0, 2]


@pytest.mark.parametrize("column", [6, 19, TABLE_SIDE - 1])
@pytest.mark.parametrize("row", [12, 25])
def test_the_table_is_the_brdf_summed_over_light(column: int, row: int) -> None:
    seen, roughness = (column + 0.5) / TABLE_SIDE, (row + 0.5) / TABLE_SIDE
    eye, squared = np.array([np.sqrt(1 - seen**2), seen, 0]), roughness**4
    light = directions()
    half = light + eye
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    lit, towards, bent = np.maximum(light[:, 1], 0), half[:, 1], half @ eye
    density = squared / (np.pi * (towards**2 * (squared - 1) + 1) ** 2)
    shadow = 0.5 / (lit * np.sqrt(seen**2 * (1 - squared) + squared) + seen * np.sqrt(lit**2 * (1 - squared) + squared))
    value, fresnel = density * shadow * lit * 4 * np.pi / COUNT, (1 - bent) ** 5
    expected = [(value * (1 - fresnel)).sum(), (value * fresnel).sum()]
    np.testing.assert_allclose(brdf_table()[row, column].astype(float), expected, atol=0.01)


def test_a_mirror_shows_what_is_behind_the_eye_and_a_white_wall_what_is_before_it() -> None:
    """A mirror and a rough white surface that face the eye see the horizon, whose light the second does not dim."""
    picture = {}
    for name, surface in {
        "mirror": Surface("mirror", metallic=1.0, roughness=0.0), "wall": Surface("wall", metallic=0.0, roughness=1.0),
    }.items():  # fmt: skip
        picture[name] = middle(drawn(scene([square(0, 0.3)], [surface]), "pbr"))
    np.testing.assert_allclose(picture["mirror"], LEVEL, rtol=0.03)
    facing = SUN[2] / np.linalg.norm(SUN)
    sun = np.array(LIGHT) * facing / np.pi
    around = (np.array([1, 0, -0.5]) * COSINE) @ legendre()
    np.testing.assert_allclose(picture["wall"], around + sun, rtol=0.06)
