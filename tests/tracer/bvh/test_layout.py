"""The bytes of the acceleration structure, decoded independently, are what Vulkan-Sim's rules ask for."""

from dataclasses import replace

import numpy as np
import pytest

from rayplay import tracer  # noqa: F401
from rayplay.tracer.bvh.build import Acceleration, build_acceleration
from rayplay.tracer.bvh.split import MOST_LEVELS, boxes, split_boxes, split_some
from rayplay.tracer.scenes import load
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene
from tests.reference.bvh_slow import INSTANCE, INTERNAL, PROCEDURAL, TRIANGLE, Image

BASE = 0x1234_5600
BYTES = {"header": 64, "internal": 64, "instance": 128, "descriptor": 8, "triangle": 64, "procedural": 64}


@pytest.fixture(scope="module", params=["cornell", "wknd", "wknd apart", "forest", "terrain:5000"])
def built(request: pytest.FixtureRequest) -> Acceleration:
    name, _, apart = request.param.partition(" ")
    scene = load(name, **({"trees": 5} if name == "forest" else {}))
    return build_acceleration(replace(scene, spheres=replace(scene.spheres, apart=bool(apart))), BASE)


def test_sizes_kinds_and_addresses_of_records(built: Acceleration) -> None:
    table = built.node_table()
    names = np.array(list(BYTES))[table["kind"]]
    np.testing.assert_array_equal(table["bytes"], [BYTES[name] for name in names])
    assert (table["address"] % 64 == 0).all()
    low, high = table["address"].min(), (table["address"] + table["bytes"]).max()
    assert (low, high) == (BASE, BASE + built.image.nbytes)
    records = names != "descriptor"
    assert (np.diff(table["address"][records].astype(np.int64)) == table["bytes"][records][:-1]).all()
    leaves = np.sort(table["address"][(names == "triangle") | (names == "procedural")])
    np.testing.assert_array_equal(np.sort(table["address"][~records]), leaves)
    assert table["node_id"].tolist() == list(range(len(names)))


def test_every_primitive_has_one_leaf_and_bounds_hold_it(built: Acceleration) -> None:
    image, scene = Image(built), built.scene
    seen: list[tuple[int, int, int]] = []
    for header in built.node_address[built.node_kind == 0].tolist():
        if header == built.top_address:
            continue
        bottom = sum(1 for other in built.node_address[built.node_kind == 0] if other < header)
        for leaf, kind in walk(image, header, "bottom"):
            primitive, geometry = image.read("I", leaf + 8)[0], image.read("I", leaf + 4)[0] & 0x3FFFFFFF
            seen.append((bottom, geometry, primitive))
            if kind == TRIANGLE:
                entry = [g for g in scene.geometries() if g.mesh == bottom][geometry]
                mesh = scene.meshes[bottom]
                corners = mesh.vertices[mesh.triangles[entry.first_primitive + primitive]]
                np.testing.assert_array_equal(image.vertices(leaf), corners)
                assert bool(image.read("I", leaf + 4)[0] >> 30) == entry.opaque
    assert len(seen) == len(set(seen)) == scene.unique_triangles + len(scene.spheres)


def walk(image: Image, header: int, level: str) -> list[tuple[int, int]]:
    """Leaves of one level, checking on the way that boxes nest, children are contiguous and packing is depth first."""
    low, high = image.bounds(header)
    leaves: list[tuple[int, int]] = []
    end = image.root(header) + 64
    stack = [(image.root(header), low, high)]
    assert end == header + 128, "the root follows the header"
    while stack:
        node, low, high = stack.pop()
        children = image.children(node)
        assert 1 <= len(children) <= 6
        assert children[0].address == end, "children follow what was packed before"
        for child in children:
            end += 128 if child.kind == INSTANCE else 64
        for child in reversed(children):
            if child.kind == INTERNAL:
                stack.append((child.address, child.low, child.high))
                continue
            assert child.kind in ((INSTANCE,) if level == "top" else (TRIANGLE, PROCEDURAL))
            leaves.append((child.address, child.kind))
            exact = leaf_box(image, child.address, child.kind)
            assert (np.array(child.low) <= exact[0]).all()
            assert (np.array(child.high) >= exact[1]).all()
        union_low = np.min([child.low for child in children], axis=0)
        union_high = np.max([child.high for child in children], axis=0)
        step = (union_high - union_low) / 60 + 1e-30
        assert (union_low >= np.array(low) - step).all(), "a child sticks out by more than rounding"
        assert (union_high <= np.array(high) + step).all()
    return leaves


def leaf_box(image: Image, leaf: int, kind: int) -> tuple[np.ndarray, np.ndarray]:
    if kind == TRIANGLE:
        corners = image.vertices(leaf)
    elif kind == PROCEDURAL:
        corners = np.array(image.read("6f", leaf + 16)).reshape(2, 3)
    else:
        ends = np.array(image.bounds(image.child_header(leaf)))
        matrix = np.array(image.read("12f", leaf)).reshape(3, 4)
        corners = np.stack(np.meshgrid(*ends.T), axis=-1).reshape(-1, 3) @ matrix[:, :3].T + matrix[:, 3]
    return corners.min(axis=0), corners.max(axis=0)


def test_top_level_holds_every_instance_once(built: Acceleration) -> None:
    image, scene = Image(built), built.scene
    numbers = []
    for leaf, _ in walk(image, built.top_address, "top"):
        number, record, mask = image.read("3I", leaf + 104)
        numbers.append(number)
        assert mask == 0xFF
        assert record == built.instance_geometry[number]
        matrix = np.array(image.read("12f", leaf), np.float32).reshape(3, 4)
        if number < len(scene.instances):
            np.testing.assert_array_equal(matrix, scene.instances[number].object_to_world)
        product = np.vstack([matrix, [0, 0, 0, 1]]) @ np.vstack([image.world_to_object(leaf), [0, 0, 0, 1]])
        np.testing.assert_allclose(product, np.eye(4), atol=1e-4)
    assert sorted(numbers) == list(range(len(scene.instances) + scene.spheres.instance_count))


def test_same_scene_same_bytes(built: Acceleration) -> None:
    again = build_acceleration(built.scene, BASE)
    np.testing.assert_array_equal(again.image, built.image)
    moved = build_acceleration(built.scene, BASE + 64)
    np.testing.assert_array_equal(moved.node_address, built.node_address + 64)


def degenerate(corners: np.ndarray) -> Scene:
    mesh = Mesh(
        "soup",
        corners.reshape(-1, 3).astype(np.float32),
        np.arange(3 * len(corners), dtype=np.uint32).reshape(-1, 3),
        np.zeros(len(corners), np.uint16),
    )
    return Scene("soup", [mesh], [Instance(0)], [Material("grey")], Camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)))


@pytest.mark.parametrize(
    "corners",
    [
        np.zeros((1, 3, 3)),
        np.tile(np.random.default_rng(1).random((1, 3, 3)), (1000, 1, 1)),
        np.repeat(np.cumsum(1.5 ** np.arange(70))[:, None, None], 3, axis=1)
        + np.random.default_rng(2).random((70, 3, 3)),
        1e14 * np.random.default_rng(3).standard_normal((200, 3, 3)),
        1e-30 * np.random.default_rng(4).standard_normal((200, 3, 3)),
        1e6 + 0.1 * np.random.default_rng(5).random((300, 3, 3)),
    ],
    ids=["one point", "all the same", "a geometric row", "huge", "tiny", "far away"],
)
def test_degenerate_meshes_build_within_the_stack(corners: np.ndarray) -> None:
    built = build_acceleration(degenerate(corners), BASE)
    leaves = walk(Image(built), built.node_address[0].item(), "bottom")
    assert len(leaves) == len(corners)
    assert built.statistics.stack_entries < 200


def test_the_image_must_lie_on_a_block() -> None:
    with pytest.raises(ValueError, match="multiple of 64"):
        build_acceleration(load("cornell"), BASE + 8)


def test_a_large_tree_is_built_in_steps_between_which_ctrl_c_is_noticed() -> None:
    count = 500_000
    low = np.random.default_rng(1).random((count, 3), np.float32)
    rows = boxes(low, low)
    tree = np.empty((2 * count - 1, 8), np.float32), np.empty(2 * count - 1, np.int32)
    stack, standing = (np.zeros((MOST_LEVELS, 4), np.int64), np.zeros((MOST_LEVELS, 8), np.float32)), np.zeros(2, int)
    steps = 1
    while split_some(rows, *tree, *stack, standing, False):
        steps += 1
    assert steps > 1
    assert standing[0] == 2 * count - 1
    whole = np.empty_like(tree[0]), np.empty_like(tree[1])
    split_boxes(boxes(low, low), *whole, False)
    assert all((ours == theirs).all() for ours, theirs in zip(tree, whole, strict=True))
