"""The meaning of generic addressing: cvta, isspacep, mapa, getctarank."""

import numpy as np

from rayplay.ptx.ir import Instruction, Symbol
from rayplay.ptx.isa.types import TYPES
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.interp.integer import numbers, put
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning.tables import WINDOWS, constants_of


def run_cvta(w: Lanes, i: Instruction) -> None:
    """cvta: shared addresses are offsets, all other spaces are generic already."""
    name = i.form.type
    base = w.machine("shared_base") if i.form.space == "shared" else 0
    put(w, i, [v - base if i.form.variant == "to" else v + base for v in numbers(w, i, 1, name)], TYPES[name])


def run_isspacep(w: Lanes, i: Instruction) -> None:
    """isspacep: every space is a range, global is the rest."""
    space, linked = i.form.space, w.activation.linked
    ranges = [(window, w.machine(base), w.machine(size)) for window, (base, size) in WINDOWS.items()]
    constants = constants_of(linked.module, linked.function, w.names())
    ranges += [("const", int(w.symbol_address(Symbol(name))[0]), size) for name, size in constants.items()]
    chosen = [(base, size) for window, base, size in ranges if space in (window, "global")]
    inside = [any(0 <= a - base < size for base, size in chosen) for a in numbers(w, i, 1, "u64")]
    w.write(i.operands[0], np.array(inside) ^ (space == "global"))


def run_mapa(w: Lanes, i: Instruction) -> None:
    """mapa: the address itself."""
    w.write(i.operands[0], w.read(i.operands[1], f"u{TYPES[i.form.type]}"))


def run_zero(w: Lanes, i: Instruction) -> None:
    """getctarank, createpolicy: 0."""
    w.write(i.operands[0], np.zeros(LANES, np.uint32))


HANDLERS: dict[str, Handler] = {
    "cvta": run_cvta, "isspacep": run_isspacep, "mapa": run_mapa, "getctarank": run_zero, "createpolicy": run_zero,
}  # fmt: skip
