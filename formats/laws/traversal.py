"""Laws of what a trace tells of traversals beyond the records visited: parents, distances, culled visits."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.problem import Problem, where
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.trace import NODE_HIT_BIT, NODE_KINDS

WITH_RAYS = ("distances", "culled")
LISTS = {"distances": ("distance",), "culled": ("node", "distance", "position")}
NODE_BITS = np.uint32(NODE_HIT_BIT - 1)
HEADER, INTERNAL, INSTANCE, DESCRIPTOR, TRIANGLE, PROCEDURAL = range(len(NODE_KINDS))


@dataclass(frozen=True, slots=True)
class Traversals:
    """The rays of some warps and their rows of ``tables``; ``ray_row`` is the number of the first.

    parent, kind  of every BVH record; ``parent`` is empty without the table.
    """

    rays: Columns
    tables: dict[str, Columns]
    parent: np.ndarray
    kind: np.ndarray
    ray_row: int


def traversal_batches(trace: Trace) -> Iterator[Traversals]:
    """The rays of a trace that has the tables of ``WITH_RAYS``, some warps at a time."""
    names = [name for name in WITH_RAYS if name in trace.tables]
    if not names:
        return
    parent, kind = trace.read("parents", ["parent"])["parent"], trace.read("nodes", ["kind"])["kind"]
    row = 0
    for _first, _last, rows in trace.warp_batches(trace.batch_bounds(("rays", *names)), ("rays", *names)):
        rays = rows.pop("rays")
        yield Traversals(rays, rows, parent, kind, row)
        row += len(rays["warp_id"])


def parents_lead_to_records(trace: Trace) -> Iterator[Problem]:
    """Every record has a parent that can lead to it: headers none, roots a header, leaves a descriptor if there are."""
    law, table = "parents_lead_to_records", "parents"
    if table not in trace.tables:
        return
    rows, kind = trace.read(table), trace.read("nodes", ["kind"])["kind"]
    ids, parent = rows["node_id"], rows["parent"].astype(np.int64)
    if len(ids) != len(kind):
        yield Problem(law, table, -1, len(ids), f"rows must be {len(kind)}, one for each of nodes")
        return
    yield from where(law, table, ids != np.arange(len(ids)), ids, "node_id must be the row number")
    known = (parent >= 0) & (parent < len(kind))
    above = np.where(known, kind[np.where(known, parent, 0)], len(NODE_KINDS))
    fits = np.isin(kind, (INTERNAL, INSTANCE, DESCRIPTOR)) & (above == INTERNAL)
    above_leaf = DESCRIPTOR if (kind == DESCRIPTOR).any() else INTERNAL
    fits |= (kind == INTERNAL) & (above == HEADER) | np.isin(kind, (TRIANGLE, PROCEDURAL)) & (above == above_leaf)
    fits |= (kind == HEADER) & (parent == -1)
    message = "parent must be -1 of a header, a descriptor of a leaf, else an internal node or a root's header"
    yield from where(law, table, ~fits, parent, message)


def lists_are_of_rays(batch: Traversals) -> Iterator[Problem]:
    """``distances`` and ``culled`` have the rows of ``rays``, and lists of the same lengths."""
    law, rays = "lists_are_of_rays", batch.rays
    for name, rows in batch.tables.items():
        if len(rows["warp_id"]) != len(rays["warp_id"]):
            found = f"{len(rows['warp_id'])} for {len(rays['warp_id'])} from row {batch.ray_row} of rays on"
            yield Problem(law, name, -1, found, "rows must be as many as the rays of each warp")
            continue
        broken = rows["warp_id"] != rays["warp_id"]
        yield from where(law, name, broken, rows["warp_id"], "warp_id must be that of the ray", batch.ray_row)
        wanted = _lengths(rays, "node") if name == "distances" else _lengths(rows, "node")
        for column in LISTS[name]:
            lengths = _lengths(rows, column)
            message = f"{column} must be as many as {'the records of the ray' if name == 'distances' else 'node'}"
            yield from where(law, name, lengths != wanted, lengths, message, batch.ray_row)


def distances_are_numbers(batch: Traversals) -> Iterator[Problem]:
    """No distance is NaN."""
    for name, rows in batch.tables.items():
        for row in _rows(rows, "distance", np.isnan(rows["distance"])):
            yield Problem("distances_are_numbers", name, batch.ray_row + row, "nan", "distance must be a number")


def culled_are_in_order(batch: Traversals) -> Iterator[Problem]:
    """The positions of a ray's culled visits never decrease, and are at most its records."""
    law, rows = "culled_are_in_order", batch.tables.get("culled")
    if rows is None or len(rows["warp_id"]) != len(batch.rays["warp_id"]):
        return
    position, owner = rows["position"].astype(np.int64), _owners(rows, "position")
    message = "position must be at most the records of the ray, and never decrease"
    broken = position > _lengths(batch.rays, "node")[owner]
    broken[1:] |= (owner[1:] == owner[:-1]) & (position[1:] < position[:-1])
    for row in _rows(rows, "position", broken):
        yield Problem(law, "culled", batch.ray_row + row, "position", message)


def parents_come_first(batch: Traversals) -> Iterator[Problem]:
    """In segment 0 a ray fetches a record after its parent, and a header first or just after an instance."""
    law, rays = "parents_come_first", batch.rays
    if not len(batch.parent) or any(len(t["warp_id"]) != len(rays["warp_id"]) for t in batch.tables.values()):
        return
    ray, node = merged_visits(rays, batch.tables.get("culled"))
    kept = rays["segment"][ray] == 0
    ray, node = ray[kept], node[kept]
    key = ray * len(batch.kind) + node
    first_key, first_at = np.unique(key, return_index=True)
    parent = batch.parent[node].astype(np.int64)
    wanted = ray * len(batch.kind) + parent
    at = np.minimum(np.searchsorted(first_key, wanted), max(len(first_key) - 1, 0))
    found = (
        (parent >= 0) & (first_key[at] == wanted) & (first_at[at] < np.arange(len(node))) if len(node) else parent >= 0
    )
    follows = np.zeros(len(node), bool)
    follows[1:] = (ray[1:] == ray[:-1]) & (batch.kind[node[:-1]] == INSTANCE)
    follows |= np.diff(ray, prepend=-1) != 0
    broken = np.where(parent < 0, ~follows, ~found)
    for index in np.flatnonzero(broken)[:20]:
        message = f"the parent of record {node[index]}, {parent[index]}, must come before it"
        yield Problem(law, "rays", batch.ray_row + int(ray[index]), int(node[index]), message)


TRAVERSAL_LAWS = (lists_are_of_rays, distances_are_numbers, culled_are_in_order, parents_come_first)


def merged_visits(rays: Columns, culled: Columns | None) -> tuple[np.ndarray, np.ndarray]:
    """int64[visits] each: the ray (row) and the record of every visit, the culled ones in their places."""
    ray, node = _owners(rays, "node"), (rays["node"] & NODE_BITS).astype(np.int64)
    if culled is None or not len(culled["node"]):
        return ray, node
    further = _owners(culled, "node")
    begin = rays["node_offset"].astype(np.int64)[:-1]
    place = np.concatenate([np.arange(len(node)), begin[further] + culled["position"]])
    order = np.lexsort((np.repeat([1, 0], [len(node), len(further)]), place, np.concatenate([ray, further])))
    joined = np.concatenate([node, (culled["node"] & NODE_BITS).astype(np.int64)])
    return np.concatenate([ray, further])[order], joined[order]


def _lengths(rows: Columns, column: str) -> np.ndarray:
    return np.diff(rows[f"{column}_offset"].astype(np.int64))


def _owners(rows: Columns, column: str) -> np.ndarray:
    """int64[values]: the row of each value of a ragged column."""
    return np.repeat(np.arange(len(rows[f"{column}_offset"]) - 1), _lengths(rows, column))


def _rows(rows: Columns, column: str, broken: np.ndarray) -> list[int]:
    """Rows of the first 20 broken values of a ragged column."""
    places = np.flatnonzero(broken)[:20]
    found: list[int] = (np.searchsorted(rows[f"{column}_offset"], places, side="right") - 1).tolist()
    return found
