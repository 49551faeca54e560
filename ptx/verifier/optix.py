"""Faults in calls of OptiX's device interface: names, numbers of registers and their types, kinds of program."""

import re
import sys
from collections.abc import Callable, Iterator

from rayplay.ptx.ir import Function, Immediate, Module, Operand, Position, Register, Symbol
from rayplay.ptx.isa.optix import ANY, HIGHEST, INTRINSICS, PREFIX, kind_of_program, words_of
from rayplay.ptx.isa.types import register_fits
from rayplay.ptx.numbers import TYPE_BYTES
from rayplay.ptx.text.names import Hints

Found = tuple[Position, str]
BITS = {"u": 32, "f": 32, "l": 64}
TYPES = {"u": "u32", "f": "f32", "l": "u64"}
WORDS = re.compile("payload|attribute|trace|traverse|invoke|report|throw|exception_detail")
"""Calls with payload words, attributes or details, which are 32 bits of any type."""
FIRST_WORDS = {"_optix_trace_": 15, "report_intersection": 2, "throw_exception": 1}
"""Arguments before the words: handle and ray; distance and kind; code."""


def call_problems(
    name: str,
    results: tuple[Operand, ...],
    arguments: tuple[Operand, ...],
    declared: Callable[[Register], str | None],
    hint: Hints,
) -> Iterator[str]:
    """Problems of one call by itself; ``declared`` is the type of a register, None where it has none."""
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
        words = first_word(name) if what == "arguments" else 0 if WORDS.search(name) else len(given)
        for position, (operand, letter) in enumerate(zip(given, wanted, strict=True)):
            is_word = letter == "u" and position >= words
            if isinstance(operand, Register):
                yield from _register(name, operand.name, letter, is_word, declared(operand))
            elif what == "results":
                yield f"'{name}' gives its results to registers, not to a constant"
            elif not _is_constant(operand, letter) and not (is_word and _is_constant(operand, "f")):
                yield f"'{name}' takes a .{TYPES[letter]} as argument {position}, which it is not"

    index, most = HIGHEST.get(name, (len(arguments), 0))
    count = arguments[index] if index < len(arguments) else None
    if isinstance(count, Immediate) and _is_constant(count, "u") and not 0 <= count.bits <= most:
        yield f"'{name}' takes 0 to {most} as argument {index}, not {count.bits}"


def first_word(name: str) -> int:
    """Position of a call's first argument that is a word of 32 bits of any type; one beyond all where none is."""
    if not WORDS.search(name):
        return sys.maxsize
    if name in HIGHEST:
        return HIGHEST[name][0] + 1  # after the number or count of words
    return next((first for what, first in FIRST_WORDS.items() if what in name), 0)


def _register(name: str, register: str, letter: str, is_word: bool, declared: str | None) -> Iterator[str]:
    """A register against a letter of ``ptx.isa.optix``."""
    if declared is None:
        return
    if (bits := 8 * TYPE_BYTES[declared]) != BITS[letter]:
        yield f"'{name}' takes {BITS[letter]} bits where '{register}' has {bits}"
    elif not register_fits(TYPES[letter], declared) and not is_word:
        yield f"'{name}' takes a .{TYPES[letter]} where '{register}' is a .{declared}"


def _is_constant(operand: Operand, letter: str) -> bool:
    """Whether an argument that is no register has the bits of a letter of ``ptx.isa.optix``."""
    if isinstance(operand, Symbol):
        return letter == "l"
    if not isinstance(operand, Immediate) or (operand.kind == "int") == (letter == "f"):
        return False
    return letter == "f" or -(1 << BITS[letter] - 1) <= operand.bits < 1 << BITS[letter]


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
