"""Origins, directions and hits of rays, for plug-ins that need them."""

from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.input.traversals import in_order

COLUMNS = ("origin_x", "origin_y", "origin_z", "direction_x", "direction_y", "direction_z", "hit_t")


def places_of(rays: dict[str, Any]) -> np.ndarray:
    """float32[rays, 6]: origin and direction."""
    return np.stack([rays[name] for name in COLUMNS[:6]], axis=1, dtype=np.float32)


def hits_of(rays: dict[str, Any]) -> np.ndarray:
    """int32[rays, 2]: distance of the closest hit when a stretch begins and when it ends, as ``Records.distance``."""
    order = np.lexsort((rays["segment"], rays["visit"], rays["lane"], rays["warp_id"]))  # stretches of a ray in turn
    before = np.full(len(order), np.inf, np.float32)
    before[order[1:]] = rays["hit_t"][order[:-1]]
    before[rays["segment"] == 0] = np.inf
    return np.stack([in_order(before), in_order(rays["hit_t"])], axis=1)


def bounds_of_origins(trace: Trace) -> np.ndarray:
    """float32[2, 3]: least and greatest coordinates of all origins."""
    found = np.array([[np.inf] * 3, [-np.inf] * 3], np.float32)
    for batch in trace.batches("rays", COLUMNS[:3]):
        for axis, name in enumerate(COLUMNS[:3]):
            if len(batch[name]):
                found[0, axis] = min(found[0, axis], batch[name].min())
                found[1, axis] = max(found[1, axis], batch[name].max())
    return found
