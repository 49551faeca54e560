"""The operands of one instruction against its signature: kinds, register types and sizes, constants, vectors."""

from collections.abc import Iterator

from rayplay.ptx import ir
from rayplay.ptx.isa.form import SPACES, signature
from rayplay.ptx.isa.row import Allows, Operand
from rayplay.ptx.isa.special import SPECIAL, VECTORS, WIDTHS
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.isa.types import constant_fits, register_fits
from rayplay.ptx.numbers import TYPE_BYTES
from rayplay.ptx.text.names import Hints, Names


class OperandChecks:
    """Faults in the operands of the instructions of one function."""

    def __init__(self, module: ir.Module, function: ir.Function, hint: Hints) -> None:
        self.function = function
        self.names = Names(module, function, hint)
        self.allows = Allows.NOTHING  # by the row of the instruction being checked

    def problems(self, instruction: ir.Instruction, form: ir.Form) -> Iterator[str]:
        """The problems of an instruction that has a row in the table and is no call."""
        wanted, self.allows = signature(form), TABLE[form.key].allows
        least = sum(not operand.optional for operand in wanted)
        count = len(instruction.operands)
        if not least <= count <= len(wanted):
            shown = str(least) if least == len(wanted) else f"{least} to {len(wanted)}"
            yield f"{instruction.full_opcode} needs {shown} operands, not {count}"
            return
        if count == least:
            wanted = tuple(operand for operand in wanted if not operand.optional)
        for one, operand in zip(wanted, instruction.operands, strict=False):
            yield from self._operand(one, operand, instruction)

    def _operand(self, wanted: Operand, operand: ir.Operand, instruction: ir.Instruction) -> Iterator[str]:
        role = wanted.role
        unknown = [] if role == "l" else list(self.names.undeclared(operand))
        if unknown:
            yield from unknown
        elif role == "l":
            yield from self.names.label_problem(operand, instruction)
        elif role == "a":
            yield from self._address(operand, instruction)
        elif role == "t":
            if not isinstance(operand, ir.Texture):
                yield f"{instruction.full_opcode} needs [texture, coordinates], not {kind(operand)}"
        elif role == "P":
            yield from self._predicates(operand)
        elif role == "p":
            yield from self._predicate_source(operand, instruction)
        elif role in ("d", "D", "r", "q", "q2", "T"):
            yield from self._destination(wanted, operand, instruction)
        elif role == "M":
            if not (isinstance(operand, ir.Vector) and len(operand.elements) == wanted.lanes) and wanted.lanes > 1:
                yield f"{instruction.full_opcode} needs {wanted.lanes} registers in {{..}}, not {kind(operand)}"
        elif role in "sSuvwb" and wanted.type:
            yield from self._source(wanted, operand, instruction)
        elif role == "i":
            if not (isinstance(operand, ir.Immediate) and operand.kind == "int"):
                yield f"{instruction.full_opcode} needs an integer constant here, not {kind(operand)}"
        elif role == "n" and isinstance(operand, ir.Register):
            declared = self.function.registers.get(operand.name, "u64")
            if declared[0] not in "bus" or TYPE_BYTES.get(declared, 8) not in (4, 8):
                yield f"'{operand.name}' must hold an address, it is .{declared}"

    # --- registers ----------------------------------------------------------------------------------------------
    def _destination(self, wanted: Operand, operand: ir.Operand, instruction: ir.Instruction) -> Iterator[str]:
        if wanted.role == "q2" and not isinstance(operand, ir.Pair):
            yield f"{instruction.full_opcode} needs a destination with a predicate, d|p, not {kind(operand)}"
        if isinstance(operand, ir.Pair) and wanted.role in ("q", "q2", "T"):
            if operand.second is not None:
                yield from self.predicate(operand.second)
            if operand.first is None:
                return
            operand = operand.first
        if isinstance(operand, ir.Register) and operand.name == "_":
            if Allows.SINK not in self.allows:
                yield f"the result of {instruction.full_opcode} cannot be discarded"
        elif isinstance(operand, ir.Register) and operand.name in SPECIAL:
            yield f"the destination must be a register, not special register '{operand.name}'"
        elif isinstance(operand, ir.Vector):
            yield from self._vector(operand, wanted, instruction)
        elif not isinstance(operand, ir.Register):
            yield f"the destination must be a register, not {kind(operand)}"
        elif wanted.lanes > 1 and not self.function.registers.get(operand.name, "v").startswith("v"):
            yield f"{instruction.full_opcode} needs {wanted.lanes} registers in {{..}}, not {kind(operand)}"
        elif wanted.type:
            yield from self._register(operand, wanted, instruction)

    def _source(self, wanted: Operand, operand: ir.Operand, instruction: ir.Instruction) -> Iterator[str]:
        full = instruction.full_opcode
        if isinstance(operand, ir.Modified) and wanted.role == "v":
            operand = operand.operand
        if isinstance(operand, ir.Register):
            if operand.name == "_":
                yield f"{full} cannot read '_'"
            elif operand.name in SPECIAL:
                yield from self._special(operand, wanted, instruction)
            elif wanted.lanes > 1 and not self.function.registers.get(operand.name, "v").startswith("v"):
                yield f"{full} needs {wanted.lanes} registers in {{..}}, not {kind(operand)}"
            else:
                yield from self._register(operand, wanted, instruction)
        elif isinstance(operand, ir.Immediate):
            if wanted.role == "w":
                yield f"{full} cannot read a constant"
            elif not constant_fits(wanted.type, operand):
                shown = "an integer" if operand.kind == "int" else "a floating-point"
                yield f"{full} reads a .{wanted.type}, which {shown} constant is not"
        elif isinstance(operand, ir.Vector):
            yield from self._vector(operand, wanted, instruction)
        elif isinstance(operand, ir.Symbol):
            if operand.name in self.function.labels and self.names.variable(operand.name) is None:
                yield f"{full} cannot read the address of the label '{operand.name}'"
                return
            known = Allows.SYMBOL in self.allows or not self._is_bare_variable(operand)
            if wanted.type == "pred" or not known or not constant_fits(wanted.type, ir.Immediate(0)):
                yield f"{full} cannot read the address of '{operand.name}'; mov can"
        elif isinstance(operand, ir.Not):
            if wanted.type != "pred":
                yield f"'!{operand.register.name}' is a predicate, {full} reads a .{wanted.type}"
            else:
                yield from self.predicate(operand.register)
        elif isinstance(operand, ir.Address):
            yield f"an operand in [..] belongs to loads, stores and atomics, not to {full}"
        else:
            yield f"{full} cannot read {kind(operand)}"

    def _is_bare_variable(self, symbol: ir.Symbol) -> bool:
        """ptxas takes ``variable+4`` where an integer is read, but not ``variable``."""
        return not symbol.offset and self.names.variable(symbol.name) is not None

    def _special(self, register: ir.Register, wanted: Operand, instruction: ir.Instruction) -> Iterator[str]:
        name, full = register.name, instruction.full_opcode
        if Allows.SPECIAL not in self.allows:
            yield f"{full} cannot read special register '{name}'; mov can"
        elif (name in VECTORS) != bool(register.component):
            yield f"'{name}' has components .x, .y and .z" if name in VECTORS else f"'{name}' has no components"
        elif instruction.opcode == "mov" and (WIDTHS[name] == 1 or wanted.type == "pred"):
            if WIDTHS[name] != 1 or wanted.type != "pred":
                held = "is a predicate" if WIDTHS[name] == 1 else f"holds {WIDTHS[name]} bits of an integer"
                yield f"'{name}' {held}, {full} reads a .{wanted.type}"
        elif instruction.opcode == "mov":
            bits = WIDTHS[name]
            # 16 bits were what %tid had in PTX 1.x; %gridid has had 32
            allowed = {64} if bits == 64 and name != "%gridid" else {16, 32, 64} if name == "%gridid" else {16, 32}
            if wanted.type[0] == "f" or 8 * TYPE_BYTES[wanted.type] not in allowed:
                yield f"'{name}' holds {bits} bits of an integer, {full} reads a .{wanted.type}"

    def _register(self, register: ir.Register, wanted: Operand, instruction: ir.Instruction) -> Iterator[str]:
        declared = self.function.registers.get(register.name)
        if declared is None:
            return
        if declared[0] == "v" and "." in declared and not register.component:
            if Allows.VECTOR not in self.allows:
                yield f"'{register.name}' is a vector, {instruction.full_opcode} takes one of its components"
            return
        declared = declared.rpartition(".")[2]
        if register_fits(wanted.type, declared):
            return
        if Allows.WIDER not in self.allows or not register_fits(wanted.type, declared, True):
            yield f"'{register.name}' must be a .{wanted.type} register, it is .{declared}"

    # --- vectors ------------------------------------------------------------------------------------------------
    def _vector(self, vector: ir.Vector, wanted: Operand, instruction: ir.Instruction) -> Iterator[str]:
        if wanted.lanes > 1:
            if len(vector.elements) != wanted.lanes:
                yield f"{instruction.full_opcode} needs {wanted.lanes} registers in {{..}}, not {len(vector.elements)}"
                return
            for element in vector.elements:
                if isinstance(element, ir.Register) and element.name not in SPECIAL:
                    yield from self._element(element, wanted)
                elif isinstance(element, ir.Immediate) and not constant_fits(wanted.type, element):
                    yield f"{instruction.full_opcode} writes a .{wanted.type}, which a constant in {{..}} is not"
        elif instruction.opcode == "mov" and len(vector.elements) in (2, 4):
            bits = [self.bits(e) for e in vector.elements if isinstance(e, ir.Register)]
            if len(bits) == len(vector.elements) and None not in bits:
                total = sum(b or 0 for b in bits)
                if total != 8 * TYPE_BYTES[wanted.type]:
                    size = 8 * TYPE_BYTES[wanted.type]
                    yield f"the registers in {{..}} hold {total} bits, the type .{wanted.type} has {size}"
            if wanted.type[0] != "b":
                yield f"{instruction.full_opcode} packs or unpacks, which needs a type of bits such as .b64"
        elif len(vector.elements) == 1:
            if isinstance(vector.elements[0], ir.Register) and vector.elements[0].name not in SPECIAL:
                yield from self._register(vector.elements[0], wanted, instruction)
        else:
            yield f"{instruction.full_opcode} takes one register here, not {{..}}"

    def _element(self, register: ir.Register, wanted: Operand) -> Iterator[str]:
        """An element of a vector access: registers of the same size, or wider ones of bits or integers."""
        declared = self.function.registers.get(register.name, "").rpartition(".")[2]
        if not declared:
            return
        same = declared != "pred" and wanted.type != "pred" and TYPE_BYTES[declared] == TYPE_BYTES[wanted.type]
        if not same and not register_fits(wanted.type, declared, True):
            yield f"'{register.name}' must be a .{wanted.type} register, it is .{declared}"

    def declared(self, register: ir.Register) -> str | None:
        """The type of a declared register, of an element for a vector."""
        declared = self.function.registers.get(register.name)
        return None if declared is None else declared.rpartition(".")[2]

    def bits(self, register: ir.Register) -> int | None:
        """The bits of a declared register."""
        declared = self.declared(register)
        return None if declared is None else 8 * TYPE_BYTES[declared]

    # --- predicates ---------------------------------------------------------------------------------------------
    def _predicates(self, operand: ir.Operand) -> Iterator[str]:
        for register in (operand.first, operand.second) if isinstance(operand, ir.Pair) else (operand,):
            if isinstance(register, ir.Register):
                yield from self.predicate(register)
            elif register is not None:
                yield f"the destination must be a predicate register, not {kind(register)}"

    def _predicate_source(self, operand: ir.Operand, instruction: ir.Instruction) -> Iterator[str]:
        if isinstance(operand, ir.Register | ir.Not):
            yield from self.predicate(operand.register if isinstance(operand, ir.Not) else operand)
        elif not (isinstance(operand, ir.Immediate) and operand.kind == "int"):
            yield f"{instruction.full_opcode} needs a predicate here, not {kind(operand)}"

    def predicate(self, register: ir.Register) -> Iterator[str]:
        """Problems of a register that must be a predicate."""
        declared = self.function.registers.get(register.name)
        if declared is None and register.name != "_":
            yield f"register '{register.name}' is not declared"
        elif declared not in (None, "pred"):
            yield f"'{register.name}' must be a .pred register, it is .{declared}"

    # --- addresses ----------------------------------------------------------------------------------------------
    def _address(self, operand: ir.Operand, instruction: ir.Instruction) -> Iterator[str]:
        full = instruction.full_opcode
        if not isinstance(operand, ir.Address):
            yield f"{full} needs an address in [..], not {kind(operand)}"
            return
        base = operand.base
        space = next((SPACES[m] for m in instruction.modifiers if m in SPACES), "")
        if isinstance(base, ir.Symbol) and space and instruction.opcode in ("ld", "ldu", "st", "atom", "red"):
            variable = self.names.variable(base.name)
            if variable is not None and variable.space not in (space, "reg", "tex"):
                yield f"'{base.name}' is in .{variable.space}, but {full} accesses .{space}"
        if isinstance(base, ir.Register):
            declared = self.function.registers.get(base.name, "u64").rpartition(".")[2]
            if base.name in SPECIAL and (base.component or base.name in VECTORS):
                yield f"'{base.name}' cannot be an address; mov it to a register first"
            elif declared[0] not in "bus" or declared == "b128":
                yield f"'{base.name}' is a .{declared} register, which holds no address"
        if isinstance(base, ir.Immediate) and space in ("global", "shared", "const", "param"):
            yield f"{full} cannot access a constant address; only .local can"


def kind(operand: "ir.Operand | None") -> str:
    """An operand in words."""
    match operand:
        case ir.Register(name):
            return f"register '{name}'"
        case ir.Symbol(name):
            return f"'{name}'"
        case ir.Address():
            return "an address in [..]"
        case ir.Vector():
            return "a vector in {..}"
        case ir.Pair():
            return "a pair of destinations"
        case ir.Not(register):
            return f"'!{register.name}'"
        case ir.Texture():
            return "a texture in [..]"
    return "a constant" if operand is not None else "_"
