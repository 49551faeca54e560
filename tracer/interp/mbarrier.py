"""The meaning of mbarrier: objects in memory (``tracer.meaning.mbarrier``), changed by one lane after the other."""

from collections.abc import Callable

import numpy as np

from rayplay.ptx.ir import Instruction, Register
from rayplay.tracer.abi.words import LANES
from rayplay.tracer.interp.memory import Memory, effective_address
from rayplay.tracer.interp.values import Lanes
from rayplay.tracer.meaning.mbarrier import (
    BYTES_MASK,
    BYTES_SHIFT,
    COUNT_MASK,
    EXPECTED_SHIFT,
    OPEN_MASK,
    PHASE_SHIFT,
    Change,
    change_of,
)


def run_mbarrier(w: Lanes, i: Instruction, memory: Memory) -> None:
    """Every operation on an mbarrier."""
    if "pending_count" in i.modifiers:
        w.write(i.operands[0], w.read(i.operands[1], "b64") & np.uint64(COUNT_MASK))
    elif i.modifiers[0] in ("test_wait", "try_wait"):
        _wait(w, i, memory)
    else:
        change = change_of(i)
        assert change is not None  # lowering has looked
        _change(w, i, change, memory)


def _change(w: Lanes, i: Instruction, change: Change, memory: Memory) -> None:
    lanes = w.executing()
    places = memory.places(w, effective_address(w, change.address), i.form.space, 8, lanes)
    zero = np.zeros(LANES, np.uint32)
    arrivals = zero if change.arrivals is None else w.read(change.arrivals, "u32")
    to_come = zero if change.bytes is None else w.read(change.bytes, "u32")
    states = np.zeros(LANES, np.uint64)
    for lane in np.flatnonzero(lanes):
        one = np.arange(LANES) == lane
        states[lane] = memory.load(places, one, 64)[lane]
        new = _changed(int(states[lane]), change, int(arrivals[lane]) & COUNT_MASK, int(to_come[lane]))
        memory.store(places, one, np.full(LANES, new, np.uint64))
    if isinstance(change.result, Register) and change.result.name in w.activation.linked.function.registers:
        w.write(change.result, states)


def _changed(state: int, change: Change, arrivals: int, to_come: int) -> int:
    """The object after an operation; a phase that nothing is left of gives way to the next one."""
    if change.fresh:
        return arrivals | arrivals << EXPECTED_SHIFT
    left, expected = state & COUNT_MASK, state >> EXPECTED_SHIFT & COUNT_MASK
    coming, phase = state >> BYTES_SHIFT & BYTES_MASK, state >> PHASE_SHIFT
    coming = (coming + (to_come if change.adds_bytes else -to_come)) & BYTES_MASK
    if change.arrives:
        left = (left - arrivals) & COUNT_MASK
    if change.drops:
        expected = (expected - arrivals) & COUNT_MASK
    made = left | expected << EXPECTED_SHIFT | coming << BYTES_SHIFT | phase << PHASE_SHIFT
    only_announced = change.bytes is not None and change.adds_bytes and not change.arrives
    if made & OPEN_MASK or only_announced:
        return made
    return (made | expected) ^ (1 << PHASE_SHIFT)


def _wait(w: Lanes, i: Instruction, memory: Memory) -> None:
    lanes = w.executing()
    places = memory.places(w, effective_address(w, i.operands[1]), i.form.space, 8, lanes)
    now = memory.load(places, lanes, 64) >> np.uint64(PHASE_SHIFT)
    if "parity" in i.modifiers:
        asked = w.read(i.operands[2], "u32").astype(np.uint64) & np.uint64(1)
    else:
        asked = w.read(i.operands[2], "b64") >> np.uint64(PHASE_SHIFT)
    w.write(i.operands[0], now != asked)


MBARRIER: dict[str, Callable[[Lanes, Instruction, Memory], None]] = {"mbarrier": run_mbarrier}
