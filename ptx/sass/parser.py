"""SASS listings to ``ptx.ir.Module``: the text of ``nvdisasm`` (-c, -hex, -plr, -g) and of ``cuobjdump -sass``.

Every function of a code section is a ``Function`` of its own, internal ones (``$__internal_0_$__cuda_..``) too. What no
instruction leads to at the end of a section, the endless branch and the NOPs that fill it up, is left out.
Source: docs/sources/ptx-sass.md#sass-listings.
"""

import re
from pathlib import Path

from rayplay.ptx.ir import Function, Guard, Instruction, Module, Register
from rayplay.ptx.sass.operands import SassOperandBuilder
from rayplay.ptx.sass.section import Known, Section, finish_section
from rayplay.ptx.text.lalr import Source, reduce_text, table
from rayplay.ptx.text.operands import Children

GRAMMAR = Path(__file__).with_name("sass.lark")
FIRST_ARCHITECTURE = 70  # Volta: 128-bit encodings with their control bits
_TARGET = re.compile(r"sm_(\d+)[af]?")
_NAME = re.compile(r"[.$A-Za-z_][^\s:;,()\[\]{}\"'`]*\Z")
_REGISTERS = re.compile(r"SHI_REGISTERS=(\d{1,3})\b")
_COUNT = re.compile(r"0x[0-9a-f]{8}\Z")
_INDEX = re.compile(r"index@\(([^)]*)\)")
_REGISTER_COUNTS = "0x04, 0x2f"  # how the .nv.info record EIATTR_REGCOUNT begins


def parse(text: str, name: str) -> Module:
    """Parse a listing; ``name`` is what messages call it.

    Raises UserError (``name:line:column: expected X, found Y``) where the text is no listing of Volta or later. Unknown
    opcodes are kept: ``formats.exchange.accelsim.sass_classes`` judges them.
    """
    source = Source(text, name)
    return reduce_text(table(GRAMMAR), source, SassModuleBuilder(source))


class SassModuleBuilder(SassOperandBuilder):
    """Builds one module; ``section`` is the code section being read, None between them."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.known = Known()
        self.functions: dict[str, Function] = {}
        self.architecture = ""
        self.section: Section | None = None
        self._sections: list[Section] = []
        self._opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._counting = ""  # "record", or the function whose register count the next word of .nv.info is

    def module(self, children: Children, start: int, end: int) -> Module:
        for section in self._sections:
            for made in finish_section(section, self.source):
                registers = self.known.registers.get(made.name, self.known.registers.get(section.name))
                if registers is not None:
                    made.directives["registers"] = (registers,)
                if self.architecture:
                    made.directives["architecture"] = (int(self.architecture[3:].rstrip("af")),)
                if made.name in self.functions:
                    raise self.source.error(section.start, f"function '{made.name}' is listed twice")
                self.functions[made.name] = made
        if not self.functions:
            raise self.source.error(start, "a listing must have a function with instructions, and has none")
        lines = tuple(self.source.text.split("\n"))
        target = (self.architecture,) if self.architecture else ()
        return Module(self.source.name, lines, (0, 0), target, 64, {}, self.functions, language="sass")

    # --- headings, directives and labels ------------------------------------------------------------------------
    def heading(self, children: Children, start: int, end: int) -> None:
        text: str = children[0]
        if text.startswith("Function : "):
            name = text[11:].strip()
            self._open(name, start)
            self.known.functions.add(name)
        elif text.startswith("code for "):
            self._set_target(text[9:].strip(), start)
        elif text.startswith("Fatbin"):
            self.section = None

    def directive(self, children: Children, start: int, end: int) -> None:
        name, *rest = children[0].split(None, 1)
        if name in _DIRECTIVES and rest:
            _DIRECTIVES[name](self, rest[0].strip(), start)

    def data(self, children: Children, start: int, end: int) -> None:
        self.directive(children[1:], start, end)

    def _set_target(self, text: str, start: int) -> None:
        found = _TARGET.match(text)
        if found is None or int(found[1]) < FIRST_ARCHITECTURE:
            raise self.source.error(start, f"expected an architecture from sm_{FIRST_ARCHITECTURE} on, found '{text}'")
        if self.architecture and self.architecture != found[0]:
            raise self.source.error(
                start, f"expected one architecture in a file, found {self.architecture} and {found[0]}"
            )
        self.architecture = found[0]

    def _open_section(self, rest: str, start: int) -> None:
        self.section = None
        if rest.startswith(".text."):
            self._open(rest[6:].split(",")[0], start)

    def _open(self, name: str, start: int) -> None:
        if _NAME.match(name) is None:
            raise self.source.error(start, f"expected the name of a function, found '{name}'")
        self.section = Section(name, start, self.known)
        self._sections.append(self.section)

    def _type(self, rest: str, start: int) -> None:
        name, _, kind = rest.partition(",")
        if kind.strip() == "@function":
            self.known.functions.add(name)

    def _other(self, rest: str, start: int) -> None:
        name, _, flags = rest.partition(",")
        if "STO_CUDA_ENTRY" in flags:
            self.known.entries.add(name)

    def _global(self, rest: str, start: int) -> None:
        self.known.linkage[rest] = "visible"

    def _weak(self, rest: str, start: int) -> None:
        self.known.linkage[rest] = "weak"

    def _section_info(self, rest: str, start: int) -> None:
        found = _REGISTERS.search(rest)
        if found and self.section is not None:
            self.known.registers[self.section.name] = int(found[1])

    def _byte(self, rest: str, start: int) -> None:
        self._counting = "record" if rest.startswith(_REGISTER_COUNTS) else ""

    def _word(self, rest: str, start: int) -> None:
        index = _INDEX.match(rest)
        if self._counting == "record" and index:
            self._counting = f"={index[1]}"
        elif self._counting[:1] == "=" and _COUNT.match(rest):
            self.known.registers.setdefault(self._counting[1:], int(rest, 16))
            self._counting = ""

    def label(self, children: Children, start: int, end: int) -> None:
        if self.section is None:
            return
        name = children[0][:-1]
        if not self.section.add_label(name, start):
            raise self.source.error(start, f"label '{name}' stands twice in one section")

    # --- instructions -------------------------------------------------------------------------------------------
    def guard(self, children: Children, start: int, end: int) -> Guard:
        return self._guard(children[1], False, start)

    def negated_guard(self, children: Children, start: int, end: int) -> Guard:
        return self._guard(children[2], True, start)

    def _guard(self, name: str, negated: bool, start: int) -> Guard:
        made = self.word([name], start, start)
        if not isinstance(made, Register) or made.name.lstrip("U")[0] != "P":
            raise self.source.error(start, f"expected a predicate after '@', found '{name}'")
        return Guard(made, negated)

    def half_encoding(self, children: Children, start: int, end: int) -> None:
        raise self.source.error(start, "expected the second half of the encoding, as Volta and later have it")

    def encoding(self, children: Children, start: int, end: int) -> int:
        low, high = children
        return int(high[5:-3], 16) << 64 | int(low[5:-3], 16)

    def instruction(self, children: Children, start: int, end: int) -> None:
        address, guard, word, operands, notes, _, encoding = children
        if self.section is None:
            raise self.source.error(start, "expected '.section .text.NAME' or 'Function : NAME' before instructions")
        split = self._opcodes.get(word)
        if split is None:
            first, *rest = word.split(".")
            split = self._opcodes[word] = (first, tuple(rest))
        text = self.source.text[start + len(address) : end].partition(";")[0]
        text = " ".join(text.split()) + ";"
        made = Instruction(
            split[0], split[1], tuple(operands), guard, self.source.position(start), text, None,
            int(address[2:-2], 16), encoding,
        )  # fmt: skip
        if not self.section.add_instruction(made, notes):
            raise self.source.error(start, f"expected an address behind {self.section.last_address:#x}")


_DIRECTIVES = {
    ".section": SassModuleBuilder._open_section,
    ".target": SassModuleBuilder._set_target,
    ".global": SassModuleBuilder._global,
    ".weak": SassModuleBuilder._weak,
    ".type": SassModuleBuilder._type,
    ".other": SassModuleBuilder._other,
    ".sectioninfo": SassModuleBuilder._section_info,
    ".byte": SassModuleBuilder._byte,
    ".word": SassModuleBuilder._word,
}
