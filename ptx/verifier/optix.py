"""Faults in calls of OptiX's device interface: names, numbers of registers and their widths, kinds of program."""

from collections.abc import Callable, Iterator

from rayplay.ptx.ir import Function, Module, Operand, Position, Register
from rayplay.ptx.isa.optix import ANY, INTRINSICS, PREFIX, kind_of_program, words_of
from rayplay.ptx.text.names import Hints

Found = tuple[Position, str]
BITS = {"u": 32, "f": 32, "l": 64}


def call_problems(
    name: str,
    results: tuple[Operand, ...],
    arguments: tuple[Operand, ...],
    bits: Callable[[Register], int | None],
    hint: Hints,
) -> Iterator[str]:
    """Problems of one call by itself; ``bits`` is the width of a register, None where it is not declared."""
    intrinsic = INTRINSICS.get(name)
    if intrinsic is None:
        yield f"'{name}' is not a known function of the OptiX interface{hint(name, INTRINSICS)}"
        return
    for what, given, wanted in (("results", results, intrinsic.outputs), ("arguments", arguments, intrinsic.inputs)):
        if wanted == ANY:
            continue
        if len(given) != len(wanted):
            yield f"'{name}' has {len(wanted)} {what}, the call gives {len(given)}"
            continue
        for operand, letter in zip(given, wanted, strict=True):
            width = bits(operand) if isinstance(operand, Register) else None
            if width is not None and width != BITS[letter] and isinstance(operand, Register):
                yield f"'{name}' takes {BITS[letter]} bits where '{operand.name}' has {width}"


def kind_problems(module: Module) -> Iterator[Found]:
    """Calls in kinds of program that may not make them: in programs, and in the functions that these call by name."""
    calls: dict[str, list[tuple[Position, str]]] = {}
    callees: dict[str, list[str]] = {}
    for function in module.functions.values():
        calls[function.name] = [(i.position, i.callee) for i in function.body if i.callee in INTRINSICS]
        callees[function.name] = [name for name in _called(function) if name in module.functions]
    said: set[tuple[Position, str]] = set()
    for name in module.functions:
        kind = kind_of_program(name)
        for reached in _reached(name, callees) if kind else ():
            for position, callee in calls[reached]:
                if kind not in INTRINSICS[callee].kinds and (position, kind) not in said:
                    said.add((position, kind))
                    allowed = words_of(INTRINSICS[callee].kinds)
                    yield position, f"'{callee}' can be called in {allowed} programs, not in '{name}'"


def _called(function: Function) -> dict[str, None]:
    return {i.callee: None for i in function.body if i.callee and not i.callee.startswith(PREFIX)}


def _reached(name: str, callees: dict[str, list[str]]) -> list[str]:
    """The function and all that it calls by name, directly or not."""
    found = {name: None}
    for each in (todo := [name]):
        todo += [callee for callee in callees[each] if callee not in found]
        found.update(dict.fromkeys(callees[each]))
    return list(found)
