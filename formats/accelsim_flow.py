"""From executed instructions to basic blocks and visits.

Accel-Sim's traces have no blocks: a warp's instructions follow each other, each with the lanes that were active and not
predicated off. A block begins where control came from elsewhere than the instruction before, or where the instruction
before can send control away, so a visit is a run of consecutive instructions; its active mask is the union of theirs.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from formats.accelsim_parse import MOST_DESTINATIONS, MOST_SOURCES

SEVERAL = -2
NOWHERE = -1


class Flow(NamedTuple):
    """What was seen of each PC, by index (``pc // 8``)."""

    opcode: np.ndarray  # int32, NOWHERE where no instruction was seen
    register: np.ndarray  # int16[n, registers]
    width: np.ndarray  # uint8
    before: np.ndarray  # int32: index of the only instruction ever executed before it; SEVERAL; NOWHERE: a warp's first
    after: np.ndarray  # int32: likewise the one after it; NOWHERE: a warp's last


STEP_BYTES = 8
"""PCs of any architecture are multiples of it."""
FIRST_SEEN = -3


def make_flow(count: int) -> Flow:
    """Nothing seen of ``count`` PCs."""
    return Flow(
        np.full(count, NOWHERE, np.int32), np.full((count, MOST_DESTINATIONS + MOST_SOURCES), -1, np.int16),
        np.zeros(count, np.uint8),
        np.full(count, FIRST_SEEN, np.int32), np.full(count, FIRST_SEEN, np.int32),
    )  # fmt: skip


def with_room(flow: Flow, count: int) -> Flow:
    """The same, with room for ``count`` PCs at least: most kernels have few, and some begin at high ones."""
    room = len(flow.opcode)
    if count <= room:
        return flow
    more = make_flow(max(count, 2 * room) - room)
    return Flow(*(np.concatenate(columns) for columns in zip(flow, more, strict=True)))


@njit(cache=True)
def collect(
    flow: Flow, first_warp: int, warp: np.ndarray, pc: np.ndarray, opcode: np.ndarray, register: np.ndarray,
    width: np.ndarray, last: np.ndarray,
) -> int:  # fmt: skip
    """Note executed instructions. last: int64[2], warp and index of the one before, carried on; at first -1.

    Returns -1, or the row of an instruction that differs from the one seen at its PC before.
    """
    for row in range(len(pc)):
        here = pc[row] // STEP_BYTES
        if flow.opcode[here] == NOWHERE:
            flow.opcode[here] = opcode[row]
            flow.register[here] = register[row]
        elif flow.opcode[here] != opcode[row]:
            return row
        flow.width[here] = max(flow.width[here], width[row])
        before = last[1] if warp[row] + first_warp == last[0] else NOWHERE
        if before == NOWHERE and last[0] >= 0:
            _note(flow.after, last[1], NOWHERE)
        _note(flow.before, here, before)
        if before != NOWHERE:
            _note(flow.after, before, here)
        last[0], last[1] = warp[row] + first_warp, here
    return -1


@njit(cache=True)
def _note(seen: np.ndarray, index: int, other: int) -> None:
    if seen[index] == FIRST_SEEN:
        seen[index] = other
    elif seen[index] != other:
        seen[index] = SEVERAL


def leaders(flow: Flow, sends_away: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """PC indices that were executed, in order, int64[n], and bool[n]: whether a block begins there.

    sends_away: bool by opcode number, for branches, barriers and exits.
    """
    order = np.flatnonzero(flow.opcode != NOWHERE)
    previous = np.concatenate([[NOWHERE], order[:-1]])
    follows = np.concatenate([order[1:], [NOWHERE]])
    begins = flow.before[order] != previous
    leaves = (flow.after[order] != follows) | sends_away[flow.opcode[order]]
    begins[1:] |= leaves[:-1]
    begins[0] = True
    return order, begins


class Placed(NamedTuple):
    """Where each PC index stands in the trace's tables."""

    instruction: np.ndarray  # int64: instruction_id
    block: np.ndarray  # int64: block_id
    begins: np.ndarray  # bool: whether it is the first of its block
    is_memory: np.ndarray  # bool: whether its addresses belong in the trace
    is_shared: np.ndarray  # bool: whether they are offsets, of which 0 is one


@njit(cache=True)
def visit_rows(
    placed: Placed, warp: np.ndarray, pc: np.ndarray, mask: np.ndarray, visit: np.ndarray, visit_block: np.ndarray,
    visit_warp: np.ndarray, visit_mask: np.ndarray,
) -> int:  # fmt: skip
    """Cut the instructions of whole warps into visits; returns how many there are.

    visit: int64[instructions], the visit of each instruction, filled; visit_*: one value per visit, filled. A visit in
    which no lane did anything takes the lanes of the visit after it in its warp, or else of the one before.
    """
    visits = -1
    for row in range(len(pc)):
        here = pc[row] // STEP_BYTES
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
