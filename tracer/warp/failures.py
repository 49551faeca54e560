"""Errors of a launch that stopped: what happened, at which line, in which lane."""

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.isa.describe import describe
from rayplay.tracer.abi.words import (
    BAD_BARRIER,
    BAD_CALL,
    BAD_HANDLE,
    BAD_SIGNATURE,
    CLUSTER_BARRIER,
    DEADLOCK,
    ENDLESS,
    ILLEGAL_ADDRESS,
    LANES,
    LONG_STRETCH,
    MACHINE,
    OUTSIDE_SURFACE,
    STACK_OVERFLOW,
    TRACE_DEPTH,
    TRAPPED,
)
from rayplay.tracer.link.link import RECURSION_DEPTH, LinkedLaunch
from rayplay.tracer.warp.arrays import LaunchState, Shape
from rayplay.tracer.warp.cta import (
    ENDLESS_VISITS,
    NEXT_CTA,
    NEXT_WARP,
    STATE_ENDED,
    STATE_WAITING,
    WARP_BARRIER,
    WARP_COUNT,
    WARP_INSTRUCTION,
    WARP_STATE,
)
from rayplay.tracer.warp.stack import BARRIER_ARRIVED


def place_of(linked: LinkedLaunch, shape: Shape, machine: np.ndarray) -> str:
    """Where a launch stopped: kernel, file, line, opcode."""
    owner, index = linked.at(int(machine[MACHINE["suspend_instruction"]]))
    instruction = owner.function.body[index]
    return f"{shape.name}: {owner.module.source_name}:{instruction.position.line}: {instruction.full_opcode}"


def _deadlock(linked: LinkedLaunch, shape: Shape, state: LaunchState, warps: np.ndarray) -> UserError:
    """The error for warps that wait for each other."""
    machine = state.warps.machine
    waiting = np.flatnonzero(warps[:, WARP_STATE] == STATE_WAITING)
    if not len(waiting):
        return UserError(
            f"{place_of(linked, shape, machine)}: every warp of the CTA waits for another one without an end"
        )
    first = warps[waiting[0]]
    machine[MACHINE["suspend_instruction"]] = first[WARP_INSTRUCTION]
    number = int(first[WARP_BARRIER])
    arrived = int(state.warps.barriers[number, BARRIER_ARRIVED])
    left = int((warps[:, WARP_STATE] != STATE_ENDED).sum())
    wanted = int(first[WARP_COUNT]) or LANES * left
    name = "the barrier of the cluster" if number == CLUSTER_BARRIER else f"barrier {number}"
    return UserError(
        f"{place_of(linked, shape, machine)}: no warp of the CTA can go on: warp {waiting[0]} waits at {name}, where "
        f"{arrived} of {wanted} threads have arrived"
    )


def failure(
    linked: LinkedLaunch, shape: Shape, state: LaunchState, steps: np.ndarray, warps: np.ndarray, code: int
) -> UserError:
    """The error for a code that ends a launch; ``steps`` and ``warps`` are those of ``tracer.warp.cta``."""
    machine = state.warps.machine
    if code == DEADLOCK:
        return _deadlock(linked, shape, state, warps)
    lane, address = int(machine[MACHINE["error_lane"]]), int(machine[MACHINE["error_address"]])
    what = {
        ILLEGAL_ADDRESS: _illegal(linked, machine, address % 2**64) if code == ILLEGAL_ADDRESS else "",
        TRAPPED: "stops the program",
        BAD_CALL: f"calls {address % 2**64:#x}, which is not the address of a function of the launch",
        BAD_SIGNATURE: "calls a function that has parameters or results of other sizes than the call says",
        STACK_OVERFLOW: f"calls are nested too deep: more than {RECURSION_DEPTH} functions, or than local memory holds",
        ENDLESS: f"the warp visits {ENDLESS_VISITS:,} blocks without an end: what its lanes wait for never comes",
        TRACE_DEPTH: "trace calls are nested deeper than trace_depth allows",
        BAD_HANDLE: f"uses {address % 2**64:#x}, which is no texture, sampler or surface that fits",
        OUTSIDE_SURFACE: f"accesses a place outside its surface: {address} along x",
        BAD_BARRIER: f"names barrier {int(machine[MACHINE['suspend_barrier']])}, barriers are numbered 0 to 15",
        LONG_STRETCH: _traversal_error(address) if code == LONG_STRETCH else "",
    }[code]
    who = "" if code in (STACK_OVERFLOW, TRACE_DEPTH, BAD_SIGNATURE, BAD_BARRIER, ENDLESS) else f"lane {lane} "
    who = f"lane {lane}: " if code == LONG_STRETCH else who
    place = f"CTA {int(steps[NEXT_CTA])}, warp {int(steps[NEXT_WARP])}"
    return UserError(f"{place_of(linked, shape, machine)}: {who}{what} ({place})")


def _illegal(linked: LinkedLaunch, machine: np.ndarray, address: int) -> str:
    """Why an address cannot be accessed."""
    owner, index = linked.at(int(machine[MACHINE["suspend_instruction"]]))
    instruction = owner.function.body[index]
    size = describe(instruction, owner.function).access_bytes
    said = f"accesses {address:#x}, which is not allocated or not aligned"
    if size and address % size:
        return f"{said}: it must be a multiple of {size}"
    if instruction.form.space == "shared":
        limit = int(machine[MACHINE["shared_bytes"]])
        return f"{said}: the CTA has {limit} bytes of shared memory"
    first, limit = (int(machine[MACHINE[name]]) for name in ("arena_first", "arena_bytes"))
    return f"{said}: device memory is {first:#x} to {first + limit - 1:#x}"


def _traversal_error(number: int) -> str:
    from rayplay.tracer.rays.traverse import ERRORS  # only launches that trace need the traversal

    return ERRORS[number]
