"""The text of one shader of Vulkan-Sim to its registers, labels and statements.

A file holds one entry without parameters. Declarations stand anywhere between the instructions, a register each; labels
are unique in the file. Source: ``docs/sources/vulkan-sim.md#dialect``.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.nearest import hint
from rayplay.formats.guard.text import read_bounded
from rayplay.ptx.ir import Position
from rayplay.ptx.isa.special import SPECIAL

KINDS = {
    "RAYGEN": "raygen", "MISS": "miss", "CLOSEST_HIT": "closesthit", "ANY_HIT": "anyhit",
    "INTERSECTION": "intersection",
}  # fmt: skip
"""Kinds of programs by the word of their entry's name."""
WIDTHS = {
    "pred": "pred", "b8": "b16", "u8": "b16", "s8": "b16", "b16": "b16", "u16": "b16", "s16": "b16", "b32": "b32",
    "u32": "b32", "s32": "b32", "f32": "b32", "b64": "b64", "u64": "b64", "s64": "b64", "f64": "b64",
}  # fmt: skip
"""Registers have no type, only a width: the type that holds the bits, by the declared one."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+(?P<name>MESA_SHADER_(?P<kind>\w+?)(?:_func(?P<number>\d{1,9}))?_main)\s*\(\s*\)\s*\{")
_NUMBER = re.compile(r"_(\d{1,9})\.ptx$")
"""Of the file's name: the number of a shader whose entry has none, as the translator's first version leaves it."""
_ENTRIES = re.compile(r"\.entry\b")
_DIALECT = re.compile(r"\.entry\s+MESA_SHADER_\w+_main\b")
_PART = re.compile(r"\s*(?:(?P<label>[A-Za-z_$][\w$]*)\s*:|(?P<end>\})|(?P<statement>[^;{}]*);)")
_REGISTER = re.compile(r"\.reg\s+\.(\w+)\s+(%?[\w$]+(?:\s*,\s*%?[\w$]+)*)")
_STATEMENT = re.compile(r"(?:@(?P<guard>!?%?[\w$]+)\s+)?(?P<opcode>[a-z_][\w.]*)(?:\s+(?P<operands>\S.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction as written: ``operands`` are texts, ``guard`` is ``%p``, ``!%p`` or empty."""

    opcode: str
    operands: tuple[str, ...]
    guard: str
    position: Position


@dataclass(frozen=True)
class Shader:
    """One file.

    kind       a value of ``KINDS``; ``number`` is its stage of the pipeline, by which records call it.
    registers  the type of each register's bits, ``b16``, ``b32``, ``b64`` or ``pred``.
    labels     the index in ``body`` of the statement that a label stands before.
    """

    source: str
    kind: str
    number: int
    registers: dict[str, str]
    body: tuple[Statement, ...]
    labels: dict[str, int]
    position: Position

    @property
    def name(self) -> str:
        """The entry's name after lowering."""
        return f"__{self.kind}__{self.number}"

    def refuse(self, statement: Statement, must: str) -> UserError:
        """An error about a statement: what must hold there."""
        place = f"{self.source}:{statement.position.line}:{statement.position.column}"
        return UserError(f"{place}: {must}, in: {statement.opcode} {', '.join(statement.operands)}")


def is_dialect(text: str) -> bool:
    """Whether a text is a shader of Vulkan-Sim rather than ordinary PTX."""
    return _DIALECT.search(text) is not None


def read_shader(path: Path) -> Shader:
    """Read one file. Raises ``UserError`` for a syntax error, ``FormatError`` for a file that is too long."""
    return parse_shader(read_bounded(path, LIST_BYTES).decode(errors="replace"), str(path))


def parse_shader(text: str, source: str) -> Shader:
    """Parse the text of one shader; ``source`` is what messages call it.

    Raises ``UserError`` (``source:line:column: expected X, found Y``) where the text is not the dialect's.
    """
    lines = _Lines(text, source)
    plain = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    entry = _ENTRY.search(plain)
    if entry is None:
        raise UserError(f"{source}: expected .entry MESA_SHADER_KIND_funcN_main () {{, found none")
    if len(_ENTRIES.findall(plain)) > 1:
        raise UserError(f"{source}: expected one .entry in the file, found more")
    word = entry["kind"]
    if word not in KINDS:
        raise lines.error(entry.start("kind"), f"shaders of kind {word} are not executed; {hint(word, KINDS)}")
    reading = _Reading(lines)
    place = entry.end()
    while (part := _PART.match(plain, place)) is not None and part["end"] is None:
        if part["label"] is not None:
            reading.label(part["label"], part.start("label"))
        else:
            reading.statement(part["statement"], part.start("statement"))
        place = part.end()
    if part is None:
        at = place + len(plain[place:]) - len(plain[place:].lstrip())
        found = plain[at:].split("\n", 1)[0].strip() or "the end of the file"
        raise lines.error(at, f"expected a statement that ends with ';' or '}}', found '{found[:60]}'")
    position = lines.position(entry.start())
    number = entry["number"] or (_NUMBER.search(source) or ("", ""))[1]
    if not number:
        raise lines.error(entry.start("name"), "expected _funcN in the entry's name, or _N in the file's, found none")
    return Shader(source, KINDS[word], int(number), reading.registers, tuple(reading.body), reading.labels, position)


class _Lines:
    """Places of a text by line and column."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def position(self, index: int) -> Position:
        line = bisect_right(self.starts, index)
        return Position(line, index - self.starts[line - 1] + 1)

    def error(self, index: int, message: str) -> UserError:
        at = self.position(index)
        return UserError(f"{self.source}:{at.line}:{at.column}: {message}")


class _Reading:
    """A body while it is read."""

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.registers: dict[str, str] = {}
        self.body: list[Statement] = []
        self.labels: dict[str, int] = {}
        self.bare: set[str] = set()  # registers declared without %, as the first version has one

    def _renamed(self, operand: str) -> str:
        """An operand by the name of its register here."""
        name = re.search(r"[\w$.]+", operand)
        if name and name[0] in self.bare:  # bare, negated, or the base of an address
            operand = f"{operand[: name.start()]}%{operand[name.start() :]}"
        return _renamed(operand)

    def label(self, name: str, start: int) -> None:
        if name in self.labels:
            raise self.lines.error(start, f"label '{name}' stands twice in the file")
        self.labels[name] = len(self.body)

    def statement(self, text: str, start: int) -> None:
        written = text.strip()
        start += len(text) - len(text.lstrip())
        if not written:
            return
        if written.startswith(".reg"):
            self._declare(written, start)
            return
        found = _STATEMENT.fullmatch(written)
        if found is None:
            raise self.lines.error(start, f"expected an instruction, found '{written[:60]}'")
        operands = tuple(self._renamed(each.strip()) for each in (found["operands"] or "").split(",") if each.strip())
        guard = self._renamed(found["guard"] or "")
        self.body.append(Statement(found["opcode"], operands, guard, self.lines.position(start)))

    def _declare(self, written: str, start: int) -> None:
        found = _REGISTER.fullmatch(written)
        if found is None or found[1] not in WIDTHS:
            types = ", ".join(f".{name}" for name in WIDTHS)
            raise self.lines.error(start, f"expected .reg with one of {types} and a name, found '{written[:60]}'")
        written_names = [each.strip() for each in found[2].split(",")]
        self.bare |= {each for each in written_names if not each.startswith("%")}
        for name in map(self._renamed, written_names):
            width = WIDTHS[found[1]]
            if self.registers.setdefault(name, width) != width:
                raise self.lines.error(start, f"register '{name}' has two widths, {self.registers[name]} and {width}")


def _renamed(operand: str) -> str:
    """An operand whose register, a variable of the shader's source, does not have a special register's name."""
    name = operand.lstrip("!")
    return operand + "$" if name in SPECIAL else operand
