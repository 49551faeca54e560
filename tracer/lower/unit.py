"""Calls of a unit (``tracer.units.call``) as LLVM IR: operands into its rows, a call, results out of them."""

from rayplay.ptx.ir import Address, Instruction, Operand
from rayplay.tracer.abi.words import RECORD_ALL
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.memory import call_unit, effective_address, record
from rayplay.tracer.emit.text import INT
from rayplay.tracer.lower.texture.lookup import SECTORS, is_plain, texture_function
from rayplay.tracer.units.call import (
    ADDRESS_SLOT,
    RESULT_SLOT,
    SECTORS_SLOT,
    SLOT_BYTES,
    Place,
    UnitCall,
    UnknownFormError,
)
from rayplay.tracer.units.plans import PLANS
from rayplay.tracer.units.texture.plan import TEXTURE


def lower_unit(e: Emitter, i: Instruction) -> None:
    """Whatever a unit does; forms without effect of their own have no call."""
    try:
        call = PLANS[i.opcode](i, Place(e.function, e.layout))
    except UnknownFormError as error:
        raise e.unknown(str(error) or None) from None
    if call is not None:
        _call(e, call)


def _call(e: Emitter, call: UnitCall) -> None:
    rows = e.op(f"inttoptr i64 {e.machine('unit_rows')} to ptr")
    for number, given in enumerate(call.inputs):
        if given is not None:
            value, width = _read(e, *given)
            e.put(f"store {INT[width]} {value}, ptr {_slot(e, rows, number)}, align 64")
    lanes = e.lanes()
    bits, settings = e.op(f"bitcast <32 x i1> {lanes} to i32"), call.settings
    function = ""
    noted = ""
    if call.unit == "texture" and call.records and e.records == RECORD_ALL:
        settings |= SECTORS
        noted = _slot(e, rows, SECTORS_SLOT)
        e.put(f"store i64 0, ptr {noted}")
    if call.unit == "texture" and is_plain(settings):
        function = texture_function(e, settings)
        settings |= TEXTURE.pack(kept=e.instruction_id + 1)
    call_unit(e, call.unit, rows, bits, settings, function)
    if call.records:
        address = e.op(f"load {INT[64]}, ptr {_slot(e, rows, ADDRESS_SLOT)}, align 64")
        record(e, address, lanes, noted)
    for number, (target, width) in enumerate(call.outputs):
        value = e.op(f"load {INT[width]}, ptr {_slot(e, rows, RESULT_SLOT + number)}, align 64")
        e.write(target, value, width)


def _read(e: Emitter, operand: Operand, width: int) -> tuple[str, int]:
    """An operand as it goes into its slot, and its width there."""
    if isinstance(operand, Address):
        return effective_address(e, operand), 64
    if width == 1:
        return e.resize(e.read(operand, "pred"), 1, 32), 32
    return e.read(operand, f"b{width}"), width


def _slot(e: Emitter, rows: str, number: int) -> str:
    return e.op(f"getelementptr i8, ptr {rows}, i64 {number * SLOT_BYTES}")


HANDLERS: dict[str, Handler] = dict.fromkeys(PLANS, lower_unit)
