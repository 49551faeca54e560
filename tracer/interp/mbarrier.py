"""The meaning of mbarrier: objects in memory (``tracer.meaning.mbarrier``), changed by one lane after the other."""

import numpy as np

from rayplay.ptx.flow.cfg import waits
from rayplay.ptx.ir import Instruction, Register
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.interp.memory import effective_address
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning import mbarrier


def run_mbarrier(w: Lanes, i: Instruction) -> None:
    """Every operation on an mbarrier."""
    if i.form.key == "mbarrier.pending_count":
        w.write(i.operands[0], w.read(i.operands[1], "b64") & np.uint64(mbarrier.COUNT_MASK))
    elif waits(i):
        _wait(w, i)
    else:
        change = mbarrier.change_of(i)
        assert change is not None  # lowering has looked
        _change(w, i, change)


def _change(w: Lanes, i: Instruction, change: mbarrier.Change) -> None:
    lanes = w.executing()
    places = w.places(effective_address(w, change.address), i.form.space, 8, lanes)
    zero = np.zeros(LANES, np.uint32)
    arrivals = zero if change.arrivals is None else w.read(change.arrivals, "u32")
    to_come = zero if change.bytes is None else w.read(change.bytes, "u32")
    states = np.zeros(LANES, np.uint64)
    for lane in np.flatnonzero(lanes):
        one = np.arange(LANES) == lane
        states[lane] = w.load(places, one, 64)[lane]
        new = _changed(int(states[lane]), change, int(arrivals[lane]) & mbarrier.COUNT_MASK, int(to_come[lane]))
        w.store(places, one, np.full(LANES, new, np.uint64))
    if isinstance(change.result, Register) and change.result.name in w.activation.linked.function.registers:
        w.write(change.result, states)


def _changed(state: int, change: mbarrier.Change, arrivals: int, to_come: int) -> int:
    """The object after an operation; a phase that nothing is left of gives way to the next one."""
    if change.fresh:
        return arrivals | arrivals << mbarrier.EXPECTED_SHIFT
    left, expected = state & mbarrier.COUNT_MASK, state >> mbarrier.EXPECTED_SHIFT & mbarrier.COUNT_MASK
    coming, phase = state >> mbarrier.BYTES_SHIFT & mbarrier.BYTES_MASK, state >> mbarrier.PHASE_SHIFT
    coming = (coming + (to_come if change.adds_bytes else -to_come)) & mbarrier.BYTES_MASK
    if change.arrives:
        left = (left - arrivals) & mbarrier.COUNT_MASK
    if change.drops:
        expected = (expected - arrivals) & mbarrier.COUNT_MASK
    made = left | expected << mbarrier.EXPECTED_SHIFT | coming << mbarrier.BYTES_SHIFT | phase << mbarrier.PHASE_SHIFT
    only_announced = change.bytes is not None and change.adds_bytes and not change.arrives
    if made & mbarrier.OPEN_MASK or only_announced:
        return made
    return (made | expected) ^ (1 << mbarrier.PHASE_SHIFT)


def _wait(w: Lanes, i: Instruction) -> None:
    lanes = w.executing()
    places = w.places(effective_address(w, i.operands[1]), i.form.space, 8, lanes)
    now = w.load(places, lanes, 64) >> np.uint64(mbarrier.PHASE_SHIFT)
    if i.form.parity:
        asked = w.read(i.operands[2], "u32").astype(np.uint64) & np.uint64(1)
    else:
        asked = w.read(i.operands[2], "b64") >> np.uint64(mbarrier.PHASE_SHIFT)
    w.write(i.operands[0], now != asked)


HANDLERS: dict[str, Handler] = {"mbarrier": run_mbarrier}
