"""Spaces of addresses that a program leaves to ptxas, spelled out, and local variables of the module.

ptxas takes the space of a load, store or atomic without one from the variable that its address names. Before PTX 3.0 a
module may have ``.local`` variables; a thread has one of each, so that only an entry may use them here.
"""

from dataclasses import replace

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Address, Function, Instruction, Module, Symbol, Variable
from rayplay.ptx.isa.form import form_of, problem
from rayplay.tracer.link.functions import symbol_names

ACCESSES = frozenset(("ld", "st", "atom", "red"))
INFERRED = frozenset(("shared", "local"))


def explicit(module: Module, function: Function) -> Function:
    """The function with inferred spaces spelled out and the module's local variables as its own; mostly itself.

    Raises ``UserError`` for a function with a body of its own that uses a local variable of the module.
    """
    outer = {v.name: v for v in module.variables.values() if v.space in INFERRED}
    known = outer | function.variables
    if not any(v.space in INFERRED for v in known.values()):
        return function
    body = tuple(_with_space(i, known) for i in function.body)
    taken = {name for i in body for name in symbol_names(i)} if outer else set()
    local = {n: v for n, v in outer.items() if v.space == "local" and n in taken and n not in function.variables}
    if local and not function.is_entry:
        place = f"{module.source_name}:{function.position.line}"
        raise UserError(f"{place}: {function.name}: the module's .local {min(local)} can only be used in an entry")
    if not local and all(one is other for one, other in zip(body, function.body, strict=True)):
        return function
    return replace(function, body=body, variables=function.variables | local)


def _with_space(i: Instruction, known: dict[str, Variable]) -> Instruction:
    if i.opcode not in ACCESSES or i.form.spaces:
        return i
    bases = [o.base for o in i.operands if isinstance(o, Address)]
    variable = known.get(bases[0].name) if bases and isinstance(bases[0], Symbol) else None
    if variable is None or variable.space not in INFERRED:
        return i
    for place in range(len(i.modifiers) + 1):
        modifiers = (*i.modifiers[:place], variable.space, *i.modifiers[place:])
        if not problem(i.opcode, modifiers):
            return replace(i, modifiers=modifiers, form=form_of(i.opcode, modifiers))
    return i
