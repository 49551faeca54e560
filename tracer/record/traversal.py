"""Tables ``distances`` and ``culled`` from the log of a traversal that records them."""

import numpy as np

from rayplay.tracer.rays.walk import CULLED_BIT

Columns = dict[str, np.ndarray]


def traversal_tables(rays: Columns, distances: np.ndarray, record: str) -> dict[str, Columns]:
    """Columns of the tables beside ``rays``, whose lists lose the visits that culling removed.

    rays       columns of ``rays`` with the words of the log in ``node``; changed in place.
    distances  uint32[words]: bits of the entry distance of each.
    record     of ``tracer.rays.state.RECORDS``.
    """
    distance, log, begin = distances.view(np.float32), rays["node"], rays["node_offset"].astype(np.int64)
    is_culled = log & np.uint32(CULLED_BIT) != 0
    before = np.concatenate(([0], np.cumsum(~is_culled)))  # visits that stay
    offset = before[begin].astype(np.uint64)
    rays["node"], rays["node_offset"] = log[~is_culled], offset
    tables = {"distances": {"warp_id": rays["warp_id"], "distance": distance[~is_culled], "distance_offset": offset}}
    if record == "culled":
        at = np.flatnonzero(is_culled)
        ray = np.searchsorted(begin, at, side="right") - 1
        lists = (begin - before[begin]).astype(np.uint64)
        tables["culled"] = {
            "warp_id": rays["warp_id"],
            "node": log[at] & ~np.uint32(CULLED_BIT),
            "node_offset": lists,
            "distance": distance[at],
            "distance_offset": lists,
            "position": (before[at] - before[begin[ray]]).astype(np.uint32),
            "position_offset": lists,
        }
    return tables
