"""Parents, distances and culled visits of a trace, for plug-ins that name them in ``NEEDS``."""

from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.replay.input import rays as record

NEEDS = ("parents", "distances", "culled", "subtrees", "rays")
"""What a plug-in may need: tables of a trace, and what follows from ``parents`` and from ``rays``."""
TABLE_OF = {"subtrees": "parents"}
COLUMNS = {"distances": ("warp_id", "distance"), "culled": ("warp_id", "node", "distance", "position")}


def expect_needs(trace: Trace, needs: tuple[str, ...], plugin: str) -> None:
    """``UserError`` for a trace with rays that lacks what a plug-in needs."""
    for name in needs:
        table = TABLE_OF.get(name, name)
        if table not in trace.tables and trace.rows("rays"):
            option = "culled" if name == "culled" else "distances"
            raise UserError(
                f"{trace.path}: must have a table {table}, which {plugin} needs: render it with --record {option}"
            )


def read_parents(trace: Trace, nodes: int) -> np.ndarray:
    """int32[nodes]: the record that leads to each, NO_PARENT for none."""
    found: np.ndarray = trace.read("parents", ["parent"])["parent"]
    if len(found) != nodes or (len(found) and int(found.max()) >= nodes):
        raise FormatError(f"{trace.path}: table parents: must have a row for each of the {nodes} of nodes")
    return found


def merged(
    tables: dict[str, Any], needs: tuple[str, ...], nodes: int, path: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets int64[rays + 1], records uint32 and distances int32 of the rays of a batch.

    With the visits that culling removed, in their places, where the plug-in needs them; without distances where it
    does not. nodes: rows of that table.
    """
    rays = tables["rays"]
    offset, node = rays["node_offset"].astype(np.int64), rays["node"]
    distance = np.zeros(0, np.float32)
    for name in COLUMNS.keys() & set(needs):
        if not np.array_equal(tables[name]["warp_id"], rays["warp_id"]):
            raise FormatError(f"{path}: table {name}: must have a row for each row of rays")
    if "distances" in needs:
        distance = tables["distances"]["distance"]
        if not np.array_equal(tables["distances"]["distance_offset"], rays["node_offset"]) or np.isnan(distance).any():
            raise FormatError(f"{path}: table distances: must have a distance for each record of rays")
    if "culled" in needs:
        offset, node, distance = with_culled(rays, tables["culled"], distance, nodes, path)
    return offset, node, in_order(distance)


def with_culled(
    rays: dict[str, np.ndarray], culled: dict[str, np.ndarray], distance: np.ndarray, nodes: int, path: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lists of rays with the culled visits in their places, marked; distances only where ``distance`` has some."""
    offset, more = rays["node_offset"].astype(np.int64), culled["node_offset"].astype(np.int64)
    owner, lengths = np.repeat(np.arange(len(more) - 1), np.diff(more)), np.diff(offset)
    position = culled["position"].astype(np.int64)
    if (culled["node"] & np.uint32(record.NODE_BITS) >= nodes).any():
        raise FormatError(f"{path}: table culled: node must be a row of nodes, below {nodes}")
    if len(position) != len(owner) or (position > lengths[owner]).any():
        raise FormatError(f"{path}: table culled: position must be at most the records of the ray")
    place = np.concatenate([np.arange(len(rays["node"])), offset[owner] + position])
    ray = np.concatenate([np.repeat(np.arange(len(lengths)), lengths), owner])
    order = np.lexsort((np.repeat([1, 0], [len(rays["node"]), len(owner)]), place, ray))
    node = np.concatenate([rays["node"], culled["node"] | np.uint32(1 << record.CULLED_SHIFT)])[order]
    if len(distance):
        distance = np.concatenate([distance, culled["distance"]])[order]
    return offset + more, node, distance


def in_order(distance: np.ndarray) -> np.ndarray:
    """int32: bits of distances, which grow as they do; behind the origin counts as 0."""
    found: np.ndarray = np.ascontiguousarray(np.maximum(distance, np.float32(0)) + np.float32(0)).view(np.int32)
    return found
