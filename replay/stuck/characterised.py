"""Waits of the warps of the model ``characterised``: slots, barriers, units, room in the LSU."""

from collections.abc import Iterator

from rayplay.formats.schema.trace import UNITS
from rayplay.replay.input import work as op
from rayplay.replay.lsu import state as lsu_state
from rayplay.replay.sm import warps
from rayplay.replay.stuck import requests as whereabouts
from rayplay.replay.stuck.scene import Scene, Wait

STEPS_BACK = 10_000  # executed instructions that are looked at for the one that set a slot


def waits(scene: Scene) -> Iterator[Wait]:
    """Every live warp with what it waits for."""
    core = scene.core
    for sm in range(scene.machine.gpu.sm.count):
        live = sorted(warps.live_warps(core, sm).tolist())
        for index in live:
            instruction = int(core.warp[sm * core.warps + index, warps.INSTRUCTION])
            yield Wait(sm, index, instruction, reason(scene, sm, index, live))


def reason(scene: Scene, sm: int, index: int, live: list[int]) -> str:
    """Wait of one warp, in words."""
    core = scene.core
    warp = core.warp[sm * core.warps + index]
    waited = int(warp[warps.PENDING] & warp[warps.CODE] >> op.WAIT_SHIFT)
    if waited & op.HELD_BIT and warp[warps.TRACE_MASK] == -1:
        return scene.at_barrier(sm, index, live)
    if waited & op.HELD_BIT:
        return whereabouts.of_rays(scene, sm, index)
    if waited >> op.STORES_SLOT & 1:
        count = int(core.pending[sm * core.warps + index, op.STORES_SLOT])
        return f"acknowledgements of {count} sectors that it stored"
    if waited:
        slot = (waited & -waited).bit_length() - 1
        return of_slot(scene, sm, index, slot)
    return of_issue(scene, sm, index)


def of_slot(scene: Scene, sm: int, index: int, slot: int) -> str:
    """A slot: who set it, and where the data is."""
    core = scene.core
    setter = who_set(scene, sm * core.warps + index, slot)
    by = f"set by {scene.instruction(setter)}" if setter >= 0 else "set by no instruction that it executed"
    for at in whereabouts.operations(scene, sm, index):
        if scene.machine.lsu.operation[sm * lsu_state.OPERATIONS + at, lsu_state.SLOT] == slot:
            return f"slot {slot} {by}: {whereabouts.of_operation(scene, sm, at)}"
    return f"slot {slot} {by}, which nothing under way will clear"


def who_set(scene: Scene, here: int, slot: int) -> int:
    """The instruction that the warp executed last and that sets a slot; -1 for none."""
    core, program, block = scene.core, scene.machine.program, scene.machine.window.arrays["block"]
    visit, last = int(core.warp[here, warps.VISIT]), int(core.warp[here, warps.INSTRUCTION])
    steps = 0
    while visit >= core.warp[here, warps.FIRST_VISIT] and steps < STEPS_BACK:
        if last >= 0:
            first = int(program.first[block[visit]])
            for instruction in range(last - 1, first - 1, -1):
                steps += 1
                if int(program.code[instruction]) >> op.SLOT_SHIFT & 15 == slot:
                    return instruction
        visit -= 1
        if visit >= core.warp[here, warps.FIRST_VISIT]:
            last = int(program.first[block[visit]] + program.length[block[visit]])
    return -1


def of_issue(scene: Scene, sm: int, index: int) -> str:
    """A warp that waits for no slot: for its unit, for the LSU, or for a cycle that will not come."""
    core = scene.core
    warp, row = core.warp[sm * core.warps + index], sm * core.schedulers + index % core.schedulers
    if not int(core.mask[sm, warps.READY]) >> int(warp[warps.RANK]) & 1:
        return (
            "its slots to be clear, which they are"
            if warp[warps.PARKED]
            else "the end of its stall, which nobody awaits"
        )
    unit = int(warp[warps.CODE]) & 15
    if core.free_at[row, unit] > scene.now:
        return f"unit {UNITS[unit]} of scheduler {index % core.schedulers}, busy until cycle {core.free_at[row, unit]}"
    if unit == op.LSU:
        return f"room in the LSU: {whereabouts.of_front(scene, sm)}"
    return f"its scheduler {index % core.schedulers}, which does not choose it"
