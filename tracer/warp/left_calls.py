"""Turns of lanes that have left a call, and of lanes that are still in it.

Where lanes wait in a function that others of their call have left, these go on behind the call. The activation records
of the call, from the callee to the innermost function, are kept beside the stack (``LEFT``) until its lanes take a
turn; on the caller's reconvergence stack an entry with the block ``IN_CALL`` stands for them. Turns go round all lanes
of the warp then, however deep in calls they are. Local memory is each lane's own and need not be kept.
"""

import numpy as np

from rayplay.tracer.abi import words
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import ACTIVATION, IN_CALL, ITEM, LEFT, STOP
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.warp.turns import BLOCK, ENTRY_WORDS, JOINS, MASK, MEET, gather, replace_entry, take_entry
from rayplay.tracer.warp.warps import Warps

HEADER_WORDS = len(ACTIVATION)
RETURNED = -1  # in place of an entry: lanes that have left the call


@compiled
def hand_over(w: Warps, warp: int, reason: int) -> bool:
    """Let the next lanes of the warp run, in whatever function they are; False when the running ones have to go on.

    reason: ``STOP.turn`` or ``STOP.join``, as for ``take_turn``.
    """
    top = w.depth[warp] - 1
    joins = reason == STOP.join
    if joins:
        gather(_header(w, warp, top), _entries(w, warp, top))
    base = _base(w, warp, top)
    lane, level, entry = _next(w, warp, base, top, _header(w, warp, base)[ACTIVATION.turn])
    if level < 0 or not _has_room(w, warp, level, top):
        if joins:
            _header(w, warp, top)[ACTIVATION.parted] = 0
        return False
    _header(w, warp, base)[ACTIVATION.turn] = (lane + 1) % LANES
    while level >= 0 and _has_room(w, warp, level, top):
        header, entries = _header(w, warp, level), _entries(w, warp, level)
        if level < top:
            left = _keep(w, warp, level, top, joins)
            if left:
                header[ACTIVATION.mask] = left
                header[ACTIVATION.call_mask] &= left
                return True
            lanes = _lanes_of(w, warp, level, entry)
            take_entry(header, entries, entry, lanes)
        else:
            lanes = _lanes_of(w, warp, level, entry)
            replace_entry(header, entries, entry, lanes, joins)
        if header[ACTIVATION.pc] != IN_CALL:
            return True
        joins = back_into_call(w, warp)
        top = w.depth[warp] - 1
        level, entry = _owner(w, warp, level + 1, top, lane)
    return True


@compiled
def others_can_run(w: Warps, warp: int) -> bool:
    """Whether lanes outside the innermost function can run, or lanes in a call that its running lanes have left."""
    top = w.depth[warp] - 1
    if w.left.shape[1] == 0:
        return False
    base = _base(w, warp, top)
    header, entries = _header(w, warp, top), _entries(w, warp, top)
    for index in range(header[ACTIVATION.depth]):
        if entries[index, BLOCK] == IN_CALL:
            return True
    inner = top
    while inner > base:
        if _returned(w, warp, inner - 1):
            return True
        header, entries = _header(w, warp, inner - 1), _entries(w, warp, inner - 1)
        above = header[ACTIVATION.mask]
        for index in range(header[ACTIVATION.depth] - 1, -1, -1):
            if entries[index, JOINS] == 0 and _mask(header, entries, index) & ~above:
                return True
            above |= _mask(header, entries, index)
        inner -= 1
    return False


@compiled
def back_into_call(w: Warps, warp: int) -> bool:
    """The running lanes of the innermost function, whose block is ``IN_CALL``, go on in their call.

    Returns whether they wait there to act together.
    """
    level = w.depth[warp] - 1
    header = _header(w, warp, level)
    for call in range(w.left.shape[1]):
        record = w.left[warp, call]
        if record[LEFT.lanes] & header[ACTIVATION.mask] and record[LEFT.level] == level:
            start = w.items[warp, level, ITEM.start] + w.words[w.items[warp, level, ITEM.function]]
            for word in range(record[LEFT.words]):
                w.stacks[warp, start + word] = w.left_stacks[warp, call, word]
            for index in range(record[LEFT.items]):
                w.items[warp, level + 1 + index] = w.left_items[warp, call, index]
            header[ACTIVATION.pc], header[ACTIVATION.todo_mask] = record[LEFT.pc], 0
            header[ACTIVATION.mask] = header[ACTIVATION.call_mask] = record[LEFT.lanes]
            w.depth[warp] = level + 1 + record[LEFT.items]
            record[LEFT.lanes] = 0
            return record[LEFT.joins] != 0
    return False


@compiled
def leave_activations(w: Warps, warp: int, innermost: int, lanes: int) -> None:
    """Lanes leave the activation at ``innermost`` on the control stack, and the functions it was called from."""
    for index in range(innermost, -1, -1):
        item = w.items[warp, index]
        if item[ITEM.kind] != words.ITEM_ACTIVATION:
            return
        for word in (ACTIVATION.mask, ACTIVATION.live, ACTIVATION.call_mask, ACTIVATION.todo_mask):
            w.stacks[warp, item[ITEM.start] + word] &= ~lanes


@compiled
def _keep(w: Warps, warp: int, level: int, top: int, joins: bool) -> int:
    """Keep the call that the activation at ``level`` waits for; returns the lanes that have left it."""
    header, entries = _header(w, warp, level), _entries(w, warp, level)
    callee = _header(w, warp, level + 1)
    exited = callee[ACTIVATION.exited]
    if exited:
        leave_activations(w, warp, level, exited)
        callee[ACTIVATION.exited] = 0
    left = _returned(w, warp, level)
    inside = header[ACTIVATION.mask] & ~left
    call = 0
    while w.left[warp, call, LEFT.lanes]:
        call += 1
    record = w.left[warp, call]
    record[LEFT.runnable] = _runnable(w, warp, level + 1, top, joins)
    start = w.items[warp, level + 1, ITEM.start]
    record[LEFT.lanes], record[LEFT.level], record[LEFT.items] = inside, level, top - level
    record[LEFT.words] = w.items[warp, top, ITEM.start] + w.words[w.items[warp, top, ITEM.function]] - start
    record[LEFT.pc], record[LEFT.joins] = header[ACTIVATION.pc], joins
    for word in range(record[LEFT.words]):
        w.left_stacks[warp, call, word] = w.stacks[warp, start + word]
    for index in range(record[LEFT.items]):
        w.left_items[warp, call, index] = w.items[warp, level + 1 + index]
    w.depth[warp] = level + 1
    depth = header[ACTIVATION.depth]
    entries[depth, BLOCK], entries[depth, MEET] = IN_CALL, np.int32(header[ACTIVATION.reconvergence])
    entries[depth, MASK], entries[depth, JOINS] = np.int32(inside), 0
    header[ACTIVATION.depth], header[ACTIVATION.parted] = depth + 1, 1
    return left


@compiled
def _next(w: Warps, warp: int, base: int, top: int, first: int) -> tuple[int, int, int]:
    """The first lane from ``first`` on that can run, the item of its function, and its entry there; -1 without one."""
    best, found_level, found_entry = LANES, -1, RETURNED
    for step in range(LANES):
        lane = (first + step) % LANES
        level, entry = _owner(w, warp, base, top, lane)
        if level >= 0 and best == LANES and _can_run(w, warp, level, entry, lane):
            best, found_level, found_entry = lane, level, entry
    return best, found_level, found_entry


@compiled
def _owner(w: Warps, warp: int, base: int, top: int, lane: int) -> tuple[int, int]:
    """The item of the function in which a lane waits, and its entry there; -1 for a lane that runs or has ended.

    Lanes that have left a call go on before others of the caller do.
    """
    if _header(w, warp, top)[ACTIVATION.mask] >> lane & 1:
        return -1, RETURNED
    for level in range(top, base - 1, -1):
        header, entries = _header(w, warp, level), _entries(w, warp, level)
        if not header[ACTIVATION.live] >> lane & 1:
            continue
        if level < top and header[ACTIVATION.mask] >> lane & 1:
            return (level, RETURNED) if _returned(w, warp, level) >> lane & 1 else (-1, RETURNED)
        for index in range(header[ACTIVATION.depth] - 1, -1, -1):
            if _mask(header, entries, index) >> lane & 1:
                return level, index
    return -1, RETURNED


@compiled
def _can_run(w: Warps, warp: int, level: int, entry: int, lane: int) -> bool:
    """Whether a waiting lane does not wait to act together with others."""
    if entry == RETURNED:
        return True
    entries = _entries(w, warp, level)
    if entries[entry, BLOCK] != IN_CALL:
        return entries[entry, JOINS] == 0
    for call in range(w.left.shape[1]):
        record = w.left[warp, call]
        if record[LEFT.level] == level and record[LEFT.lanes] >> lane & 1:
            return record[LEFT.runnable] >> lane & 1 != 0
    return False


@compiled
def _runnable(w: Warps, warp: int, base: int, top: int, joins: bool) -> np.int64:
    """The lanes of a call that do not wait to act together."""
    found = np.int64(0) if joins else _header(w, warp, top)[ACTIVATION.mask]
    for lane in range(LANES):
        level, entry = _owner(w, warp, base, top, lane)
        if level >= 0 and _can_run(w, warp, level, entry, lane):
            found |= np.int64(1) << lane
    return found


@compiled
def _lanes_of(w: Warps, warp: int, level: int, entry: int) -> int:
    """The lanes that wait at an entry: the ones that no entry above it names."""
    header, entries = _header(w, warp, level), _entries(w, warp, level)
    above = header[ACTIVATION.mask]
    for index in range(header[ACTIVATION.depth] - 1, entry, -1):
        above |= _mask(header, entries, index)
    return _mask(header, entries, entry) & ~above


@compiled
def _returned(w: Warps, warp: int, level: int) -> int:
    """Lanes of the function at ``level`` that run behind its call: they have left it, or did not make it."""
    header, callee = _header(w, warp, level), _header(w, warp, level + 1)
    return header[ACTIVATION.mask] & header[ACTIVATION.live] & ~callee[ACTIVATION.live] & ~callee[ACTIVATION.exited]


@compiled
def _has_room(w: Warps, warp: int, level: int, top: int) -> bool:
    """Whether there is room for an entry more, and for another call that lanes have left."""
    if _header(w, warp, level)[ACTIVATION.depth] + 2 > w.turns[w.items[warp, level, ITEM.function], 1]:
        return False
    if level == top:
        return True
    kept = 0
    for call in range(w.left.shape[1]):
        kept += w.left[warp, call, LEFT.lanes] != 0
    return kept < w.left.shape[1]


@compiled
def _base(w: Warps, warp: int, top: int) -> int:
    """The outermost function from which calls alone lead to the one at ``top``."""
    base = top
    while base > 0 and w.items[warp, base - 1, ITEM.kind] == words.ITEM_ACTIVATION:
        base -= 1
    return base


@compiled
def _header(w: Warps, warp: int, level: int) -> np.ndarray:
    start = w.items[warp, level, ITEM.start]
    return w.stacks[warp, start : start + HEADER_WORDS]


@compiled
def _entries(w: Warps, warp: int, level: int) -> np.ndarray:
    """The reconvergence stack of the function at ``level``, int32[entries, 4]."""
    item = w.items[warp, level]
    start, function = item[ITEM.start], item[ITEM.function]
    first = w.turns[function, 0] // 8
    return w.stacks[warp, start + first : start + w.words[function]].view(np.int32).reshape(-1, ENTRY_WORDS)


@compiled
def _mask(header: np.ndarray, entries: np.ndarray, index: int) -> int:
    """Live lanes that an entry names."""
    return np.int64(entries[index, MASK]) & 0xFFFFFFFF & header[ACTIVATION.live]
