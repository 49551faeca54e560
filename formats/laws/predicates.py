"""The law of the optional table ``predicates``."""

from collections.abc import Iterator

import numpy as np

from rayplay.formats.guard.problem import Problem, where
from rayplay.formats.laws.execution import Batch


def predicates_leave_out_lanes(batch: Batch) -> Iterator[Problem]:
    """A predicate names an instruction of a visit of its warp, once and in order, and fewer lanes than were active."""
    law, rows, holder = "predicates_leave_out_lanes", batch.predicates, batch.statics.instruction_block
    known, position = batch.predicate_visit >= 0, np.maximum(batch.predicate_visit, 0)
    if not len(known):
        return
    instruction, first_row = rows["instruction_id"], batch.predicate_row
    yield from where(law, "predicates", ~known, rows["visit"], "visit must be one of the warp", first_row)
    if not len(batch.visits["block_id"]):
        return
    broken = known & (holder[instruction] != batch.visits["block_id"][position])
    message = "instruction_id must be in the block visited"
    yield from where(law, "predicates", broken, instruction, message, first_row)
    mask, active = rows["lane_mask"], batch.visits["active_mask"][position]
    broken = known & (((mask & ~active) != 0) | (mask == active))
    message = "lane_mask must be some of its visit's active_mask, not all"
    yield from where(law, "predicates", broken, mask, message, first_row)
    order = position * len(holder) + instruction
    broken = np.zeros(len(order), bool)
    broken[1:] = order[1:] <= order[:-1]
    message = "instruction_id must come after that of the row before in its visit"
    yield from where(law, "predicates", broken & known, instruction, message, first_row)
