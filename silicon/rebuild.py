"""From the notes of threads to the visits and accesses of their warps: our reconvergence, over paths that are known.

A lane's notes say where it goes after each block; the rule by which lanes diverge and reconverge is the executor's
(``tracer.interp.flow``), so that the rows are the same. Lanes of loops in which they may wait for each other
(``ptx.flow.spin``) take no turns here: any order of theirs is one that a GPU may choose.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rayplay.formats.guard.code_cache import kept
from rayplay.tracer.abi.layout import LANES

GO, BRANCH, LEAVE, EXIT, CALL = range(5)
DONE, NO_ROOM, OTHER_PATH, UNMAPPED, TOO_DEEP = range(5)
ANY, SHARED, LOCAL, ABSOLUTE, OWN_LOCAL = range(5)  # where a noted address is looked up; the last two are not noted
NEVER = 0xFFFF  # number of a block that was never written
MOST_CALLS = 1 << 10
SOURCES = ("silicon", "tracer/abi")
entry_point: Any = kept(njit(cache=True, error_model="numpy"), SOURCES)
compiled: Any = njit(error_model="numpy")


class Code(NamedTuple):
    """Blocks of a launch, and their accesses; ``x_first`` are offsets into the ragged ``x``."""

    region: np.ndarray  # int64[blocks], slots of the region that begins there, or -1
    number: np.ndarray  # int64[blocks], slot of the block's number, or -1
    decision: np.ndarray  # int64[blocks], slot that says where a lane goes, or -1
    kind: np.ndarray  # int64[blocks]: GO, BRANCH, LEAVE, EXIT, CALL
    after: np.ndarray  # int64[blocks], the next block of the text or -1
    meet: np.ndarray  # int64[blocks], the immediate post-dominator or -1
    indirect: np.ndarray  # bool[blocks], the last instruction branches or calls by a register
    guarded: np.ndarray  # bool[blocks], the last instruction has a guard
    next_first: np.ndarray  # int64[blocks + 1]
    next: np.ndarray  # int64, targets of a branch, or first blocks of the functions that a call may run
    frame: np.ndarray  # int64[blocks], local bytes of the block's function
    access_first: np.ndarray  # int64[blocks + 1]
    instruction: np.ndarray  # int64[accesses], id in the launch
    slot: np.ndarray  # int64[accesses]
    guard: np.ndarray  # int64[accesses], slot or -1
    offset: np.ndarray  # int64[accesses]
    narrow: np.ndarray  # bool[accesses]
    where: np.ndarray  # int64[accesses]: ANY, SHARED, ...


class Places(NamedTuple):
    """Rows of memory as the device has it, and where it lies for the trace."""

    where: np.ndarray  # int64[rows]
    first: np.ndarray  # int64[rows], address of the device
    end: np.ndarray  # int64[rows]
    ours: np.ndarray  # int64[rows]
    their_thread_bytes: np.ndarray  # int64[rows], distance of two threads' copies on the device
    our_thread_bytes: np.ndarray  # int64[rows]
    our_cta_bytes: np.ndarray  # int64[rows]


class Grid(NamedTuple):
    """Shape of a launch and of its threads' local memory."""

    threads: int  # of a CTA
    warps: int  # of a CTA
    local_base: int
    local_bytes: int


class Notes(NamedTuple):
    """Notes of the threads of some warps: slots uint64, and per warp its first slot and its rows of 32."""

    slots: np.ndarray
    first: np.ndarray
    rows: np.ndarray


class Room(NamedTuple):
    """Memory for rows: uint32[n, 2], uint32[n, 4], uint64[n], int64[warps, 5]; ``error`` int64[4]."""

    visits: np.ndarray
    accesses: np.ndarray
    addresses: np.ndarray
    lengths: np.ndarray
    error: np.ndarray


@compiled
def _peek(notes: Notes, warp: int, lane: int, row: int) -> int:
    """Number of the block that a lane noted at a row; NEVER behind its last one."""
    if row >= notes.rows[warp]:
        return NEVER
    return int(notes.slots[notes.first[warp] + LANES * row + lane] & np.uint64(NEVER))


@compiled
def _ours(code: Code, places: Places, grid: Grid, access: int, value: int, thread: int, local: int) -> int:
    """The address that the trace has; -1 where the device's lies in nothing that is known."""
    where, offset = code.where[access], code.offset[access]
    if where == ABSOLUTE:
        return offset
    if where == OWN_LOCAL:
        return grid.local_base + local + offset + thread * grid.local_bytes
    value = (value + offset) & 0xFFFFFFFF if code.narrow[access] else value + offset
    for row in range(places.first.shape[0]):
        at = value - thread * places.their_thread_bytes[row]
        if places.where[row] == where and places.first[row] <= at < places.end[row]:
            moved = places.ours[row] + at - places.first[row]
            cta = thread // grid.threads
            return moved + thread * places.our_thread_bytes[row] + cta * places.our_cta_bytes[row]
    return -1


@compiled
def _accesses(
    code: Code, places: Places, grid: Grid, notes: Notes, room: Room, used: np.ndarray, block: int, mask: int,
    warp: int, first_thread: int, base: np.ndarray, visit: int, local: int,
) -> int:  # fmt: skip
    """Rows of the accesses of one visit; ``base`` are the rows at which the lanes' regions begin."""
    for access in range(code.access_first[block], code.access_first[block + 1]):
        lanes, slot, guard = np.int64(0), code.slot[access], code.guard[access]
        for lane in range(LANES):
            if not mask >> lane & 1:
                continue
            start = notes.first[warp] + LANES * base[lane] + lane
            if guard >= 0:
                held = notes.slots[start + LANES * guard]
                if held == np.uint64(0xFFFFFFFFFFFFFFFF):
                    continue
            value = np.int64(notes.slots[start + LANES * slot]) if slot >= 0 else np.int64(0)
            address = _ours(code, places, grid, access, value, first_thread + lane, local)
            if address < 0:
                room.error[1], room.error[2], room.error[3] = code.instruction[access], value, lane
                return UNMAPPED
            room.addresses[used[2]] = address
            used[2] += 1
            lanes |= np.int64(1) << lane
        if lanes:
            row = room.accesses[used[1]]
            row[0], row[1], row[2], row[3] = code.instruction[access], visit, lanes, 0
            used[1] += 1
    return DONE


@compiled
def _targets(
    code: Code, notes: Notes, block: int, mask: int, warp: int, base: np.ndarray, cursor: np.ndarray,
    target: np.ndarray,
) -> bool:  # fmt: skip
    """The block that each lane of ``mask`` goes to: ``target`` int64[32], -1 for the end; False if unknown."""
    low, high, kind = code.next_first[block], code.next_first[block + 1], code.kind[block]
    for lane in range(LANES):
        if not mask >> lane & 1:
            continue
        noted = np.uint64(0)
        if code.decision[block] >= 0:
            noted = notes.slots[notes.first[warp] + LANES * (base[lane] + code.decision[block]) + lane]
        if kind == GO or (code.guarded[block] and noted == np.uint64(0xFFFFFFFFFFFFFFFF)):
            target[lane] = code.after[block]
        elif kind in (LEAVE, EXIT):
            target[lane] = -1
        elif kind == BRANCH:
            index = min(np.int64(noted & np.uint64(0xFFFFFFFF)), high - low - 1) if code.indirect[block] else 0
            target[lane] = code.next[low + index]
        elif not code.indirect[block]:
            target[lane] = code.next[low]
        else:
            target[lane] = -2
            for way in range(low, high):
                first = code.next[way]
                if _peek(notes, warp, lane, cursor[lane] + code.number[first]) == first:
                    target[lane] = first
            if target[lane] == -2:
                return False
    return True


@entry_point
def rebuild(
    code: Code, places: Places, grid: Grid, notes: Notes, room: Room, first_warp: int, begin: int
) -> tuple[int, int, int, int, int]:
    """Rows of the warps from ``begin`` on, as many as there is room for.

    first_warp  number in the launch of the first warp of ``notes``.

    Returns why it ended (DONE, NO_ROOM, or an error in ``room.error``), the warp that comes next, and the rows in use.
    """
    used = np.zeros(3, np.int64)
    stack = np.zeros((4 * code.region.shape[0] + 64 * MOST_CALLS, 3), np.int64)
    calls = np.zeros((MOST_CALLS, 9), np.int64)
    for warp in range(begin, notes.rows.shape[0]):
        before = used.copy()
        ended = _warp(code, places, grid, notes, room, used, stack, calls, warp, first_warp + warp)
        if ended != DONE:
            room.error[0] = first_warp + warp
            return ended, warp, before[0], before[1], before[2]
        room.lengths[warp - begin] = 0
        for table in range(3):
            room.lengths[warp - begin, table] = used[table] - before[table]
    return DONE, notes.rows.shape[0], used[0], used[1], used[2]


BLOCK, MEET, MASK, LIVE, DEPTH, LEFT, CALLED, FRAME, BASE = range(9)  # words of a function in flight; its entries
# of the reconvergence stack are BASE to DEPTH


@compiled
def _begin(call: np.ndarray, block: int, mask: int, frame: int, depth: int) -> None:
    call[BLOCK], call[MEET], call[MASK], call[LIVE], call[DEPTH], call[BASE] = block, -1, mask, mask, depth, depth
    call[LEFT], call[CALLED], call[FRAME] = 0, -1, frame


@compiled
def _pop(call: np.ndarray, stack: np.ndarray) -> bool:
    """Take the innermost entry with live lanes off the reconvergence stack; False without one."""
    call[MASK] = 0
    while call[DEPTH] > call[BASE]:
        call[DEPTH] -= 1
        entry = stack[call[DEPTH]]
        call[BLOCK], call[MEET], call[MASK] = entry[0], entry[1], entry[2] & call[LIVE]
        if call[MASK]:
            return True
    return False


@compiled
def _go(call: np.ndarray, stack: np.ndarray, target: int) -> None:
    if target < 0:
        call[LIVE] &= ~call[MASK]
        call[MASK] = 0
    elif target == call[MEET]:
        _pop(call, stack)
    else:
        call[BLOCK] = target


@compiled
def _branch(code: Code, call: np.ndarray, stack: np.ndarray, target: np.ndarray) -> bool:
    """Lanes diverge: the lowest block runs first, all wait at the branch's immediate post-dominator."""
    mask, meet = call[MASK], code.meet[call[BLOCK]]
    first, several = np.int64(-2), False
    for lane in range(LANES):
        if mask >> lane & 1:
            if target[lane] < 0:
                call[LIVE] &= ~(np.int64(1) << lane)
            elif first == -2:
                first = target[lane]
            elif target[lane] != first:
                several = True
    call[MASK] = mask & call[LIVE]
    if not several:
        _go(call, stack, first if first >= 0 else -1)
        return True
    if call[DEPTH] + LANES + 1 >= stack.shape[0]:
        return False
    if meet >= 0 and call[MEET] != meet:
        entry = stack[call[DEPTH]]
        entry[0], entry[1], entry[2] = meet, call[MEET], call[MASK]
        call[DEPTH] += 1
    left = call[MASK]
    while left:
        last, lanes = np.int64(-1), np.int64(0)
        for lane in range(LANES):
            if left >> lane & 1 and target[lane] > last:
                last = target[lane]
        for lane in range(LANES):
            if left >> lane & 1 and target[lane] == last:
                lanes |= np.int64(1) << lane
        left &= ~lanes
        if last != meet:
            entry = stack[call[DEPTH]]
            entry[0], entry[1], entry[2] = last, meet, lanes
            call[DEPTH] += 1
    _pop(call, stack)
    return True


@compiled
def _leave(code: Code, calls: np.ndarray, depth: int, stack: np.ndarray, target: np.ndarray) -> None:
    """Lanes without a target end the function, or (EXIT) all functions that they are in."""
    call, gone = calls[depth], np.int64(0)
    for lane in range(LANES):
        if call[MASK] >> lane & 1 and target[lane] < 0:
            gone |= np.int64(1) << lane
    if code.kind[call[BLOCK]] == EXIT:
        for below in range(depth):
            calls[below, MASK] &= ~gone
            calls[below, LIVE] &= ~gone
            calls[below, LEFT] &= ~gone
    call[LIVE] &= ~gone
    call[MASK] &= ~gone
    if call[MASK]:
        _go(call, stack, code.after[call[BLOCK]])


@compiled
def _call(code: Code, calls: np.ndarray, depth: int, stack: np.ndarray, target: np.ndarray) -> int:
    """Begin the next function of a call whose lanes ``LEFT`` wait for it, or go on after it; returns the new depth."""
    call = calls[depth]
    last = code.next_first[call[BLOCK] + 1]
    for way in range(max(call[CALLED], code.next_first[call[BLOCK]]), last):
        lanes = np.int64(0)
        for lane in range(LANES):
            if call[LEFT] >> lane & 1 and target[lane] == code.next[way]:
                lanes |= np.int64(1) << lane
        if lanes:
            call[CALLED] = way + 1
            call[LEFT] &= ~lanes
            frame = call[FRAME] + code.frame[call[BLOCK]]
            _begin(calls[depth + 1], code.next[way], lanes, frame, call[DEPTH])
            return depth + 1
    call[CALLED], call[LEFT] = -1, 0
    if call[MASK]:
        _go(call, stack, code.after[call[BLOCK]])
    return depth


@compiled
def _end(code: Code, calls: np.ndarray, depth: int, stack: np.ndarray, target: np.ndarray) -> int:
    """Let the lanes of a block go where they go; DONE, or TOO_DEEP."""
    call = calls[depth]
    kind = code.kind[call[BLOCK]]
    if kind == GO:
        _go(call, stack, code.after[call[BLOCK]])
    elif kind == BRANCH:
        if not _branch(code, call, stack, target):
            return TOO_DEEP
    elif kind == CALL:
        if depth + 2 >= MOST_CALLS:
            return TOO_DEEP
        call[LEFT] = call[MASK]
        call[CALLED] = 0
    else:
        _leave(code, calls, depth, stack, target)
    return DONE


@compiled
def _warp(
    code: Code, places: Places, grid: Grid, notes: Notes, room: Room, used: np.ndarray, stack: np.ndarray,
    calls: np.ndarray, warp: int, number: int,
) -> int:  # fmt: skip
    """Rows of one warp; why it ended."""
    in_cta = number % grid.warps
    first_thread = number // grid.warps * grid.threads + LANES * in_cta
    lanes = min(grid.threads - LANES * in_cta, LANES)
    cursor, target, visits = np.zeros(LANES, np.int64), np.zeros((MOST_CALLS, LANES), np.int64), 0
    bases = np.zeros((MOST_CALLS, LANES), np.int64)
    depth = 0
    _begin(calls[0], 0, (np.int64(1) << lanes) - 1, 0, 0)
    while depth >= 0:
        call = calls[depth]
        if call[CALLED] >= 0:  # functions are left to call, or the last one has returned
            depth = _call(code, calls, depth, stack, target[depth])
            continue
        if call[MASK] == 0 and not _pop(call, stack):
            depth -= 1
            continue
        block, mask = call[BLOCK], call[MASK]
        if not _has_room(room, used, code.access_first[block + 1] - code.access_first[block]):
            return NO_ROOM
        if code.region[block] >= 0 and not _enter(code.region[block], notes.rows[warp], mask, cursor, bases[depth]):
            room.error[1], room.error[2], room.error[3] = block, 0, 0
            return OTHER_PATH
        room.visits[used[0], 0], room.visits[used[0], 1] = block, mask
        used[0] += 1
        ended = _accesses(code, places, grid, notes, room, used, block, mask, warp, first_thread, bases[depth],
                          visits, call[FRAME])  # fmt: skip
        if ended != DONE:
            return ended
        visits += 1
        if not _targets(code, notes, block, mask, warp, bases[depth], cursor, target[depth]):
            room.error[1], room.error[2], room.error[3] = block, 1, 0
            return OTHER_PATH
        ended = _end(code, calls, depth, stack, target[depth])
        if ended != DONE:
            return ended
    return DONE


@compiled
def _enter(slots: int, rows: int, mask: int, cursor: np.ndarray, base: np.ndarray) -> bool:
    """Lanes enter a region; False where one notes more than there is room for."""
    for lane in range(LANES):
        if mask >> lane & 1:
            base[lane] = cursor[lane]
            cursor[lane] += slots
            if cursor[lane] > rows:
                return False
    return True


@compiled
def _has_room(room: Room, used: np.ndarray, accesses: int) -> bool:
    """Whether there is room for a visit and its accesses."""
    rows, addresses = used[1] + accesses, used[2] + LANES * accesses
    return used[0] < len(room.visits) and rows <= len(room.accesses) and addresses <= len(room.addresses)
