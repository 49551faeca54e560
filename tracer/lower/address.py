"""Generic addressing as LLVM IR: cvta, isspacep, and what a cluster of one CTA makes of mapa and getctarank.

A generic address is one of device memory. An address of a shared variable is an offset in the CTA's shared memory,
which lies in device memory as well; all other spaces have generic addresses already.
"""

from rayplay.ptx.ir import Instruction, Symbol
from rayplay.ptx.isa.types import TYPES
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.text import INT
from rayplay.tracer.meaning.tables import WINDOWS, constants_of


def lower_cvta(e: Emitter, i: Instruction) -> None:
    """cvta: only shared addresses change."""
    width = TYPES[i.form.type]
    value = e.read(i.operands[1], f"u{width}")
    if i.form.space == "shared":
        base = e.resize(e.splat(e.machine("shared_base"), "i64"), 64, width)
        value = e.op(f"{'sub' if i.form.variant == 'to' else 'add'} {INT[width]} {value}, {base}")
    e.write(i.operands[0], value, width)


def lower_isspacep(e: Emitter, i: Instruction) -> None:
    """isspacep: every space is a range of addresses, global is the rest."""
    space = i.form.space
    value = e.read(i.operands[1], "u64")
    ranges = [(window, e.machine(base), e.machine(size)) for window, (base, size) in WINDOWS.items()]
    constants = constants_of(e.module, e.function, e.symbols)
    ranges += [("const", e.symbol_scalar(Symbol(name)), str(size)) for name, size in constants.items()]
    found = "zeroinitializer"
    for window, base, size in ranges:
        if space in (window, "global"):
            offset = e.op(f"sub <32 x i64> {value}, {e.splat(base, 'i64')}")
            inside = e.op(f"icmp ult <32 x i64> {offset}, {e.splat(size, 'i64')}")
            found = e.op(f"or <32 x i1> {found}, {inside}")
    if space == "global":
        found = e.op(f"xor <32 x i1> {found}, splat (i1 true)")
    e.write(i.operands[0], found, 1)


def lower_mapa(e: Emitter, i: Instruction) -> None:
    """mapa: the cluster's only CTA has the address that the program has."""
    width = TYPES[i.form.type]
    e.write(i.operands[0], e.read(i.operands[1], f"u{width}"), width)


def lower_zero(e: Emitter, i: Instruction) -> None:
    """getctarank: the cluster's only CTA is its first; createpolicy: a policy that changes nothing."""
    e.write(i.operands[0], "zeroinitializer", 64 if i.opcode == "createpolicy" else 32)


HANDLERS: dict[str, Handler] = {
    "cvta": lower_cvta, "isspacep": lower_isspacep, "mapa": lower_mapa, "getctarank": lower_zero,
    "createpolicy": lower_zero,
}  # fmt: skip
