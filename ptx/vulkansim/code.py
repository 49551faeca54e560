"""Lowered instructions of one shader as text, each with the place of the statement that it comes from."""

from dataclasses import dataclass, field

from rayplay.ptx.ir import NO_FORM, Position
from rayplay.ptx.isa.form import form_of, problem, signature
from rayplay.ptx.isa.row import Allows
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.numbers import TYPE_BYTES
from rayplay.ptx.vulkansim.reader import Shader, Statement

PARAMETERS = "vulkan"
"""The ``.const`` object of a lowered module."""
BLOCK, LANE, IMAGE_WIDTH = "%thread$block", "%thread$lane", "%image$width"
_DESTINATIONS, _SOURCES = ("d", "D", "r"), ("s", "S", "u")
_NARROW = {"b8": "b16", "u8": "u16", "s8": "s16"}


@dataclass
class Code:
    """A body while it is written: a line is an instruction or a label."""

    shader: Shader
    lines: list[str] = field(default_factory=list)
    places: list[Position] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    at: Position = field(default_factory=lambda: Position(0, 0))

    def emit(self, text: str) -> None:
        """The next instruction, without its semicolon."""
        self.lines.append(f"\t{text};")
        self.places.append(self.at)

    def label(self, name: str) -> None:
        """A label before the next instruction."""
        self.lines.append(f"{name}:")

    def new(self, width: str) -> str:
        """A register of the lowering's own."""
        name = f"%t${len(self.registers)}"
        self.registers[name] = width
        return name

    def call(self, name: str, width: str = "b32") -> str:
        """The register with the result of a call of OptiX's interface without arguments."""
        result = self.new(width)
        self.emit(f"call ({result}), _optix_{name}, ()")
        return result

    def plain(self, statement: Statement) -> None:
        """An ordinary instruction. Registers hold bits: one that is too wide or narrow is converted without sign."""
        first, *rest = statement.opcode.split(".")
        modifiers = tuple(_NARROW.get(word, word) if first == "mov" else word for word in rest)
        if first == "setp" and modifiers[:1] == ("ne",) and modifiers[-1][0] == "f":
            modifiers = ("neu", *modifiers[1:])  # as C's != has it, true where a number is missing
        if fault := problem(first, modifiers):
            raise self.shader.refuse(statement, fault)
        form = form_of(first, modifiers)
        wanted = signature(form) if form is not NO_FORM else ()
        allows = TABLE[form.key].allows if form is not NO_FORM else Allows.NOTHING
        operands, after = list(statement.operands), []
        for number, (operand, one) in enumerate(zip(operands, wanted, strict=False)):
            width = self._width(one.role, one.type)
            declared = self.shader.registers.get(operand, width)
            if width in ("", "pred") or declared in ("pred", width):
                continue
            if one.role in _SOURCES:
                operands[number] = self.new(width)
                self.emit(f"cvt.u{width[1:]}.u{declared[1:]} {operands[number]}, {operand}")
            elif not (Allows.WIDER in allows and int(declared[1:]) > int(width[1:])):
                operands[number] = self.new(width)
                after.append(f"cvt.u{declared[1:]}.u{width[1:]} {operand}, {operands[number]}")
        guard = f"@{statement.guard} " if statement.guard else ""
        self.emit(f"{guard}{'.'.join((first, *modifiers))} {', '.join(operands)}".rstrip())
        for text in after:
            self.emit(guard + text)

    @staticmethod
    def _width(role: str, type_name: str) -> str:
        """The register that an operand's type takes; empty where the form does not say."""
        if role not in _DESTINATIONS + _SOURCES or not type_name:
            return ""
        if type_name == "pred":
            return "pred"
        bits = 8 * TYPE_BYTES.get(type_name, 0)
        return f"b{max(bits, 16)}" if bits else ""

    def text(self) -> str:
        """The whole entry as PTX."""
        own = {**self.shader.registers, **self.registers}
        declared = [f"\t.reg .{width} {name};" for name, width in own.items()]
        return "\n".join([f".visible .entry {self.shader.name}()", "{", *declared, *self.lines, "}"])
