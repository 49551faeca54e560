"""Tables for the reconstruction: a launch's blocks and accesses, and where the device's memory lies for the trace."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rayplay.ptx.flow.cfg import branch_labels, control_of
from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.row import Control
from rayplay.silicon.instrument import Placed
from rayplay.silicon.plan import STATIC, Access, Plan
from rayplay.silicon.rebuild import (
    ABSOLUTE,
    ANY,
    BRANCH,
    CALL,
    EXIT,
    GO,
    LEAVE,
    LOCAL,
    OWN_LOCAL,
    SHARED,
    Code,
    Grid,
    Places,
)
from rayplay.tracer.abi.words import MACHINE
from rayplay.tracer.link.functions import LinkedFunction
from rayplay.tracer.link.link import LinkedLaunch
from rayplay.tracer.link.variables import own_names
from rayplay.tracer.warp.arrays import LaunchState

SPACES = {"shared": SHARED, "local": LOCAL}


@dataclass(frozen=True)
class Region:
    """Memory of the device that holds what the trace has at another address."""

    first: int
    bytes: int
    ours: int


def code_of(linked: LinkedLaunch, plan: Plan) -> Code:
    """The tables of a launch's blocks, by block id."""
    rows = [(f, number) for f in linked.functions for number in range(len(f.cfg.blocks))]
    after = [f.block_base + n + 1 if n + 1 < len(f.cfg.blocks) else -1 for f, n in rows]
    meets = [f.cfg.reconvergence[n] for f, n in rows]
    ways = [_ways(linked, f, n) for f, n in rows]
    ends = [_last(f, n) for f, n in rows]
    accesses = [(f, a) for (f, _), block in zip(rows, plan.blocks, strict=True) for a in block.accesses]
    where = [_where(f, a) for f, a in accesses]
    return Code(
        region=np.array([b.region for b in plan.blocks], np.int64),
        number=np.array([b.number for b in plan.blocks], np.int64),
        decision=np.array([b.decision for b in plan.blocks], np.int64),
        kind=np.array([_kind(f, n) for f, n in rows], np.int64),
        after=np.array(after, np.int64),
        meet=np.array([f.block_base + m if m >= 0 else -1 for (f, _), m in zip(rows, meets, strict=True)], np.int64),
        indirect=np.array([_is_indirect(last) for last in ends], np.bool_),
        guarded=np.array([last.guard is not None for last in ends], np.bool_),
        next_first=_offsets(map(len, ways)),
        next=np.array([way for each in ways for way in each], np.int64),
        frame=np.array([f.layout.local_bytes for f, _ in rows], np.int64),
        access_first=_offsets(len(b.accesses) for b in plan.blocks),
        instruction=np.array([f.instruction_base + a.position for f, a in accesses], np.int64),
        slot=np.array([a.slot for _, a in accesses], np.int64),
        guard=np.array([a.guard for _, a in accesses], np.int64),
        offset=np.array([_offset(linked, f, a) for f, a in accesses], np.int64),
        narrow=np.array([a.narrow for _, a in accesses], np.bool_),
        where=np.array(where, np.int64),
    )


def _offsets(lengths: Iterable[int]) -> np.ndarray:
    return np.cumsum([0, *lengths]).astype(np.int64)


def _last(f: LinkedFunction, number: int) -> Instruction:
    block = f.cfg.blocks[number]
    return f.function.body[block.first + block.count - 1]


def _is_indirect(last: Instruction) -> bool:
    return last.opcode == "brx" or (last.call is not None and not last.callee)


def _kind(f: LinkedFunction, number: int) -> int:
    last = _last(f, number)
    control = control_of(last)
    if last.call is not None:
        return CALL if _runs_ours(f, last) else GO
    if control is Control.BRANCHES:
        return BRANCH
    if control is Control.LEAVES:
        return EXIT if last.opcode == "exit" else LEAVE
    return GO


def _runs_ours(f: LinkedFunction, last: Instruction) -> bool:
    """Whether an instruction calls functions of the program."""
    if last.call is None:
        return False
    callee = f.module.functions.get(last.callee)
    return not last.callee or (callee is not None and not callee.is_declaration)


def _ways(linked: LinkedLaunch, f: LinkedFunction, number: int) -> list[int]:
    """Targets of a block's branch; first blocks of the functions that its call may run, by their numbers."""
    last = _last(f, number)
    if _runs_ours(f, last):
        numbers = [f.callees[last.callee].number] if last.callee else sorted(f.calls)
        return [linked.functions[n].block_base for n in numbers]
    first = {block.first: n for n, block in enumerate(f.cfg.blocks)}
    return [f.block_base + first[f.function.labels[label]] for label in branch_labels(last, f.function)]


def _where(f: LinkedFunction, access: Access) -> int:
    if access.symbol:
        return OWN_LOCAL if access.symbol in f.layout.locals else ABSOLUTE
    if access.slot == STATIC:
        return ABSOLUTE
    return SPACES.get(access.space, ANY)


def _offset(linked: LinkedLaunch, f: LinkedFunction, access: Access) -> int:
    """The number to add to the base register, or the whole address where it follows from the text."""
    name = access.symbol
    if not name:
        return access.offset
    for places in (f.layout.locals, f.layout.shared):
        if name in places:
            return places[name] + access.offset
    numbers = own_names(linked.symbols, f.module, f.function)
    return int(linked.addresses[numbers[name]]) + access.offset


def grid_of(state: LaunchState) -> Grid:
    """The shape of a launch."""
    machine = state.warps.machine
    return Grid(
        state.shape.threads, state.shape.warps, int(machine[MACHINE.local_base]), int(machine[MACHINE.local_bytes])
    )


def places_of(
    state: LaunchState, regions: Iterable[Region], placed: tuple[Placed, ...], noted: np.ndarray, apart: bool
) -> Places:
    """Places of memory on the device and for the trace.

    noted  uint64[placed, 2]: addresses of shared and local variables as the first thread sees them: in their state
           space, and generic.
    apart  whether the threads' local memories have different addresses on the device.
    """
    machine, f = state.warps.machine, state.linked.functions[0]
    shared, local = int(machine[MACHINE.shared_base]), int(machine[MACHINE.local_base])
    bytes_, cta = int(machine[MACHINE.local_bytes]), int(machine[MACHINE.shared_bytes]) * (state.shape.slots > 1)
    rows = [(ANY, r.first, r.first + r.bytes, r.ours, 0, 0, 0) for r in regions]
    for variable, (near, generic) in zip(placed, noted.astype(np.int64).tolist(), strict=True):
        if variable.space == "shared":
            at = f.layout.shared[variable.name]
            size = variable.bytes or int(machine[MACHINE.shared_bytes]) - at
            rows.append((SHARED, near, near + size, at, 0, 0, 0))
            rows += [(ANY, generic, generic + size, shared + at, 0, 0, cta)] if generic else []
        else:
            at, size = local + f.layout.locals[variable.name], variable.bytes
            rows += [
                (space, first, first + size, at, bytes_ * apart, bytes_, 0)
                for space, first in ((LOCAL, near), (ANY, generic))
                if first or space == LOCAL
            ]
    table = np.array(rows, np.int64).reshape(-1, len(Places._fields))
    return Places(*(np.ascontiguousarray(column) for column in table.T))
