"""mbarrier as LLVM IR: objects in memory (``tracer.meaning.mbarrier``), changed by one lane after the other."""

from rayplay.ptx.flow.cfg import waits
from rayplay.ptx.ir import Instruction, Register
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.memory import arena_offset, effective_address
from rayplay.tracer.emit.text import INT, gather
from rayplay.tracer.lower.atomic import lane_loop
from rayplay.tracer.meaning import mbarrier


def lower_mbarrier(e: Emitter, i: Instruction) -> None:
    """init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait, try_wait, pending_count."""
    if i.form.key == "mbarrier.pending_count":
        left = e.op(f"and {INT[64]} {e.read(i.operands[1], 'b64')}, splat (i64 {mbarrier.COUNT_MASK})")
        return e.write(i.operands[0], left, 64)
    if waits(i):
        return _wait(e, i)
    change = mbarrier.change_of(i)
    if change is None:
        raise e.unknown()
    lanes = e.lanes()
    address = effective_address(e, change.address)
    offset = arena_offset(e, address, i.form.space, 8, lanes)
    operands = [e.read(o, "u32") for o in (change.arrivals, change.bytes) if o is not None]
    wide = [e.resize(value, 32, 64) for value in operands]
    old = lane_loop(
        e, (offset, *wide), lanes, 64, lambda emitter, before, values: _changed(emitter, change, before, values)
    )
    if isinstance(change.result, Register) and change.result.name in e.function.registers:
        e.write(change.result, old, 64)
    return None


def _changed(e: Emitter, change: mbarrier.Change, old: str, operands: list[str]) -> str:
    """The object after an operation, scalar."""
    values = iter(operands)
    count = e.op(f"and i64 {next(values)}, {mbarrier.COUNT_MASK}") if change.arrivals is not None else "0"
    if change.fresh:
        return e.op(f"or i64 {count}, {e.op(f'shl i64 {count}, {mbarrier.EXPECTED_SHIFT}')}")
    new = old
    if change.bytes is not None:
        word = "add" if change.adds_bytes else "sub"
        to_come = e.op(f"{word} i64 {e.op(f'lshr i64 {old}, {mbarrier.BYTES_SHIFT}')}, {next(values)}")
        to_come = e.op(f"shl i64 {e.op(f'and i64 {to_come}, {mbarrier.BYTES_MASK}')}, {mbarrier.BYTES_SHIFT}")
        new = e.op(f"or i64 {e.op(f'and i64 {old}, {~(mbarrier.BYTES_MASK << mbarrier.BYTES_SHIFT)}')}, {to_come}")
        if change.adds_bytes and change.arrivals is None:
            return new
    if change.arrives:
        left = e.op(f"and i64 {e.op(f'sub i64 {new}, {count}')}, {mbarrier.COUNT_MASK}")
        new = e.op(f"or i64 {e.op(f'and i64 {new}, {~mbarrier.COUNT_MASK}')}, {left}")
    if change.drops:
        new = e.op(f"sub i64 {new}, {e.op(f'shl i64 {count}, {mbarrier.EXPECTED_SHIFT}')}")
    return _completed(e, new)


def _completed(e: Emitter, state: str) -> str:
    """The next phase when nothing of this one is left."""
    done = e.op(f"icmp eq i64 {e.op(f'and i64 {state}, {mbarrier.OPEN_MASK}')}, 0")
    expected = e.op(f"and i64 {e.op(f'lshr i64 {state}, {mbarrier.EXPECTED_SHIFT}')}, {mbarrier.COUNT_MASK}")
    following = e.op(f"xor i64 {e.op(f'or i64 {state}, {expected}')}, {-(1 << mbarrier.PHASE_SHIFT)}")
    return e.op(f"select i1 {done}, i64 {following}, i64 {state}")


def _wait(e: Emitter, i: Instruction) -> None:
    """Whether the phase of a state, or the one with a parity, is complete."""
    if len(i.operands) not in ((3, 4) if i.form.key == "mbarrier.try_wait" else (3,)):
        raise e.unknown()
    lanes = e.lanes()
    address = effective_address(e, i.operands[1])
    offset = arena_offset(e, address, i.form.space, 8, lanes)
    state = gather(e, e.op(f"getelementptr i8, ptr %arena, <32 x i64> {offset}"), lanes, 64)
    now = e.op(f"lshr {INT[64]} {state}, splat (i64 {mbarrier.PHASE_SHIFT})")
    if i.form.parity:
        asked = e.op(f"and {INT[64]} {e.resize(e.read(i.operands[2], 'u32'), 32, 64)}, splat (i64 1)")
    else:
        asked = e.op(f"lshr {INT[64]} {e.read(i.operands[2], 'b64')}, splat (i64 {mbarrier.PHASE_SHIFT})")
    e.write(i.operands[0], e.op(f"icmp ne {INT[64]} {now}, {asked}"), 1)


HANDLERS: dict[str, Handler] = {"mbarrier": lower_mbarrier}
