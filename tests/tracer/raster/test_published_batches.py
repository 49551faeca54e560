"""CRISP's table of vertex invocations, from index buffers made to have its meshes' statistics.

The meshes' own index buffers are not at hand. Their statistics are: numbers of indices and vertices, and invocations at
each size of the batch. A use of a vertex is shaded again at size B where a multiple of B lies between it and the use
before. So a buffer with the statistics can be made without cutting it: each repeated use is placed so that multiples of
chosen sizes lie between. Whether ``cut_batches`` counts what the table says, at all sizes of one buffer, is then a test
of it, and that the rule allows such a mesh at all.
"""

from collections import defaultdict

import numpy as np
import pytest

from rayplay.crisp.values import published
from rayplay.tracer.raster import cut_batches

SIZES = (24, 32, 48, 64, 96, 128)
TABLE = {  # docs/sources/crisp.md#vertex-batches: indices, vertices, invocations at each size
    "cerberus": (100_623, 32_814, (64_805, 62_339, 60_114, 58_594, 56_764, 55_311)),
    "rock01": (540, 204, (316, 303, 278, 265, 252, 246)),
    "lavaplanet": (5_952, 1_087, (3_511, 3_186, 2_856, 2_683, 2_520, 2_418)),
    "cube": (36, 24, (24, 25, 24, 24, 24, 24)),  # its own buffer is known: test_batches.py
}
NEW = -1
STEP = 8  # divides every size


def uses(indices: int, vertices: int, invocations: tuple[int, ...]) -> dict[int, int]:
    """How many uses are of each kind: ``NEW`` the first of its vertex; k: shaded again at the k smallest sizes."""
    again = [indices - vertices, *(count - vertices for count in invocations), 0]
    return {NEW: vertices} | {kind: again[kind] - again[kind + 1] for kind in range(len(SIZES) + 1)}


def kind_of(earlier: int, later: int) -> int | None:
    """At how many sizes a use shades again; None unless they are the smallest ones."""
    crossed = [later // size > earlier // size for size in SIZES]
    return sum(crossed) if crossed == sorted(crossed, reverse=True) else None


def buffer(indices: int, vertices: int, invocations: tuple[int, ...]) -> np.ndarray:
    """An index buffer with these statistics. Kinds that few places allow go first, of others the one that lags most."""
    left, total = uses(indices, vertices, invocations), uses(indices, vertices, invocations)
    made: list[int] = []
    last_used: dict[int, list[int]] = defaultdict(list)  # vertices by the place of their last use, coarse
    oldest = 0
    for at in range(indices):
        triangle = made[at - at % 3 :]
        while oldest < at // STEP and not last_used[oldest]:
            oldest += 1
        allowed: dict[int, tuple[int, int]] = {}
        for cell in (oldest, *range(max((at - SIZES[-1]) // STEP, oldest + 1), at // STEP + 1)):
            kind = kind_of(STEP * cell, at)
            own = [vertex for vertex in last_used[cell] if vertex not in triangle]
            if kind is not None and own:
                allowed.setdefault(kind, (cell, own[0]))
        scarce = [kind for kind in (5, 4, 3, 2, 1) if kind in allowed and left[kind]]
        others = [kind for kind in (0, 6, NEW) if (kind == NEW or kind in allowed) and left[kind]]
        kind = scarce[0] if scarce else max(others, key=lambda kind: left[kind] / total[kind])
        left[kind] -= 1
        if kind == NEW:
            vertex = total[NEW] - left[NEW] - 1
        else:
            cell, vertex = allowed[kind]
            last_used[cell].remove(vertex)
        last_used[at // STEP].append(vertex)
        made.append(vertex)
    assert not any(left.values())
    return np.array(made)


@pytest.mark.parametrize("mesh", ["cerberus", "rock01", "lavaplanet"])
def test_invocations_of_the_table_from_a_meshs_statistics(mesh: str) -> None:
    indices, vertices, invocations = TABLE[mesh]
    made = buffer(indices, vertices, invocations)
    assert (len(made), len(np.unique(made))) == (indices, vertices)
    counts = [len(cut_batches(made, vertices, batch_indices=size).vertices) for size in SIZES]
    assert tuple(counts) == invocations
    assert len(cut_batches(made, vertices, batch_indices=None).vertices) == vertices
    triangles = np.sort(made.reshape(-1, 3), axis=1)
    assert (np.diff(triangles, axis=1) > 0).all(), "no triangle names a vertex twice"


def test_the_table_is_the_studys() -> None:
    """Every mesh that hardware counted too, at every size: the study's errors are sums over these rows."""
    found: dict[str, dict[int, float]] = {}
    for one in published():
        if (one.value.experiment, one.value.quantity, one.who) == ("batches", "invocations", "meshes"):
            found.setdefault(one.value.case.graphics, {})[int(one.value.at)] = one.value.value
    assert found == {mesh: dict(zip(SIZES, TABLE[mesh][2], strict=True)) for mesh in ("cerberus", "rock01", "cube")}
