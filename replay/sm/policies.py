"""Scheduler policies: which of the warps that may issue does.

The one place to add a policy that chooses by age, slot and the warp that issued last: its row in ``POLICIES``, its tag,
and its line in ``preferred``, ``in_turn``, ``youngest_first`` or ``pick``. One that keeps a state of its own also has a
place where that changes, as ``two-level`` (``warps``, ``pipeline.two_level``), ``rrr`` and ``limited``
(``pipeline.issue``) have.

A policy prefers some warps by the bit of the warp that issued last, and takes the first of them; where none of these
may issue, it takes the first of all, ``gty`` the last. Masks are in the order in which a scheduler looks at its warps,
the lowest bit first. In the model ``pipeline``, where bits are warp slots, a policy that is not ``in_turn`` falls back
on the oldest warp, ``gty`` on the youngest; in the others bits are in order of age.

``two-level`` chooses among the active warps only: ``warps.candidates_of`` and ``pipeline.two_level`` keep them.
Sources: ``docs/sources/accel-sim.md#schedulers``; of greedy then loose round robin
``docs/sources/vulkan-sim.md#greedy-loose-round-robin``; of greedy then youngest
``docs/sources/measurements.md#scheduler-of-cards``.
"""

from typing import Any

import numpy as np

from rayplay.replay.jit.bits import highest_bit, inlined, lowest_bit
from rayplay.replay.jit.hooks import hook, is_replaced

POLICIES = {
    "gto": "greedy then oldest: the warp that issued last while it can, else the oldest",
    "lrr": "loose round robin: the next after the last",
    "oldest": "the oldest",
    "two-level": "the next after the last among active_warps warps, which a warp leaves when it waits for memory",
    "rrr": "strict round robin, of model pipeline alone: the next after the last that does not wait, able or not",
    "limited": "gto, of model pipeline alone, among the active_warps oldest that do not wait, and the last",
    "gtlrr": "greedy then loose round robin, Vulkan-Sim's lrr: the last while it can, else the next after it",
    "gty": "greedy then youngest: the warp that issued last while it can, else the youngest",
}
OF_PIPELINE = ("rrr", "limited")
OF_ALL = tuple(name for name in POLICIES if name not in OF_PIPELINE)
GTO, LRR, OLDEST, TWO_LEVEL, RRR, LIMITED, GTLRR, GTY = range(len(POLICIES))  # in the order of the table


@inlined
def preferred(policy: int, able: int, last: int) -> int:
    """The warps among ``able`` that the policy prefers, as a mask; last: the bit of the warp that issued last, or 0."""
    if (policy == GTO) | (policy == LIMITED) | (policy == GTY):
        return able & last
    if policy == GTLRR:
        return able & -last
    if policy == OLDEST:
        return 0
    return able & -(last << 1)


@inlined
def in_turn(policy: int) -> bool:
    """Whether a policy looks at warps in the order of their slots, from the one it prefers on, and not by age."""
    return bool(policy == LRR) | bool(policy == GTLRR) | bool(policy == RRR)


@inlined
def youngest_first(policy: int) -> bool:
    """Whether a policy takes the youngest warp where it prefers none, and not the oldest."""
    return bool(policy == GTY)


@inlined
def pick(policy: int, able: int, last: int) -> int:
    """Bit of the warp that issues: ``able`` is a mask in the order of the policy, not 0."""
    first = preferred(policy, able, last)
    if youngest_first(policy) & (first == 0):
        return highest_bit(able)
    return lowest_bit(first | able & -np.int64(first == 0))  # all for 0: no branch, which is a toss-up


@hook("sm.choose_warp")
def choose_warp(core: Any, sm: int, row: int, able: int, last: int) -> int:
    """Choose the warp that a scheduler issues from: the number of a set bit of ``able``.

    By default as ``scheduler.policy`` says.

    row    of the scheduler, ``sm`` x schedulers + its number.
    able   warps that may issue, as a mask, never 0. In the model ``characterised`` bits are in order of age, the oldest
           lowest, and the units of some may be busy: if the chosen one's is, the question comes again without that
           unit's warps. In ``pipeline`` bits are warps of the SM.
    last   the warp that issued last, as a mask of one bit, or 0.

    ``warp_at(core, sm, number)`` is the row in ``core.warp`` of the warp that a bit stands for, by its number. A number
    that is no set bit of ``able`` stands for the lowest one.
    """
    return pick(core.policy, able, last)


chooses = is_replaced("sm.choose_warp")


@inlined
def is_able(able: int, bit: int) -> bool:
    """Whether a number is a bit of ``able``; a policy's mistake must not end in other memory, or never."""
    return 0 <= bit < 64 and (able >> bit) & 1 == 1
