"""The control stack of a warp: functions in flight, trace calls and reported intersections, innermost last.

The stack is data, so that a warp can wait at a barrier or for room in the record buffers, and so that machine code and
interpreter share every decision: ``advance`` works until a function must run, ``suspended`` notes why it stopped.
"""

import numpy as np

from rayplay.tracer.abi import words
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import FLAG_NO_CLOSEST_HIT, FRAME, NO_PROGRAM, ROW_BYTES, STATUS
from rayplay.tracer.abi.words import ACTIVATION, BARRIER_STATE, EXCEPTION, ITEM, KIND, MACHINE, MODE, STOP, VIEW
from rayplay.tracer.memory.arena import FIRST_FUNCTION, FUNCTION_STEP_BYTES
from rayplay.tracer.native.jit import compiled, inlined_entry_point
from rayplay.tracer.warp.left_calls import back_into_call, hand_over, leave_activations, others_can_run
from rayplay.tracer.warp.turns import ENTRY_WORDS, take_turn
from rayplay.tracer.warp.warps import Warps

PHASE_TRAVERSE, PHASE_PROGRAMS, PHASE_END = 0, 1, 2
"""Phases of a trace call."""
NO_HIT_RECORD, NO_MISS_RECORD = -2, -3
"""Errors of a trace call, as the traversal has them (``tracer.rays.traverse``)."""


@inlined_entry_point
def push_activation(w: Warps, warp: int, function: int, mask: int, view: int) -> int:
    """Put a function in flight on the control stack; RUN, or STACK_OVERFLOW."""
    depth = w.depth[warp]
    start, local = 0, 0
    for below in range(depth - 1, -1, -1):
        if w.items[warp, below, ITEM.kind] == words.ITEM_ACTIVATION:
            caller = w.items[warp, below, ITEM.function]
            start = w.items[warp, below, ITEM.start] + w.words[caller]
            local = w.items[warp, below, ITEM.local_offset] + w.local_bytes[caller]
            break
    end = start + w.words[function]
    no_local = local + w.local_bytes[function] > w.machine[MACHINE.local_bytes]
    if depth + 2 >= w.items.shape[1] or end + w.words.max() > w.stacks.shape[1] or no_local:
        return STOP.stack_overflow
    stack = w.stacks[warp]
    stack[start + ACTIVATION.pc], stack[start + ACTIVATION.reconvergence] = 0, -1
    stack[start + ACTIVATION.mask], stack[start + ACTIVATION.live] = mask, mask
    stack[start + ACTIVATION.depth], stack[start + ACTIVATION.exited] = 0, 0
    stack[start + ACTIVATION.local_offset] = local
    stack[start + ACTIVATION.turn], stack[start + ACTIVATION.parted] = 0, 0
    for word in range(start + w.zero[function, 0], start + w.zero[function, 1]):
        stack[word] = 0
    item = w.items[warp, depth]
    item[ITEM.kind], item[ITEM.function], item[ITEM.start] = words.ITEM_ACTIVATION, function, start
    item[ITEM.local_offset], item[ITEM.view_index] = local, view
    w.machine[MACHINE.pushed] += 1
    item[ITEM.serial] = w.machine[MACHINE.pushed]
    w.depth[warp] = depth + 1
    return STOP.none


@compiled
def push_program(w: Warps, warp: int, program: int, mask: int, kind: int, frame: int, record_row: int) -> int:
    """Put a program of the trace call in ``frame`` in flight for the lanes of ``mask``.

    kind is a KIND; record_row is the frame's row with each lane's index into the record table.
    """
    index = w.depth[warp]
    view = w.views[index]
    base = w.frames[frame].ctypes.data
    committed = base + FRAME.committed_t * ROW_BYTES
    candidate = base + FRAME.candidate_t * ROW_BYTES
    is_candidate = kind >= KIND.any_hit
    view[VIEW.frame] = base
    view[VIEW.hit_rows] = candidate if is_candidate else committed
    view[VIEW.t_row] = (
        candidate if kind == KIND.any_hit else base + FRAME.t_max * ROW_BYTES if kind == KIND.miss else committed
    )
    view[VIEW.kind] = kind
    table = w.sbt_miss if kind == KIND.miss else w.sbt_hit
    for lane in range(LANES):
        if mask >> lane & 1:
            record = w.frames[frame, record_row, lane]
            view[VIEW.sbt_data + lane] = np.int64(table[record]) if record < table.shape[0] else 0
    return push_activation(w, warp, program, mask, index)


@inlined_entry_point
def enter(w: Warps, warp: int, item: np.ndarray) -> None:
    """Set the machine's words for the activation that runs next."""
    view = w.views[item[ITEM.view_index]]
    w.machine[MACHINE.current_view] = view.ctypes.data
    depth = frame_depth(w, warp)
    w.machine[MACHINE.next_frame] = w.frames[depth].ctypes.data
    w.machine[MACHINE.hit_object] = w.objects[depth].ctypes.data
    w.machine[MACHINE.remaining_depth] = w.frames.shape[0] - 1 - depth


@inlined_entry_point
def frame_depth(w: Warps, warp: int) -> int:
    """How many trace calls are in flight: the frame that the next one takes."""
    depth = 0
    for index in range(w.depth[warp]):
        depth += w.items[warp, index, ITEM.kind] == words.ITEM_TRACE
    return depth


@inlined_entry_point
def suspended(w: Warps, warp: int, reason: int) -> int:
    """Take note of why the innermost function stopped; RUN to go on, else the reason itself."""
    index = w.depth[warp]
    if reason == STOP.returned:
        w.depth[warp] = index - 1
        exited = w.stacks[warp, w.items[warp, index - 1, ITEM.start] + ACTIVATION.exited]
        if exited:
            leave_activations(w, warp, index - 2, exited)
        return STOP.none
    mask = w.machine[MACHINE.suspend_mask]
    if reason == STOP.call:
        return _call(w, warp, mask)
    if reason in (STOP.barrier, STOP.arrive):
        return _arrive(w, reason)
    if reason in (STOP.turn, STOP.join, STOP.called):
        return STOP.none if _turn(w, warp, w.items[warp, index - 1], reason) or reason == STOP.join else reason
    if reason == STOP.exception:
        return _throw(w, warp, mask)
    if reason != STOP.trace and reason != STOP.report:
        return reason
    frame = frame_depth(w, warp)
    if (reason == STOP.trace and frame + 1 >= w.frames.shape[0]) or (reason == STOP.report and frame == 0):
        return STOP.trace_depth
    if index + 2 >= w.items.shape[1]:
        return STOP.stack_overflow
    item = w.items[warp, index]
    item[ITEM.kind] = words.ITEM_TRACE if reason == STOP.trace else words.ITEM_REPORT
    item[ITEM.frame] = frame if reason == STOP.trace else frame - 1
    item[ITEM.instruction], item[ITEM.todo], item[ITEM.segment] = w.machine[MACHINE.suspend_instruction], mask, 0
    item[ITEM.phase], item[ITEM.round], item[ITEM.group], item[ITEM.lanes] = 0, 0, 0, mask
    w.depth[warp] = index + 1
    if reason == STOP.trace:
        mode = item[ITEM.mode] = w.machine[MACHINE.suspend_mode]
        if mode == MODE.invoke:
            return _invoke(w, item, frame, mask)
        _begin_trace(w, frame, mask)
    return STOP.none


@compiled
def _call(w: Warps, warp: int, mask: int) -> int:
    """The function that the innermost one calls is put in flight."""
    index = w.depth[warp]
    function, wanted = w.machine[MACHINE.suspend_function], w.machine[MACHINE.suspend_signature]
    if wanted >= 0 and w.signatures[function] != wanted:
        return STOP.bad_signature
    if function >= w.words.shape[0]:
        return STOP.external
    if wanted >= 0 and _has_record(w, warp, index - 1, mask):
        return push_activation(w, warp, function, mask, index)
    return push_activation(w, warp, function, mask, w.items[warp, index - 1, ITEM.view_index])


@compiled
def _begin_trace(w: Warps, frame: int, mask: int) -> None:
    """Lanes of a trace call before their traversal; programs that it runs have no hit object yet."""
    for lane in range(LANES):
        if mask >> lane & 1:
            w.objects[frame + 1, FRAME.status, lane] = STATUS.start
            w.frames[frame, FRAME.status, lane] = STATUS.start
            w.frames[frame, FRAME.committed_t, lane] = w.frames[frame, FRAME.t_max, lane]
            w.frames[frame, FRAME.committed_instance, lane] = 0xFFFFFFFF
            w.frames[frame, FRAME.verdict, lane] = 0


@compiled
def _invoke(w: Warps, item: np.ndarray, frame: int, mask: int) -> int:
    """The hit objects of the calling program become the trace call in ``frame``, whose traversal is done."""
    item[ITEM.phase], item[ITEM.round], item[ITEM.todo] = PHASE_END, mask, 0
    rows, found = w.frames[frame], w.objects[frame]
    for lane in range(LANES):
        if mask >> lane & 1:
            w.objects[frame + 1, FRAME.status, lane] = STATUS.start
            for row in range(FRAME.payload_0):
                rows[row, lane] = found[row, lane]
            program = -1
            if rows[FRAME.status, lane] == STATUS.hit:
                if rows[FRAME.committed_record, lane] >= w.hit_programs.shape[0]:
                    return _no_record(w, lane, NO_HIT_RECORD)
                if rows[FRAME.flags, lane] & FLAG_NO_CLOSEST_HIT == 0:
                    program = w.hit_programs[rows[FRAME.committed_record, lane], 0]
            elif rows[FRAME.status, lane] == STATUS.miss:
                if rows[FRAME.miss_index, lane] >= w.miss_programs.shape[0]:
                    return _no_record(w, lane, NO_MISS_RECORD)
                program = w.miss_programs[rows[FRAME.miss_index, lane]]
            rows[FRAME.program, lane] = NO_PROGRAM if program < 0 else program
    return STOP.none


@compiled
def _no_record(w: Warps, lane: int, error: int) -> int:
    w.machine[MACHINE.error_lane], w.machine[MACHINE.error_address] = lane, error
    return STOP.long_stretch


@compiled
def _has_record(w: Warps, warp: int, caller: int, mask: int) -> bool:
    """Whether the lanes call a callable by its record; then a view of its own, which shows each lane its record's data,
    lies behind the caller's item."""
    item = w.items[warp, caller]
    first = item[ITEM.start] + w.outgoing[item[ITEM.function]]
    view, old, found = w.views[caller + 1], w.views[item[ITEM.view_index]], False
    for lane in range(LANES):
        if mask >> lane & 1:
            row = (w.stacks[warp, first + lane] - FIRST_FUNCTION) // FUNCTION_STEP_BYTES
            data = w.callable_data[row]
            if data != 0 and not found:
                found = True
                view[:] = old
            if data != 0:
                view[VIEW.sbt_data + lane] = data
    return found


@compiled
def _throw(w: Warps, warp: int, mask: int) -> int:
    """Lanes leave all that they run, and the exception program runs for them; without one the launch ends."""
    program, data = w.thrown
    if program < 0:
        lane = 0
        while not mask >> lane & 1:
            lane += 1
        w.machine[MACHINE.error_lane] = lane
        w.machine[MACHINE.error_address] = w.exception[EXCEPTION.code, lane]
        return STOP.exception
    for index in range(w.depth[warp]):
        item = w.items[warp, index]
        if item[ITEM.kind] == words.ITEM_ACTIVATION:
            for word in (ACTIVATION.mask, ACTIVATION.live, ACTIVATION.call_mask, ACTIVATION.todo_mask):
                w.stacks[warp, item[ITEM.start] + word] &= ~mask
        else:
            for word in (ITEM.todo, ITEM.round, ITEM.group, ITEM.lanes):
                item[word] &= ~mask
    index = w.depth[warp]
    view = w.views[index]
    view[:] = w.views[w.items[warp, index - 1, ITEM.view_index]]
    view[VIEW.kind] = KIND.exception
    view[VIEW.sbt_data :] = data
    return push_activation(w, warp, program, mask, index)


@compiled
def _turn(w: Warps, warp: int, item: np.ndarray, reason: int) -> bool:
    """Whether other lanes run instead: of the activation (``turns``), or of the warp (``left_calls``)."""
    if reason == STOP.called:
        back_into_call(w, warp)
        return True
    if others_can_run(w, warp):
        return hand_over(w, warp, reason)
    start, function = item[ITEM.start], item[ITEM.function]
    first, limit = w.turns[function]
    entries = w.stacks[warp, start + first // 8 : start + w.words[function]].view(np.int32)
    return take_turn(w.stacks[warp, start:], entries.reshape(-1, ENTRY_WORDS), limit, reason)


@compiled
def _arrive(w: Warps, reason: int) -> int:
    """The warp, as a whole, arrives at a barrier; it goes on unless it has to wait."""
    number = w.machine[MACHINE.suspend_barrier]
    if number < words.CLUSTER_BARRIER or number >= words.BARRIERS - 1:
        return STOP.bad_barrier
    barrier = w.barriers[w.machine[MACHINE.cta_slot], number]
    barrier[BARRIER_STATE.arrived] += LANES
    barrier[BARRIER_STATE.true] += w.machine[MACHINE.suspend_true]
    barrier[BARRIER_STATE.lanes] += w.machine[MACHINE.suspend_lanes]
    return STOP.none if reason == STOP.arrive else reason


@inlined_entry_point
def start_warp(w: Warps, warp: int, function: int, mask: int, sbt_data: int) -> None:
    """Begin a warp with its entry; an entry sees one record, at ``sbt_data``."""
    w.depth[warp] = 0
    w.left[warp] = 0
    view = w.views[0]
    nothing = w.frames[w.frames.shape[0] - 1].ctypes.data  # a frame that no trace call takes
    view[VIEW.frame], view[VIEW.hit_rows], view[VIEW.t_row], view[VIEW.kind] = nothing, nothing, nothing, KIND.raygen
    view[VIEW.sbt_data :] = sbt_data
    w.objects[0, FRAME.status] = STATUS.start
    push_activation(w, warp, function, mask, 0)
