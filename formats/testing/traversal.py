"""Rays of a generated trace that walk a small tree: what ``rayplay trace --record culled`` tells beside them."""

from typing import Any

import numpy as np

from rayplay.formats.schema.trace import NODE_HIT_BIT, NODE_KINDS
from rayplay.formats.testing.program import columns_of

HEADER, INTERNAL, INSTANCE, DESCRIPTOR, TRIANGLE, _ = range(len(NODE_KINDS))
BYTES = (64, 64, 128, 8, 64, 64)
FIRST_ADDRESS = 1 << 29
LIKELY = 0.7


class Tree:
    """Records in the order of their numbers; ``below``: what a ray may fetch after each."""

    def __init__(self) -> None:
        self.kind: list[int] = []
        self.parent: list[int] = []
        self.below: list[list[int]] = []
        self.level(3)

    def level(self, depth: int) -> int:
        """A header, its root and the records below; returns the header. The top level, of depth 3, leads to others."""
        header = self.add(HEADER, -1)
        self.node(header, depth, depth == 3)
        return header

    def node(self, above: int, depth: int, is_top: bool) -> None:
        """An internal node of two more, or of leaves."""
        node = self.add(INTERNAL, above)
        for _ in range(2):
            if depth > 1:
                self.node(node, depth - 1, is_top)
            elif is_top:
                instance = self.add(INSTANCE, node)
                self.below[instance].append(self.level(2))
            else:
                self.add(TRIANGLE, self.add(DESCRIPTOR, node))

    def add(self, kind: int, parent: int) -> int:
        """A record; returns its number."""
        self.kind.append(kind)
        self.parent.append(parent)
        self.below.append([])
        if parent >= 0:
            self.below[parent].append(len(self.kind) - 1)
        return len(self.kind) - 1


def walked(rng: np.random.Generator, rays: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Tables of rays, given with other records, that walk a tree, some of them less than culling would leave them."""
    tree = Tree()
    rows = [_Walk(rng, tree) for _ in rays["lane"]]
    length = np.array(BYTES)[tree.kind]
    ids = np.arange(len(length))
    nodes = {"node_id": ids, "address": FIRST_ADDRESS + 64 * 2 * ids, "bytes": length, "kind": np.array(tree.kind)}
    warp = [{"warp_id": one} for one in np.asarray(rays["warp_id"]).tolist()]
    visits = columns_of([one | {"node": row.node} for one, row in zip(warp, rows, strict=True)])
    distances = columns_of([one | {"distance": row.distance} for one, row in zip(warp, rows, strict=True)])
    culled = columns_of([one | row.culled for one, row in zip(warp, rows, strict=True)])
    return {
        "rays": rays | {name: visits[name] for name in ("node", "node_offset")},
        "nodes": nodes, "parents": {"node_id": ids, "parent": np.array(tree.parent)},
        "distances": distances, "culled": culled,
    }  # fmt: skip


class _Walk:
    """The visits of a ray, depth first, and its culled ones."""

    def __init__(self, rng: np.random.Generator, tree: Tree) -> None:
        self.rng, self.tree = rng, tree
        self.node: list[int] = []
        self.distance: list[float] = []
        self.culled: dict[str, list[Any]] = {"node": [], "distance": [], "position": []}
        self.visit(0, 0.0, False)

    def visit(self, record: int, distance: float, is_culled: bool) -> None:
        """Fetch a record and some of the records below it."""
        leaf = self.tree.kind[record] == TRIANGLE
        if leaf:
            distance = distance + 0.5 if self.rng.random() < LIKELY else float("inf")
        word = record | NODE_HIT_BIT if leaf and np.isfinite(distance) else record
        if is_culled:
            self.culled["node"].append(word)
            self.culled["distance"].append(distance)
            self.culled["position"].append(len(self.node))
        else:
            self.node.append(word)
            self.distance.append(distance)
        for below in self.tree.below[record]:
            certain = self.tree.kind[record] != INTERNAL
            if certain or self.rng.random() < LIKELY:
                removed = is_culled or (not certain and self.rng.random() > LIKELY)
                self.visit(below, distance + (0.0 if certain else float(self.rng.random())), removed)
