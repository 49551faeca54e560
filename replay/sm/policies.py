"""Policies of the pipelined SM's schedulers: which of the warps that may issue does (two-level: ``pipeline_pool``).

Sources: ``docs/sources/accel-sim.md#schedulers``; of greedy then loose round robin
``docs/sources/vulkan-sim.md#greedy-loose-round-robin``.
"""

import numpy as np

from rayplay.replay.jit.bits import inlined, lowest_bit
from rayplay.replay.sm.pipeline.state import AGE, LAST, Pipeline
from rayplay.replay.sm.warps import GTLRR, GTO, LRR


@inlined
def choose(core: Pipeline, sm: int, row: int, able: int) -> int:
    """The warp to issue from, by the policy: ``able`` is a mask of some of the scheduler's, not 0."""
    last = core.row[row, LAST]
    if in_turn(core):
        begun = first_in_turn(core, row)
        later = (able >> begun) << begun
        return lowest_bit(later) if later else lowest_bit(able)
    if core.policy == GTO and last >= 0 and (able >> last) & 1:
        return last
    return oldest(core, sm, able)


@inlined
def in_turn(core: Pipeline) -> bool:
    """Whether a scheduler looks at its warps in turn, and issues from the first that is able."""
    return bool(core.policy == LRR or core.policy == GTLRR)


@inlined
def first_in_turn(core: Pipeline, row: int) -> int:
    """The warp that a scheduler looks at first: the one after that which issued last, or (GTLRR) the same."""
    last = core.row[row, LAST]
    return int((last + 1) & 63 if core.policy == LRR else max(last, 0))


@inlined
def oldest(core: Pipeline, sm: int, able: int) -> int:
    """The warp that was launched first."""
    best, best_age = -1, np.int64(1) << 62
    while able:
        index = lowest_bit(able)
        able &= able - 1
        age = core.warp[sm * core.warps + index, AGE]
        if age < best_age:
            best, best_age = index, age
    return best
