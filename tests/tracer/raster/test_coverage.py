"""Laws of coverage: each pixel of a surface once, whatever its triangles; and triangles that cover nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.raster import DrawState, Framebuffer, rasterise
from tests.tracer.raster.pictures import ALWAYS, coverage, placed, soup

WIDTH, HEIGHT = 64, 32
STRIP = np.array([[0, 1, 2], [2, 1, 3]], np.uint32)
grid_points = st.tuples(st.integers(-40 * 256, 100 * 256), st.integers(-40 * 256, 70 * 256))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 5), (64, 32), (641, 479)])
@pytest.mark.parametrize("reach", [1.0, 3.0, 1e4, 1e8])
def test_a_quad_over_the_picture_covers_every_pixel_once(size: tuple[int, int], reach: float) -> None:
    corners = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]]) * reach
    positions = np.column_stack([corners, np.full(4, 0.5), np.ones(4)]).astype(np.float32)
    assert (coverage(positions, STRIP, *size) == 1).all()


@given(st.lists(grid_points, min_size=4, max_size=4, unique=True))
def test_triangles_that_share_an_edge_share_no_pixel(points: list[tuple[int, int]]) -> None:
    """On both sides of an edge, and however each is wound, they cover together what their outline covers."""
    a, b, c, d = (np.array(point) for point in points)

    def side(p: np.ndarray) -> int:
        return int(np.sign((b - a)[0] * (p - a)[1] - (b - a)[1] * (p - a)[0]))

    if side(c) * side(d) >= 0:
        return
    positions = placed(np.array(points) / 256, WIDTH, HEIGHT)
    found = coverage(positions, np.array([[0, 1, 2], [0, 1, 3]], np.uint32), WIDTH, HEIGHT)
    assert found.max(initial=0) <= 1
    turned = coverage(positions, np.array([[2, 1, 0], [1, 3, 0]], np.uint32), WIDTH, HEIGHT)
    np.testing.assert_array_equal(found, turned)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_a_crumpled_grid_is_watertight(seed: int, cells: int) -> None:
    """A net of triangles whose inner vertices move within their cells covers every pixel exactly once."""
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(0, WIDTH, cells + 1), np.linspace(0, HEIGHT, cells + 1))
    points = np.stack([x, y], axis=-1)
    points[1:-1, 1:-1] += random.uniform(-0.3, 0.3, (cells - 1, cells - 1, 2)) * [WIDTH / cells, HEIGHT / cells]
    points[[0, -1], :, 1] += [[-9], [9]]
    points[:, [0, -1], 0] += [-9, 9]
    number = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    upper, lower = number[:-1], number[1:]
    halves = [upper[:, :-1], upper[:, 1:], lower[:, :-1], lower[:, :-1], upper[:, 1:], lower[:, 1:]]
    triangles = np.stack(halves, axis=-1).reshape(-1, 3).astype(np.uint32)
    assert (coverage(placed(points.reshape(-1, 2), WIDTH, HEIGHT), triangles, WIDTH, HEIGHT) == 1).all()


@given(grid_points, st.lists(st.integers(0, 627), min_size=3, max_size=20, unique=True))
def test_a_fan_covers_no_pixel_twice(middle: tuple[int, int], hundredths: list[int]) -> None:
    """And every pixel once where it goes all around."""
    around = np.sort(hundredths) / 100
    rim = np.array(middle) / 256 + np.column_stack([np.cos(around), np.sin(around)]) * 300
    points = np.concatenate([[np.array(middle) / 256], rim])
    ahead = np.append(np.arange(2, len(points)), 1)
    triangles = np.column_stack([np.zeros(len(rim)), np.arange(1, len(points)), ahead]).astype(np.uint32)
    convex = np.diff(np.append(around, around[0] + 2 * np.pi)) < 3.1
    found = coverage(placed(points, WIDTH, HEIGHT), triangles[convex], WIDTH, HEIGHT)
    assert found.max() <= 1
    if convex.all():
        inside = np.linalg.norm(np.argwhere(found == 0)[:, ::-1] + 0.5 - np.array(middle) / 256, axis=1)
        assert (inside >= 300 * np.cos(1.55) - 1).all()


def test_a_quarter_and_its_pixels_by_hand() -> None:
    """Centres on the left and upper edge are in, on the right and lower edge out."""
    square = placed(np.array([[0.5, 0.5], [2.5, 0.5], [0.5, 2.5], [2.5, 2.5]]), 8, 8)
    expected = np.zeros((8, 8), int)
    expected[:2, :2] = 1
    np.testing.assert_array_equal(coverage(square, STRIP, 8, 8), expected)


def test_a_pixel_is_256_steps_wide() -> None:
    """A vertex 1/512 left of a centre is snapped onto it, half-way upwards; 1/256 left of it is not."""
    for shift, first in ((1 / 512, 0), (1 / 256, 0), (-1 / 256, 1)):
        points = np.array([[0.5 - shift, 0], [8, 0], [0.5 - shift, 8]])
        assert int(np.argmax(coverage(placed(points, 8, 8), soup(points), 8, 8)[0])) == first


NOTHING = {
    "point": [[3, 3], [3, 3], [3, 3]],
    "line": [[0, 0], [4, 4], [8, 8]],
    "thinner than the grid": [[0, 1.5], [7, 1.5], [7, 1.5009]],
    "between centres": [[1.6, 1.6], [2.4, 1.6], [2, 2.4]],
    "left of the picture": [[-9, 0], [-1, 0], [-1, 8]],
}


@pytest.mark.parametrize("name", NOTHING)
def test_triangles_without_pixels_are_a_draw_without_fragments(name: str) -> None:
    points = np.array(NOTHING[name], float)
    framebuffer = Framebuffer.cleared(8, 8)
    fragments = rasterise(placed(points, 8, 8), soup(points), framebuffer)
    assert (len(fragments), fragments.warps, fragments.counts["covered"]) == (0, 0, 0)
    assert (framebuffer.depth == 1).all()
    assert fragments.interpolate(np.zeros((3, 2), np.float32), soup(points)).shape == (0, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("component", range(4))
@pytest.mark.parametrize("rules", ["hardware", "crisp"])
def test_a_position_that_is_not_finite_drops_its_triangle_alone(value: float, component: int, rules: str) -> None:
    points = np.array([[0, 0], [8, 0], [0, 8]] * 2)
    positions = placed(points, 8, 8)
    alone = coverage(positions[3:], soup(points[3:]), 8, 8, DrawState(rules=rules))
    positions[1, component] = value
    framebuffer = Framebuffer.cleared(8, 8)
    fragments = rasterise(positions, soup(points), framebuffer, DrawState(rules=rules))
    assert set(fragments.triangle.tolist()) == {1}
    assert fragments.live.sum() == alone.sum() > 0
    assert np.isfinite(fragments.weights).all()


def test_a_draw_of_no_triangles() -> None:
    none = np.zeros((0, 3), np.uint32)
    for rules in ("hardware", "crisp"):
        assert len(rasterise(np.zeros((0, 4)), none, Framebuffer.cleared(8, 8), DrawState(rules=rules))) == 0


@pytest.mark.parametrize(("cull", "drawn"), [("none", (1, 1)), ("back", (1, 0)), ("front", (0, 1))])
def test_culling_by_winding(cull: str, drawn: tuple[int, int]) -> None:
    """Counter-clockwise in the picture is the front."""
    points = np.array([[0, 0], [0, 8], [8, 8]])
    for triangle, expected in zip(([[0, 1, 2]], [[0, 2, 1]]), drawn, strict=True):
        state = DrawState(cull=cull, depth_compare="always")
        found = coverage(placed(points, 8, 8), np.array(triangle, np.uint32), 8, 8, state)
        assert found.any() == expected


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: DrawState(cull="bakc"), "cull must be one of none, back, front, found 'bakc'; did you mean 'back'"),
        (lambda: DrawState(blend="xyz"), "blend must be one of"),
        (lambda: Framebuffer.cleared(0, 5), "width of a framebuffer must be 1 to 16384 pixels, found 0"),
        (lambda: rasterise(np.zeros((3, 3)), STRIP, Framebuffer.cleared(1, 1)), "positions must be of the shape"),
        (lambda: rasterise(np.zeros((3, 4)), STRIP, Framebuffer.cleared(1, 1)), "below the 3 positions, found 3"),
        (
            lambda: rasterise(
                np.zeros((4, 4)), STRIP, Framebuffer.cleared(1, 1), DrawState("crisp", depth_compare="always")
            ),
            "by the rules of crisp must be one of less, less_equal, greater, found 'always'",
        ),
    ],
)
def test_what_is_wrong_is_one_line(wrong: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        wrong()  # type: ignore[operator]


def test_the_same_bytes_again() -> None:
    random = np.random.default_rng(3)
    points = random.uniform(-20, 80, (300, 2))
    made = [
        rasterise(placed(points, 64, 64, random.random(1)), soup(points), Framebuffer.cleared(64, 64), ALWAYS)
        for random in (np.random.default_rng(4), np.random.default_rng(4))
    ]
    for name in ("x", "y", "triangle", "live", "weights", "depth"):
        np.testing.assert_array_equal(*(getattr(each, name) for each in made))
