"""Calls of functions, interpreted: arguments and results as bytes, ``uint8[32, bytes]`` each."""

import numpy as np

from rayplay.ptx.ir import Instruction, Operand, Register, Symbol, Variable
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import MACHINE, STOP
from rayplay.tracer.interp.arena import IllegalAddressError, as_bytes, from_bytes
from rayplay.tracer.interp.values import Activation, Lanes
from rayplay.tracer.link.layout import signature_of
from rayplay.tracer.link.link import LinkedLaunch
from rayplay.tracer.memory.arena import FIRST_FUNCTION, FUNCTION_STEP_BYTES


class BadCallError(IllegalAddressError):
    """A call of an address that is not a function of the launch."""

    code = STOP.bad_call


def begin(w: Lanes, i: Instruction, taken: int, launch: LinkedLaunch) -> int:
    """Note the arguments of a call, and which lanes run which function, lowest number first.

    Returns the identity of the signature that an indirect call wants, -1 for a direct one.
    """
    assert i.call is not None
    linked = w.activation.linked
    if i.callee:
        callee = linked.callees[i.callee]
        w.activation.waiting = [(callee.number, taken)]
        sizes, identity = callee.signature.parameters, -1
    else:
        sides: dict[int, int] = {}
        for lane, address in enumerate(w.read(i.call.target, "u64")):
            if taken >> lane & 1:
                number = _function_at(w, int(address), lane, launch)
                sides[number] = sides.get(number, 0) | 1 << lane
        w.activation.waiting = sorted(sides.items())
        name = i.call.prototype or ""
        targets = linked.function.branch_targets.get(name, ("",))
        signature = signature_of(linked.function.prototypes.get(name) or linked.module.functions[targets[0]])
        sizes, identity = signature.parameters, signature.identity
    places = zip(i.call.arguments, sizes, strict=True)
    w.activation.outgoing = [_bytes_of(w, operand, size) for operand, (_, size) in places]
    return identity


def _function_at(w: Lanes, address: int, lane: int, launch: LinkedLaunch) -> int:
    index, rest = divmod(address - FIRST_FUNCTION, FUNCTION_STEP_BYTES)
    if rest == 0 and 0 <= index < len(launch.by_address) and launch.by_address[index] >= 0:
        return int(launch.by_address[index])
    m = w.machine_words
    m[MACHINE.error_lane], m[MACHINE.error_address] = lane, np.uint64(address).view(np.int64)
    raise BadCallError


def _bytes_of(w: Lanes, operand: Operand, size: int) -> np.ndarray:
    if isinstance(operand, Symbol) and operand.name in w.activation.variables:
        return w.activation.variables[operand.name].copy()
    if size == 0:
        return w.read(operand, "pred").reshape(LANES, 1).view(np.uint8)
    return as_bytes(w.read(operand, f"b{8 * size}"))


def accept_arguments(made: Activation, arguments: list[np.ndarray]) -> None:
    """Arguments become the parameters of a fresh activation."""
    for variable, value in zip(made.linked.function.parameters, arguments, strict=True):
        if variable.space == "reg":
            made.registers[variable.name] = _as_register(variable.type, value)
        else:
            made.variables[variable.name][:] = value


def results_of(activation: Activation) -> list[np.ndarray]:
    """Results of a function that has returned."""
    return [_returned(activation, variable) for variable in activation.linked.function.returns]


def _returned(activation: Activation, variable: Variable) -> np.ndarray:
    if variable.space != "reg":
        return activation.variables[variable.name]
    zero = np.zeros((LANES, variable.bytes), np.uint8)
    value = activation.registers.get(variable.name)
    return zero if value is None else as_bytes(value)


def take_results(w: Lanes, i: Instruction) -> None:
    """Results go to the lanes of ``w.active``, which called."""
    assert i.call is not None
    for operand, value in zip(i.call.results, w.activation.returned, strict=True):
        if isinstance(operand, Symbol) and operand.name in w.activation.variables:
            w.activation.variables[operand.name][w.active] = value[w.active]
        else:
            assert isinstance(operand, Register)
            w.write(operand, from_bytes(value))


def _as_register(type_name: str, value: np.ndarray) -> np.ndarray:
    if type_name == "pred":
        return value.reshape(LANES).astype(bool)
    return from_bytes(value)
