"""The law of the optional table ``predicates``, checked one batch of warps at a time."""

from collections.abc import Iterator

import numpy as np

from formats.problem import Problem, where
from formats.reader import Trace
from formats.trace import PREDICATES


def predicates_leave_out_lanes(trace: Trace) -> Iterator[Problem]:
    """A predicate names an instruction of a visit of its warp, once and in order, and fewer lanes than were active."""
    law = "predicates_leave_out_lanes"
    if trace.rows("predicates") == 0:
        return
    holder = trace.read("instructions", ["block_id"])["block_id"]
    tables = {
        "visits": ("warp_id", "block_id", "active_mask"),
        "predicates": tuple(column.name for column in PREDICATES.columns),
    }
    first_row = 0
    for first, last, rows in trace.warp_batches(trace.batch_bounds(list(tables)), tables):
        visits, predicates = rows["visits"], rows["predicates"]
        count = np.bincount(visits["warp_id"].astype(np.int64) - first, minlength=last - first)
        start = np.cumsum(count) - count
        warp = predicates["warp_id"].astype(np.int64) - first
        known = predicates["visit"] < count[warp]
        message = "visit must be one of the warp"
        yield from where(law, "predicates", ~known, predicates["visit"], message, first_row)
        position = np.where(known, start[warp] + predicates["visit"], 0)
        broken = known & (holder[predicates["instruction_id"]] != visits["block_id"][position])
        message = "instruction_id must be in the block visited"
        yield from where(law, "predicates", broken, predicates["instruction_id"], message, first_row)
        mask, active = predicates["lane_mask"], visits["active_mask"][position]
        broken = known & (((mask & ~active) != 0) | (mask == active))
        message = "lane_mask must be some of its visit's active_mask, not all"
        yield from where(law, "predicates", broken, mask, message, first_row)
        order = position * len(holder) + predicates["instruction_id"]
        broken = np.zeros(len(order), bool)
        broken[1:] = order[1:] <= order[:-1]
        message = "instruction_id must come after that of the row before in its visit"
        yield from where(law, "predicates", broken & known, predicates["instruction_id"], message, first_row)
        first_row += len(mask)
