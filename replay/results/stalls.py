"""Stalls by instruction: a look at every warp now and then, as a sampling profiler does.

A look notes the instruction that each live warp issues next and what it waits for; the warp's cycles until the next
look are charged to both. A replay shorter than ``FIRST_DISTANCE_CYCLES`` has none. A warp whose rays are in the RT unit
is noted at the call that traced them, one that has issued everything at its last instruction. Looks are dated by cycle
alone: they depend on no quantum and no thread.
"""

from typing import Any

import numpy as np

from rayplay.formats.place.checkpoint import take_back
from rayplay.replay.engine.machine import Machine
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.unit import cycle_stack as stack

STATES = ("ready", "data", "memory", "rt_unit", "barrier", "fetch")
READY, DATA, MEMORY, RT_UNIT, BARRIER, FETCH = range(len(STATES))
OF_REASON = {stack.MEMORY: MEMORY, stack.RT_UNIT: RT_UNIT, stack.BARRIER: BARRIER}
FIRST_DISTANCE_CYCLES = 1024  # between two looks
MOST_LOOKS = 2048  # after which the distance doubles, to bound their cost


class Stalls:
    """Looks at a machine.

    cycles    int64[instructions, len(STATES)]: warp-cycles.
    distance  cycles between two looks; ``due``: cycle of the next one.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cycles = np.zeros((len(machine.tables["instructions"]["line"]), len(STATES)), np.int64)
        self.looks, self.distance, self.due = 0, FIRST_DISTANCE_CYCLES, FIRST_DISTANCE_CYCLES

    def look(self) -> None:
        """Look, if it is time."""
        now = self.machine.now
        if now < self.due:
            return
        rows = running(self.machine)
        np.add.at(self.cycles, (instructions(self.machine, rows), states(self.machine.core, rows)), self.distance)
        self.looks += 1
        if self.looks == MOST_LOOKS:
            self.looks, self.distance = self.looks // 2, self.distance * 2
        self.due = (now // self.distance + 1) * self.distance

    def table(self) -> dict[str, np.ndarray]:
        """Columns of the table ``stalls``."""
        instruction, state = np.nonzero(self.cycles)
        return {
            "instruction_id": instruction.astype(np.uint32), "state": np.array(STATES, object)[state],
            "warp_cycles": self.cycles[instruction, state],
        }  # fmt: skip

    def take(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Add to the facts and arrays of a checkpoint."""
        facts["stalls"] = [self.looks, self.distance, self.due]
        arrays["stalls.cycles"] = self.cycles

    def give(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Put looks that have not begun where ``take`` was called."""
        self.looks, self.distance, self.due = facts["stalls"]
        take_back(self.cycles, arrays["stalls.cycles"], "stalls.cycles")


def running(machine: Machine) -> np.ndarray:
    """Rows of ``core.warp`` with a live warp."""
    core, sms = machine.core, machine.gpu.sm.count
    masks = np.bitwise_or.reduce(core.barrier[:, scheduler.RUNNING].reshape(sms, -1), axis=1)
    return np.flatnonzero(bits(masks, len(core.warp) // sms))


def bits(masks: np.ndarray, count: int) -> np.ndarray:
    """The lowest ``count`` bits of each mask: bool[masks, count]."""
    return (masks[:, None] >> np.arange(count) & 1) == 1


def instructions(machine: Machine, rows: np.ndarray) -> np.ndarray:
    """The instruction to which each warp's cycles are charged."""
    warp, program = machine.core.warp[rows], machine.program
    before = warp[:, scheduler.VISIT] > warp[:, scheduler.FIRST_VISIT]
    is_traced = machine.core.wait[rows, stack.REASON] == stack.RT_UNIT
    found = warp[:, scheduler.INSTRUCTION].copy()
    back = np.flatnonzero(before & (is_traced | (found < 0)))  # the last instruction of the visit before
    block = machine.window.arrays["block"][warp[back, scheduler.VISIT] - 1]
    found[back] = program.first[block] + program.length[block] - 1
    return found


def states(core: Any, rows: np.ndarray) -> np.ndarray:
    """State of each warp: int64[rows], places in ``STATES``."""
    reason = core.wait[rows, stack.REASON]
    found = np.where(states_without_wait(core, rows), READY, DATA)
    if isinstance(core, pipe.Pipeline):
        unit, per_sm = core.unit, len(core.warp) // len(core.unit)
        empty, loads = (bits(mask, per_sm).ravel()[rows] for mask in (~unit[:, pipe.VALID], unit[:, pipe.ON_MEMORY]))
        found = np.where(loads, MEMORY, np.where(empty, FETCH, found))
    for which, state in OF_REASON.items():
        found[reason == which] = state
    return found


def states_without_wait(core: Any, rows: np.ndarray) -> np.ndarray:
    """Whether each warp may issue, were its unit free."""
    if isinstance(core, pipe.Pipeline):
        unit = core.unit
        able = unit[:, pipe.VALID] & ~unit[:, pipe.COLLIDES] & ~unit[:, pipe.WAITING]
        return bits(able, len(core.warp) // len(unit)).ravel()[rows]
    sm = rows // core.warps
    return (core.mask[sm, scheduler.READY] >> core.warp[rows, scheduler.RANK] & 1) == 1
