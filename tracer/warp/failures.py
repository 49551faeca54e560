"""Errors of a launch that stopped: what happened, at which line, in which lane."""

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import INSTRUCTIONS
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.isa.optix import PREFIX
from rayplay.tracer.abi import words
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import BARRIER_STATE, MACHINE, PROGRESS, STOP, WARP
from rayplay.tracer.link.programs import RECURSION_DEPTH
from rayplay.tracer.warp.arrays import LaunchState


def place_of(state: LaunchState) -> str:
    """Place at which a launch stopped: kernel, file, line, opcode with a call of OptiX's interface."""
    owner, index = state.linked.at(int(state.warps.machine[MACHINE.suspend_instruction]))
    instruction = owner.function.body[index]
    called = f" {instruction.callee}" if instruction.callee.startswith(PREFIX) else ""
    what = instruction.full_opcode + called
    return f"{state.shape.name}: {owner.module.source_name}:{instruction.position.line}: {what}"


def note_outside(state: LaunchState) -> None:
    """Add the launch's accesses outside allocations to the count of its memory, by the place of the instruction."""
    noted = state.memory.outside
    for instruction in np.flatnonzero(state.outside):
        state.warps.machine[MACHINE.suspend_instruction] = instruction
        place = place_of(state)
        noted[place] = noted.get(place, 0) + int(state.outside[instruction])
    state.outside[:] = 0


def _deadlock(state: LaunchState) -> UserError:
    """The error for warps that wait for each other."""
    machine, warps = state.warps.machine, state.turns
    waiting = np.flatnonzero(warps[:, WARP.state] == words.WARP_WAITING)
    if not len(waiting):
        return UserError(f"{place_of(state)}: every warp of the CTA waits for another one without an end")
    first = warps[waiting[0]]
    machine[MACHINE.suspend_instruction] = first[WARP.instruction]
    number, slot = int(first[WARP.barrier]), int(waiting[0]) // state.shape.warps
    arrived = int(state.warps.barriers[slot, number, BARRIER_STATE.arrived])
    own = warps[slot * state.shape.warps : (slot + 1) * state.shape.warps]
    left = int((own[:, WARP.state] != words.WARP_ENDED).sum())
    wanted = int(first[WARP.count]) or LANES * left
    name = "the barrier of the cluster" if number == words.CLUSTER_BARRIER else f"barrier {number}"
    return UserError(
        f"{place_of(state)}: no warp of the CTA can go on: warp {waiting[0] % state.shape.warps} waits at {name}, "
        f"where {arrived} of {wanted} threads have arrived"
    )


def failure(state: LaunchState, code: int) -> UserError:
    """The error for a code that ends a launch."""
    machine = state.warps.machine
    if code == STOP.deadlock:
        return _deadlock(state)
    lane, address = int(machine[MACHINE.error_lane]), int(machine[MACHINE.error_address])
    what = {
        STOP.illegal_address: _illegal(state, address % 2**64) if code == STOP.illegal_address else "",
        STOP.trapped: "stops the program",
        STOP.exception: f"throws exception {(address + 2**31) % 2**32 - 2**31}, and no exception program is bound",
        STOP.bad_call: f"calls {address % 2**64:#x}, which is not the address of a function of the launch",
        STOP.bad_signature: "calls a function that has parameters or results of other sizes than the call says",
        STOP.stack_overflow: "calls are nested too deep: "
        f"more than {RECURSION_DEPTH} functions, or than local memory holds",
        STOP.endless: f"the warp has visited more than {INSTRUCTIONS.value():,} blocks and seems to have no end; "
        f"--max-instructions={4 * INSTRUCTIONS.value()} or {INSTRUCTIONS.variable} raises the limit",
        STOP.trace_depth: "trace calls are nested deeper than trace_depth allows",
        STOP.bad_handle: f"uses {address % 2**64:#x}, which is no texture, sampler or surface that fits",
        STOP.outside_surface: f"accesses a place outside its surface: {address} along x",
        STOP.bad_barrier: f"names barrier {int(machine[MACHINE.suspend_barrier])}, barriers are numbered 0 to 15",
        STOP.long_stretch: _traversal_error(address) if code == STOP.long_stretch else "",
    }[code]
    who = (
        ""
        if code in (STOP.stack_overflow, STOP.trace_depth, STOP.bad_signature, STOP.bad_barrier, STOP.endless)
        else f"lane {lane} "
    )
    who = f"lane {lane}: " if code == STOP.long_stretch else who
    slot, warp = divmod(int(state.progress[PROGRESS.next_warp]), state.shape.warps)
    place = f"CTA {int(state.progress[PROGRESS.next_cta]) + slot}, warp {warp}"
    return UserError(f"{place_of(state)}: {who}{what} ({place})")


def _illegal(state: LaunchState, address: int) -> str:
    """Why an address cannot be accessed."""
    machine = state.warps.machine
    owner, index = state.linked.at(int(machine[MACHINE.suspend_instruction]))
    instruction = owner.function.body[index]
    size = describe(instruction, owner.function).access_bytes
    space = instruction.form.space
    said = f"accesses {address:#x}, which is not allocated or not aligned"
    if size and address % size:
        return f"{said}: it must be a multiple of {size}"
    is_source = instruction.opcode == "cp" and address >= int(machine[MACHINE.arena_first])
    if space == "shared" and not is_source:
        limit = int(machine[MACHINE.shared_bytes])
        past = f"{size or 'its'} bytes there end {address + size - limit:,} bytes past them"
        return f"{said}: the CTA has {limit} bytes of shared memory, {past}"
    if space == "local":
        length = int(machine[MACHINE.local_bytes])
        thread = int(machine[MACHINE.first_thread]) + int(machine[MACHINE.error_lane])
        first = int(machine[MACHINE.local_base]) + thread * length
        return f"{said}: local memory of the thread is {length:,} bytes at {first:#x}"
    return f"{said}: {size or 'its'} bytes there {state.memory.standing(address, size)}"


def _traversal_error(number: int) -> str:
    from rayplay.tracer.rays.traverse import ERRORS  # only launches that trace need the traversal

    return ERRORS[number]
