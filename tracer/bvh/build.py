"""The acceleration structure of a scene: two levels of wide trees, as the bytes that lie in device memory.

One bottom level per mesh, one for all spheres or for each (``Spheres.apart``), one for all curves, and a top level over
the instances; the procedural ones' are the last, with the identity transform. Records, sizes and packing order:
``docs/sources/vulkan-sim.md#records, #tree``. ``as_embree`` builds the tree of Vulkan-Sim: Embree's splits and order of
children, and boxes without slack, so that a hit at a box's edge may be lost as it is there.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.instances import BOX_SLACK, Placed, all_instances, world_boxes, write_instances
from rayplay.tracer.bvh.layouts import BVH6, Layout
from rayplay.tracer.bvh.pack import block_kinds, collapse, pack, write_procedural, write_triangles
from rayplay.tracer.bvh.split import boxes, split_boxes, triangle_boxes
from rayplay.tracer.scenes.description import Geometry, Scene

NO_RECORD = 255


@dataclass(frozen=True)
class Statistics:
    """Counts of what the structure holds."""

    bottom_levels: int
    instances: int
    triangles: int
    """Unique, without instancing."""
    procedural: int
    internal_nodes: int
    image_bytes: int
    top_depth: int
    bottom_depth: int
    """Internal nodes on the longest way down, of the deepest bottom level."""
    stack_entries: int
    """The most that a traversal can have on its stack."""


@dataclass(frozen=True, eq=False)
class Acceleration:
    """The structure of ``scene`` and what a traversal needs beside it."""

    scene: Scene
    base_address: int
    words: NDArray[np.uint32]
    """uint32[blocks, 16]: the image; word 0 lies at ``base_address``."""
    top_block: int
    """Block of the top level's header."""
    block_row: NDArray[np.uint32]
    """uint32[blocks]: row in the nodes table of the record at each block; of six-wide nodes the block's number below
    ``top_block``."""
    node_block: NDArray[np.uint32]
    """uint32[rows]: block of each row of the nodes table."""
    node_address: NDArray[np.uint64]
    node_bytes: NDArray[np.uint16]
    node_kind: NDArray[np.uint8]
    """Columns of the nodes table: all records by address, then all descriptors by primitive."""
    geometries: list[Geometry]
    instance_geometry: NDArray[np.uint32]
    """uint32[instances]: number in ``geometries`` of the first geometry of each instance."""
    statistics: Statistics
    layout: Layout = BVH6

    @property
    def image(self) -> NDArray[np.uint8]:
        """uint8[bytes], to be laid at ``base_address``."""
        return self.words.reshape(-1).view(np.uint8)

    @property
    def top_address(self) -> int:
        """Address of the top level's header: the handle that programs pass to a trace call."""
        return self.base_address + layout.BLOCK_BYTES * self.top_block

    def node_table(self) -> dict[str, NDArray[np.generic]]:
        """Columns of the nodes table of a trace."""
        rows = np.arange(len(self.node_kind), dtype=np.uint32)
        return {"node_id": rows, "address": self.node_address, "bytes": self.node_bytes, "kind": self.node_kind}


@dataclass(frozen=True, eq=False)
class _Tree:
    """One level before it has bytes."""

    node_box: NDArray[np.float32]
    node_child: NDArray[np.int32]
    wide: NDArray[np.int32]
    depth: int
    stack_entries: int

    @property
    def primitives(self) -> int:
        return (len(self.node_child) + 1) // 2

    @property
    def records(self) -> int:
        """Header, internal nodes and leaves."""
        return 1 + len(self.wide) + self.primitives

    @property
    def low(self) -> NDArray[np.float32]:
        return self.node_box[0, :3]

    @property
    def high(self) -> NDArray[np.float32]:
        return -self.node_box[0, 4:7]

    def blocks(self, node_blocks: int, leaf_blocks: int = 1) -> int:
        """That its records take."""
        return 1 + node_blocks * len(self.wide) + leaf_blocks * self.primitives


@dataclass(eq=False)
class Structure:
    """Trees that the frames of an animation share: meshes' and spheres', which no frame changes.

    refit  whether the top level also keeps the shape that it has in the first frame: its boxes alone follow the
           instances. Otherwise each frame builds it.
    """

    refit: bool = False
    _bottoms: list[_Tree | None] | None = None
    _top: _Tree | None = None

    @property
    def has_begun(self) -> bool:
        """Whether it holds the trees of a frame."""
        return self._top is not None

    def bottoms(self, scene: Scene, as_embree: bool, width: int) -> list[_Tree | None]:
        """Trees of ``_bottom_trees``, of the first scene that was asked for."""
        if self._bottoms is None:
            self._bottoms = _bottom_trees(scene, as_embree, width)
        return self._bottoms

    def top(self, rows: NDArray[np.float32], as_embree: bool, width: int) -> _Tree:
        """The tree over the boxes of all instances."""
        if self._top is None or not self.refit:
            self._top = _tree(rows, as_embree, width)
        else:
            self._top = _refitted(self._top, rows)
        return self._top


def _refitted(tree: _Tree, rows: NDArray[np.float32]) -> _Tree:
    """The tree around new boxes of its primitives; children stand behind their parents."""
    box, child = tree.node_box.copy(), tree.node_child
    ends = np.array([0, 1, 2, 4, 5, 6])
    leaf = child < 0
    box[np.flatnonzero(leaf)[:, None], ends] = rows[~child[leaf]][:, ends]
    for node in np.flatnonzero(~leaf)[::-1]:
        first = child[node]
        box[node, ends] = np.minimum(box[first, ends], box[first + 1, ends])
    return replace(tree, node_box=box)


def build_acceleration(
    scene: Scene, base_address: int, as_embree: bool = False, structure: Structure | None = None, named: Layout = BVH6
) -> Acceleration:
    """Build the structure of ``scene`` for an image that will lie at ``base_address``, a multiple of 64.

    structure  trees of an animation of which ``scene`` is a frame.
    named      layout of the records.

    Deterministic. The scene must be one that ``tracer.scenes.load`` returned (validated, triangles by
    kind).
    """
    if base_address % layout.BLOCK_BYTES:
        raise ValueError(f"the image must lie at a multiple of {layout.BLOCK_BYTES} bytes, not at {base_address:#x}")
    structure, node = structure or Structure(), named.node
    bottoms = structure.bottoms(scene, as_embree, node.width)
    instances = all_instances(scene)
    hittable = np.array([tree is not None for tree in bottoms])[instances.bottom]
    placed = Placed(*(column[hittable] for column in instances))
    bounds = np.array([[tree.low, tree.high] if tree else np.zeros((2, 3)) for tree in bottoms], np.float64)
    top = structure.top(boxes(*world_boxes(placed, bounds, 0.0 if as_embree else BOX_SLACK)), as_embree, node.width)
    first_block = np.cumsum([0] + [tree.blocks(node.blocks) if tree else 0 for tree in bottoms])
    top_block = int(first_block[-1])
    words = np.zeros((top_block + top.blocks(node.blocks, leaf_blocks=2), layout.BLOCK_WORDS), np.uint32)
    first_geometry = _first_geometries(scene)
    row, kinds = sum(tree.records for tree in (*bottoms, top) if tree), scene.kinds()  # of the first descriptor
    leaf_blocks = []
    for index, tree in enumerate(bottoms):
        if tree:
            first = int(first_block[index])
            leaf_blocks.append(_write_bottom(scene, kinds, index, tree, words, first, row, as_embree, node))
            row += tree.primitives
    top_leaf = pack(top.wide, top.node_box, top.node_child, layout.INSTANCE, words, top_block, as_embree, node)
    write_instances(words, top_leaf, placed, base_address + layout.BLOCK_BYTES * first_block, first_geometry)
    rows = _node_columns(words, bottoms, top_block, first_block, leaf_blocks, named)
    block_row, block, offset, kind = rows
    return Acceleration(
        scene, base_address, words, top_block, block_row, block, base_address + offset, named.kind_bytes[kind], kind,
        scene.geometries(), first_geometry[instances.bottom], _statistics(scene, bottoms, top, words), named,
    )  # fmt: skip


def _tree(rows: NDArray[np.float32], as_embree: bool, width: int) -> _Tree:
    count = len(rows)
    node_box = np.empty((2 * count - 1, 8), np.float32)
    node_child = np.empty(2 * count - 1, np.int32)
    split_boxes(rows, node_box, node_child, as_embree)
    wide = np.empty((max(count - 1, 1), width), np.int32)
    wide_count, depth, entries = collapse(node_box, node_child, wide, as_embree)
    return _Tree(node_box, node_child, wide[:wide_count], depth, entries)


def _bottom_trees(scene: Scene, as_embree: bool, width: int) -> list[_Tree | None]:
    """One tree per mesh, None where it has no triangle, then the trees of the spheres and the curves."""
    trees: list[_Tree | None] = []
    for mesh in scene.meshes:
        rows = triangle_boxes(mesh.vertices, mesh.triangles)
        trees.append(_tree(rows, as_embree, width) if len(rows) else None)
    for number in range(len(scene.procedural_meshes)):
        trees.append(_tree(boxes(*_procedural_boxes(scene, number, as_embree)), as_embree, width))
    return trees


def _procedural_boxes(scene: Scene, number: int, tight: bool) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Boxes of bottom level ``number`` behind the meshes'."""
    is_curves = scene.procedural_meshes[number] > len(scene.meshes)
    return scene.curves.boxes() if is_curves else _sphere_boxes(scene, number, tight)


def _sphere_boxes(scene: Scene, number: int, tight: bool) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Boxes of the spheres' bottom level ``number``; rounded outwards unless ``tight``."""
    some = slice(number, number + 1) if scene.spheres.apart else slice(None)
    center, radius = scene.spheres.center[some], np.abs(scene.spheres.radius[some])[:, None]
    if tight:
        return center - radius, center + radius
    return np.nextafter(center - radius, np.float32(-np.inf)), np.nextafter(center + radius, np.float32(np.inf))


def _first_geometries(scene: Scene) -> NDArray[np.uint32]:
    """uint32[bottoms]: first geometry of each bottom level; all spheres share one."""
    meshes = [geometry.mesh for geometry in scene.geometries()]
    return np.searchsorted(meshes, [*range(len(scene.meshes)), *scene.procedural_meshes]).astype(np.uint32)


def _write_bottom(
    scene: Scene, kinds: NDArray[np.uint8], index: int, tree: _Tree, words: NDArray[np.uint32], first: int, row: int,
    as_embree: bool, node: layout.NodeFields,
) -> NDArray[np.int64]:  # fmt: skip
    """Bytes of one bottom level; returns the blocks of its leaves by primitive."""
    if index >= len(scene.meshes):
        number = index - len(scene.meshes)
        own = number if scene.procedural_meshes[number] == len(scene.meshes) else 0  # of the first sphere, if apart
        leaf = pack(tree.wide, tree.node_box, tree.node_child, layout.PROCEDURAL, words, first, as_embree, node)
        write_procedural(words, leaf, own, *_procedural_boxes(scene, number, as_embree), row)
        return leaf
    mesh = scene.meshes[index]
    geometries = list(scene.geometries_of(index, kinds))
    begins = np.array([geometry.first_primitive for geometry in geometries], np.int64)
    opaque = np.array([geometry.opaque for geometry in geometries], bool)
    leaf = pack(tree.wide, tree.node_box, tree.node_child, layout.TRIANGLE, words, first, as_embree, node)
    write_triangles(words, leaf, mesh.vertices, mesh.triangles, begins, opaque, row)
    return leaf


def _node_columns(
    words: NDArray[np.uint32],
    bottoms: list[_Tree | None],
    top_block: int,
    first_block: NDArray[np.int64],
    leaf_blocks: list[NDArray[np.int64]],
    named: Layout,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint8]]:
    """Row of every block; block, offset in bytes and kind of every row of the nodes table."""
    kinds = np.full(len(words), NO_RECORD, np.uint8)
    for index, tree in enumerate(bottoms):
        if tree:
            block_kinds(words, int(first_block[index]), kinds[: first_block[index + 1]], named.node)
    block_kinds(words, top_block, kinds, named.node)
    has_record = kinds != NO_RECORD
    block_row = (np.cumsum(has_record) - 1).astype(np.uint32)
    blocks, kind = np.flatnonzero(has_record), kinds[has_record]
    offset = named.offsets(blocks, kind)
    if named.has_descriptors:
        leaves = np.concatenate(leaf_blocks)
        blocks, offset = np.concatenate([blocks, leaves]), np.concatenate([offset, offset[block_row[leaves]]])
        kind = np.concatenate([kind, np.full(len(leaves), layout.DESCRIPTOR, np.uint8)])
    return block_row, blocks.astype(np.uint32), offset.astype(np.uint64), kind


def _statistics(scene: Scene, bottoms: list[_Tree | None], top: _Tree, words: NDArray[np.uint32]) -> Statistics:
    built = [tree for tree in bottoms if tree]
    return Statistics(
        bottom_levels=len(built),
        instances=top.primitives,
        triangles=scene.unique_triangles,
        procedural=len(scene.spheres) + len(scene.curves),
        internal_nodes=len(top.wide) + sum(len(tree.wide) for tree in built),
        image_bytes=words.nbytes,
        top_depth=top.depth,
        bottom_depth=max(tree.depth for tree in built),
        stack_entries=top.stack_entries + max(tree.stack_entries for tree in built),
    )
