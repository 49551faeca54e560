"""Instructions that a unit does (``tracer.units.call``), in the interpreter: the same units, called from Python."""

from ctypes import c_uint8

import numpy as np

from rayplay.ptx.ir import Address, Instruction, Operand
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import MACHINE
from rayplay.tracer.interp.arena import UNSIGNED, IllegalAddressError, mask_of
from rayplay.tracer.interp.memory import effective_address
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.units.call import ADDRESS_SLOT, RESULT_SLOT, ROWS_BYTES, SECTORS_SLOT, SLOT_BYTES, Place
from rayplay.tracer.units.plans import PLANS, unit_function
from rayplay.tracer.units.texture.plan import TEXTURE


class UnitError(IllegalAddressError):
    """A unit ended the launch with a ``STOP``."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


def run_unit(w: Lanes, i: Instruction) -> None:
    """Whatever a unit does; forms without effect of their own have no call."""
    linked = w.activation.linked
    call = PLANS[i.opcode](i, Place(linked.function, linked.layout))
    if call is None:
        return
    rows = np.ctypeslib.as_array((c_uint8 * ROWS_BYTES).from_address(w.machine("unit_rows")))
    for number, given in enumerate(call.inputs):
        if given is not None:
            value, width = _read(w, *given)
            _slot(rows, number, width)[:] = value
    lanes = w.executing()
    machine = w.machine_words
    function, is_texture = unit_function(call.unit).ctypes, call.unit == "texture" and call.records
    settings = call.settings | (TEXTURE.pack(sectors=1) if is_texture else 0)
    code = function(machine.ctypes.data, rows.ctypes.data, mask_of(lanes), settings)
    if code:
        machine[MACHINE.suspend_instruction] = w.instruction_id
        raise UnitError(code)
    if call.records:
        start, count = SECTORS_SLOT * SLOT_BYTES, 0
        if is_texture:
            count = int(rows[start : start + 8].view(np.int64)[0])
        w.record(_slot(rows, ADDRESS_SLOT, 64).copy(), lanes, rows[start + 8 : start + 8 + 8 * count].view(np.uint64))
    results = [_slot(rows, RESULT_SLOT + number, width).copy() for number, (_, width) in enumerate(call.outputs)]
    for (target, _), value in zip(call.outputs, results, strict=True):
        w.write(target, value)


def _read(w: Lanes, operand: Operand, width: int) -> tuple[np.ndarray, int]:
    """An operand as it goes into its slot, and its width there."""
    if isinstance(operand, Address):
        return effective_address(w, operand), 64
    if width == 1:
        return w.read(operand, "pred").astype(np.uint32), 32
    return w.read(operand, f"b{width}"), width


def _slot(rows: np.ndarray, number: int, width: int) -> np.ndarray:
    start = number * SLOT_BYTES
    return rows[start : start + LANES * width // 8].view(UNSIGNED[width])


HANDLERS: dict[str, Handler] = dict.fromkeys(PLANS, run_unit)
