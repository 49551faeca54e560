"""Waits of the warps of the model ``pipeline``: registers, barriers, fences, the instruction buffer, latches."""

from collections.abc import Iterator

from rayplay.replay.input import work as op
from rayplay.replay.lsu import state as lsu_state
from rayplay.replay.sm import warps
from rayplay.replay.sm.pipeline import sm as pipeline
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.stuck import requests as whereabouts
from rayplay.replay.stuck.scene import Scene, Wait


def waits(scene: Scene) -> Iterator[Wait]:
    """Every live warp with what it waits for."""
    core = scene.core
    rows = pipeline.live_warps(core)
    for sm in range(scene.machine.gpu.sm.count):
        live = sorted(int(row) - sm * core.warps for row in rows if row // core.warps == sm)
        for index in live:
            warp = core.warp[sm * core.warps + index]
            yield Wait(
                sm, index, -1 if warp[pipe.ENDED] else int(warp[warps.INSTRUCTION]), reason(scene, sm, index, live)
            )


def reason(scene: Scene, sm: int, index: int, live: list[int]) -> str:
    """Wait of one warp, in words."""
    core = scene.core
    warp = core.warp[sm * core.warps + index]
    unit = core.unit[sm]
    if warp[pipe.ENDED]:
        return of_end(scene, sm, index)
    if int(unit[pipe.WAITING]) >> index & 1:
        return of_held(scene, sm, index, live)
    if warp[pipe.BUFFERED] == 0:
        return "its instruction buffer to be filled"
    if int(unit[pipe.COLLIDES]) >> index & 1:
        return of_register(scene, sm, index)
    latch = int(warp[pipe.CLASS]) * core.schedulers + index % core.schedulers
    name = pipe.CLASSES[int(warp[pipe.CLASS])]
    if int(unit[pipe.ISSUED_TO]) >> latch & 1:
        return f"unit {name}: {of_latch(scene, sm, index % core.schedulers, name)}"
    return f"its scheduler {index % core.schedulers}, which does not choose it"


def of_end(scene: Scene, sm: int, index: int) -> str:
    """A warp that has issued its last instruction."""
    core = scene.core
    warp = core.warp[sm * core.warps + index]
    if warp[pipe.STORES]:
        return f"acknowledgements of {int(warp[pipe.STORES])} sectors that it stored"
    if warp[pipe.WRITES] or warp[pipe.FLYING]:
        return f"{int(warp[pipe.FLYING])} instructions in flight: {of_flight(scene, sm, index)}"
    return "the fetch stage, which does not take it away"


def of_held(scene: Scene, sm: int, index: int, live: list[int]) -> str:
    """A warp that may not issue until something has come."""
    core = scene.core
    warp = core.warp[sm * core.warps + index]
    if scene.is_at_barrier(sm, index):
        return scene.at_barrier(sm, index, live)
    if int(core.unit[sm, pipe.FENCES]) >> index & 1:
        return f"the fence: {int(warp[pipe.WRITES])} registers are still to be written, {of_flight(scene, sm, index)}"
    if len(core.copies) and core.copies[sm * core.warps + index, pipe.AWAITED]:
        return f"its asynchronous copies: {of_flight(scene, sm, index)}"
    if any(flying(scene, sm, index)):
        return f"its atomic: {of_flight(scene, sm, index)}"
    return whereabouts.of_rays(scene, sm, index)


def of_register(scene: Scene, sm: int, index: int) -> str:
    """The register of the next instruction that is still to be written, by whom, and where that is."""
    core = scene.core
    here = sm * core.warps + index
    instruction = int(core.warp[here, warps.INSTRUCTION])
    for number in registers(scene, instruction, False):
        for setter, where in flying(scene, sm, index):
            if number in registers(scene, setter, True):
                return f"register {number} set by {scene.instruction(setter)}: {where}"
    return "a register that no instruction in flight will write"


def registers(scene: Scene, instruction: int, written: bool) -> list[int]:
    """Registers of an instruction: its destinations, or all."""
    core = scene.core
    first, last = core.register_first[instruction : instruction + 2].tolist()
    if written:
        last = first + (int(core.code[instruction]) >> op.DESTINATIONS_SHIFT & 255)
    return [int(number) for number in core.register[first:last]]


def of_flight(scene: Scene, sm: int, index: int) -> str:
    """The oldest instruction of a warp in flight."""
    for instruction, where in flying(scene, sm, index):
        return f"{scene.instruction(instruction)}, {where}"
    return whereabouts.LOST


def flying(scene: Scene, sm: int, index: int) -> Iterator[tuple[int, str]]:
    """The instructions of a warp that have issued and not ended, and where each is."""
    for at in whereabouts.operations(scene, sm, index):
        slot = int(scene.machine.lsu.operation[sm * lsu_state.OPERATIONS + at, lsu_state.SLOT])
        if slot >= pipe.SLOT_BASE:
            yield (slot & ((1 << pipe.SERIAL_SHIFT) - 1)) - pipe.SLOT_BASE, whereabouts.of_operation(scene, sm, at)
    for name, operation in on_their_way(scene, sm):
        if (operation >> pipe.INSTRUCTION_BITS) & 63 == index:
            yield operation & ((1 << pipe.INSTRUCTION_BITS) - 1), name


def on_their_way(scene: Scene, sm: int) -> Iterator[tuple[str, int]]:
    """The instructions of an SM in its latches, collectors and units: the place, and the operation."""
    core, unit = scene.core, scene.core.unit[sm]
    collectors = core.schedulers * core.collectors
    for name, table, first, used in (
        ("in the latch before the operand collector", core.issued, sm * pipe.LATCHES, unit[pipe.ISSUED_TO]),
        ("in an operand collector", core.collector, sm * collectors, unit[pipe.IN_USE]),
        ("in the latch before its unit", core.ready, sm * pipe.LATCHES, unit[pipe.EXECUTES]),
    ):
        for place in range(64):
            if int(used) >> place & 1:
                yield name, int(table[first + place, pipe.OPERATION])
    for place in range(core.ring):
        for part in range(int(core.results[sm, place]) >> pipe.COUNT_SHIFT):
            yield "in its unit", int(core.wheel[sm * core.ring + place, part])


def of_latch(scene: Scene, sm: int, scheduler: int, name: str) -> str:
    """The obstacle before a unit that accepts nothing."""
    core, cycle = scene.core, scene.now
    busy = core.free_at[sm * pipe.LATCHES : (sm + 1) * pipe.LATCHES]
    until = max((int(found) for found in busy if found > cycle), default=0)
    if name == "lsu":
        return f"room in the LSU: {whereabouts.of_front(scene, sm)}"
    if until:
        return f"its latch of scheduler {scheduler} is full, and a unit is busy until cycle {until}"
    return f"its latch of scheduler {scheduler} is full"
