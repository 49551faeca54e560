"""Turns of the lanes of one warp: lanes that wait in a loop let the other lanes of their function run.

A lane belongs to the topmost entry of the reconvergence stack that names it, or runs. When the running lanes have
passed the head of a loop ``PASSES`` times (``ptx.flow.spin``), the lane after the last one that took a turn runs, with
all lanes of its entry; the lanes that ran wait on the stack instead. So each lane runs at least every 32 turns. Where
lanes act together (a barrier, a shuffle), lanes of the same place wait for each other while others can run.
"""

import numpy as np

from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import ACTIVATION, STACK_ENTRY_BYTES, STOP
from rayplay.tracer.native.jit import compiled

ENTRY_WORDS = STACK_ENTRY_BYTES // 4
BLOCK, MEET, MASK, JOINS = range(4)  # int32 words of an entry; JOINS is 1 where its lanes wait to act together


@compiled
def take_turn(header: np.ndarray, stack: np.ndarray, limit: int, reason: int) -> bool:
    """Let other lanes of the activation run; False when the running ones have to go on.

    header  int64[len(ACTIVATION)], changed; stack: int32[entries, 4], changed; limit: most entries for a turn.
    reason  ``STOP.turn`` at the head of a loop, ``STOP.join`` where lanes act together.
    """
    if reason == STOP.join:
        gather(header, stack)
    lane, lanes, entry = _next(header, stack, int(header[ACTIVATION.turn]))
    if entry < 0 or header[ACTIVATION.depth] + 2 > limit:
        if reason == STOP.join:  # at the head of a loop others may wait to act together, with these lanes too
            header[ACTIVATION.parted] = 0
        return False
    replace_entry(header, stack, entry, lanes, reason == STOP.join)
    header[ACTIVATION.turn] = (lane + 1) % LANES
    return True


@compiled
def replace_entry(header: np.ndarray, stack: np.ndarray, entry: int, lanes: int, joins: bool) -> None:
    """Let ``lanes`` of an entry run; the running ones wait on the stack instead, ``joins``: to act together."""
    block, meet, mask = header[ACTIVATION.pc], header[ACTIVATION.reconvergence], header[ACTIVATION.mask]
    take_entry(header, stack, entry, lanes)
    depth = header[ACTIVATION.depth]
    stack[depth, BLOCK], stack[depth, MEET] = block, np.int32(meet)
    stack[depth, MASK], stack[depth, JOINS] = np.int32(mask), joins
    header[ACTIVATION.depth], header[ACTIVATION.parted] = depth + 1, 1


@compiled
def take_entry(header: np.ndarray, stack: np.ndarray, entry: int, lanes: int) -> None:
    """Let ``lanes`` of an entry run; it goes when it names no others."""
    depth = header[ACTIVATION.depth]
    header[ACTIVATION.pc], header[ACTIVATION.mask] = stack[entry, BLOCK], lanes
    header[ACTIVATION.reconvergence] = np.int64(stack[entry, MEET]) & 0xFFFFFFFF
    stack[entry, MASK] &= ~np.int32(lanes)
    if np.int64(stack[entry, MASK]) & 0xFFFFFFFF & header[ACTIVATION.live] == 0:
        for index in range(entry, depth - 1):
            stack[index] = stack[index + 1]
        header[ACTIVATION.depth] = depth - 1


@compiled
def gather(header: np.ndarray, stack: np.ndarray) -> None:
    """Lanes that wait at the running lanes' block, and meet others where they do, join them."""
    above = header[ACTIVATION.mask]
    for index in range(header[ACTIVATION.depth] - 1, -1, -1):
        mask = np.int64(stack[index, MASK]) & 0xFFFFFFFF & header[ACTIVATION.live]
        own = mask & ~above
        above |= mask
        if stack[index, BLOCK] == header[ACTIVATION.pc] and stack[index, MEET] == np.int32(
            header[ACTIVATION.reconvergence]
        ):
            stack[index, MASK] &= ~np.int32(own)
            header[ACTIVATION.mask] |= own


@compiled
def _next(header: np.ndarray, stack: np.ndarray, first: int) -> tuple[int, np.int64, int]:
    """The first waiting lane from ``first`` on that can run, all lanes of its entry, and the entry; -1 without one."""
    best, lanes, found = LANES, np.int64(0), -1
    above = header[ACTIVATION.mask]
    for index in range(header[ACTIVATION.depth] - 1, -1, -1):
        mask = np.int64(stack[index, MASK]) & 0xFFFFFFFF & header[ACTIVATION.live]
        own = mask & ~above
        above |= mask
        if stack[index, JOINS] == 0:
            for step in range(best):
                if own >> ((first + step) % LANES) & 1:
                    best, lanes, found = step, own, index
                    break
    return (first + best) % LANES, lanes, found
