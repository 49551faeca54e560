"""Reconstruct basic blocks and visits from executed instructions.

Accel-Sim's traces have no blocks: a warp's instructions follow each other, each with the lanes that were active and not
predicated off. A block begins where control was seen to enter other than from the previous instruction, or after an
instruction that can transfer control. So a visit is a run of consecutive instructions; its active mask is the union of
their masks.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.exchange.accelsim.tokens import entry_point, part

SEVERAL = -2
NOWHERE = -1
FIRST_SEEN = -3


class Flow(NamedTuple):
    """Neighbours of each instruction, by its number (``program``)."""

    before: np.ndarray  # int32: the only instruction ever executed before it; SEVERAL; NOWHERE: a warp's first
    after: np.ndarray  # int32: likewise the one after it; NOWHERE: a warp's last


def make_flow(count: int) -> Flow:
    """Empty flow of ``count`` instructions."""
    return Flow(np.full(count, FIRST_SEEN, np.int32), np.full(count, FIRST_SEEN, np.int32))


def with_room(flow: Flow, count: int) -> Flow:
    """The same, with room for ``count`` instructions at least."""
    room = len(flow.before)
    if count <= room:
        return flow
    more = make_flow(max(count, 2 * room) - room)
    return Flow(*(np.concatenate(columns) for columns in zip(flow, more, strict=True)))


@entry_point
def collect(flow: Flow, first_warp: int, warp: np.ndarray, number: np.ndarray, last: np.ndarray) -> None:
    """Record executed instructions. last: int64[2], warp and number of the previous one, carried on; at first -1."""
    for row in range(len(number)):
        here = number[row]
        before = last[1] if warp[row] + first_warp == last[0] else NOWHERE
        if before == NOWHERE and last[0] >= 0:
            _note(flow.after, last[1], NOWHERE)
        _note(flow.before, here, before)
        if before != NOWHERE:
            _note(flow.after, before, here)
        last[0], last[1] = warp[row] + first_warp, here


@part
def _note(seen: np.ndarray, index: int, other: int) -> None:
    if seen[index] == FIRST_SEEN:
        seen[index] = other
    elif seen[index] != other:
        seen[index] = SEVERAL


def leaders(flow: Flow, order: np.ndarray, sends_away: np.ndarray) -> np.ndarray:
    """bool[n]: whether a block begins at each instruction of ``order``, numbers in the order of the trace.

    sends_away: bool by number, for branches, barriers and exits.
    """
    previous = np.concatenate([[NOWHERE], order[:-1]])
    follows = np.concatenate([order[1:], [NOWHERE]])
    begins = flow.before[order] != previous
    leaves = (flow.after[order] != follows) | sends_away[order]
    begins[1:] |= leaves[:-1]
    begins[0] = True
    return begins


class Placed(NamedTuple):
    """Position of each instruction in the trace's tables, by its number."""

    order: np.ndarray  # int64: numbers in the order of the tables
    instruction: np.ndarray  # int64: instruction_id
    block: np.ndarray  # int64: block_id
    begins: np.ndarray  # bool: whether it is the first of its block
    is_memory: np.ndarray  # bool: whether its addresses belong in the trace
    is_shared: np.ndarray  # bool: whether they are offsets, of which 0 is one


@entry_point
def visit_rows(
    placed: Placed, warp: np.ndarray, number: np.ndarray, mask: np.ndarray, visit: np.ndarray, visit_block: np.ndarray,
    visit_warp: np.ndarray, visit_mask: np.ndarray,
) -> int:  # fmt: skip
    """Cut the instructions of whole warps into visits; return the number of visits.

    visit: int64[instructions], the visit of each instruction, filled; visit_*: one value per visit, filled. A visit in
    which no lane did anything takes the lanes of the visit after it in its warp, or else of the one before.
    """
    visits = -1
    for row in range(len(number)):
        here = number[row]
        if row == 0 or warp[row] != warp[row - 1] or placed.begins[here]:
            visits += 1
            visit_block[visits], visit_warp[visits], visit_mask[visits] = placed.block[here], warp[row], 0
        visit[row] = visits
        visit_mask[visits] |= mask[row]
    for index in range(visits - 1, -1, -1):
        if visit_mask[index] == 0 and visit_warp[index + 1] == visit_warp[index]:
            visit_mask[index] = visit_mask[index + 1]
    for index in range(1, visits + 1):
        if visit_mask[index] == 0 and visit_warp[index - 1] == visit_warp[index]:
            visit_mask[index] = visit_mask[index - 1]
    return visits + 1
