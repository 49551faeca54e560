"""CTA barriers, waits for mbarrier phases and pauses as LLVM IR: where a warp lets the others of its CTA run."""

from rayplay.ptx.ir import Instruction, Operand
from rayplay.tracer.abi.words import CLUSTER_BARRIER, STOP
from rayplay.tracer.emit.control import Control
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.text import INT


def lower_barrier(control: Control, i: Instruction, live: int, after: int | None) -> None:
    """bar and barrier: sync, arrive and red. The warp arrives as a whole, with the lanes that execute it."""
    e = control.e
    if i.form.key == "barrier.cluster":
        return _lower_cluster(control, i, after)
    arrives, reduces = i.form.variant == "arrive", i.form.key.endswith(".red")
    if arrives and len(i.operands) < 2:
        raise e.unknown()
    operands = i.operands[1:-1] if reduces else i.operands
    lanes = control.call_lanes(after)
    _suspend_words(e, operands, lanes, i.operands[-1] if reduces else None)
    control.suspend(STOP.arrive if arrives else STOP.barrier)
    if reduces:
        control.returned_lanes(i)
        _write_result(e, i)
        e.spill(live)
    return control.go(after)


def _lower_cluster(control: Control, i: Instruction, after: int | None) -> None:
    """barrier.cluster: the cluster is the CTA; its warps meet at the wait, an arrival alone does nothing."""
    e = control.e
    if i.form.variant == "wait":
        lanes = control.call_lanes(after)
        _suspend_words(e, (), lanes, None)
        e.put_machine("suspend_barrier", str(CLUSTER_BARRIER))
        control.suspend(STOP.barrier)
    control.go(after)


def _suspend_words(e: Emitter, operands: tuple[Operand, ...], lanes: str, predicate: Operand | None) -> None:
    """Which barrier, for how many threads (0: all), and how many lanes come with a true predicate."""
    bits = e.op(f"bitcast <32 x i1> {lanes} to i32")
    first = e.op(f"call i32 @llvm.cttz.i32(i32 {bits}, i1 false)")
    first = e.op(f"and i32 {first}, 31")
    for index, name in enumerate(("suspend_barrier", "suspend_count")):
        value = "0"
        if index < len(operands):
            vector = e.read(operands[index], "u32")
            value = e.op(f"zext i32 {e.op(f'extractelement {INT[32]} {vector}, i32 {first}')} to i64")
        e.put_machine(name, value)
    held = "0"
    if predicate is not None:
        true = e.op(f"and <32 x i1> {e.read(predicate, 'pred')}, {lanes}")
        held = _population(e, e.op(f"bitcast <32 x i1> {true} to i32"))
    e.put_machine("suspend_true", held)
    e.put_machine("suspend_lanes", _population(e, bits))


def _population(e: Emitter, bits: str) -> str:
    return e.op(f"zext i32 {e.op(f'call i32 @llvm.ctpop.i32(i32 {bits})')} to i64")


def _write_result(e: Emitter, i: Instruction) -> None:
    """The barrier's result over all threads that arrived."""
    true, lanes = e.machine("barrier_true"), e.machine("barrier_lanes")
    if i.form.operation == "popc":
        return e.write(i.operands[0], e.splat(e.op(f"trunc i64 {true} to i32"), "i32"), 32)
    test = f"icmp eq i64 {true}, {lanes}" if i.form.operation == "and" else f"icmp ne i64 {true}, 0"
    return e.write(i.operands[0], e.splat(e.op(test), "i1"), 1)


def lower_pause(control: Control, after: int | None) -> None:
    """nanosleep: other warps run."""
    control.call_lanes(after)
    control.suspend(STOP.yields)
    control.go(after)


def lower_wait(control: Control, i: Instruction, live: int, after: int | None) -> None:
    """After mbarrier.test_wait and try_wait: other warps run when the phase of some lane is not complete."""
    e = control.e
    done = e.read(i.operands[0], "pred")
    missing = e.op(f"and <32 x i1> {e.lanes()}, {e.op(f'xor <32 x i1> {done}, splat (i1 true)')}")
    none = e.op(f"icmp eq i32 {e.op(f'bitcast <32 x i1> {missing} to i32')}, 0")
    e.spill(live)
    again, wait = e.label(), e.label()
    e.put(f"br i1 {none}, label %{again}, label %{wait}")
    e.put(f"{again}:")
    control.go(after)
    e.put(f"{wait}:")
    e.put_machine("suspend_instruction", str(e.instruction_id))
    control.suspend(STOP.yields)
    control.go(after)
