"""PTX or SASS: which language a text is in, and the analyses that read either.

A ``Function`` knows its language; what reads control flow or registers of both asks here.
"""

import re
from pathlib import Path

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_bounded
from rayplay.ptx.flow import cfg
from rayplay.ptx.ir import Function, Instruction, Module
from rayplay.ptx.isa import describe as opcodes
from rayplay.ptx.sass import cfg as sass_flow
from rayplay.ptx.sass import describe as sass_describe

_SASS = re.compile(
    r"^[ \t]*(?:/\*[0-9a-f]{4,16}\*/[ \t]+(?:@!?U?P[0-9T]+[ \t]+)?[A-Z]"
    r"|Function : |code for sm_|\.section[ \t]+\.text\.)",
    re.MULTILINE,
)
_PTX = re.compile(r"^[ \t]*\.version\b", re.MULTILINE)


def parse_file(path: str | Path) -> Module:
    """Parse a file of PTX, or a SASS listing of ``nvdisasm`` or ``cuobjdump -sass``, whichever it holds.

    Raises UserError for a syntax error and for a binary, OSError for a file that cannot be read.
    """
    data = read_bounded(Path(path), LIST_BYTES)
    if data[:4] == b"\x7fELF":
        raise UserError(f"{path}: expected text, found a binary: list it with 'nvdisasm -c -hex' or 'cuobjdump -sass'")
    return parse(data.decode(errors="replace"), str(path))


def parse(text: str, name: str) -> Module:
    """Parse PTX or SASS text; ``name`` is what messages call it. Raises UserError for a syntax error."""
    if text.lstrip()[:7] == "digraph":
        raise UserError(f"{name}:1:1: expected a listing, found a graph of 'nvdisasm -bbcfg': use 'nvdisasm -c -hex'")
    if is_sass(text):
        from rayplay.ptx.sass import parser as sass_parser

        return sass_parser.parse(text, name)
    from rayplay.ptx.text import parser

    return parser.parse(text, name)


def is_sass(text: str) -> bool:
    """Whether a text looks like a SASS listing rather than PTX."""
    found = _SASS.search(text)
    if found is None:
        return False
    ptx = _PTX.search(text)
    return ptx is None or found.start() < ptx.start()


def build(function: Function) -> cfg.Cfg:
    """The control-flow graph of a function. Raises UserError for a branch to nowhere."""
    return sass_flow.build(function) if function.language == "sass" else cfg.build(function)


def describe(instruction: Instruction, function: Function) -> opcodes.Description:
    """Class, memory access and registers of an instruction. Raises UserError for an opcode without a row."""
    of = sass_describe if function.language == "sass" else opcodes
    return of.describe(instruction, function)


def require_rows(function: Function) -> None:
    """Raises UserError for the first instruction that ``describe`` has no row for."""
    if function.language == "sass":
        for instruction in function.body:
            sass_describe.describe(instruction, function)
    else:
        opcodes.require_rows(function)


def runs_other_code(instruction: Instruction, function: Function) -> bool:
    """Whether an instruction calls a function of the module, or a service that runs programs."""
    if function.language == "sass":
        return instruction.opcode == "CALL"
    return cfg.runs_other_code(instruction)
