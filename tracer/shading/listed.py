"""Launch parameters that programs load: a load of none that is listed is refused, since it reads 0 without a word."""

from collections.abc import Iterator, Sequence

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Address, Instruction, Module, Symbol, Vector
from rayplay.ptx.numbers import TYPE_BYTES
from rayplay.tracer.link.functions import Taken, with_called
from rayplay.tracer.link.programs import Programs
from rayplay.tracer.shading.fields import Field


def require_listed(
    programs: Programs, modules: Sequence[Module], symbol: str, params: Sequence[Field], place: str
) -> None:
    """``UserError`` for the first load of launch parameters none of whose bytes belong to a listed member, and for
    programs that take their address, so that any may be read, where the list ends before them.

    Padding at the end need not be listed.
    """
    listed = {byte for field in params for byte in range(field.offset, field.offset + field.bytes)}
    variable = max((m.variables[symbol] for m in modules if symbol in m.variables), key=lambda v: v.bytes)
    end = -(-(max(listed, default=-1) + 1) // variable.align) * variable.align
    for module, function in with_called(programs, modules, Taken()):
        for i in function.body:
            at = f"{module.source_name}:{i.position.line}"
            for first, size in _reads(i, symbol):
                if listed.isdisjoint(range(first, first + size)):
                    raise UserError(
                        f"{at}: reads bytes {first} to {first + size - 1} of {symbol}, which no member of params in "
                        f"{place} has; one with offset = {first} and value = 0 says that they are 0"
                    )
            taken = (*i.operands, *(i.call.arguments if i.call else ()))
            if end < variable.bytes and any(isinstance(one, Symbol) and one.name == symbol for one in taken):
                raise UserError(
                    f"{at}: takes the address of {symbol}, and params in {place} list {end} of its {variable.bytes} "
                    "bytes: all must be listed; a last member with an offset and value = 0 says that they are 0"
                )


def _reads(i: Instruction, symbol: str) -> Iterator[tuple[int, int]]:
    """Offset and bytes of each element that an instruction loads from a variable, at an offset that the text has."""
    if i.opcode != "ld":
        return
    for operand in i.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol) and operand.base.name == symbol:
            first, size = operand.base.offset + operand.offset, TYPE_BYTES[i.form.type]
            given = i.operands[0].elements if isinstance(i.operands[0], Vector) else (i.operands[0],)
            yield from ((first + size * k, size) for k, element in enumerate(given) if element is not None)
