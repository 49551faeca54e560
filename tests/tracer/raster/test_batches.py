"""Vertex invocations of index buffers: counts that a hand, a paper and CRISP's measurements give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.raster import cut_batches

CUBE = np.concatenate([4 * face + np.array([0, 1, 2, 2, 3, 0]) for face in range(6)])


@pytest.mark.parametrize(
    ("batch_indices", "invocations"), [(24, 24), (32, 25), (48, 24), (64, 24), (96, 24), (128, 24), (None, 24)]
)
def test_a_cube_of_four_vertices_a_face(batch_indices: int | None, invocations: int) -> None:
    """docs/sources/crisp.md#vertex-batches: 32 indices end within the sixth face, which shades one again."""
    assert len(cut_batches(CUBE, 24, batch_indices=batch_indices).vertices) == invocations


def test_batches_of_32_vertices_and_triangles_hold_the_cube() -> None:
    made = cut_batches(CUBE, 24, batch_indices=None, max_vertices=32, max_triangles=32)
    assert made.vertices.tolist() == list(range(24))
    assert made.starts.tolist() == [0, 24]


@pytest.mark.parametrize(("indices", "invocations"), [(3, 3), (96, 3), (99, 6), (192, 6), (195, 9)])
def test_one_triangle_repeated_is_shaded_once_a_batch(indices: int, invocations: int) -> None:
    """Kerbl et al., "Revisiting the vertex cache", 2018, on a GTX 1080 Ti: 3 invocations up to 96 indices, 6 at 99."""
    assert len(cut_batches(np.tile([0, 1, 2], indices // 3), 3).vertices) == invocations


def test_an_unshared_sphere_shades_every_index() -> None:
    """docs/sources/crisp.md#vertex-batches: the planet of 5,952 indices without shared vertices."""
    assert len(cut_batches(np.arange(5952), 5952).vertices) == 5952


def strip(columns: int, rows: int) -> np.ndarray:
    """Indices of a grid of quads, row by row."""
    corner = np.arange(columns * rows).reshape(rows, columns)
    upper, lower = corner[:-1], corner[1:]
    quads = [upper[:, :-1], lower[:, :-1], upper[:, 1:], upper[:, 1:], lower[:, :-1], lower[:, 1:]]
    return np.stack(quads, axis=-1).ravel()


def test_a_strip_of_quads_by_formula() -> None:
    """16 quads a batch: 2 * 17 vertices each, of which neighbours shade two again."""
    made = cut_batches(strip(65, 2), 130)
    assert len(made.vertices) == 4 * 34
    assert np.diff(made.starts).tolist() == [34] * 4


@pytest.mark.parametrize(("most", "batches"), [(3, 64), (4, 32), (6, 16), (66, 1)])
def test_limits_of_vertices_by_formula(most: int, batches: int) -> None:
    """A strip of n triangles has n + 2 vertices."""
    made = cut_batches(strip(33, 2), 66, batch_indices=None, max_vertices=most)
    assert len(made.starts) - 1 == batches


def slow(indices: list[int], limits: tuple[int | None, int | None, int | None]) -> tuple[list[int], list[int]]:
    """Vertices and the invocation of each index, with sets."""
    most_indices, most_vertices, most_triangles = (limit or 10**9 for limit in limits)
    vertices: list[int] = []
    invocations, batch, used, triangles = [], dict[int, int](), 0, 0
    for at, vertex in enumerate(indices):
        full = used == most_indices
        if at % 3 == 0:
            full |= triangles == most_triangles or len(batch.keys() | set(indices[at : at + 3])) > most_vertices
            triangles += 1
        if full:
            batch, used, triangles = {}, 0, int(at % 3 == 0)
        if vertex not in batch:
            batch[vertex] = len(vertices)
            vertices.append(vertex)
        invocations.append(batch[vertex])
        used += 1
    return vertices, invocations


@given(
    st.lists(st.integers(0, 12), max_size=80),
    st.tuples(st.none() | st.integers(1, 40), st.none() | st.integers(3, 12), st.none() | st.integers(1, 12)),
)
def test_equals_slow_batches(indices: list[int], limits: tuple[int | None, int | None, int | None]) -> None:
    batch_indices, max_vertices, max_triangles = limits
    made = cut_batches(
        np.array(indices, np.int64), 13,
        batch_indices=batch_indices, max_vertices=max_vertices, max_triangles=max_triangles,
    )  # fmt: skip
    assert (made.vertices.tolist(), made.invocations.tolist()) == slow(indices, limits)
    assert made.vertices[made.invocations].tolist() == indices
    assert made.starts[-1] == len(made.vertices)
    for first, last in zip(made.starts[:-1], made.starts[1:], strict=True):
        assert len(set(made.vertices[first:last].tolist())) == last - first > 0


def test_instances_have_invocations_of_their_own() -> None:
    made = cut_batches(np.array([0, 1, 2, 2, 1, 3, 0]), 4)
    assert made.triangles(2).tolist() == [[0, 1, 2], [2, 1, 3], [4, 5, 6], [6, 5, 7]]


@pytest.mark.parametrize("indices", [[0, 1, 4], [0, -1, 2], [0, 2**32 - 1, 2]])
def test_an_index_beyond_the_buffer_is_one_line(indices: list[int]) -> None:
    at = 2 if indices[1] == 1 else 1
    with pytest.raises(UserError, match=f"mesh x: index {at} must be below the 4 vertices, found {indices[at]}$"):
        cut_batches(np.array(indices), 4, place="mesh x")


@pytest.mark.parametrize("limit", [{"batch_indices": 0}, {"max_vertices": 2}, {"max_triangles": 0}])
def test_a_limit_that_holds_no_triangle_is_refused(limit: dict[str, int]) -> None:
    (name,) = limit
    with pytest.raises(UserError, match=f"{name} must be at least"):
        cut_batches(CUBE, 24, **limit)


def planet(by_column: bool) -> np.ndarray:
    """Indices of a sphere of 32 rings and segments whose seam and poles have vertices for each segment."""
    ring, segment = np.meshgrid(np.arange(32), np.arange(32), indexing="xy" if by_column else "ij")
    corner = ring * 33 + segment
    quads = np.stack([corner, corner + 33, corner + 34, corner, corner + 34, corner + 1], axis=-1).reshape(-1, 2, 3)
    has_area = np.stack([ring < 31, ring > 0], axis=-1).reshape(-1, 2)
    return quads[has_area].ravel()


def test_invocations_follow_the_order_of_indices() -> None:
    """A planet of lavaplanet's 5,952 indices and 1,087 vertices (docs/sources/crisp.md#vertex-batches: 2,520 at 96)
    has other invocations row by row than column by column: a mesh's need its index buffer.
    """
    counts = []
    for indices in (planet(False), planet(True)):
        assert (len(indices), len(np.unique(indices))) == (5952, 1087)
        counts.append(len(cut_batches(indices, 33 * 33, batch_indices=96).vertices))
        assert len(cut_batches(indices, 33 * 33, batch_indices=None).vertices) == 1087
    assert counts == [2170, 2288]
