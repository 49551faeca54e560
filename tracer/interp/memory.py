"""The meaning of ld and st: device memory as bytes, one lane after the other."""

import numpy as np

from rayplay.ptx.ir import Address, Immediate, Instruction, Operand, Register, Symbol
from rayplay.ptx.isa.types import TYPES, elements
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.interp.arena import as_bytes, from_bytes
from rayplay.tracer.interp.values import Handler, Lanes


def effective_address(w: Lanes, operand: Operand | None) -> np.ndarray:
    """Address of every lane, uint64[32]."""
    assert isinstance(operand, Address)
    base = operand.base
    if isinstance(base, Symbol):
        return w.symbol_address(Symbol(base.name, base.offset + operand.offset))
    if isinstance(base, Immediate):
        return np.full(LANES, base.bits + operand.offset, np.uint64)
    assert isinstance(base, Register)
    width = w.width_of(base.name)
    value = [(int(v) + operand.offset) % (1 << width) for v in w.read(base, f"u{width}")]
    return np.array(value, np.uint64)


def lane_variable(w: Lanes, operand: Operand | None) -> tuple[np.ndarray, int] | None:
    """The bytes of a ``.param`` variable and the offset into it, when an address names one."""
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        variable = w.activation.variables.get(operand.base.name)
        if variable is not None:
            return variable, operand.base.offset + operand.offset
    return None


def run_ld(w: Lanes, i: Instruction) -> None:
    """ld: const and parameters are not recorded."""
    name, space = i.form.type, i.form.space
    width = TYPES[name]
    targets = elements(i.operands[0])
    variable = lane_variable(w, i.operands[1])
    lanes = w.executing()
    if variable is None:
        address = effective_address(w, i.operands[1])
        places = w.places(address, space, width // 8 * len(targets), lanes)
        if space not in ("const", "param"):
            w.record(address, lanes)
    values = []
    for index in range(len(targets)):
        step = index * width // 8
        if variable is None:
            values.append(w.load(places + np.uint64(step), lanes, width))
        else:
            data, offset = variable
            values.append(from_bytes(data[:, offset + step : offset + step + width // 8]))
    for target, value in zip(targets, values, strict=True):
        w.write(target, value, name[0] == "s")


def run_st(w: Lanes, i: Instruction) -> None:
    """st: lanes write in order."""
    name, space = i.form.type, i.form.space
    width = TYPES[name]
    sources = elements(i.operands[1])
    variable = lane_variable(w, i.operands[0])
    lanes = w.executing()
    if variable is None:
        address = effective_address(w, i.operands[0])
        places = w.places(address, space, width // 8 * len(sources), lanes)
        w.record(address, lanes)
    for index, source in enumerate(sources):
        value, step = w.read(source, name), index * width // 8
        if variable is None:
            w.store(places + np.uint64(step), lanes, value)
        else:
            data, offset = variable
            data[lanes, offset + step : offset + step + width // 8] = as_bytes(value)[lanes]


def run_filter(w: Lanes, i: Instruction) -> None:
    """filter_shader: 1 where the pixel is selected."""
    first = w.machine("ctaid_y") * w.machine("width") + 32 * w.machine("ctaid_x")
    w.write(i.operands[0], w.selected[first : first + LANES].astype(np.uint32))


HANDLERS: dict[str, Handler] = {"ld": run_ld, "ldu": run_ld, "st": run_st}
