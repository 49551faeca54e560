"""What policies of the RT unit may know of a traversal beyond the records: rays, subtrees, distances, culled records.

A plug-in names what it needs; a replay without one reads none of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.replay.jit.bits import entry_point

HEADER, INSTANCE = NODE_KINDS.index("header"), NODE_KINDS.index("instance")
NEEDS = {
    "rays": "`records.ray` and `records.bounds`: origins and directions, and hit distances",
    "subtrees": "`records.subtree`, and the hooks `rt.pushed` and `rt.popped`: needs the trace's table `parents`",
    "distances": "`records.distance`: needs its table `distances`",
    "culled": "records that culling removed, among the others in their order: needs its table `culled`",
}
"""What a plug-in may ask for -> where it finds it."""
TABLES = {"subtrees": "parents", "distances": "distances", "culled": "culled"}
RAY_COLUMNS = ("origin_x", "origin_y", "origin_z", "direction_x", "direction_y", "direction_z", "hit_t")
RAY_VALUES = len(RAY_COLUMNS) + 1
DEEPEST = 1024  # records on the way from a root to a leaf
Columns = dict[str, Any]


class Traversal:
    """Tables and columns of a trace that a plug-in needs, and how they join the records of a batch."""

    def __init__(self, trace: Trace, needs: Sequence[str]) -> None:
        """Raises ``FormatError`` for a trace without what is needed; one without rays has nothing to tell."""
        self.needs = tuple(needs) if "rays" in trace.tables else ()
        for need in self.needs:
            if need in TABLES and TABLES[need] not in trace.tables:
                raise FormatError(
                    f"{trace.path}: must have the table {TABLES[need]}, which the plug-in needs; {MADE_BY}"
                )
        self.parent = np.zeros(0, np.int32)
        if "subtrees" in self.needs:
            self.parent = trace.read("parents", ["parent"])["parent"]
        self.bounds = bounds_of_origins(trace) if "rays" in self.needs else np.zeros((2, 3), np.float32)

    def columns(self, present: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
        """The columns of each table to read, beside those that are read anyway."""
        read = dict(present)
        if "rays" in self.needs:
            read["rays"] = (*read["rays"], *RAY_COLUMNS)
        if "distances" in self.needs:
            read["distances"] = ("warp_id", "distance")
        if "culled" in self.needs:
            read["culled"] = ("warp_id", "node", "position", *(["distance"] if "distances" in self.needs else []))
        return read

    def records(self, tables: Mapping[str, Columns]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of a batch: int64[rays + 1] first record of each ray, uint32[records], and float32 distances (or none)."""
        rays = tables["rays"]
        node, offset = rays["node"], rays["node_offset"].astype(np.int64)
        distance = tables["distances"]["distance"] if "distances" in self.needs else np.zeros(0, np.float32)
        if "culled" not in self.needs:
            return offset, node, distance
        culled = tables["culled"]
        first = culled["node_offset"].astype(np.int64)
        at = np.repeat(offset[:-1], np.diff(first)) + culled["position"]
        if "distances" in self.needs:
            distance = np.insert(distance, at, culled["distance"])
        return offset + first, np.insert(node, at, culled["node"]), distance

    def values(self, rays: Columns) -> np.ndarray:
        """float32[rays, 8]: origin, direction, distance of the hit at the stretch's end, and at its beginning."""
        if "rays" not in self.needs:
            return np.zeros((0, RAY_VALUES), np.float32)
        order = np.lexsort((rays["visit"], rays["lane"], rays["warp_id"]))  # the stretches of a ray, one after another
        before = np.full(len(order), np.inf, np.float32)
        before[order[1:]] = rays["hit_t"][order[:-1]]
        before[rays["segment"] == 0] = np.inf
        return np.stack([*(rays[name] for name in RAY_COLUMNS), before], axis=1, dtype=np.float32)

    def subtrees(self, first: np.ndarray, node: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """int32[records]: records of each one's subtree, itself among them; of a table load 1."""
        if "subtrees" not in self.needs:
            return np.zeros(0, np.int32)
        found = np.ones(len(node), np.int32)
        measure(first, node, self.parent, kind, found, np.zeros((DEEPEST, 2), np.int64))
        return found


MADE_BY = "rayplay trace writes it with --record"


def bounds_of_origins(trace: Trace) -> np.ndarray:
    """float32[2, 3]: least and greatest coordinates of all origins."""
    names, found = RAY_COLUMNS[:3], np.array([[np.inf] * 3, [-np.inf] * 3], np.float32)
    for batch in trace.batches("rays", names):
        for axis, name in enumerate(names):
            if len(batch[name]):
                found[0, axis] = min(found[0, axis], batch[name].min())
                found[1, axis] = max(found[1, axis], batch[name].max())
    return found


@entry_point
def measure(
    first: np.ndarray, node: np.ndarray, parent: np.ndarray, kind: np.ndarray, found: np.ndarray, stack: np.ndarray
) -> int:
    """Lengths of the subtrees of all records: a traversal goes depth first, so that each subtree is a stretch.

    A header belongs to the instance before it. A record whose parent is none of its ray's open ones begins anew.
    """
    for ray in range(first.shape[0] - 1):
        top = 0
        for at in range(first[ray], first[ray + 1]):
            number = np.int64(node[at] & np.uint32(0x7FFFFFFF))
            if number >= parent.shape[0]:
                continue  # a load from the intersection table
            if kind[number] == HEADER:
                above = -2
                if at > first[ray]:
                    before = np.int64(node[at - 1] & np.uint32(0x7FFFFFFF))
                    above = before if before < kind.shape[0] and kind[before] == INSTANCE else -2
            else:
                above = np.int64(parent[number])
            while top > 0 and stack[top - 1, 0] != above:
                top -= 1
                found[stack[top, 1]] = at - stack[top, 1]
            if top == stack.shape[0]:
                top -= 1
                found[stack[top, 1]] = at - stack[top, 1]
            stack[top, 0], stack[top, 1] = number, at
            top += 1
        while top > 0:
            top -= 1
            found[stack[top, 1]] = first[ray + 1] - stack[top, 1]
    return 0
