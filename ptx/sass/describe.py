"""Class, memory access and registers of a SASS instruction, as ``opcodes.describe`` says it of PTX."""

from rayplay.formats.exchange.accelsim.sass_classes import ARCHITECTURES, access_bytes, memory_space, operation_class
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.ptx.ir import Function, Instruction
from rayplay.ptx.isa.describe import Description
from rayplay.ptx.sass.registers import registers


def describe(instruction: Instruction, function: Function) -> Description:
    """Class, memory access and registers of one instruction of a SASS function.

    A listing without ``.target`` is taken to be of the latest architecture. Raises UserError naming the opcode and its
    line when the table of classes has no row for it, or not for this architecture.
    """
    opcode = instruction.full_opcode
    try:
        kind = operation_class(opcode, architecture(function))
    except FormatError as error:
        raise UserError(f"line {instruction.position.line}: {error}, in: {instruction.text}") from None
    space, size = memory_space(opcode), access_bytes(opcode)
    written, read = registers(instruction)
    return Description(kind, space, size, written, read, "", instruction.opcode)


def architecture(function: Function) -> int:
    """The number of ``sm_75``."""
    return function.directives.get("architecture", (ARCHITECTURES[-1],))[0]
