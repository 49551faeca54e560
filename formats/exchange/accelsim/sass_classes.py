"""SASS opcodes: operation class, memory space and unit, from the tables of ``sass_classes.toml``.

Both ``ptx`` (listings) and importers of dynamic traces that keep the dotted opcode (``LDG.E.64``) read them.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import FormatError

TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ARCHITECTURES = tuple(TABLES["architectures"])


def _by_member(members: Mapping[str, str]) -> dict[str, str]:
    """Member -> name, of a table that lists the members of each name."""
    return {member: name for name, words in members.items() for member in words.split()}


CLASSES, SPACES = _by_member(TABLES["classes"]), _by_member(TABLES["spaces"])
_UNIT_OF_CLASS, _UNIT_OF_OPCODE = _by_member(TABLES["unit_of_class"]), _by_member(TABLES["unit_of_opcode"])
_UNIT_BEFORE = {number: _by_member(TABLES[f"unit_before_{number}"]) for number in (70, 75)}
_CLASSES_BEFORE_70 = ("branch", "texture")  # of the integer unit
FIRST_OF_LAST_TABLE = 75  # what Accel-Sim's opcode tables say of units is alike from here on
FIRST_GENERIC = 50  # before it, LD and ST are global
_MARK = re.compile(r"/\* sm_([0-9]{1,3}) \*/$")
_PC = re.compile(r"/\* PC (0x[0-9a-f]{1,12}) \*/")
PC_BYTES = 16  # from an instruction to the next
_FIRST = {opcode: int(first) for opcode, first in _by_member(TABLES["first_architecture"]).items()}
_BYTES = {modifier: int(count) for modifier, count in _by_member(TABLES["bytes"]).items()}


def operation_class(opcode: str, architecture: int) -> str:
    """Operation class (of ``formats.schema.trace.OPERATION_CLASSES``) of a dotted opcode such as ``IMAD.WIDE.U32``.

    ``architecture`` is the number of ``sm_75``. Raises FormatError for an opcode or architecture that is not in the
    table, and for an opcode that begins with a later architecture.
    """
    base = opcode.partition(".")[0]
    found = CLASSES.get(base)
    if found is None:
        raise FormatError(
            f"opcode '{opcode}' is not in the table of SASS opcodes (formats/exchange/accelsim/sass_classes.toml)"
        )
    if architecture not in ARCHITECTURES:
        known = ", ".join(f"sm_{number}" for number in ARCHITECTURES)
        raise FormatError(f"architecture must be one of {known}, not sm_{architecture}")
    first = _FIRST.get(base, 75 if base[0] == "U" else ARCHITECTURES[0])
    if architecture < first:
        raise FormatError(f"opcode '{opcode}' begins with sm_{first}, so sm_{architecture} does not have it")
    return found


def memory_space(opcode: str, architecture: int = FIRST_OF_LAST_TABLE) -> str:
    """Memory space (of ``formats.schema.trace.MEMORY_SPACES``) that an opcode reads or writes; ``none`` without one.

    ``LDGSTS`` copies from global to shared memory: its accesses are the load's.
    """
    base = opcode.partition(".")[0]
    if base in ("LD", "ST") and architecture < FIRST_GENERIC:
        return "global"
    return SPACES.get(base, "none")


def access_bytes(opcode: str) -> int:
    """Bytes a lane reads or writes with a dotted opcode, 0 without an access: the width modifier, 4 without one."""
    base, *modifiers = opcode.split(".")
    if base in ("LDSM", "STSM"):
        return 16 if modifiers[-1:] == ["4"] else 8 if modifiers[-1:] == ["2"] else 4
    if base not in SPACES:
        return 0
    return next((_BYTES[modifier] for modifier in modifiers if modifier in _BYTES), 4)


def unit(opcode: str, architecture: int = FIRST_OF_LAST_TABLE) -> str:
    """The unit, one of ``formats.schema.trace.UNITS``, that executes an opcode of the table."""
    base = opcode.partition(".")[0]
    kind = CLASSES[base]
    for before, units in _UNIT_BEFORE.items():
        if architecture < before and base in units:
            return units[base]
    if architecture < min(_UNIT_BEFORE) and kind in _CLASSES_BEFORE_70:
        return "int"
    if base in _UNIT_OF_OPCODE:
        return _UNIT_OF_OPCODE[base]
    return "uniform" if base[0] == "U" and kind in TABLES["uniform_classes"] else _UNIT_OF_CLASS[kind]


def mark(kind: str, architecture: int) -> str:
    """Behind the text of an instruction that ends a thread: the instruction set, where units differ from later ones."""
    return f" /* sm_{architecture} */" if kind == "exit" and architecture < FIRST_OF_LAST_TABLE else ""


def marked(text: str) -> int:
    """The instruction set that stands behind an instruction's text, or one with the last table's units."""
    found = _MARK.search(text)
    return int(found[1]) if found else FIRST_OF_LAST_TABLE


def program_counters(instructions: dict[str, Any]) -> np.ndarray:
    """int64[n]: bytes from the first instruction of each one's kernel on.

    Instructions stand 16 B apart, except where the text of one says its own (``pc_mark``).
    """
    found: list[int] = []
    kernel = -1
    for own, text in zip(instructions["kernel_id"].tolist(), instructions["text"].tolist(), strict=True):
        mark = _PC.search(text)
        found.append(int(mark[1], 16) if mark else found[-1] + PC_BYTES if own == kernel else 0)
        kernel = own
    return np.array(found, np.int64)


def pc_mark(pc: int, following: int) -> str:
    """Behind the text of an instruction: its PC, where it is not the one that follows from the one before."""
    return f" /* PC {pc:#x} */" if pc != following else ""


def spared_groups(opcode: str, text: str) -> int:
    """Number of latest groups of asynchronous copies that a wait (DEPBAR, ``cp.async.wait_group``) does not wait for.

    The last number of its text, comments apart; 0 without one.
    """
    numbers = re.findall(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|[0-9]+)(?!\w)", text.partition("/*")[0].partition(opcode)[2])
    return int(numbers[-1], 0) if numbers else 0
