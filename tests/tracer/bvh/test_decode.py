"""A structure decoded to arrays has the records and boxes of a slow decoder."""

from dataclasses import replace

import numpy as np
import pytest

from rayplay import tracer  # noqa: F401
from rayplay.tracer.bvh.build import Acceleration, build_acceleration
from rayplay.tracer.bvh.decode import Level, decode
from rayplay.tracer.bvh.layouts import BVH6, LAYOUTS
from rayplay.tracer.scenes import load
from tests.reference.bvh_slow import INTERNAL, Image

BASE = 0x1234_5600


@pytest.fixture(scope="module", params=["cornell", "wknd", "wknd apart", "forest", "forest bvh8", "wknd cwbvh8"])
def built(request: pytest.FixtureRequest) -> Acceleration:
    name, _, other = request.param.partition(" ")
    scene = load(name, **({"trees": 5} if name == "forest" else {}))
    scene = replace(scene, spheres=replace(scene.spheres, apart=other == "apart"))
    return build_acceleration(scene, BASE, named=LAYOUTS.get(other, BVH6))


def rows(level: Level) -> list[tuple[object, ...]]:
    """Address, kind, depth and box of every record."""
    boxes = np.concatenate([level.low, level.high], axis=1).tolist()
    address = (BASE + 64 * level.block).tolist()
    return sorted(zip(address, level.kind.tolist(), level.depth.tolist(), map(tuple, boxes), strict=True))


def slow_rows(image: Image, header: int) -> list[tuple[object, ...]]:
    """The same by walking."""
    low, high = image.bounds(header)
    waiting = [(image.root(header), INTERNAL, 0, (*low, *high))]
    found = []
    while waiting:
        record = waiting.pop()
        found.append(record)
        address, kind, depth, _ = record
        if kind == INTERNAL:
            waiting += [(c.address, c.kind, depth + 1, (*c.low, *c.high)) for c in image.children(address)]
    return sorted(found)


def test_every_level_is_the_slow_decoders(built: Acceleration) -> None:
    image, decoded = Image(built), decode(built)
    assert rows(decoded.top) == slow_rows(image, built.top_address)
    headers = [BASE + 64 * (int(level.block[0]) - 1) for level in decoded.bottoms]
    for level, header in zip(decoded.bottoms, headers, strict=True):
        assert rows(level) == slow_rows(image, header)
    leaves = BASE + 64 * decoded.top.block[decoded.top.is_leaf]
    assert [headers[at] for at in decoded.bottom] == [image.child_header(int(leaf)) for leaf in leaves]
    for matrix, leaf in zip(decoded.to_object, leaves, strict=True):
        np.testing.assert_array_equal(matrix, image.world_to_object(int(leaf)))


def test_children_stand_side_by_side_behind_their_node(built: Acceleration) -> None:
    decoded = decode(built)
    for level in (decoded.top, *decoded.bottoms):
        named = [
            first + at for first, count in zip(level.first, level.children, strict=True) for at in range(int(count))
        ]
        assert sorted(named) == list(range(1, len(level.block)))
        for row in np.flatnonzero(~level.is_leaf):
            some = slice(int(level.first[row]), int(level.first[row] + level.children[row]))
            assert (level.depth[some] == level.depth[row] + 1).all()
